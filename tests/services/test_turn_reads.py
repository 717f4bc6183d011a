"""The reads at the start of a turn share one thread call, or need none."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ls.services.context.project_docs import YOUNG_NS
from agent_ls.services.turn_reads import MAX_AGE_NS, MAX_LOOKS, WARM_NS, TurnReads, require_thread
from tests.services.counting import CountingProvider
from tests.support.fake_provider import text
from tests.support.processes import eventually
from tests.support.session_rig import running

pytestmark = pytest.mark.req("L5")

TURNS = 6
THREADS = {("anyio/to_thread.py", "run_sync"): ""}


class Counter:
    """A read that returns how often it ran, and records its threads."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def prepare(self) -> Callable[[], int]:
        return self.read

    def read(self) -> int:
        self.threads.append(threading.get_ident())
        return len(self.threads)


async def test_all_reads_run_in_one_worker_thread_when_a_turn_begins() -> None:
    reads, one, other = TurnReads(), Counter(), Counter()
    first, second = reads.add(one.prepare), reads.add(other.prepare)
    await reads.begin()
    assert one.threads == other.threads != [threading.get_ident()]
    assert (await first.get(), await second.get()) == (1, 1)
    assert len(one.threads) == len(other.threads) == 1


@pytest.mark.parametrize("why", ["used once", "of an earlier turn", "expired", "discarded"])
async def test_a_result_is_read_again_when_it_no_longer_counts(why: str) -> None:
    now_ns = 0
    reads, counter = TurnReads(lambda: now_ns), Counter()
    read = reads.add(counter.prepare)
    await reads.begin()
    match why:
        case "used once":
            assert await read.get() == 1
        case "of an earlier turn":
            await reads.begin()
        case "expired":
            now_ns = MAX_AGE_NS + 1
        case _:
            reads.discard()
    assert await read.get() == 2


async def test_a_read_can_use_the_result_of_an_earlier_read_in_the_same_worker_thread_call() -> None:
    reads, counter = TurnReads(), Counter()
    read = reads.add(counter.prepare)
    later = reads.add(lambda: read.get_from_this_call)
    await reads.begin()
    assert [await later.get(), await read.get()] == [1, 1]
    assert read.get_from_this_call() is None, "the thread call has ended"
    assert await later.get() is None, "it is the only read of its thread call"


async def test_a_failed_read_raises_only_for_the_caller_of_that_read() -> None:
    def fail() -> int:
        raise OSError("cannot be read")

    reads, counter = TurnReads(), Counter()
    failing, read = reads.add(lambda: fail), reads.add(counter.prepare)
    await reads.begin()
    assert await read.get() == 1
    with pytest.raises(OSError, match="cannot be read"):
        await failing.get()


