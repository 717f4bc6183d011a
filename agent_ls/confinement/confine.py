"""Confine the calling thread and everything that it starts, permanently.

Landlock restricts files, signals and abstract sockets; seccomp restricts what Landlock does not cover. Other
threads of the process are not affected, so a process can start a confined child from a separate thread.
"""

from __future__ import annotations

import ctypes
import os
import struct

from agent_ls.confinement import landlock, seccomp
from agent_ls.confinement.calls import MACHINE, check_result, libc
from agent_ls.confinement.wanted import Confinement

_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _CLEAR_ALL = 38, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_READ_ANYTHING = 1 << 2
_KEPT_OF_ROOT = 0b1101_1111
"""Capabilities (bits) that a process of root keeps if the confinement allows writing: change owners, ignore
permission bits, act as the owner of a file, keep set-id bits, setuid and setgid.
"""


def unavailable() -> str:
    """Return the reason why this system cannot confine a process, "" if there is none."""
    if MACHINE is None:
        return f"the system call numbers of {os.uname().machine} machines are unknown to agent-ls"
    try:
        version = landlock.version()
    except OSError:
        return "the kernel has no Landlock"
    if version < landlock.OLDEST:
        return (
            f"the kernel has Landlock version {version}, but version {landlock.OLDEST} (Linux 6.2) is needed"
        )
    return ""


def confine(confinement: Confinement, *, terminal: str = "", newest: int = landlock.NEWEST) -> None:
    """Enforce `confinement` on the calling thread.

    `terminal` is the terminal device that a read-only command may write to. `newest` is the
    highest version of Landlock to use.

    Raises:
        OSError: this system cannot enforce the limits. After that, the thread must not be used any more.
    """
    if why := unavailable():
        raise OSError(why)
    version = min(landlock.version(), newest)
    with landlock.Ruleset(
        version,
        writable=confinement.writable,
        hidden=confinement.hidden,
        readable=confinement.readable,
        own_devices=(terminal,) if confinement.is_read_only else None,
        keeps_sockets_out=not confinement.network,
    ) as ruleset:
        check_result(libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _drop_capabilities(_READ_ANYTHING if confinement.is_read_only else _KEPT_OF_ROOT)
        ruleset.enforce()
    seccomp.enforce(
        network=confinement.network,
        is_read_only=confinement.is_read_only,
        # If Landlock of this kernel cannot confine signals, seccomp can only forbid all signals. Signals are
        # forbidden only for read-only commands, because builds must signal their own children.
        scopes_signals=version >= landlock.SCOPES or not confinement.is_read_only,
    )


def _drop_capabilities(kept: int) -> None:
    """Drop capabilities except `kept` permanently: with no_new_privs, programs started by root cannot regain
    them.
    """
    assert MACHINE
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    data = ctypes.create_string_buffer(24)
    check_result(libc().syscall(MACHINE.capget, header, data))
    words = struct.unpack("6I", data.raw)
    # words[1] contains the lower 32 permitted capabilities; the upper 32 (performance, BPF, …) are all dropped
    low = words[1] & kept
    libc().prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    check_result(libc().syscall(MACHINE.capset, header, struct.pack("6I", low, low, 0, 0, 0, 0)))
