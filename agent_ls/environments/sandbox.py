"""Pure: build the confinement of a command.

On Linux, either the program bubblewrap runs the command, or the process that starts the command limits it by
Landlock. On macOS, the program `sandbox-exec` runs the command with a seatbelt profile. This module starts
nothing and reads no file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias, assert_never

from agent_ls.confinement.wanted import Confinement
from agent_ls.environments.base import CommandOptions
from agent_ls.paths import is_within
from agent_ls.program_lookup import find_program

Kind: TypeAlias = Literal["bubblewrap", "landlock", "seatbelt"]


LAST_SIGNAL = 31  # the highest standard signal
REPLACED = ("/tmp", "/var/tmp")


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits of a confined command. All paths are absolute, with links resolved, and exist.

    - `writable`: folders that may be written. `is_read_only`: nothing may be changed and there is no network;
      then `writable` is empty, and `temporary` is read-only.
    - `guarded`: paths in writable folders that must not be written. `pinned`: folders between a writable
      folder and a guarded path, which must not be renamed. `absent`: paths that would be guarded if they
      existed. `links`: links on the way to a guarded path, each with its target. bubblewrap cannot protect a link.
    - `hidden` folders and `hidden_files` appear empty.
    - `readable`: the only files and folders that a read-only command may read; () means all.
    - `temporary`: a folder of the session that replaces the temporary folders in `replaced`.
    - `kept`: folders that stay visible, read-only, although they are below a folder in `replaced`.
    """

    writable: tuple[str, ...]
    temporary: str = ""
    guarded: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    network: bool = False
    replaced: tuple[str, ...] = REPLACED
    is_read_only: bool = False
    pinned: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    def can_read(self, path: str) -> bool:
        """Return whether `path` is below a readable folder, or all paths are readable."""
        return any(is_within(path, top) for top in self.readable or ("/",))

    def is_replaced(self, path: str) -> bool:
        """Return whether `path` is below a folder that the session's temporary folder replaces."""
        return any(is_within(path, top) for top in self.replaced)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The confinement that this machine supports. `shell` is the shell that runs the commands.

    - `program`: the program that confines the commands; "" for Landlock, which needs no program.
    - `env`: the path of `env` (coreutils), which restores the handling of SIGTERM for a command in
      bubblewrap. If it is "", the command is killed without time to end by itself.
    - `filters`: files with system call filters for bubblewrap: one for a command without network, and one for
      a read-only command.
    - `is_root`: agent-ls runs as root, so kernel settings in /proc must be protected.
    """

    kind: Kind
    shell: str
    program: str = ""
    env: str = ""
    filters: tuple[str, str] = ("", "")
    is_root: bool = False

    @property
    def guards(self) -> bool:
        """Whether the sandbox can protect paths inside a writable folder. Landlock cannot."""
        return self.kind != "landlock"


_required: ContextVar[bool] = ContextVar("agent_ls_confinement_required", default=False)


@contextmanager
def requiring_confinement() -> Iterator[None]:
    """Require that commands started in this block run with the limits of read-only commands, or not at all.

    The requirement is passed in a context variable, so that no wrapper can forget to pass it on.
    """
    token = _required.set(True)
    try:
        yield
    finally:
        _required.reset(token)


def is_confinement_required() -> bool:
    return _required.get()


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
    """Return the last message in a failed command's output that the confinement may have caused; "" for none."""
    found = re.findall(_FAILED_AT[sandbox.kind] + _NO_NETWORK, output)
    return str(found[-1]) if found else ""


LOOKING = MappingProxyType(
    {
        "GIT_OPTIONAL_LOCKS": "0",  # otherwise git status updates the index file
        "PYTHONDONTWRITEBYTECODE": "1",
        "CARGO_NET_OFFLINE": "true",
        "GOTOOLCHAIN": "local",  # otherwise go.mod makes go download and run another version of itself
        # the user's configuration file could make ripgrep list hidden files, which the policy does not expect
        "RIPGREP_CONFIG_PATH": "",
        "npm_config_logs_max": "0",
        "npm_config_update_notifier": "false",
        "LESSHISTFILE": "-",
    }
)
"""Variables of a read-only command. They keep common programs from writing files or connecting to servers."""


