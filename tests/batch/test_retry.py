from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.batch.play import batch, results, write_manifest
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
