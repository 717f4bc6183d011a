"""The system call filter, as a BPF program. It forbids sockets and system calls that Landlock does not check."""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterator, Sequence

from agent_ls.confinement.calls import MACHINE, check_result, libc

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _AND, _IS_EQUAL, _IS_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF_0000, 0x0005_0000
_NUMBER_AT, _MACHINE_AT = 0, 4
_X32 = 0x4000_0000  # first number of the x32 system calls, which x86_64 kernels also accept
_LAST_KNOWN = 469
"""The highest known number of a system call. For a read-only command, higher numbers return "not
implemented".
"""

Numbers = tuple[int, int]
"""The numbers of a system call on x86_64 and on aarch64; -1 if the machine type does not have the call."""

SOCKETS: tuple[Numbers, ...] = ((41, 198), (42, 203), (49, 200))  # socket, connect, bind
_SOCKETPAIR: Numbers = (53, 199)
_STREAM, _SEQPACKET = 1, 5
# io_uring can create sockets without the calls above
IO_URING: tuple[Numbers, ...] = ((425, 425), (426, 426), (427, 427))

KERNEL: tuple[Numbers, ...] = (
    (250, 219), (248, 217), (249, 218),  # keyctl, add_key, request_key
    (321, 280), (298, 241), (304, 265), (300, 262),  # bpf, perf_event_open, open_by_handle_at, fanotify_init
)  # fmt: skip
"""System calls that use the user's keys, or reach files by other means than the paths that Landlock checks."""

OTHERS: tuple[Numbers, ...] = (
    (101, 117), (310, 270), (311, 271), (440, 440), (448, 448), (312, 272), (438, 438),
    # ptrace, process_vm_readv, process_vm_writev, process_madvise, process_mrelease, kcmp, pidfd_getfd
    (256, 238), (279, 239),  # migrate_pages, move_pages
)  # fmt: skip
"""System calls that act on other processes."""

CHANGES: tuple[Numbers, ...] = (
    (90, -1), (91, 52), (268, 53), (452, 452),  # chmod, fchmod, fchmodat, fchmodat2
    (92, -1), (93, 55), (94, -1), (260, 54),  # chown, fchown, lchown, fchownat
    (132, -1), (235, -1), (261, -1), (280, 88),  # utime, utimes, futimesat, utimensat
    (188, 5), (189, 6), (190, 7), (463, 463),  # setxattr, lsetxattr, fsetxattr, setxattrat
    (197, 14), (198, 15), (199, 16), (466, 466), (469, 469),  # removexattr and its variants, file_setattr
    (133, -1), (259, 33),  # mknod, mknodat
    (165, 40), (166, 39), (155, 41), (161, 51),  # mount, umount2, pivot_root, chroot
    (428, 428), (429, 429), (430, 430), (431, 431), (432, 432), (433, 433), (442, 442), (467, 467),
    # open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, open_tree_attr
    (272, 97), (308, 268),  # unshare, setns
    (29, 194), (30, 196), (31, 195),  # shared memory of System V, which other processes can use too
    (68, 186), (69, 189), (70, 188), (71, 187),  # message queues of System V
    (64, 190), (65, 193), (66, 191), (220, 192),  # semaphores of System V
    (240, 180), (241, 181),  # mq_open, mq_unlink
    (103, 116), (170, 161), (171, 162), (164, 170), (227, 112), (159, 171), (305, 266),
    # syslog, sethostname, setdomainname, settimeofday, clock_settime, adjtimex, clock_adjtime
    (169, 142), (167, 224), (168, 225), (246, 104), (320, 294), (175, 105), (313, 273), (176, 106),
    # reboot, swapon, swapoff, kexec_load, kexec_file_load, init_module, finit_module, delete_module
    (179, 60), (443, 443), (163, 89), (172, -1), (173, -1), (153, 58), (323, 282),
    # quotactl, quotactl_fd, acct, iopl, ioperm, vhangup, userfaultfd
)  # fmt: skip
"""System calls that change something outside the process: files that need not be opened for writing, the
system, or other processes.
"""

