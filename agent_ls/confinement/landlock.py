"""Landlock rulesets. Landlock cannot forbid a path, so a ruleset lists all paths except the hidden ones."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator, Sequence

from agent_ls.confinement.calls import check_result, libc

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all architectures
_RULE_PATH_BENEATH = 1

OLDEST = 3
"""The oldest supported version of Landlock (Linux 6.2), the first that can forbid truncating files."""
SCOPES = 6
"""The first version of Landlock that confines signals and abstract sockets (Linux 6.12)."""
NEWEST = 7

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_READING = _READ_FILE | _READ_DIR | _EXECUTE
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NETWORK = 0b11  # binding and connecting by TCP
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2

_WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_READABLE_DEVICES = ("/dev/random", "/dev/urandom")
_SHARED_DEVICES = ("/dev/ptmx", "/dev/pts", "/dev/shm")


def version() -> int:
    """Return the kernel's version of Landlock.

    Raises:
        OSError: the kernel has no Landlock.
    """
    return check_result(libc().syscall(_CREATE_RULESET, None, 0, 1))


class Ruleset:
    """A ruleset that allows reading below `readable` except `hidden`, and writing below `writable`. A context
    manager. If `readable` is empty, everything else can be read.

    If `own_devices` is None, writing to the usual devices is allowed. Otherwise only `own_devices` and
    harmless devices such as /dev/null are allowed. `keeps_sockets_out` forbids TCP, and connections to abstract
    sockets of other processes, as far as Landlock `version` supports this.
    """

    def __init__(
        self,
        version: int,
        *,
        writable: Sequence[str],
        hidden: Sequence[str],
        readable: Sequence[str] = (),
        own_devices: Sequence[str] | None,
        keeps_sockets_out: bool,
    ) -> None:
        """Create the ruleset.

        Raises:
            OSError: a hidden path is below a writable path, or the kernel refuses the ruleset.
        """
        self._rights = (1 << (13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16)) - 1
        network = _NETWORK if keeps_sockets_out and version >= 4 else 0
        scopes = (_SIGNALS | (_ABSTRACT_SOCKETS if keeps_sockets_out else 0)) if version >= SCOPES else 0
        size = 24 if version >= SCOPES else 16 if version >= 4 else 8
        attributes = struct.pack("QQQ", self._rights, network, scopes)[:size]
        self._descriptor = check_result(libc().syscall(_CREATE_RULESET, attributes, size, 0))
        try:
            left_out = hidden if own_devices is None else (*hidden, "/dev")
            for top in readable or ("/",):
                self._allow(top, _READ_DIR)
                for place in list_paths_except(top, left_out):
                    self._allow(place, _READING)
            for place in (*_WRITABLE_DEVICES, *(_SHARED_DEVICES if own_devices is None else own_devices)):
                self._allow(place, self._rights)
            for place in _READABLE_DEVICES:
                self._allow(place, _READ_FILE)
            for place in writable:
                if any(inner.startswith(place.rstrip("/") + "/") for inner in hidden):
                    raise OSError(
                        errno.EINVAL, f"Landlock cannot hide a path inside the writable folder {place}"
                    )
                self._allow(place, self._rights)
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Ruleset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)

    def enforce(self) -> None:
        """Apply the ruleset to the calling thread.

        Raises:
            OSError: the kernel refuses.
        """
        check_result(libc().syscall(_RESTRICT_SELF, self._descriptor, 0))

    def _allow(self, place: str, rights: int) -> None:
        try:
            descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return  # the path does not exist, or is not accessible
        try:
            allowed = rights if os.path.isdir(place) else rights & _ON_FILES
            rule = struct.pack("=Qi", allowed, descriptor)
            if allowed:  # no right for folders applies to a file
                check_result(libc().syscall(_ADD_RULE, self._descriptor, _RULE_PATH_BENEATH, rule, 0))
        finally:
            os.close(descriptor)


def list_paths_except(top: str, left_out: Sequence[str]) -> Iterator[str]:
    """Yield as few paths as possible that together cover everything below `top` except `left_out`."""
    inside = [place for place in left_out if place == top or place.startswith(top.rstrip("/") + "/")]
    if not inside:
        yield top
    elif top not in inside:
        try:
            with os.scandir(top) as entries:
                # Skip symbolic links: Landlock checks the target of a link, and the target's own path covers it.
                places = [entry.path for entry in entries if not entry.is_symlink()]
        except OSError:
            return
        for place in places:
            yield from list_paths_except(place, inside)
