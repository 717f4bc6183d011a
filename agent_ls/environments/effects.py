"""What a tool call is about to do to the world: the value that policy judges and that an approval names.

A closed union. `digest` names the exact effect: an approval holds for an equal digest only (PROTOCOL,
agent/approve). Paths are absolute.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Touches nothing outside the session."""

    @property
    def digest(self) -> str:
        return _digest("none")


@dataclass(frozen=True, slots=True)
class ReadEffect:
    """Reads or searches below these paths."""

    paths: tuple[str, ...]

    @property
    def digest(self) -> str:
        return _digest("read", *self.paths)


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One file of a WriteEffect. `diff` is a unified diff for people; `change_key` identifies what changes:

    a hash over the removed and added lines, so that typing elsewhere in the file does not void an approval.
    """

    path: str
    action: Literal["create", "modify", "delete", "move"]
    diff: str
    change_key: str


@dataclass(frozen=True, slots=True)
class WriteEffect:
    files: tuple[PlannedWrite, ...]

    @property
    def digest(self) -> str:
        return _digest("write", *(part for f in self.files for part in (f.path, f.action, f.change_key)))


@dataclass(frozen=True, slots=True)
class CommandEffect:
    """Runs a shell command in `working_dir` with `env_vars` added.

    `input_of` is not empty where it is typed into a background process, whose id that is, instead. `outside_sandbox`:
    where the others run in one.
    """

    command: str
    working_dir: str
    env_vars: tuple[tuple[str, str], ...] = ()
    background: bool = False
    input_of: str = ""
    outside_sandbox: bool = False

    @property
    def digest(self) -> str:
        parts = (self.command, self.working_dir, repr(self.env_vars), str(self.background))
        if self.outside_sandbox:
            return _digest("outside", *parts)
        return _digest("input", self.input_of, *parts) if self.input_of else _digest("command", *parts)


@dataclass(frozen=True, slots=True)
class ProcessEffect:
    """Acts on a background process that this session started."""

    process_id: str
    action: Literal["list", "read", "write", "kill"]

    @property
    def digest(self) -> str:
        return _digest("process", self.process_id, self.action)


@dataclass(frozen=True, slots=True)
class TrustEffect:
    """Lets what lies in a workspace speak for its user: no call of a model, but asked about like one.

    `owner` is whose the folder is, "" where files have no owners.
    """

    folder: str
    owner: str

    @property
    def digest(self) -> str:
        return _digest("trust", self.folder, self.owner)


@dataclass(frozen=True, slots=True)
class FetchEffect:
    """Asks a web server for a page. `private_address`: where in a private network the host leads, "" for a public one
    and while that is not known; nothing is asked of a private one that is not named here.
    """

    url: str
    private_address: str = ""

    @property
    def digest(self) -> str:
        return _digest("fetch", self.url, self.private_address)


@dataclass(frozen=True, slots=True)
class CallEffect:
    """Calls a tool that was added to ours; what it does is known by its category, and by what it runs.

    `text` is what people are shown: the arguments, or the program with its words as a POSIX shell would take them.
    `argv` is the program that it starts, without a shell, in `working_dir`; empty when that is not known (a function
    of the host's, a tool of a server). `env_vars` are as they were declared, never what they stand for. `definition`
    is a digest of how the tool was defined, "" where that cannot change under its name.
    """

    tool: str
    text: str
    category: Literal["read", "write", "admin"]
    definition: str = ""
    argv: tuple[str, ...] = ()
    working_dir: str = ""
    env_vars: tuple[tuple[str, str], ...] = ()

    @property
    def runs(self) -> CommandEffect | None:
        """The command that it comes to, None when that is not known."""
        return CommandEffect(self.text, self.working_dir, self.env_vars) if self.argv else None

    @property
    def digest(self) -> str:
        return _digest(
            "call", self.tool, self.text, self.category, self.definition, repr(self.argv), self.working_dir,
            repr(self.env_vars),
        )  # fmt: skip


Effect: TypeAlias = (
    NoEffect
    | ReadEffect
    | WriteEffect
    | CommandEffect
    | ProcessEffect
    | TrustEffect
    | FetchEffect
    | CallEffect
)


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
