"""A skill or command in a file, and the result of a search for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.environments.instruction_files import LOCAL_FILES, InstructionFiles

Origin: TypeAlias = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class UserCommand:
    """A file with instructions: a slash command (`/name`), or a skill, which the model may use too.

    `path` is the file, found below `base`; `folder` is the folder of the file with links resolved.
    `files` accesses the machine that has the file. `signature` changes with the file. `for_model`: the model
    may use the command, and its list of skills contains it. `for_user`: it appears in lists of slash commands.
    `argument_names` are the names of the words after the command. `tools` are the tools that the file requests; they
    are displayed to the user and grant no permission.
    """

    name: str
    description: str
    kind: Literal["skill", "command"]
    origin: Origin
    path: str
    base: str
    folder: str
    signature: tuple[int, int, int]
    argument_hint: str = ""
    argument_names: tuple[str, ...] = ()
    for_model: bool = False
    for_user: bool = True
    tools: tuple[str, ...] = ()
    files: InstructionFiles = LOCAL_FILES


@dataclass(frozen=True, slots=True)
class UserCommands:
    """All skills and commands of a session's folder, sorted by name.

    `problems` are sentences for the user about left-out or hidden files; each begins with a file's path.
    """

    found: Sequence[UserCommand] = ()
    problems: Sequence[str] = ()

    def find(self, name: str) -> UserCommand | None:
        return next((command for command in self.found if command.name == name), None)

    @property
    def for_model(self) -> Sequence[UserCommand]:
        return [command for command in self.found if command.for_model]

    @property
    def for_user(self) -> Sequence[UserCommand]:
        return [command for command in self.found if command.for_user]


NO_COMMANDS = UserCommands()
