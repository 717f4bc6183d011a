"""Find a sandbox that works on this machine: run a trial command in each kind of sandbox.

A sandbox that fails a part of the trial is not used.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from agent_ls.confinement.wanted import Confinement
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local.processes.starting import run_confined
from agent_ls.environments.local.trees.session_trees import default_shell
from agent_ls.environments.sandbox import Kind, Sandbox, SandboxLimits, wrap_command
from agent_ls.program_lookup import find_program
from agent_ls.system import replace_file

TRIAL_S = 10.0
TOO_SLOW = "its test run took too long"
"""Part of the reason why a sandbox is not used, if its trial took longer than TRIAL_S seconds.

This happens on a busy machine, for example. A later trial may succeed.
"""
INSTALL = "install bubblewrap (for example: apt install bubblewrap)"

_TRIAL = """
import os, signal, socket, sys
outside, shared, parent = sys.argv[1:]
def attempt(name, act):
    try:
        act()
    except OSError:
        return
    print(name)
print("started")
attempt("outside", lambda: open(outside, "w"))
attempt("inside", lambda: open(os.path.join(os.environ["TMPDIR"], os.path.basename(shared)), "w"))
attempt("shared", lambda: open(shared, "w"))
attempt("modes", lambda: os.utime(os.path.dirname(outside)))
attempt("signals", lambda: os.kill(int(parent), 0))
attempt("sockets", lambda: socket.socket().connect(("127.0.0.1", 9)) if sys.platform == "darwin" else socket.socket())
"""
"""The trial command: tries allowed and forbidden operations, and prints the names of those that succeeded."""

_WORDS = {
    "outside": "it lets commands write outside of the allowed folders",
    "inside": "it lets commands write files",
    "shared": "it lets commands write to shared memory",
    "modes": "it lets commands change times of files",
    "signals": "it lets commands send signals to other processes",
    "sockets": "it lets commands use the network",
}


async def find_sandbox(limits: SandboxLimits, filters: str, use: str = "auto") -> tuple[Sandbox | None, str]:
    """Return the first sandbox that enforces `limits`, or None, and why each one before it is not used. Never raises.

    `use` is the kind of sandbox to try, "auto" for all kinds. `filters` is a private folder for files with
    system call filters.
    """
    return await to_thread.run_sync(_find_sandbox, limits, filters, use)


def _find_sandbox(limits: SandboxLimits, filters: str, use: str) -> tuple[Sandbox | None, str]:
    reasons: list[str] = []
    kinds = _LOOKING if limits.is_read_only else _KINDS
    for kind in kinds.get(sys.platform, ()):
        if use not in ("auto", kind):
            continue
        try:
            sandbox, why = _candidate(kind, filters)
        except OSError as error:
            sandbox, why = None, f"{filters} cannot be written: {error.strerror or error}"
        try:
            failure = _failure(sandbox, limits) if sandbox else why
        except OSError as error:  # a full disk has no folder for temporary files
            failure = f"it cannot be tried: {error.strerror or error}"
        if not failure:
            return sandbox, "; ".join(reasons)
        reasons.append(f"{kind}: {failure}")
    return None, "; ".join(reasons) or "this system has no sandbox that agent-ls supports"


_KINDS: Mapping[str, tuple[Kind, ...]] = {"linux": ("bubblewrap", "landlock"), "darwin": ("seatbelt",)}
_LOOKING: Mapping[str, tuple[Kind, ...]] = {"linux": ("landlock", "bubblewrap"), "darwin": ("seatbelt",)}
"""Sandboxes to try for read-only commands.

