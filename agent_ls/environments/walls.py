"""ENGINE: a command confined by the system, as text: which program is called how, so that few places can be written.

Linux: bubblewrap, or Landlock by a program of ours. macOS: seatbelt (`sandbox-exec`) with a profile. Nothing is started
here, and no file looked at.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

Kind: TypeAlias = Literal["bubblewrap", "landlock", "seatbelt"]


LAST_SIGNAL = 31  # the usual ones
REPLACED = ("/tmp", "/var/tmp")


@dataclass(frozen=True, slots=True)
class Walls:
    """What a confined command may do. All paths are absolute, links followed, and there.

    `writable` are folders. `guarded` lie below them and are not written all the same. `hidden` folders are empty,
    `hidden_files` too. `temporary` is a folder of the session's own, which stands in place of each of `replaced`.
    """

    writable: tuple[str, ...]
    temporary: str
    guarded: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    network: bool = False
    replaced: tuple[str, ...] = REPLACED


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What this machine confines with. `program` is the confining one, `shell` what runs commands.

    `env` is a program that can set how signals are taken (coreutils), "" when there is none: then a command that is
    ended is killed at once, without the time to end by itself. `script` is what `program` (a Python) runs for Landlock.
    """

    kind: Kind
    program: str
    shell: str
    env: str = ""
    script: str = ""

    @property
    def guards(self) -> bool:
        """Whether what is guarded below a writable place is. Landlock can only allow."""
        return self.kind != "landlock"


_FAILED_AT: dict[Kind, str] = {
    "bubblewrap": r"Read-only file system|Operation not permitted|EROFS|",
    "landlock": r"Permission denied|Operation not permitted|EACCES|",
    "seatbelt": r"Operation not permitted|EPERM|",
}
_NO_NETWORK = (
    r"Network is unreachable|Could not resolve host|Name or service not known|ENETUNREACH|EAI_AGAIN|ENOTFOUND|"
    r"Temporary failure in name resolution"
)


def failed_at(output: str, sandbox: Sandbox) -> str:
    """The last words of a failed command that speak of walls, "" for none."""
    found = re.findall(_FAILED_AT[sandbox.kind] + _NO_NETWORK, output)
    return str(found[-1]) if found else ""


def confined(command: str, sandbox: Sandbox, walls: Walls, folder: str) -> str:
    """A command line that does the same within the walls. The shell that reads it is replaced: nothing stays beside."""
    return f"exec {shlex.join(confined_argv(command, sandbox, walls, folder))}"


def exit_code(code: int, sandbox: Sandbox) -> int:
    """As without walls: negative for a signal. bubblewrap tells of one as shells do, by 128 and its number."""
    return 128 - code if sandbox.kind == "bubblewrap" and 128 < code <= 128 + LAST_SIGNAL else code


def confined_argv(command: str, sandbox: Sandbox, walls: Walls, folder: str) -> list[str]:
    match sandbox.kind:
        case "bubblewrap":
            return [*_bubblewrap(command, sandbox, walls, folder)]
        case "landlock":
            wanted = {"writable": [*walls.writable, walls.temporary], "network": walls.network}
            hidden = [*walls.hidden, *walls.hidden_files]
            setting = [
                "/usr/bin/env",
                f"TMPDIR={walls.temporary}",
                sandbox.program,
                "-I",
                "-S",
                sandbox.script,
            ]
            return [*setting, json.dumps({**wanted, "hidden": hidden}), sandbox.shell, "-c", command]
        case "seatbelt":
            setting = ["/usr/bin/env", f"TMPDIR={walls.temporary}"]
            return [*setting, sandbox.program, "-p", seatbelt_profile(walls), sandbox.shell, "-c", command]
        case never:
            assert_never(never)


def _bubblewrap(command: str, sandbox: Sandbox, walls: Walls, folder: str) -> Iterator[str]:
    # What confines stays until all inside has ended: it must not be the first that a signal to all of them ends.
    if sandbox.env:
        yield from (sandbox.env, "--ignore-signal=TERM")
    yield from (sandbox.program, "--die-with-parent", "--cap-drop", "ALL")
    yield from ("--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try")
    if not walls.network:
        yield "--unshare-net"
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    # Sockets of other programs lie there: those of containers, of the desktop, of agents that hold keys.
    yield from ("--tmpfs", "/run")
    if walls.network:
        yield from ("--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")
    for place in walls.replaced:
        yield from ("--bind", walls.temporary, place)
    yield from ("--setenv", "TMPDIR", walls.replaced[0])
    for place in walls.writable:
        yield from ("--bind", place, place)
    for place in walls.guarded:
        yield from ("--ro-bind", place, place)
    for place in walls.hidden:
        yield from ("--tmpfs", place)
    for place in walls.hidden_files:
        yield from ("--ro-bind", "/dev/null", place)
    yield from ("--chdir", folder, "--")
    if sandbox.env:
        yield from (sandbox.env, "--default-signal=TERM")
    yield from (sandbox.shell, "-c", command)


def seatbelt_profile(walls: Walls) -> str:
    """The last rule that fits holds."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [
        f"(allow file-write* (subpath {_quoted(place)}))" for place in (*walls.writable, walls.temporary)
    ]
    lines += [
        f"(allow file-write* (literal {_quoted(place)}))"
        for place in ("/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/tty")
    ]
    lines += [f"(deny file-write* (subpath {_quoted(place)}))" for place in walls.guarded]
    lines += [
        f"(deny file-read* file-write* (subpath {_quoted(place)}))"
        for place in (*walls.hidden, *walls.hidden_files)
    ]
    if not walls.network:
        lines.append("(deny network*)")
    return "\n".join(lines)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