SIGNALS: tuple[Numbers, ...] = ((200, 130), (234, 131), (129, 138), (297, 240), (424, 424))
"""System calls that send signals: tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal."""
_KILL: Numbers = (62, 129)
_FCNTL: Numbers = (72, 25)
_SET_OWNER = (8, 15)  # choose which process receives the signals of a file
_SET_LEASE = (1024,)  # makes other programs wait before they write to a file

OF_ANOTHER: tuple[tuple[Numbers, int], ...] = (
    ((302, 261), 0), ((203, 122), 0), ((142, 118), 0), ((144, 119), 0), ((314, 274), 0),
)  # fmt: skip
"""System calls that can act on another process: prlimit64, sched_setaffinity, sched_setparam,
sched_setscheduler, sched_setattr. Each has the index of the argument with the process id; the value 0 is the
calling process.
"""

PRIORITIES: tuple[tuple[Numbers, int], ...] = (((141, 140), 0), ((251, 30), 1))
"""setpriority and ioprio_set. Each has the value of the first argument that means one process.

With another value, the call acts on all processes of a group or user. The second argument 0 then means the
group or user of the caller.
"""

_CLONE: Numbers = (56, 220)
# A filter cannot read the flags of clone3, which are in memory. Therefore clone3 fails, and libraries then call
# clone.
_CLONE3 = 435
_NAMESPACES = 0x7E02_0000
_IOCTL: Numbers = (16, 29)
_OF_TERMINALS = 0x5400
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: insert input as if it were typed
_TERMINAL_SETTINGS = (0x541D, 0x5423, 0x5437)  # TIOCCONS, TIOCSETD, TIOCVHANGUP
_HARMLESS_IOCTLS = (0x8008_6601, 0x8004_6601, 0x801C_581F, 2, 0xC020_660B, 0x8004_5430, 0x4004_5431)
"""Numbers of the harmless ioctls: FS_IOC_GETFLAGS (64 and 32 bits), FS_IOC_FSGETXATTR, FIGETBSZ, FIEMAP,
TIOCGPTN, TIOCSPTLCK.
"""


def enforce(*, network: bool, is_read_only: bool, scopes_signals: bool) -> None:
    """Install the filter on the calling thread.

    Raises:
        OSError: the kernel refuses.
    """
    code = program(network=network, is_read_only=is_read_only, scopes_signals=scopes_signals)
    buffer = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    check_result(libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, described, 0, 0))


def program(*, network: bool, is_read_only: bool, scopes_signals: bool) -> bytes:
    """Return the filter program. `is_read_only`: the filter is for a read-only command.

    `scopes_signals`: the filter allows signals, usually because Landlock confines them.
    """
    assert MACHINE
    return b"".join(_steps(MACHINE.audit, MACHINE.column, network, is_read_only, scopes_signals))


def _steps(
    machine: int, column: int, network: bool, is_read_only: bool, scopes_signals: bool
) -> Iterator[bytes]:
    """Yield the instructions of the filter in order."""
    yield _load(_MACHINE_AT)
    yield from _fail_unless(_IS_EQUAL, machine, errno.ENOSYS)
    yield _load(_NUMBER_AT)
    yield from _if(_IS_AT_LEAST, _X32, errno.EPERM)
    if is_read_only:
        yield from _if(_IS_AT_LEAST, _LAST_KNOWN + 1, errno.ENOSYS)
        yield from _if(_IS_EQUAL, _CLONE3, errno.ENOSYS)
    if not network:
        yield from _refuse(SOCKETS, column, errno.ENETUNREACH)
        yield from _refuse(IO_URING, column, errno.EPERM)
        yield from _of_call(_SOCKETPAIR[column], _require_values(1, 0xF, (_STREAM, _SEQPACKET), errno.EPERM))
    yield from _refuse(KERNEL, column, errno.EPERM)
    for call, argument in OF_ANOTHER if is_read_only else OF_ANOTHER[:1]:
        yield from _of_call(call[column], _require_values(argument, 0xFFFF_FFFF, (0,), errno.EPERM))
    if not scopes_signals:
        yield from _refuse(SIGNALS, column, errno.EPERM)
        yield from _of_call(_KILL[column], _require_values(0, 0xFFFF_FFFF, (0,), errno.EPERM))
    refused = (*(() if scopes_signals else _SET_OWNER), *(_SET_LEASE if is_read_only else ()))
    if refused:
        yield from _of_call(_FCNTL[column], _refuse_values(1, refused, errno.EPERM))
    if is_read_only:
        for call, kind in PRIORITIES:
            is_process = b"".join((_load(_argument_at(0)), *_fail_unless(_IS_EQUAL, kind, errno.EPERM)))
            own = _require_values(1, 0xFFFF_FFFF, (0,), errno.EPERM)
            yield from _of_call(call[column], is_process + own)
        yield from _refuse((*OTHERS, *CHANGES), column, errno.EPERM)
        yield from _of_call(_CLONE[column], _require_values(0, _NAMESPACES, (0,), errno.EPERM))
        yield from _of_call(_IOCTL[column], _ioctls())
    else:
        yield from _of_call(_IOCTL[column], _refuse_values(1, _TERMINAL_INJECTION, errno.EPERM))
    yield _return_answer(_ALLOW)