Landlock is first because it starts no additional program: read-only commands are many and short.
"""


def _candidate(kind: Kind, filters: str) -> tuple[Sandbox | None, str]:
    shell = default_shell()
    match kind:
        case "bubblewrap":
            if program := find_program("bwrap"):
                is_root = os.geteuid() == 0
                return Sandbox(kind, shell, program, _env(), _filters(filters), is_root), ""
            return None, f"there is no bwrap on PATH; {INSTALL}"
        case "landlock":
            from agent_ls.confinement.confine import unavailable  # Linux only

            why = unavailable()
            return (None, why) if why else (Sandbox(kind, shell), "")
        case "seatbelt":
            return Sandbox(kind, shell, "/usr/bin/sandbox-exec"), ""


def _filters(folder: str) -> tuple[str, str]:
    """Write two files with system call filters: for commands without network, and for read-only commands.

    Return their paths; both are "" on an unknown machine type.
    """
    from agent_ls.confinement.calls import MACHINE
    from agent_ls.confinement.seccomp import program

    if MACHINE is None:
        return "", ""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = []
    for name, is_read_only in (("network", False), ("looking", True)):
        path = os.path.join(folder, f"{name}.bpf")
        code = program(network=False, is_read_only=is_read_only, scopes_signals=True)
        replace_file(Path(path), code)
        found.append(path)
    return found[0], found[1]


def _env() -> str:
    """Return the path of an `env` that supports `--ignore-signal` (coreutils 8.31 or newer), "" if there is
    none.
    """
    program = find_program("env") or ""
    if not program:
        return ""
    code, _ = _run(
        [program, "--ignore-signal=TERM", program, "--default-signal=TERM", find_program("true") or ""]
    )
    return program if code == 0 else ""


def _failure(sandbox: Sandbox, limits: SandboxLimits) -> str:
    """Run the trial command. Return which limit the sandbox does not enforce, "" if it enforces all."""
    folder = limits.writable[0] if limits.writable else os.path.abspath(os.sep)
    outside = _make_outside_path(limits)
    shared = f"/dev/shm/agent-ls-trial-{uuid.uuid4().hex}"
    inside = os.path.join(limits.temporary or tempfile.gettempdir(), os.path.basename(shared))
    try:
        words = (outside or os.devnull, shared, str(os.getpid()))
        command = shlex.join((sys.executable, "-I", "-S", "-c", _TRIAL, *words))
        given = CommandOptions(env_vars={"TMPDIR": tempfile.gettempdir()})
        command, options = wrap_command(f"exec {command}", given, sandbox, limits, folder)
        code, said = _run([sandbox.shell, "-c", command], options.confinement, options.env_vars)
        could = set(said.split()) - ({"outside"} if not outside else set())
        return _judge_probe(code, said, could, limits)
    finally:
        if outside:
            shutil.rmtree(os.path.dirname(outside), ignore_errors=True)
        for path in (inside, shared):
            with suppress(OSError):
                os.unlink(path)


def _make_outside_path(limits: SandboxLimits) -> str:
    """Return a path in a new folder outside of `limits.writable`, "" if no such folder can be created."""
    for place in (os.path.expanduser("~"), *(os.path.dirname(place) for place in limits.writable[:1])):
        if any(os.path.commonpath((place, writable)) == writable for writable in limits.writable):
            continue
        with suppress(OSError):
            return os.path.join(tempfile.mkdtemp(prefix=".agent-ls-trial-", dir=place), "written")
    return ""


def _judge_probe(code: int, said: str, could: set[str], limits: SandboxLimits) -> str:
    wanted = {"started"} if limits.is_read_only else {"started", "inside"}
    if code != 0 or not wanted <= could:
        return f"it does not start on this machine ({' '.join(said.split())[:200] or f'exit code {code}'})"
    refused = {"outside"}
    if limits.is_read_only:
        refused |= {"inside", "modes", "signals"} | ({"shared"} if sys.platform == "linux" else set())
    if not limits.network:
        refused.add("sockets")
    return next((_WORDS[name] for name in _WORDS if name in refused & could), "")


def _run(
    argv: Sequence[str], confinement: Confinement | None = None, added: Mapping[str, str] | None = None
) -> tuple[int, str]:
    try:
        return run_confined(argv, {**os.environ, **(added or {})}, confinement, TRIAL_S)
    except subprocess.TimeoutExpired:
        return 127, TOO_SLOW
    except (OSError, subprocess.SubprocessError) as error:
        return 127, str(error) or type(error).__name__
