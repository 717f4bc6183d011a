"""A program: confines itself by Landlock and seccomp (Linux), then becomes the command that it was given.

python -I -S landlock.py '{"writable": [...], "hidden": [...], "network": false}' PROGRAM ARGUMENT...

Standard library only; it knows nothing of agent-ls. Exit code 126, with a sentence on stderr, when it cannot confine.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import cache

REFUSED = 126

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all architectures
_RULE_PATH_BENEATH = 1

_READ_FILE, _READ_DIR, _EXECUTE = 1 << 2, 1 << 3, 1 << 0
_READING = _READ_FILE | _READ_DIR | _EXECUTE
_ON_FILES = _EXECUTE | 1 << 1 | _READ_FILE | 1 << 14 | 1 << 15
_ALL_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""What each version of Landlock can forbid. The third, of Linux 6.2, is the first that forbids truncating."""
OLDEST = 3

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm")

_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""How seccomp calls them, and the number of the call `socket`."""
_IO_URING_SETUP = 425  # it makes sockets without that call
_X32 = 0x4000_0000  # another set of numbers that x86_64 takes as well


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def main(arguments: Sequence[str]) -> None:
    wanted, *argv = arguments
    try:
        confine(**json.loads(wanted))
    except OSError as error:
        sys.stderr.write(f"Landlock cannot confine here: {error.strerror or error}\n")
        sys.exit(REFUSED)
    os.execvp(argv[0], argv)


def confine(*, writable: Sequence[str], hidden: Sequence[str], network: bool) -> None:
    """For good, with all that is started from here. Names below `hidden` may be listed; nothing there is opened.

    Raises:
        OSError: this system cannot.
    """
    version = _called(_libc().syscall(_CREATE_RULESET, None, 0, 1))
    if version < OLDEST:
        raise OSError(errno.ENOSYS, f"it is of version {version}, and {OLDEST} is needed")
    rights = _ALL_BY_VERSION[min(version, max(_ALL_BY_VERSION))]
    ruleset = _called(_libc().syscall(_CREATE_RULESET, struct.pack("Q", rights), 8, 0))
    _allow(ruleset, "/", _READ_DIR)
    for place in _without("/", hidden):
        _allow(ruleset, place, _READING)
    for place in (*writable, *_DEVICES):
        if any(inner.startswith(place.rstrip("/") + "/") for inner in hidden):
            raise OSError(errno.EINVAL, f"what is to be hidden lies below {place}, which is to be written")
        _allow(ruleset, place, rights)
    _called(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if not network:
        _close_network()
    _called(_libc().syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _without(top: str, left_out: Sequence[str]) -> Iterator[str]:
    """What lies below `top`, as few places as leave these out. Landlock can allow only."""
    inside = [place for place in left_out if place == top or place.startswith(top.rstrip("/") + "/")]
    if not inside:
        yield top
    elif top not in inside:
        try:
            names = os.listdir(top)
        except OSError:
            return
        for name in names:
            place = os.path.join(top, name)
            if not os.path.islink(place):  # where it leads is another place
                yield from _without(place, inside)


def _allow(ruleset: int, place: str, rights: int) -> None:
    try:
        descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # it is not there, or not for us
    try:
        allowed = rights if os.path.isdir(place) else rights & _ON_FILES
        rule = struct.pack("=Qi", allowed, descriptor)
        _called(_libc().syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


def _close_network() -> None:
    """No sockets at all: one of this machine may lead to a program that has the network, or more rights."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"the network of a {platform.machine()} cannot be closed")
    program = b"".join(_filter(*machine))
    code = ctypes.create_string_buffer(program, len(program))
    told = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _called(_libc().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, told, 0, 0))


def _filter(machine: int, socket: int) -> Iterator[bytes]:
    """Steps of a filter of system calls: code, how many steps to leave out when it fits and when not, and a value."""
    load, is_equal, is_over, give = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF_0000, 0x0005_0000
    number_at, machine_at = 0, 4
    yield struct.pack("HBBI", load, 0, 0, machine_at)
    yield struct.pack("HBBI", is_equal, 1, 0, machine)
    yield struct.pack("HBBI", give, 0, 0, refuse | errno.ENOSYS)
    yield struct.pack("HBBI", load, 0, 0, number_at)
    yield struct.pack("HBBI", is_over, 3, 0, _X32)
    yield struct.pack("HBBI", is_equal, 2, 0, _IO_URING_SETUP)
    yield struct.pack("HBBI", is_equal, 2, 0, socket)
    yield struct.pack("HBBI", give, 0, 0, allow)
    yield struct.pack("HBBI", give, 0, 0, refuse | errno.EPERM)
    yield struct.pack("HBBI", give, 0, 0, refuse | errno.ENETUNREACH)


def _called(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
