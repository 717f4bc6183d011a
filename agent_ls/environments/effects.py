"""Effects: the actions of a tool call. The policy checks an effect, and an approval applies to one effect.

`Effect` is the union of all effects. `digest` identifies the exact effect: an approval is valid only for an
effect with the same digest. Paths are absolute.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class NoEffect:
    """The call neither reads nor changes anything outside the session."""

    @property
    def digest(self) -> str:
        return _digest("none")


@dataclass(frozen=True, slots=True)
class ReadEffect:
    """The call reads or searches below these paths."""

    paths: tuple[str, ...]

    @property
    def digest(self) -> str:
        return _digest("read", *self.paths)


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One file of a WriteEffect. `diff` is a unified diff for display.

    `change_key` is a hash of the removed and added lines. An approval therefore stays valid if the user types
    elsewhere in the file.
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
    """The call runs a shell command in `working_dir` with `env_vars` added.

    `input_of` is "" for a new command. Otherwise it is the id of a background process, and `command` is the
    text that is typed into this process.
    `outside_sandbox`: the command runs without the sandbox that other commands have.
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
    """The call acts on a background process that this session started."""

    process_id: str
    action: Literal["list", "read", "write", "kill"]

    @property
    def digest(self) -> str:
        return _digest("process", self.process_id, self.action)


@dataclass(frozen=True, slots=True)
class TrustEffect:
    """A folder becomes trusted. This is not an effect of a tool call, but needs the same approval.

    `owner` is the folder's owner, "" on systems where files have no owners.
    """

    folder: str
    owner: str

    @property
    def digest(self) -> str:
        return _digest("trust", self.folder, self.owner)


@dataclass(frozen=True, slots=True)
class FetchEffect:
    """The call fetches a web page.

    `private_address` is the private network address that the host name resolves to; "" if the address is
    public or not known yet. The fetch never contacts any other private address.
    """

    url: str
    private_address: str = ""

    @property
    def digest(self) -> str:
        return _digest("fetch", self.url, self.private_address)


@dataclass(frozen=True, slots=True)
class CallEffect:
    """A call of a tool that the host program, the user or an MCP server added.

    The policy checks the category of the tool and the program that the tool runs.

    `text` is the text for display: the arguments, or the program with its arguments quoted for a POSIX shell.
    `argv` is the program that the tool starts in `working_dir` without a shell; empty if no program is known
    (for a function of the host program or a tool of an MCP server). `env_vars` are as declared, before
    substitution. `definition` is a digest of the tool's definition, "" if the definition of this tool name
    cannot change.
    """

    tool: str
    text: str
    category: Literal["read", "write", "admin"]
    definition: str = ""
    argv: tuple[str, ...] = ()
    working_dir: str = ""
    env_vars: tuple[tuple[str, str], ...] = ()
    server: str = ""
    title: str = ""
    about: str = ""
    change: str = ""
    annotated: Literal["", "read", "safe"] = ""
    hosts: tuple[str, ...] = ()
    reads_rule: str = ""

    @property
    def runs(self) -> CommandEffect | None:
        """The command that the tool call runs; None if `argv` is empty."""
        return CommandEffect(self.text, self.working_dir, self.env_vars) if self.argv else None

    @property
    def digest(self) -> str:
        return _digest(
            "call", self.tool, self.text, self.category, self.definition, repr(self.argv), self.working_dir,
            repr(self.env_vars), *((self.server,) if self.server else ()),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServerEffect:
    """An MCP server is started, or a connection opened.

    This is not an effect of a tool call, but needs the same approval.

    `command` is the program with its arguments, quoted for a POSIX shell, behind `cd FOLDER &&` if the configuration
    names a folder. For a server without a program,
    `url` is its address. `variables` are the environment variables of the program: `NAME=TEXT` as in the
    configuration of the server, or the name alone for a secret. `file` is the file that configures the
    server, "" for the settings. `is_fetched`: the command downloads the program that it runs. `config` is a
    digest of the configuration.
    """

    name: str
    config: str
    file: str = ""
    command: str = ""
    url: str = ""
    variables: tuple[str, ...] = ()
    is_fetched: bool = False

    @property
    def digest(self) -> str:
        return _digest("server", self.name, self.config)


Effect: TypeAlias = (
    NoEffect
    | ReadEffect
    | WriteEffect
    | CommandEffect
    | ProcessEffect
    | TrustEffect
    | FetchEffect
    | CallEffect
    | ServerEffect
)


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def touched_files(effect: Effect) -> tuple[str, ...]:
    """Return the files that a call reads or changes, and the folders that it searches."""
    match effect:
        case ReadEffect(paths):
            return tuple(paths)
        case WriteEffect(files):
            return tuple(file.path for file in files)
        case _:
            return ()


AskCause: TypeAlias = Literal[
    "mode", "outside", "sensitive", "danger", "unclear", "network", "sandbox", "trust", "tool", "hook"
]
"""Why an effect needs approval: the mode asks about all of its kind; paths outside of the workspace; sensitive files;
an effect that is hard to undo; agent-ls cannot tell what it does; it uses the network; it runs without a sandbox or
confinement; a folder, server or changed tool that nobody has approved; the tool's category; a hook wants it.
"""