@pytest.fixture(params=[8, 0], ids=["a disk", "a network"])
def is_on_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Let all files be on a disk of this machine, or on none."""
    monkeypatch.setattr(os, "major", lambda device: request.param)
    return bool(request.param) and sys.platform == "linux"


def _looking(path: Path, now_ns: Callable[[], int] = time.monotonic_ns) -> tuple[TurnReads, Counter]:
    """Return reads that only look at one file, after their first run."""
    reads, counter = TurnReads(now_ns), Counter()
    reads.add(counter.prepare, lambda: [str(path)])
    return reads, counter


@pytest.mark.parametrize("name", ["there.txt", "missing.txt", "missing/missing.txt"])
async def test_reads_that_only_look_at_near_files_need_a_thread_only_once(
    name: str, tmp_path: Path, is_on_disk: bool
) -> None:
    (tmp_path / "there.txt").touch()
    reads, counter = _looking(tmp_path / name)
    for _ in range(3):
        await reads.begin()
    first, *others = [thread == threading.get_ident() for thread in counter.threads]
    assert (first, others) == (False, [is_on_disk] * 2)


async def test_reads_use_a_thread_if_the_disk_was_not_asked_for_a_minute(
    tmp_path: Path, is_on_disk: bool
) -> None:
    now_ns = 0
    reads, counter = _looking(tmp_path, lambda: now_ns)
    await reads.begin()
    for step_ns in (WARM_NS, WARM_NS + 1):
        now_ns += step_ns
        await reads.begin()
    assert [thread == threading.get_ident() for thread in counter.threads] == [False, is_on_disk, False]


async def test_reads_use_a_thread_if_one_of_them_does_more_than_look(
    tmp_path: Path, is_on_disk: bool
) -> None:
    reads, counter = _looking(tmp_path)
    reads.add(lambda: require_thread, tuple)
    await reads.begin()
    await reads.begin()
    assert counter.threads[-1] != threading.get_ident()
    reads, counter = _looking(tmp_path)
    reads.add(Counter().prepare)
    for _ in range(2):
        await reads.begin()
    assert threading.get_ident() not in counter.threads


async def test_reads_use_a_thread_if_they_look_at_other_or_many_files(
    tmp_path: Path, is_on_disk: bool
) -> None:
    names = ["a"]
    reads, counter = TurnReads(), Counter()
    reads.add(counter.prepare, lambda: [str(tmp_path / name) for name in names])
    await reads.begin()
    names.append("b")
    await reads.begin()
    names += map(str, range(MAX_LOOKS))
    for _ in range(2):
        await reads.begin()
    assert threading.get_ident() not in counter.threads


async def test_a_turn_without_tools_makes_no_worker_thread_call(tmp_path: Path, is_on_disk: bool) -> None:
    """On a network, one thread call reads hooks, trust, project documents and the server files. The flush of the log
    waits until no turn follows.
    """
    model = CountingProvider(
        [text("Hello.")] * TURNS, {**THREADS, ("services/permissions/trust.py", "get_trust"): ""}
    )
    with model.counting():
        async with running(tmp_path, model=model, trusting="trusted") as rig:
            talk = await rig.talk("full")
            for _ in range(TURNS):
                await talk.say("go")
    # The first turns also gather facts.
    assert min(it["run_sync"] for it in model.rounds[1:]) == 1 - is_on_disk
    assert min(counted["get_trust"] for counted in model.rounds[1:]) == 1


async def test_the_first_message_makes_few_worker_thread_calls(tmp_path: Path) -> None:
    """Not one per file that may have instructions, and per folder that may begin a repository: about a hundred."""
    model = CountingProvider([text("Hello.")], THREADS)
    with model.counting():
        async with running(tmp_path, model=model, trusting="trusted") as rig:
            await (await rig.talk("full")).say("go")
    # About ten to open the session, eight for the message, and more of the background work on a slow machine.
    assert model.rounds[0]["run_sync"] <= 50


async def test_a_second_run_of_a_read_in_a_turn_needs_no_thread_either(
    tmp_path: Path, is_on_disk: bool
) -> None:
    reads, counter = TurnReads(), Counter()
    read = reads.add(counter.prepare, lambda: [str(tmp_path)])
    await reads.begin()
    assert [await read.get() for _ in range(3)] == [1, 2, 3]
    assert [thread == threading.get_ident() for thread in counter.threads] == [False, is_on_disk, is_on_disk]


@pytest.mark.req("T15")
async def test_the_prompt_contains_project_documents_that_a_hook_changed_in_the_same_turn(
    tmp_path: Path,
) -> None:
    """The document is old enough for a reliable file signature, so that it is not read again in each turn."""
    async with running(tmp_path, [text("Hello.")] * 3, trusting="trusted") as rig:
        document = rig.folder / "AGENTS.md"
        document.write_text("Rule 1.")
        changed_ns = document.stat().st_ctime_ns
        command = f"if grep -q change; then echo 'Rule 2.' > '{document}'; fi"
        hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}
        rig.state.mkdir(exist_ok=True)
        (rig.state / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        await eventually(lambda: time.time_ns() > changed_ns + YOUNG_NS)
        talk = await rig.talk("full")
        for _ in range(2):
            await talk.say("go")
        assert "Rule 1." in rig.model.requests[-1].messages[0].text
        await talk.say("change it")
        assert "Rule 2." in rig.model.requests[-1].messages[0].text