def wrap_command(
    command: str, options: CommandOptions, sandbox: Sandbox, limits: SandboxLimits, folder: str
) -> tuple[str, CommandOptions]:
    """Return the command line and the options that run `command` confined.

    For Landlock, the command line stays as it is and the options contain the limits. For other sandboxes, the
    command line starts the sandbox's program, and the options have no `argv`, so that this command line is
    run.
    """
    options = replace(options, shown=options.shown or command)
    if options.is_own_program and (found := find_program(options.argv[0])):
        command = shlex.join((found, *options.argv[1:]))
    if limits.is_read_only:
        options = replace(options, env_vars={**LOOKING, **options.env_vars})
    if sandbox.kind == "landlock":
        temporary = {"TMPDIR": limits.temporary} if limits.temporary else {}
        return command, replace(
            options, env_vars={**options.env_vars, **temporary}, confinement=confinement(limits)
        )
    return confine_command(command, sandbox, limits, folder), replace(options, argv=())


def confinement(limits: SandboxLimits) -> Confinement:
    """Convert the limits to the form that Landlock and seccomp enforce."""
    writable = () if limits.is_read_only else (*limits.writable, limits.temporary)
    hidden = (*limits.hidden, *limits.hidden_files)
    return Confinement(writable, hidden, limits.network, limits.is_read_only, limits.readable)


def confine_command(command: str, sandbox: Sandbox, limits: SandboxLimits, folder: str) -> str:
    """Return a shell command line that runs the command confined.

    The sandbox's program replaces the shell that runs this command line (`exec`).
    """
    refused = sandbox.filters[limits.is_read_only]
    opened = f"exec {_FILTER_AT}<{shlex.quote(refused)}; " if _is_filtered(sandbox, limits) else ""
    # The shell ignores SIGTERM, and bubblewrap inherits this. So SIGTERM does not end bubblewrap before the
    # processes inside have ended.
    ignoring = "trap '' TERM; " if _may_end_by_itself(sandbox, limits) else ""
    return f"{ignoring}{opened}exec {shlex.join(confined_argv(command, sandbox, limits, folder))}"


_FILTER_AT = 9


def _is_filtered(sandbox: Sandbox, limits: SandboxLimits) -> bool:
    return bool(sandbox.filters[limits.is_read_only]) and not limits.network


def exit_code(code: int, sandbox: Sandbox) -> int:
    """Convert the exit code of a confined command to the exit code without confinement (negative for a
    signal).

    bubblewrap reports a signal as 128 plus its number.
    """
    return 128 - code if sandbox.kind == "bubblewrap" and 128 < code <= 128 + LAST_SIGNAL else code


def confined_argv(command: str, sandbox: Sandbox, limits: SandboxLimits, folder: str) -> list[str]:
    match sandbox.kind:
        case "bubblewrap":
            return [*_bubblewrap(command, sandbox, limits, folder)]
        case "landlock":
            raise ValueError("Landlock is enforced by the process that starts the command")
        case "seatbelt":
            setting = ["/usr/bin/env", f"TMPDIR={limits.temporary}"] if limits.temporary else []
            return [*setting, sandbox.program, "-p", seatbelt_profile(limits), sandbox.shell, "-c", command]
        case never:
            assert_never(never)


