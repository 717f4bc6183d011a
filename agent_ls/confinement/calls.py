"""System call numbers, and other differences between the supported machine types."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import NamedTuple


class MachineType(NamedTuple):
    """A machine type. `audit` is the id of the machine type in seccomp filters.

    `column` is the index of its system call numbers in the tables of seccomp.py.
    """

    audit: int
    column: int
    capget: int
    capset: int


_MACHINES = {
    "x86_64": MachineType(0xC000003E, 0, 125, 126),
    "aarch64": MachineType(0xC00000B7, 1, 90, 91),
}
MACHINE = (
    _MACHINES.get(os.uname().machine) if hasattr(os, "uname") and os.uname().sysname == "Linux" else None
)
"""The machine type of this system; None if system calls cannot be filtered here."""


@cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def check_result(result: int) -> int:
    """Return `result`, the return value of a C function, or raise the error in errno.

    Raises:
        OSError: the function failed (`result` is negative).
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