def _ioctls() -> bytes:
    """Return instructions that allow ioctls of terminals and harmless queries, and refuse all others.

    Other ioctls, for example those of `chattr`, can change files that are open only for reading.
    """
    steps = [_load(_argument_at(1))]
    steps += [
        step for value in _HARMLESS_IOCTLS for step in (_jump(_IS_EQUAL, value, 0, 1), _return_answer(_ALLOW))
    ]
    for value in (*_TERMINAL_INJECTION, *_TERMINAL_SETTINGS):
        steps += _if(_IS_EQUAL, value, errno.EPERM)
    steps += [
        struct.pack("HBBI", _AND, 0, 0, 0xFF00),
        *_fail_unless(_IS_EQUAL, _OF_TERMINALS, errno.ENOTTY),
        _return_answer(_ALLOW),
    ]
    return b"".join(steps)


def _refuse(calls: Sequence[Numbers], column: int, error: int) -> Iterator[bytes]:
    for call in calls:
        if call[column] >= 0:
            yield from _if(_IS_EQUAL, call[column], error)


def _require_values(argument: int, mask: int, values: Sequence[int], error: int) -> bytes:
    """Return instructions that make the system call fail with `error` unless the masked argument is in
    `values`.
    """
    steps = [_load(_argument_at(argument)), struct.pack("HBBI", _AND, 0, 0, mask)]
    steps += [step for value in values for step in (_jump(_IS_EQUAL, value, 0, 1), _return_answer(_ALLOW))]
    return b"".join((*steps, _return_answer(_FAIL | error)))


def _refuse_values(argument: int, values: Sequence[int], error: int) -> bytes:
    """Return instructions that make the system call fail with `error` if the argument is one of `values`."""
    steps = [_load(_argument_at(argument))]
    for value in values:
        steps += _if(_IS_EQUAL, value, error)
    return b"".join((*steps, _return_answer(_ALLOW)))


def _of_call(number: int, steps: bytes) -> Iterator[bytes]:
    """Yield instructions that run `steps` only for the system call `number`. `steps` must end with a return."""
    yield _jump(_IS_EQUAL, number, 0, len(steps) // 8)
    yield steps


def _if(test: int, value: int, error: int) -> tuple[bytes, bytes]:
    return _jump(test, value, 0, 1), _return_answer(_FAIL | error)


def _fail_unless(test: int, value: int, error: int) -> tuple[bytes, bytes]:
    return _jump(test, value, 1, 0), _return_answer(_FAIL | error)


def _jump(test: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("HBBI", test, when_true, when_false, value)


def _load(offset: int) -> bytes:
    return struct.pack("HBBI", _LOAD, 0, 0, offset)


def _return_answer(answer: int) -> bytes:
    return struct.pack("HBBI", _RETURN, 0, 0, answer)


def _argument_at(index: int) -> int:
    """Return the offset of the lower 32 bits of an argument in the data of a system call.

    The lower bits come first, because the supported machines are little-endian.
    """
    return 16 + 8 * index
