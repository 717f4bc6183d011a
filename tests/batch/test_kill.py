"""kill -9 of the runner at seeded points of its work: no result is made twice, and no task is lost."""

from __future__ import annotations

import os
import queue
import random
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.batch.play import (
    environ_of,
    json_lines,
    prompt_of,
    repository,
    results,
    work_folders,
    write_a_file,
    write_manifest,
)
from tests.support.commands import DEADLINE_S, start
from tests.support.environments import BARE_PYTHON
from tests.support.git import git
from tests.support.loopback import Answer, AnthropicServer
from tests.support.processes import eventually, new_token, processes_with

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
TASKS, KILLS = (200, 50) if IS_WHOLE else (3, 2)
STEPS = 3  # visible steps of a task: two requests to the model, and the line that reports its end
SEED = 19
STEP_S = 20 * DEADLINE_S if IS_WHOLE else DEADLINE_S  # a whole run may share its machine with others


class Steps:
    """A queue of the steps of all tasks. A test waits until a number of new steps has happened."""

    def __init__(self) -> None:
        self._steps: queue.SimpleQueue[str] = queue.SimpleQueue()

    def add(self, step: str) -> None:
        self._steps.put(step)

    def wait(self, count: int) -> None:
        for _ in range(count):
            if self._steps.get(timeout=STEP_S) == "end":
                return

    def clear(self) -> None:
        while not self._steps.empty():
            self._steps.get_nowait()


def follow_lines(file: Any, prefix: str, steps: Steps) -> threading.Thread:
    def read() -> None:
        for line in file:
            if prefix in line:
                steps.add(line)
        steps.add("end")

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


@pytest.mark.req("X12", "R4")
@pytest.mark.sweep
@pytest.mark.timeout(7200 if IS_WHOLE else 600)
@pytest.mark.parametrize(
    "is_remote",
    [False, pytest.param(True, marks=pytest.mark.sweep(only_whole=True))],
    ids=["here", "at a place"],
)
async def test_no_finished_task_is_repeated_or_lost_after_the_runner_is_killed_at_any_step(
    tmp_path: Path, is_remote: bool
) -> None:
    commit = repository(tmp_path / "project")
    checked = tmp_path / "checked"
    tasks = [
        {
            "id": f"t{number}",
            "prompt": f"do-{number}.",
            "repo": "project",
            "commit": commit,
            "check": f"echo t{number} >> {checked}; test -e new.txt",
        }
        for number in range(TASKS)
    ]
    manifest, out = write_manifest(tmp_path / "tasks.jsonl", tasks), tmp_path / "runs"
    steps, token, generator = Steps(), new_token(), random.Random(SEED)

    def answer(body: Any) -> Answer:
        steps.add("request")
        return write_a_file(body)

    with AnthropicServer(answer, allow_violations=True) as server:
        environ = environ_of(server, tmp_path / "home", TEST_TOKEN=token)
        on = ("--on", f"command:{tmp_path}:{BARE_PYTHON}") if is_remote else ()
        arguments = ("batch", str(manifest), "--out", str(out), "--jobs", "2", "--trust", *on)
        for _ in range(
            1 if is_remote and not IS_WHOLE else KILLS
        ):  # each start at a place takes twice as long
            before, asked = contents(out), len(server.requests)
            steps.clear()
            with start(*arguments, cwd=tmp_path, environ=environ) as runner:
                lines = follow_lines(runner.stdout, ": done", steps)
                steps.wait(generator.randrange(1, 2 * STEPS))
                runner.send_signal(signal.SIGKILL)
                runner.wait()
                lines.join()
            assert_untouched(before, out)
            repeated = {prompt_of(it.body) for it in server.requests[asked:]} & prompts_of(before)
            assert not repeated, f"tasks with a result were run again: {repeated}"
        asked, before = len(server.requests), contents(out)
        with start(*arguments, cwd=tmp_path, environ=environ) as runner:
            follow_lines(runner.stdout, ": ", steps).join()
            assert runner.wait() == 0
        assert_untouched(before, out)
        assert not {prompt_of(it.body) for it in server.requests[asked:]} & prompts_of(before)
    await eventually(lambda: not processes_with(token))

    found = results(out)
    assert sorted(found) == sorted(task["id"] for task in tasks)
    assert all(result["isSuccess"] for result in found.values()), found
    assert len(list(out.glob("tasks/*/attempt-*/result.json"))) == TASKS
    predictions = json_lines(out / "predictions.jsonl")
    assert sorted(it["instance_id"] for it in predictions) == sorted(found)
    assert all(f"+do-{it['instance_id'][1:]}." in it["model_patch"] for it in predictions)
    assert not work_folders(tmp_path)
    assert git(tmp_path / "project", "worktree", "list").count("\n") == 0


def contents(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in out.glob("tasks/*/attempt-*/result.json")}


def prompts_of(found: dict[Path, bytes]) -> set[str]:
    return {f"do-{path.parent.parent.name[1:]}." for path in found}


def assert_untouched(before: dict[Path, bytes], out: Path) -> None:
    now = contents(out)
    assert {path: now.get(path) for path in before} == before
