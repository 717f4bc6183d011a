from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch.play import (
    batch,
    json_lines,
    prompt_of,
    repository,
    results,
    write_a_file,
    write_manifest,
)
from tests.support.git import git
from tests.support.loopback import AnthropicServer


@pytest.mark.req("X12")
def test_tasks_in_a_repository_or_a_folder_produce_patches_check_results_and_predictions(
    tmp_path: Path,
) -> None:
    commit = repository(tmp_path / "project")
    (tmp_path / "project" / "a.py").write_text("x = 2\n")  # after the commit: not in the work tree
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "b.txt").write_text("b\n")
    passes, fails = (
        "grep -q do-one new.txt && grep -q 'x = 1' a.py && touch made.log",
        "env | grep test-key && exit 9; exit 7",
    )
    tasks: list[dict[str, object]] = [
        {
            "id": "one",
            "prompt": "do-one",
            "repo": "project",
            "commit": commit[:12],
            "check": passes,
            "tags": {"n": 1},
        },
        {"id": "two", "prompt": "do-two", "folder": "plain", "check": fails},
    ]
    manifest = write_manifest(tmp_path / "tasks.jsonl", tasks)
    with AnthropicServer(write_a_file) as server:
        done = batch(server, tmp_path, str(manifest), "--out", "runs", "--jobs", "2")
        assert len(server.requests) == 4, done
        again = batch(server, tmp_path, str(manifest), "--out", "runs", "--jobs", "2")
        assert len(server.requests) == 4, again

    assert done.code == again.code == 1, done
    found = results(tmp_path / "runs")
    assert found["one"]["status"] == found["two"]["status"] == "done", found
    assert (
        found["one"]["isSuccess"]
        and found["one"]["check"]["exitCode"] == 0
        and found["one"]["tags"] == {"n": 1}
    )
    assert not found["two"]["isSuccess"] and found["two"]["check"]["exitCode"] == 7
    assert found["one"]["requests"] == 2 and found["one"]["inputTokens"] > 0 and found["one"]["sessionId"]
    predictions = {it["instance_id"]: it for it in json_lines(tmp_path / "runs" / "predictions.jsonl")}
    assert sorted(predictions) == ["one", "two"]
    assert predictions["one"]["model_name_or_path"].startswith("anthropic/")
    assert "+do-one" in predictions["one"]["model_patch"] and "+do-two" in predictions["two"]["model_patch"]
    assert "made.log" not in predictions["one"]["model_patch"]
    git(tmp_path / "project", "checkout", "-q", "-f", commit)
    git(tmp_path / "project", "apply", str(tmp_path / "runs/tasks/one/attempt-1/change.patch"))
    assert (tmp_path / "project" / "new.txt").read_text() == "do-one\n"
    assert not (tmp_path / "plain" / "new.txt").exists()
    assert git(tmp_path / "project", "worktree", "list").count("\n") == 0
    assert "2 of 2 done" in again.out and "1 failed" in again.out and "starts" not in again.out
    assert "one: done, check passed" in done.out and "two: done, check failed (7)" in done.out


@pytest.mark.req("X12")
def test_shards_run_each_task_once_and_merge_combines_the_results(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    tasks = [{"id": f"t{n}", "prompt": f"do-{n}", "folder": "plain"} for n in range(4)]
    manifest = write_manifest(tmp_path / "tasks.jsonl", tasks)
    with AnthropicServer(write_a_file) as server:
        for shard in ("1", "2"):
            done = batch(
                server,
                tmp_path,
                str(manifest),
                "--out",
                f"out-{shard}",
                "--shard",
                f"{shard}/2",
                "--jobs",
                "2",
            )
            assert done.code == 0, done
        assert sorted({prompt_of(it.body) for it in server.requests}) == ["do-0", "do-1", "do-2", "do-3"]
        first, second = results(tmp_path / "out-1"), results(tmp_path / "out-2")
        assert not first.keys() & second.keys() and len(first) + len(second) == 4
        for known in ("4 tasks added", "0 tasks added"):
            merged = batch(server, tmp_path, "merge", "out-1", "out-2", "--out", "all")
            assert merged.code == 0 and known in merged.out, merged
    assert results(tmp_path / "all") == first | second
    assert len(json_lines(tmp_path / "all" / "summary.jsonl")) == 4
    assert [it["instance_id"] for it in json_lines(tmp_path / "all" / "predictions.jsonl")] == [
        "t0",
        "t1",
        "t2",
        "t3",
    ]
