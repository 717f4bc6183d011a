"""Finds out what this machine can confine commands with, by trying: a sandbox that half works is none (X4)."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress

import anyio
from anyio import to_thread

from agent_ls.environments.local import landlock
from agent_ls.environments.local.session_trees import default_shell
from agent_ls.environments.walls import Kind, Sandbox, Walls, confined_argv

TRIAL_S = 10.0
INSTALL = "install bubblewrap (for example: apt install bubblewrap)"

# What is written to the first must not come to be, what is written to the second must; prints how many
# devices the network has, and whether there are sockets.
_TRIAL = """
echo x 2>/dev/null > {outside}
[ -w {root} ] && echo x > "$TMPDIR/trial"
grep -c : /proc/net/dev 2>/dev/null
{python} -I -S -c 'import socket; socket.socket(); print("socket")' 2>/dev/null; true
"""


async def find_sandbox(walls: Walls, use: str = "auto") -> tuple[Sandbox | None, str]:
    """The first that holds what `walls` say, or the one to `use`; else None and why not. Never raises."""
    reasons: list[str] = []
    for kind in _KINDS.get(sys.platform, ()):
        if use not in ("auto", kind):
            continue
        sandbox, why = await _candidate(kind)
        failure = await _failure(sandbox, walls) if sandbox else why
        if not failure:
            return sandbox, ""
        reasons.append(f"{kind}: {failure}")
    return None, "; ".join(reasons) or "this system has none that agent-ls knows"


_KINDS: dict[str, tuple[Kind, ...]] = {"linux": ("bubblewrap", "landlock"), "darwin": ("seatbelt",)}


async def _candidate(kind: Kind) -> tuple[Sandbox | None, str]:
    match kind:
        case "bubblewrap":
            if program := shutil.which("bwrap"):
                return Sandbox(kind, program, default_shell(), await _env()), ""
            return None, f"there is no bwrap on PATH; {INSTALL}"
        case "landlock":
            return Sandbox(kind, sys.executable, default_shell(), script=landlock.__file__), ""
        case "seatbelt":
            return Sandbox(kind, shutil.which("sandbox-exec") or "/usr/bin/sandbox-exec", default_shell()), ""


async def _env() -> str:
    """Coreutils from 8.31 on; others do not know how to ignore a signal."""
    program = shutil.which("env") or ""
    if not program:
        return ""
    code, _ = await _run([program, "--ignore-signal=TERM", program, "--default-signal=TERM", "true"])
    return program if code == 0 else ""


async def _failure(sandbox: Sandbox, walls: Walls) -> str:
    """What does not hold, "" when all does."""
    outside = await to_thread.run_sync(_outside, walls)
    try:
        trial = _TRIAL.format(
            outside=shlex.quote(outside or os.devnull),
            root=shlex.quote(walls.writable[0]),
            python=shlex.quote(sys.executable),
        )
        code, said = await _run(confined_argv(trial, sandbox, walls, walls.writable[0]))
        return await to_thread.run_sync(_judged, code, said, outside, walls)
    finally:
        if outside:
            await to_thread.run_sync(shutil.rmtree, os.path.dirname(outside), True)


def _outside(walls: Walls) -> str:
    """A file that could be written but for the walls, in a folder of its own; "" where there is no place for it."""
    for place in (os.path.expanduser("~"), os.path.dirname(walls.writable[0])):
        if any(os.path.commonpath((place, writable)) == writable for writable in walls.writable):
            continue
        with suppress(OSError):
            return os.path.join(tempfile.mkdtemp(prefix=".agent-ls-trial-", dir=place), "written")
    return ""


def _judged(code: int, said: str, outside: str, walls: Walls) -> str:
    inside = os.path.join(walls.temporary, "trial")
    if code != 0 or not os.path.exists(inside):
        return f"it does not start here ({' '.join(said.split())[:200] or f'exit code {code}'})"
    os.unlink(inside)
    if outside and os.path.exists(outside):
        return "it lets commands write outside"
    devices, _, socket = said.strip().partition("\n")
    if sys.platform == "linux" and not walls.network and devices not in ("0", "1") and socket:
        return "it does not keep commands from the network"
    return ""


async def _run(argv: Sequence[str]) -> tuple[int, str]:
    try:
        with anyio.fail_after(TRIAL_S):
            done = await anyio.run_process([*argv], check=False)
    except (OSError, TimeoutError) as error:
        return 127, str(error) or "it took too long"
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")