def _bubblewrap(command: str, sandbox: Sandbox, limits: SandboxLimits, folder: str) -> Iterator[str]:
    yield from (sandbox.program, "--die-with-parent", "--cap-drop", "ALL")
    yield from ("--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try")
    if not limits.network:
        yield "--unshare-net"
    for place in limits.readable or ("/",):
        yield from ("--ro-bind", place, place)
    if limits.readable:
        for link in _LINKS_OF_SYSTEM:
            yield from ("--ro-bind-try", link, link)
    yield from ("--dev", "/dev", "--proc", "/proc")
    # kernel settings in /proc belong to root, so a process of root may write them even without capabilities
    if sandbox.is_root:
        for place in _KERNEL_SETTINGS:
            yield from ("--ro-bind-try", place, place)
    if _is_filtered(sandbox, limits):
        yield from ("--seccomp", str(_FILTER_AT))
    if limits.is_read_only:
        yield from ("--remount-ro", "/dev")
    # /run contains sockets of other programs: containers, the desktop, SSH and key agents.
    yield from ("--tmpfs", "/run")
    if limits.network:
        yield from ("--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")
    if limits.temporary:
        for place in limits.replaced:
            yield from ("--bind", limits.temporary, place)
        # readable and kept folders below a replaced one are mounted again, which needs a writable parent
        for place in filter(limits.is_replaced, (*limits.readable, *limits.kept)):
            yield from ("--ro-bind", place, place)
        for place in limits.replaced if limits.is_read_only else ():
            yield from ("--remount-ro", place)
        yield from ("--setenv", "TMPDIR", limits.replaced[0])
    for place in () if limits.is_read_only else limits.writable:
        yield from ("--bind", place, place)
    for place in () if limits.is_read_only else limits.pinned:  # mount points cannot be renamed
        yield from ("--bind", place, place)
    for place in () if limits.is_read_only else limits.guarded:
        yield from ("--ro-bind", place, place)
    for place in filter(limits.can_read, limits.hidden):
        yield from ("--tmpfs", place)
    for place in filter(limits.can_read, limits.hidden_files):
        yield from ("--ro-bind", "/dev/null", place)
    yield from ("--chdir", folder, "--")
    if _may_end_by_itself(sandbox, limits):
        yield from (sandbox.env, "--default-signal=TERM")
    yield from (sandbox.shell, "-c", command)


def _may_end_by_itself(sandbox: Sandbox, limits: SandboxLimits) -> bool:
    """Return whether to make bubblewrap ignore SIGTERM, so that a stopped command gets time to exit by itself.

    A read-only command gets no time, because it has nothing to finish. So it runs without `env` and starts
    faster.
    """
    return sandbox.kind == "bubblewrap" and bool(sandbox.env) and not limits.is_read_only


_LINKS_OF_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders that are links on many systems. They are not in `readable`, which has no links."""
_KERNEL_SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")


def seatbelt_profile(limits: SandboxLimits) -> str:
    """Return the seatbelt profile. In a profile, the last matching rule applies."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    writable = () if limits.is_read_only else (*limits.writable, limits.temporary)
    lines += [f"(allow file-write* (subpath {_quote(place)}))" for place in writable]
    lines += [
        f"(allow file-write* (literal {_quote(place)}))"
        for place in ("/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/tty")
    ]
    guarded = (*limits.guarded, *limits.absent)  # a profile may name paths that do not exist
    lines += [f"(deny file-write* (subpath {_quote(place)}))" for place in guarded]
    lines += [f"(deny file-write* (literal {_quote(link)}))" for link, _ in limits.links]
    lines += [
        f"(deny file-read* file-write* (subpath {_quote(place)}))"
        for place in (*limits.hidden, *limits.hidden_files)
    ]
    if not limits.network:
        lines.append("(deny network*)")
    if limits.is_read_only:
        lines += ["(deny signal)", "(allow signal (target same-sandbox))", "(deny mach-priv*)"]
        lines += ["(deny process-info-pidinfo)", "(allow process-info-pidinfo (target same-sandbox))"]
        lines += ["(deny ipc-posix-shm-write*)", "(deny ipc-sysv*)", "(deny appleevent-send)"]
    return "\n".join(lines)


def _quote(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
