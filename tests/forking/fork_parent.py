"""The parent of forked programs: a process that has imported the modules of a program, and forks for each start of it.

Run as a script by tests/forking/forked_programs.py. Each request on its socket holds the descriptors of the new
process, and a pickled `Request`; the answer is the new process's pid.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import os
import pickle
import runpy
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

REPOSITORY = str(Path(__file__).resolve().parents[2])
PADDING = "AGENT_LS_TESTS_PADDING"
PADDING_BYTES = 32768
"""Memory for the arguments, and for the variables, of a new process, where `ps` and /proc read them."""
MOST_BYTES = 4 * PADDING_BYTES
MOST_DESCRIPTORS = 16
_ARGUMENTS_AT, _VARIABLES_AT = 45, 47
"""Positions in /proc/self/stat, after the name, of the start addresses. The next field has the end address."""

_OF_ALL = (
    "doctor",
    "environments",
    "features",
    "llm",
    "loop",
    "policy",
    "profiles",
    "services",
    "sessions",
    "store",
    "tools",
)
_OF_SERVER = ("server",)
_OF_COMMANDS = ("acp", "cli", "headless")
_OTHER_MODULES = (
    "agent_ls.cli.main",
    "agent_ls.cli.output",
    "agent_ls.cli.acp",
    "agent_ls.cli.exec",
    "agent_ls.cli.serve",
    "agent_ls.cli.sessions",
    "agent_ls.confinement.confine",
    "agent_ls.mcp",
    "anyio._backends._asyncio",
    "anyio._core._fileio",
    "anyio._core._subprocesses",
    "certifi",
    "encodings.ascii",
    "encodings.utf_8_sig",
    "h11",
    "pathspec",
    "resource",
)

_READ_MESSAGES = (
    "ApplyWorkspaceEditResponse",
    "DidChangeTextDocumentNotification",
    "DidOpenTextDocumentNotification",
    "DidSaveTextDocumentNotification",
    "ResponseErrorMessage",
    "ShowMessageResponse",
    "WorkDoneProgressCreateResponse",
)
_WRITTEN_MESSAGES = (
    "ApplyWorkspaceEditRequest",
    "ConfigurationRequest",
    "ProgressNotification",
    "ShowMessageNotification",
    "ShowMessageRequest",
    "WorkDoneProgressBegin",
    "WorkDoneProgressCreateRequest",
    "WorkDoneProgressEnd",
    "WorkDoneProgressReport",
)


class Request(NamedTuple):
    arguments: list[str]
    """The arguments after `python -m MODULE`."""
    variables: dict[str, str]
    folder: str
    starts_session: bool
    group: int
    """The process group to join. 0: a new group; -1: the group of the parent."""
    takes_terminal: bool
    kept: list[int]
    """The numbers that the sent descriptors get in the new process."""


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    module, is_server = sys.argv[2], sys.argv[3] == "serve"
    sys.path[0] = REPOSITORY
    os.environ.pop(PADDING)
    preload(module, is_server)
    gc.collect()
    gc.freeze()
    while True:
        data, sent, _, _ = socket.recv_fds(connection, MOST_BYTES, MOST_DESCRIPTORS)
        if not data:
            os._exit(0)
        request = Request(*pickle.loads(data))
        pid = fork()
        if not pid:
            break
        for descriptor in sent:
            os.close(descriptor)
        connection.sendall(struct.pack("i", pid))
    connection.detach()
    take_descriptors(sent, request.kept)
    become(module, request)
    run(module)


def run(module: str) -> None:
    """Run the module as `python -m` does, then end this process without freeing the modules.

    Freeing the modules that the parent has imported would first copy their memory, which takes 55 ms of CPU time.
    """
    code = 0
    try:
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]  # the function that `python -m` calls
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise  # the interpreter prints the text
        code = end.code or 0
    # Do what the interpreter does at its end, in the same order, up to the freeing of modules.
    threading._shutdown()  # type: ignore[attr-defined]  # waits for all threads except daemons
    atexit._run_exitfuncs()
    gc.collect()  # prints the warnings of objects that were never closed
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        sys.exit(code)  # the interpreter flushes again and reports the error
    os._exit(code & 0xFF)


def preload(module: str, is_server: bool) -> None:
    """Import the modules that the program would import, and build their caches, without running the program."""
    if module != "agent_ls":
        importlib.import_module(module)
        del sys.modules[module]  # `run` loads it again as __main__; the modules that it imported stay loaded
        return
    from agent_ls.lean_imports import make_lean

    make_lean(speaks_lsp=is_server, forks=True)
    for name in (*_OTHER_MODULES, *modules_below(*_OF_ALL, *(_OF_SERVER if is_server else _OF_COMMANDS))):
        with suppress(ModuleNotFoundError):  # modules of another system, or that need an optional package
            importlib.import_module(name)
    from agent_ls.loop.events import codec
    from agent_ls.services.models.service import make_profile

    for build in codec.builders():
        build()
    make_profile("anthropic", "claude-sonnet-4-5").registry.definitions()
    read_tables()
    finish_classes()
    if is_server:
        make_converters()
    else:
        from agent_ls.environments.remote.bundle import make_bundle

        make_bundle()


def read_tables() -> None:
    """Read the tables that a session needs: models, slash commands, names of tools, and what commands do."""
    from agent_ls.features.slash_commands import slash_commands
    from agent_ls.features.tools.yaml_tools import own_kinds_by_native_name, own_names
    from agent_ls.llm.catalog import known_models
    from agent_ls.policy.rules import general_id
    from agent_ls.policy.shell.grammar import parse

    known_models()
    slash_commands()
    own_names()
    own_kinds_by_native_name()
    general_id([("git", "status")])
    parse("true")


def modules_below(*packages: str) -> Iterator[str]:
    """Return the names of all modules in these packages of agent_ls that the program could import later."""
    for package in packages:
        for path in Path(REPOSITORY, "agent_ls", package).rglob("*.py"):
            names = path.relative_to(REPOSITORY).with_suffix("").parts
            if "sample_project" not in names:
                yield ".".join(names).removesuffix(".__init__")


def finish_classes() -> None:
    """Make the methods and validators of agent-ls that are made at their first use (lean_dataclasses.py, pydantic)."""
    from pydantic import BaseModel

    from agent_ls import lean_dataclasses

    lean_dataclasses.build(range(len(lean_dataclasses._deferred)))
    models = [BaseModel]
    while models:
        model = models.pop()
        models += model.__subclasses__()
        if model.__module__.startswith("agent_ls.") and not model.__pydantic_complete__:
            model.model_rebuild()


def make_converters() -> None:
    """Make the functions by which a server reads and writes the LSP messages of most tests."""
    from lsprotocol import types

    from agent_ls.server.transport.jsonrpc import plain_converter

    converter = plain_converter()
    for name in _READ_MESSAGES:
        converter.get_structure_hook(getattr(types, name))
    for name in _WRITTEN_MESSAGES:
        converter.get_unstructure_hook(getattr(types, name))


def fork() -> int:
    """Fork a process whose parent becomes the test process. Return its pid; 0 in the new process.

    The test process is a "subreaper" at this moment: when the process between the two ends, the system makes the
    test process the parent. The new process waits until that has happened.
    """
    reported, report = os.pipe()
    begin, let_begin = os.pipe()
    middle = os.fork()
    if not middle:
        pid = os.fork()
        if pid:
            os.write(report, struct.pack("i", pid))
            os._exit(0)
        os.close(let_begin)
        os.close(reported)
        os.close(report)
        os.read(begin, 1)
        os.close(begin)
        return 0
    os.close(report)
    (pid,) = struct.unpack("i", os.read(reported, 4))
    os.waitpid(middle, 0)
    for descriptor in (reported, begin, let_begin):
        os.close(descriptor)
    return int(pid)


def take_descriptors(sent: list[int], kept: list[int]) -> None:
    """Move the received descriptors `sent` to the numbers `kept`, and close all others."""
    above = max(*kept, *sent) + 1
    high = [os.dup2(descriptor, above + index) for index, descriptor in enumerate(sent)]
    for descriptor, number in zip(high, kept, strict=True):
        os.dup2(descriptor, number, inheritable=True)
    bounds = [-1, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for number, following in pairwise(bounds):
        if number + 1 < following:  # closerange(0, 0) would close all descriptors
            os.closerange(number + 1, following)


def become(module: str, request: Request) -> None:
    """Give this process the folder, arguments, variables and streams that a new interpreter would have."""
    if request.starts_session:
        os.setsid()
    if request.group >= 0:
        os.setpgid(0, request.group)
    if request.takes_terminal:
        take_terminal()
    os.chdir(request.folder)
    # The interpreter sets LC_CTYPE at its start if the locale is "C".
    coerced = {name: value for name, value in os.environ.items() if name == "LC_CTYPE"}
    os.environ.clear()
    os.environ.update(request.variables | coerced)
    words = [sys.executable, "-m", module, *request.arguments]
    _show(_ARGUMENTS_AT, words)
    _show(_VARIABLES_AT, variable_lines(request.variables))
    sys.argv = ["-m", *request.arguments]
    sys.orig_argv = words
    sys.path[0] = os.getcwd()
    sys.dont_write_bytecode = bool(request.variables.get("PYTHONDONTWRITEBYTECODE"))
    _open_standard_streams()
    if start_time := sys.modules.get("agent_ls.server.start_time"):
        vars(start_time)["STARTED_AT"] = time.time()


def take_terminal() -> None:
    """Make the standard input the terminal of this session."""
    import fcntl  # does not exist on Windows
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def encode(words: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def variable_lines(variables: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]


def _show(field: int, words: list[str]) -> None:
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    begin, end = int(fields[field]), int(fields[field + 1])
    text = encode(words)
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, text, len(text))


def _open_standard_streams() -> None:
    """Open stdin, stdout and stderr as the interpreter does at its start, with its rules for buffering."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        raw = io.FileIO(number, "w" if number else "r", closefd=False)
        vars(raw)["name"] = f"<{name}>"
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw) if number else io.BufferedReader(raw),
            before.encoding,
            before.errors,
            newline="\n",
            line_buffering=number == 2 or raw.isatty(),
            write_through=before.write_through,
        )
        vars(stream)["mode"] = raw.mode[:1]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    main()
