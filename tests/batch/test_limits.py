from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from tests.batch.play import (
    batch,
    environ_of,
    json_lines,
    prompt_of,
    repository,
    results,
    write_a_file,
    write_manifest,
)
from tests.support.commands import finish, start
from tests.support.loopback import Answer, AnthropicServer, ErrorReply, Gate, Text
from tests.support.processes import eventually


def tasks_in(folder: Path, *ids: str, **fields: object) -> list[dict[str, object]]:
    folder.mkdir(exist_ok=True)
    return [{"id": name, "prompt": f"do-{name}", "folder": str(folder), **fields} for name in ids]


@pytest.mark.req("X12")
async def test_the_request_limit_applies_to_all_tasks_together(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path / "tasks.jsonl", tasks_in(tmp_path / "plain", "a", "b"))
    pace, taken = tmp_path / "runs" / ".pace", time.time() + 3000
    pace.parent.mkdir()
    pace.write_text(f"{taken:.3f}")

    def next_slot() -> float:
        return float(pace.read_text() or "0")

    with AnthropicServer(write_a_file) as server:
        arguments = ("--out", "runs", "--jobs", "2", "--requests-per-minute", "6")
        environ = environ_of(server, tmp_path / "home")
        runner = start("batch", str(manifest), *arguments, cwd=tmp_path, environ=environ)
        await eventually(lambda: next_slot() > taken + 19)  # both tasks wait for their slot
        for _ in range(2):
            runner.send_signal(signal.SIGINT)
        assert finish(runner).code == 130
        assert not server.requests
        assert next_slot() == pytest.approx(taken + 20, abs=0.1)
        pace.write_text("no number")
        done = batch(server, tmp_path, str(manifest), "--out", "runs", "--requests-per-minute", "6000")
        assert done.code == 0 and len(server.requests) == 4, done


@pytest.mark.req("X12")
def test_a_runner_runs_one_task_at_a_time_and_a_second_runner_skips_the_locked_task(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path / "tasks.jsonl", tasks_in(tmp_path / "plain", "a", "b"))
    gate = Gate()

    def answer(body: Mapping[str, Any]) -> Answer:
        return [Text("Wait.", gate)] if prompt_of(body) == "do-a" else "Done."

    with AnthropicServer(answer) as server:
        environ = environ_of(server, tmp_path / "home")
        first = start("batch", str(manifest), "--out", "runs", cwd=tmp_path, environ=environ)
        gate.wait_reached()
        assert len(server.requests) == 1
        second = start("batch", str(manifest), "--out", "runs", cwd=tmp_path, environ=environ)
        server.wait_for_requests(2)  # the second runner starts task b, because task a is locked
        gate.open()
        ends = [finish(first), finish(second)]
        assert [it.code for it in ends] == [0, 0], ends
        assert sorted(prompt_of(it.body) for it in server.requests) == ["do-a", "do-b"]
    assert len(json_lines(tmp_path / "runs" / "predictions.jsonl")) == 2


@pytest.mark.req("X12")
async def test_the_end_of_a_check_does_not_stop_the_agent_of_another_task(tmp_path: Path) -> None:
    checking, started = tmp_path / "checking", tmp_path / "started"
    check = f"touch {checking}; until test -e {started}; do sleep 0.05; done"
    tasks = [
        *tasks_in(tmp_path / "plain", "a", check=check),
        *tasks_in(tmp_path / "plain", "b", "c"),  # c starts when b has ended, after the check of a began
    ]
    manifest, gates = write_manifest(tmp_path / "tasks.jsonl", tasks), {"do-b": Gate(), "do-c": Gate()}

    def answer(body: Mapping[str, Any]) -> Answer:
        gate = gates.get(prompt_of(body))
        return [Text("Wait.", gate)] if gate else "Done."

    with AnthropicServer(answer) as server:
        environ = environ_of(server, tmp_path / "home")
        runner = start("batch", str(manifest), "--out", "runs", "--jobs", "2", cwd=tmp_path, environ=environ)
        await eventually(checking.exists)
        gates["do-b"].open()
        await to_thread.run_sync(gates["do-c"].wait_reached)
        started.touch()
        await eventually((tmp_path / "runs/tasks/a/attempt-1/result.json").exists)
        gates["do-c"].open()
        done = await to_thread.run_sync(finish, runner)
    assert done.code == 0 and results(tmp_path / "runs")["c"]["attempt"] == 1, done


@pytest.mark.req("X12")
def test_interrupted_runner_ends_its_tasks_and_the_next_run_repeats_them(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path / "tasks.jsonl", tasks_in(tmp_path / "plain", "a", "b"))
    gate = Gate()
    answers: list[Answer] = [[Text("Wait.", gate)], "Done.", "Done."]
    with AnthropicServer(answers, allow_violations=True) as server:
        environ = environ_of(server, tmp_path / "home")
        runner = start("batch", str(manifest), "--out", "runs", cwd=tmp_path, environ=environ)
        gate.wait_reached()
        runner.send_signal(signal.SIGINT)
        assert runner.stdout
        while "stopping" not in (line := runner.stdout.readline()):
            assert line
        runner.send_signal(signal.SIGINT)
        ended = finish(runner)
        assert ended.code == 130 and "Traceback" not in ended.err, ended
        assert not results(tmp_path / "runs")
        done = batch(server, tmp_path, str(manifest), "--out", "runs")
        assert done.code == 0 and "attempt is repeated" in done.out, done
    assert (tmp_path / "runs/tasks/a/attempt-1.lost/task.json").exists()


@pytest.mark.req("X12")
def test_each_kind_of_task_failure_has_a_status_and_an_error_message(tmp_path: Path) -> None:
    repository(tmp_path / "project")
    plain = tmp_path / "plain"
    tasks: list[dict[str, object]] = [
        *tasks_in(plain, "refused", mode="ask"),
        *tasks_in(plain, "wrong-key"),
        *tasks_in(plain, "slow", maxSeconds=2),
        *tasks_in(plain, "endless-check", check="sleep 600", checkSeconds=0.2),
        {"id": "no-commit", "prompt": "do-it", "repo": "project", "commit": "f" * 40},
    ]
    manifest = write_manifest(tmp_path / "tasks.jsonl", tasks)

    def answer(body: Mapping[str, Any]) -> Answer:
        match prompt_of(body):
            case "do-wrong-key":
                return ErrorReply(401)
            case "do-slow":
                return [Text("Wait.", Gate())]
        return write_a_file(body)

    with AnthropicServer(answer, allow_violations=True) as server:
        done = batch(server, tmp_path, str(manifest), "--out", "runs", "--jobs", "3", "--json")
    assert done.code == 1 and not done.err, done
    found = results(tmp_path / "runs")
    statuses = {name: result["status"] for name, result in found.items()}
    assert statuses == {
        "refused": "refused",
        "wrong-key": "failed",
        "slow": "timeout",
        "endless-check": "done",
        "no-commit": "failed",
    }, found
    assert "key" in found["wrong-key"]["error"].lower() and "no revision" in found["no-commit"]["error"]
    assert found["endless-check"]["check"]["timedOut"] and not found["endless-check"]["isSuccess"]
