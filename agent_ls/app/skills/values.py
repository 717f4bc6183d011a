"""A skill or command in a file, and the result of a search for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.environments.instruction_files import LOCAL_FILES, InstructionFiles

Origin: TypeAlias = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class UserCommand:
    """A file with instructions that a message may begin with (`/name`), and that the model may use if it is a skill.

    `path` is the file, found below `base`; `folder` is its real folder; `files` are those of the machine that has it.
    `signature` changes with the file.
    `for_model`: the model sees the name and may use it. `for_user`: lists of slash commands contain it. `tools` are
    the tools that the file asks for; they are shown to the user and allow nothing.
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
    for_model: bool = False
    for_user: bool = True
    tools: tuple[str, ...] = ()
    files: InstructionFiles = LOCAL_FILES


@dataclass(frozen=True, slots=True)
class UserCommands:
    """All skills and commands of a session's folder, by name, in the order of their names.

    `problems` are sentences for the user that begin with a path: files that were left out, or names that hide others.
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
