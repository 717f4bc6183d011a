from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.batch.manifest import read_manifest
from tests.batch.play import batch, results, write_a_file, write_manifest
from tests.support.commands import environment, run
from tests.support.loopback import AnthropicServer

GOOD = {"id": "one", "prompt": "do-one", "folder": "plain"}
WRONG = [
    pytest.param(b"{", "not JSON", id="not JSON"),
    pytest.param(b"[" * 100_000, "not JSON", id="nested too deeply"),
    pytest.param(b'"text"', "not a JSON object", id="no object"),
    pytest.param(b"\xff\xfe", "not UTF-8", id="not UTF-8"),
    pytest.param(b" " * (10 * 1024 * 1024), "longer than 4 MiB", id="10 MiB"),
    pytest.param({**GOOD, "id": "../x"}, "'id' must be", id="id with dots and a slash"),
    pytest.param({**GOOD, "id": "..", "prompt": "x"}, "'id' must be", id="id of dots"),
    pytest.param({**GOOD, "id": "x" * 101}, "'id' must be", id="id too long"),
    pytest.param({**GOOD, "id": "FIRST"}, "already used in line 1", id="id given twice in another case"),
    pytest.param({**GOOD, "id": 5}, "'id' must be a text", id="id that is a number"),
    pytest.param({**GOOD, "prompt": " "}, "'prompt' is missing or empty", id="empty prompt"),
    pytest.param({**GOOD, "prompt": "a\0b"}, "'prompt' must be a text", id="prompt with NUL"),
    pytest.param({**GOOD, "prompt": "\ud800"}, "'prompt' must be a text", id="prompt with a lone surrogate"),
    pytest.param({**GOOD, "promt": "x"}, "'promt' is unknown", id="unknown field"),
    pytest.param({**GOOD, "folder": "nowhere"}, "the folder does not exist", id="the folder does not exist"),
    pytest.param({**GOOD, "repo": "plain"}, "exactly one", id="folder and repository"),
    pytest.param({"id": "one", "prompt": "x"}, "exactly one", id="neither folder nor repository"),
    pytest.param({"id": "one", "prompt": "x", "repo": "plain"}, "needs 'commit'", id="no revision"),
    pytest.param(
        {"id": "one", "prompt": "x", "repo": "plain", "commit": "-x"}, "begin with '-'", id="option"
    ),
    pytest.param({**GOOD, "mode": "al"}, "plan, ask, edits, full", id="unknown mode"),
    pytest.param({**GOOD, "mode": "full", "approve": "all"}, "only once", id="two modes"),
    pytest.param({**GOOD, "settings": {"maxTurns": "many"}}, "maxTurns", id="wrong setting"),
    pytest.param({**GOOD, "settings": {"review": "before"}}, "no effect", id="setting without effect"),
    pytest.param({**GOOD, "settings": {"place": {}}}, "use --on to choose the place", id="place in settings"),
    pytest.param({**GOOD, "allow": "x"}, "a list of texts", id="allow that is no list"),
    pytest.param({**GOOD, "maxSeconds": 0}, "greater than 0", id="no time"),
    pytest.param({**GOOD, "checkSeconds": True}, "must be a number", id="time that is no number"),
]


@pytest.mark.req("X12")
@pytest.mark.parametrize(("line", "words"), WRONG)
def test_invalid_manifest_line_is_reported_with_the_line_number_and_no_task_runs(
    line: bytes | dict[str, object], words: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    data = line if isinstance(line, bytes) else json.dumps(line).encode()
    first = json.dumps({**GOOD, "id": "first"}).encode()
    (tmp_path / "tasks.jsonl").write_bytes(first + b"\n\n" + data + b"\n")
    done = run("batch", "tasks.jsonl", "--out", "runs", cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and not done.out, done
    message = done.err.splitlines()[0]
    assert message.startswith("agent-ls batch: tasks.jsonl, line 3: ") and words in message
    assert len(done.err.splitlines()) == 2 and not (tmp_path / "runs").exists()


@pytest.mark.req("X12")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.jsonl"], "none.jsonl cannot be read"),
        (["empty.jsonl"], "has no tasks"),
        (["tasks.jsonl", "--shard", "0/2"], "--shard 0/2"),
        (["tasks.jsonl", "other"], "give one manifest only"),
        (["merge"], "name the result folders"),
        (["merge", "plain"], "is not a result folder"),
        (["tasks.jsonl", "--jobs", "0"], "--jobs"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    write_manifest(tmp_path / "tasks.jsonl", [GOOD])
    (tmp_path / "empty.jsonl").write_text("\n")
    done = run("batch", *arguments, "--out", "runs", cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and words in done.err and "Traceback" not in done.err, done
    assert not (tmp_path / "runs" / "tasks" / "one").exists()


@pytest.mark.req("X12", "X8")
def test_folder_that_is_not_trusted_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    write_manifest(tmp_path / "tasks.jsonl", [GOOD])
    environ = environment(tmp_path / "home") | {"AGENT_LS_TRUSTED_FOLDERS": ""}
    done = run("batch", "tasks.jsonl", "--out", "runs", cwd=tmp_path, environ=environ)
    assert done.code == 2 and "is not trusted" in done.err and "--trust" in done.err, done


@pytest.mark.req("X12")
def test_changed_task_with_the_id_of_a_finished_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    write_manifest(tmp_path / "tasks.jsonl", [GOOD])
    with AnthropicServer(write_a_file) as server:
        assert batch(server, tmp_path, "tasks.jsonl", "--out", "runs").code == 0
        before = results(tmp_path / "runs")
        write_manifest(tmp_path / "tasks.jsonl", [{**GOOD, "prompt": "do-two"}])
        done = batch(server, tmp_path, "tasks.jsonl", "--out", "runs")
    assert done.code == 2 and "'one'" in done.err, done
    assert results(tmp_path / "runs") == before


@pytest.mark.req("X8", "X12")
@pytest.mark.parametrize(
    ("fields", "mode", "has_hint"),
    [
        ({}, "edits", False),
        ({"mode": "full"}, "full", False),
        ({"settings": {"mode": "plan", "maxTurns": 1}}, "plan", False),
        ({"approve": "all"}, "full", True),
        ({"approve": "never"}, "ask", True),
        ({"mode": "never"}, "ask", True),
    ],
)
def test_mode_of_a_task_is_read_by_its_name_and_old_names_give_a_hint(
    fields: dict[str, object], mode: str, has_hint: bool, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps({**GOOD, **fields}))
    hints: list[str] = []
    (task,) = read_manifest(path, on_old_name=hints.append)
    assert task.mode == mode and "mode" not in task.settings
    assert bool(hints) is has_hint and all("line 1" in hint and mode in hint for hint in hints)
