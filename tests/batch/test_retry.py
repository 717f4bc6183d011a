from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.batch.play import batch, results, write_manifest
from tests.support.commands import environment, run
from tests.support.first_runs import STOPPED, blocked
from tests.support.loopback import AnthropicServer, ErrorReply


@pytest.mark.req("X12", "R1")
def test_task_is_retried_after_a_provider_overload_but_not_after_a_wrong_api_key(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    task = {"id": "one", "prompt": "do-one", "folder": "plain"}
    manifest = write_manifest(tmp_path / "tasks.jsonl", [task])
    at_once = {"retry-after": "0"}
    with AnthropicServer([*[ErrorReply(529, headers=at_once)] * 3, "Done."]) as server:
        done = batch(server, tmp_path, str(manifest), "--out", "runs", "--json")
        count = len(server.requests)
    assert done.code == 0 and count == 4, done
    assert results(tmp_path / "runs")["one"]["attempt"] == 2
    first = json.loads((tmp_path / "runs/tasks/one/attempt-1/result.json").read_text())
    assert first["status"] == "failed" and first["isTransient"]
    assert [json.loads(line).get("id") for line in done.out.splitlines()] == ["one", None]
    with AnthropicServer([ErrorReply(401)]) as server:
        done = batch(server, tmp_path, str(manifest), "--out", "other")
    assert done.code == 1 and "next attempt" not in done.out, done


@pytest.mark.req("X12", "U8")
@pytest.mark.parametrize("name", STOPPED)
def test_a_task_that_cannot_begin_says_why_and_runs_again_when_the_cause_is_mended(
    name: str, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with blocked(name, plain) as state:
        task = {"id": "one", "prompt": "do-one", "folder": "plain", **state.choice}
        arguments = ("batch", str(write_manifest(tmp_path / "tasks.jsonl", [task])), "--out", "runs")
        environ = environment(tmp_path / "home", **state.variables)
        done = run(*arguments, "--attempts", "1", cwd=tmp_path, environ=environ)
        first, *_, last = [line.lower() for line in done.out.splitlines() if "starts" not in line]
        assert done.code == 1 and first.index(state.reason) < first.index(state.step), done
        assert "same command" in last and not results(tmp_path / "runs")["one"]["hasBegun"]
        state.mend()
        again = run(*arguments, "--attempts", "1", cwd=tmp_path, environ=environ)
    assert again.code == 0 and results(tmp_path / "runs")["one"]["isSuccess"], again


@pytest.mark.req("X12")
def test_work_folder_left_by_a_killed_runner_is_removed_by_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    task = {"id": "one", "prompt": "do-one", "folder": "plain"}
    manifest = write_manifest(tmp_path / "tasks.jsonl", [task])
    with AnthropicServer(["Done."]) as server:
        assert batch(server, tmp_path, str(manifest), "--out", "runs").code == 0
        (tmp_path / "runs/.work/one/plain").mkdir(parents=True)
        assert batch(server, tmp_path, str(manifest), "--out", "runs").code == 0
    assert not any((tmp_path / "runs/.work").iterdir())
