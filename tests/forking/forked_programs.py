"""Start the programs of this repository by a fork of a process that has imported them already (Linux).

Importing agent-ls takes longer than most tests. `install` replaces the function by which
`subprocess` starts programs. `python -m agent_ls …` and the programs in `tests/support` are then forked from a process
that runs fork_parent.py, one for each kind of program. The new process has its own pid, is a child of the test
process, and has the same arguments, variables, folder, descriptors, session and signals as without a fork.
Other programs, and the first start of each kind, are started as usual.

AGENT_LS_TESTS_FORK=0: start all programs as usual. Tests of the start itself use `real_starts`.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.forking import fork_parent
from tests.forking.fork_parent import (
    PADDING,
    PADDING_BYTES,
    REPOSITORY,
    Request,
    encode,
    take_terminal,
    variable_lines,
)

_PR_SET_CHILD_SUBREAPER = 36
_MODULES = ("agent_ls", "tests.support.wire_server", "tests.forking.process_facts")
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC", "GLIBC", "TZ", "SSL", "OPENSSL")
"""Prefixes of variables that the interpreter reads at its start: each combination of values needs its own parent."""
_SET_BY_FORK = ("PYTHONDONTWRITEBYTECODE",)
_MOST_PARENTS = 6

_Key = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class _Start:
    """The arguments of `_posixsubprocess.fork_exec`, with the names that they have in CPython."""

    args: Sequence[Any]
    executables: tuple[bytes, ...]
    close_fds: bool
    pass_fds: tuple[int, ...]
    cwd: Any
    env: Sequence[bytes] | None
    p2cread: int
    p2cwrite: int
    c2pread: int
    c2pwrite: int
    errread: int
    errwrite: int
    errpipe_read: int
    errpipe_write: int
    restore_signals: bool
    start_new_session: bool
    process_group: int
    gid: Any
    groups: Any
    uid: Any
    umask: int
    preexec_fn: Any
    allow_vfork: bool = True

    def request(self) -> tuple[_Key, Request, list[int]] | None:
        """Return the kind of program, the request for its parent, and the descriptors to send.

        None if a fork cannot replace this start, because of the program or the arguments.
        """
        is_plain = (
            self.close_fds
            and self.preexec_fn in (None, take_terminal)
            and (self.gid, self.groups, self.uid) == (None, None, None)
            and self.umask < 0
            and self.executables == (os.fsencode(sys.executable),)
        )
        words = [os.fsdecode(word) for word in self.args]
        if not is_plain or len(words) < 3 or words[1] != "-m" or words[2] not in _MODULES:
            return None
        folder = os.fsdecode(self.cwd or os.getcwd())
        given = os.environb.items() if self.env is None else (entry.split(b"=", 1) for entry in self.env)
        variables = {os.fsdecode(name): os.fsdecode(value) for name, value in given}
        if not os.access(folder, os.X_OK) or variables.get("PYTHONPATH") != REPOSITORY:
            return None
        shown = encode(words), encode(variable_lines(variables))
        if any(len(text) > PADDING_BYTES for text in shown):
            return None
        kept = [number for number in self.pass_fds if number != self.errpipe_write]
        sent = [
            0 if self.p2cread < 0 else self.p2cread,
            1 if self.c2pwrite < 0 else self.c2pwrite,
            2 if self.errwrite < 0 else self.errwrite,
            *kept,
        ]
        request = Request(
            words[3:],
            variables,
            folder,
            self.start_new_session,
            self.process_group,
            self.preexec_fn is take_terminal,
            [0, 1, 2, *kept],
        )
        word = next((word for word in request.arguments if not word.startswith("-")), "")
        read = {n: v for n, v in variables.items() if n.startswith(_READ_AT_START) and n not in _SET_BY_FORK}
        kind = "serve" if word == "serve" else "other"
        return (words[2], kind, tuple(sorted(read.items()))), request, sent


class _Parent:
    """A running process of fork_parent.py, which forks one kind of program."""

    def __init__(self, key: _Key) -> None:
        module, kind, variables = key
        self.forks = 0
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        padding = "x" * PADDING_BYTES
        command = [sys.executable, fork_parent.__file__, str(theirs.fileno()), module, kind, padding]
        environ = {"PATH": os.environ["PATH"], PADDING: padding, **dict(variables)}
        with theirs:
            self._process = subprocess.Popen(
                command, env=environ, cwd=REPOSITORY, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )

    def start(self, request: Request, descriptors: list[int]) -> int:
        """Return the pid of the new process."""
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._connection, [pickle.dumps(tuple(request))], descriptors)
            answer = self._connection.recv(4)
        finally:
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        if len(answer) < 4:
            raise AssertionError(f"the process that forks programs has ended: {self._process.wait()}")
        self.forks += 1
        return int(struct.unpack("i", answer)[0])


_parents: dict[_Key, _Parent] = {}
_seen: set[_Key] = set()
_lock = threading.Lock()
_is_real = False
_files = (0, 0)


def install() -> None:
    """Let `subprocess` start the programs of this repository by a fork, for the rest of this process."""
    if sys.platform != "linux" or os.environ.get("AGENT_LS_TESTS_FORK") == "0":
        return
    real = getattr(subprocess, "_fork_exec", None)
    if real is None:
        return

    def fork_exec(*arguments: Any) -> int:
        pid = 0 if _is_real else _forked(_Start(*arguments))
        return pid or int(real(*arguments))

    global _files
    _files = _files_limit()
    vars(fork_exec)["forks_programs"] = True
    vars(subprocess)["_fork_exec"] = fork_exec


def is_installed() -> bool:
    """Return whether programs of this process are started by a fork."""
    return bool(getattr(vars(subprocess).get("_fork_exec"), "forks_programs", False))


def forks_of(module: str) -> int:
    """Return how often this program was forked so far."""
    return sum(parent.forks for key, parent in _parents.items() if key[0] == module)


@contextmanager
def real_starts() -> Iterator[None]:
    """Start every program by a new interpreter, as users do."""
    global _is_real
    before, _is_real = _is_real, True
    try:
        yield
    finally:
        _is_real = before


def _forked(start: _Start) -> int:
    """Start the program by a fork and return its pid; 0 if it must be started as usual."""
    found = start.request()
    if not found or _ignores_signals():
        return 0
    key, request, descriptors = found
    with _lock:
        if key not in _seen or (key not in _parents and len(_parents) >= _MOST_PARENTS):
            _seen.add(key)
            return 0
        if key not in _parents:
            _parents[key] = _Parent(key)
        return _parents[key].start(request, descriptors)


def _ignores_signals() -> bool:
    """Return whether a new process would inherit ignored or blocked signals, or another limit of open files."""
    ended_by = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    is_changed = _files_limit() != _files or any(signal.getsignal(it) is signal.SIG_IGN for it in ended_by)
    return is_changed or bool(signal.pthread_sigmask(signal.SIG_BLOCK, ()))


def _files_limit() -> tuple[int, int]:
    import resource  # does not exist on Windows

    return resource.getrlimit(resource.RLIMIT_NOFILE)
