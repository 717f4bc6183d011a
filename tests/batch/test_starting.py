"""Processes of attempts: forked by a program that has imported the modules, or started as programs."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from agent_ls.batch import starting
from agent_ls.batch.starting import AttemptFiles, AttemptProcess, AttemptStarter
from agent_ls.cli.batch_starter import Warmth
from tests.support.commands import environment
from tests.support.processes import eventually

pytestmark = [
    pytest.mark.req("X12"),
    pytest.mark.skipif(sys.platform == "win32", reason="a lock is inherited in another way there"),
]

if sys.platform != "win32":
    import fcntl

FORKED = pytest.param(True, marks=pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd"))


class Rig:
    """Starts attempts in a folder, each with an output file and an error file of its own."""

    def __init__(self, folder: Path, starter: AttemptStarter) -> None:
        self.folder = folder
        self.starter = starter
        self.lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.count = 0

    async def start(self) -> AttemptProcess:
        self.count += 1
        with (self.folder / f"{self.count}.out").open("wb") as out, self.errors().open("wb") as errors:
            return await self.starter.start(AttemptFiles(out, errors, self.lock))

    def errors(self) -> Path:
        return self.folder / f"{self.count}.err"

    async def exec(self, *arguments: str) -> int:
        process = await self.start()
        words = ["exec", "--json", "--cd", str(self.folder), *arguments]
        await process.send(json.dumps({"arguments": words}).encode() + b"\n")
        code = await process.wait()
        await process.kill()
        return code

    def is_locked(self) -> bool:
        other = os.open(self.folder / "lock", os.O_RDWR)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(other)
        return False


@pytest.fixture(params=[FORKED, False], ids=["forked", "started"])
def is_forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(starting, "_can_fork", lambda: False)
    return bool(request.param)


@pytest.fixture
async def rig(tmp_path: Path, is_forked: bool) -> AsyncIterator[Rig]:
    environ = {**environment(tmp_path / "home"), "PYTHONPROFILEIMPORTTIME": "1"}
    async with AttemptStarter(environ) as starter:
        yield Rig(tmp_path, starter)


async def test_an_attempt_ends_with_the_exit_code_of_exec(rig: Rig) -> None:
    assert await rig.exec("--provider", "walkthrough", "go") == 0
    assert b"processing_end" in (rig.folder / "1.out").read_bytes()
    assert await rig.exec("--provider", "none-of-this-name", "go") == 2


async def test_the_events_of_an_attempt_begin_with_the_start_of_the_session(rig: Rig) -> None:
    """Also of a later one, whose session begins before the output can be prepared."""
    for number in (1, 2):
        assert await rig.exec("--provider", "walkthrough", "go") == 0
        first, *_ = (rig.folder / f"{number}.out").read_text().splitlines()
        assert (json.loads(first)["kind"], json.loads(first)["seq"]) == ("session_start", 1)


@pytest.mark.req("L5")
async def test_the_second_forked_attempt_imports_no_module_that_the_first_has_imported(
    rig: Rig, is_forked: bool
) -> None:
    imported = []
    for _ in range(2):
        await rig.exec("--provider", "walkthrough", "go")
        lines = rig.errors().read_text().splitlines()
        imported.append({line.split("|")[-1].strip() for line in lines if line.startswith("import time:")})
    assert len(imported[0]) > 10, "the rig sees imports"
    assert len({name for name in imported[1] if name.startswith("agent_ls.")}) == 0 or not is_forked


@pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd")
@pytest.mark.req("L5")
async def test_what_a_fork_has_built_is_built_in_the_process_that_forks(tmp_path: Path) -> None:
    """Else each attempt builds the methods and validators of the same classes: a third of its processor time."""
    program = """
import json, os
from agent_ls.lean_imports import make_lean
make_lean(speaks_lsp=False, forks=True)
from agent_ls.cli.batch_starter import Warmth
from agent_ls.loop.events import codec
from agent_ls.loop.events.types import Envelope, ProcessingEnd, Warning

def built_by_a_fork():
    reading, writing = os.pipe()
    if not os.fork():
        before = Warmth.now()
        codec.encode(Envelope("s", 1, "", Warning("careful"), "t", ""))
        from agent_ls.text import decode
        os.write(writing, Warmth.now().more_than(before).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        return Warmth.decode(file.read())

first = built_by_a_fork()
first.take_over()
second = built_by_a_fork()
print(json.dumps([[len(it.modules), len(it.methods), len(it.kinds)] for it in (first, second)]))
"""
    done = await anyio.run_process([sys.executable, "-c", program])
    first, second = json.loads(done.stdout)
    assert min(first[1:]) > 0
    assert second == [0, 0, 0]


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"other": []}'])
def test_a_damaged_report_of_a_fork_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # any message
        Warmth.decode(data)


async def test_an_attempt_whose_standard_input_is_closed_ends_and_holds_the_lock_until_then(rig: Rig) -> None:
    process = await rig.start()
    os.close(rig.lock)
    assert rig.is_locked()
    process.terminate()
    assert await process.wait() == -signal.SIGTERM
    assert not rig.is_locked()
    await process.kill()


async def test_a_killed_attempt_has_ended_before_kill_returns(rig: Rig) -> None:
    process = await rig.start()
    os.close(rig.lock)
    await process.kill()
    assert not rig.is_locked()
    assert await process.wait() == -signal.SIGKILL


async def test_a_request_that_is_larger_than_a_pipe_reaches_the_attempt(rig: Rig) -> None:
    assert await rig.exec("--provider", "walkthrough", "go" + " " * 300_000) == 0


async def test_a_wait_that_is_cancelled_can_be_repeated(rig: Rig) -> None:
    process = await rig.start()
    with anyio.move_on_after(0):
        await process.wait()
    process.terminate()
    assert await process.wait() == -signal.SIGTERM
    await process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd")
async def test_attempts_start_and_end_after_the_program_that_forks_was_killed(tmp_path: Path) -> None:
    async with AttemptStarter(environment(tmp_path / "home")) as starter:
        rig = Rig(tmp_path, starter)
        running = await rig.start()
        os.close(rig.lock)
        assert starter._program
        os.kill(starter._program.pid, signal.SIGKILL)
        assert await running.wait() == -signal.SIGKILL, "counts as a crash, so that it is repeated"
        await running.kill()
        await eventually(lambda: not rig.is_locked())
        rig.lock = os.open(tmp_path / "other", os.O_CREAT | os.O_RDWR)
        assert await rig.exec("--provider", "walkthrough", "go") == 0
