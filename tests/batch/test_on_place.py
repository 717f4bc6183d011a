"""`agent-ls batch --on`: work trees, agents, checks and patches at the remote end of a pipe."""

from __future__ import annotations

import json
import shlex
import signal
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
    work_folders,
    write_a_file,
    write_manifest,
)
from tests.support.commands import environment, finish, run, start
from tests.support.environments import BARE_PYTHON
from tests.support.git import git
from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.processes import eventually, new_token, processes_with

pytestmark = pytest.mark.req("X12", "X3")

REMOTE_END = "$(echo $AGENT_LS_REMOTE_END | cut -d: -f2)"
"""The process of agent-ls at the place that runs a command, in the words of a shell there."""


def place(folder: Path, program: str = BARE_PYTHON) -> tuple[str, str]:
    return "--on", f"command:{folder}:{program}"


def one_task(folder: Path, script: str = "", **fields: object) -> str:
    """Write a manifest with one task, whose repository has the program `script.sh` with the text `script`.

    Returns the path of the manifest.
    """
    (folder / "there").mkdir()
    project = folder / "there" / "project"
    repository(project)
    (project / "script.sh").write_text(f"{script}\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "script")
    task = {"id": "one", "prompt": "do-one", "repo": "project", "commit": "HEAD", **fields}
    return str(write_manifest(folder / "tasks.jsonl", [task]))


def play(server: AnthropicServer, folder: Path, manifest: str, *more: str) -> Any:
    return batch(server, folder, manifest, "--out", "runs", "--trust", *place(folder / "there"), *more)


@pytest.mark.req("X5")
def test_tasks_at_a_trusted_remote_place_produce_patches_and_check_results_and_leave_no_files(
    tmp_path: Path,
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    commit = repository(there / "project")
    (there / "plain").mkdir()
    (there / "plain" / "b.txt").write_text("b\n")
    (there / "plain" / "link").symlink_to("b.txt")
    check = "grep -q do-one new.txt && grep -q 'x = 1' a.py && printf '\\0\\1' > data.bin && touch made.log"
    tasks = [
        {"id": "one", "prompt": "do-one", "repo": "project", "commit": commit[:12], "check": check},
        {
            "id": "two",
            "prompt": "do-two",
            "folder": str(there / "plain"),
            "check": "test -L link; env | grep test-key && exit 9; exit 7",
        },
    ]
    manifest = str(write_manifest(tmp_path / "tasks.jsonl", tasks))
    with AnthropicServer(write_a_file) as server:
        environ = environ_of(server, tmp_path / "home", AGENT_LS_TRUSTED_FOLDERS="")
        arguments = ("batch", manifest, "--out", "runs", *place(there))
        keys = [f"command:{there}/{name}:{BARE_PYTHON}" for name in ("project", "plain")]
        refused = run(*arguments, cwd=tmp_path, environ=environ)
        assert refused.code == 2 and keys[0] in refused.err and "is not trusted" in refused.err, refused
        assert not server.requests and not (tmp_path / "runs").exists()
        for key in keys:
            assert run("trust", "add", key, cwd=tmp_path, environ=environ).code == 0
        done = run(*arguments, "--jobs", "2", cwd=tmp_path, environ=environ)
        assert len(server.requests) == 4, done
        again = play(server, tmp_path, manifest)
        assert len(server.requests) == 4, again
        moved = batch(
            server, tmp_path, manifest, "--out", "runs", "--trust", *place(there, f"env {BARE_PYTHON}")
        )
    assert done.code == again.code == 1 and not done.err, done
    found = results(tmp_path / "runs")
    assert found["one"]["isSuccess"] and found["two"]["check"]["exitCode"] == 7, found
    patches = {it["instance_id"]: it["model_patch"] for it in json_lines(tmp_path / "runs/predictions.jsonl")}
    assert "+do-one" in patches["one"] and "+do-two" in patches["two"] and "b.txt" not in patches["two"]
    git(there / "project", "apply", str(tmp_path / "runs/tasks/one/attempt-1/change.patch"))
    assert (there / "project" / "new.txt").read_text() == "do-one\n"
    assert not (there / "plain" / "new.txt").exists()
    assert git(there / "project", "worktree", "list").count("\n") == 0
    assert not work_folders(tmp_path)
    assert moved.code == 2 and "another task" in moved.err, "a result of another place counts"


def test_attempts_that_lose_the_connection_in_a_command_or_in_the_check_are_repeated(tmp_path: Path) -> None:
    def kill_once(mark: Path) -> str:
        return f"if ! test -e {mark}; then touch {mark}; kill -9 {REMOTE_END}; sleep 100; fi"

    marks = {"one": tmp_path / "in-command", "two": tmp_path / "in-check"}
    manifest = one_task(tmp_path, script=kill_once(marks["one"]), mode="full", check="test -e new.txt")
    (task,) = json_lines(Path(manifest))
    other = {**task, "id": "two", "prompt": "do-two", "check": kill_once(marks["two"])}
    write_manifest(Path(manifest), [task, other])

    def answer(body: Mapping[str, Any]) -> Answer:
        if prompt_of(body) == "do-one" and not marks["one"].exists():
            return [ToolCall("shell", {"command": "sh script.sh"})]
        return write_a_file(body)

    with AnthropicServer(answer, allow_violations=True) as server:
        done = play(server, tmp_path, manifest)
    assert done.code == 0, done
    for name, mark in marks.items():
        first = json.loads((tmp_path / f"runs/tasks/{name}/attempt-1/result.json").read_text())
        assert first["status"] == "crashed" and "was lost" in first["error"] and mark.exists(), first
        assert results(tmp_path / "runs")[name]["attempt"] == 2
    assert not work_folders(tmp_path)


@pytest.mark.sweep(only_whole=True)
def test_a_batch_run_stops_if_the_remote_place_is_lost_and_the_next_run_continues(tmp_path: Path) -> None:
    program, moved = tmp_path / "python-there", tmp_path / "moved"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(BARE_PYTHON)} "$@"\n')
    program.chmod(0o755)
    kill = f"if ! test -e {moved}; then mv {program} {moved}; kill -9 {REMOTE_END}; sleep 100; fi"
    manifest = one_task(tmp_path, check=kill)
    on = place(tmp_path / "there", str(program))
    with AnthropicServer(write_a_file, allow_violations=True) as server:
        done = batch(server, tmp_path, manifest, "--out", "runs", "--trust", *on)
        assert done.code == 2 and "Traceback" not in done.err and str(program) in done.err, done
        assert results(tmp_path / "runs")["one"]["status"] == "crashed"
        program.symlink_to(moved)
        done = batch(server, tmp_path, manifest, "--out", "runs", "--trust", *on)
    assert done.code == 0 and results(tmp_path / "runs")["one"]["attempt"] == 2, done
    assert not work_folders(tmp_path)


async def test_interrupting_the_batch_runner_ends_commands_at_the_remote_place(tmp_path: Path) -> None:
    begun, token = tmp_path / "begun", new_token()
    manifest = one_task(tmp_path, script=f"touch {begun}; sleep 600", mode="full")

    def answer(body: Mapping[str, Any]) -> Answer:
        if begun.exists():
            return write_a_file(body)
        return [ToolCall("shell", {"command": "sh script.sh"})]

    with AnthropicServer(answer, allow_violations=True) as server:
        environ = environ_of(server, tmp_path / "home", TEST_TOKEN=token)
        arguments = ("batch", manifest, "--out", "runs", "--trust", *place(tmp_path / "there"))
        runner = start(*arguments, cwd=tmp_path, environ=environ)
        await eventually(begun.exists)
        runner.send_signal(signal.SIGINT)
        assert runner.stdout
        while "stopping" not in (line := await to_thread.run_sync(runner.stdout.readline)):
            assert line
        runner.send_signal(signal.SIGINT)
        ended = await to_thread.run_sync(finish, runner)
        assert ended.code == 130 and "Traceback" not in ended.err, ended
        await eventually(lambda: not processes_with(token))
        assert not results(tmp_path / "runs") and len(work_folders(tmp_path)) == 1
        done = await to_thread.run_sync(lambda: run(*arguments, cwd=tmp_path, environ=environ))
    assert done.code == 0 and "attempt is repeated" in done.out, done
    assert not work_folders(tmp_path)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"repo": "absent"}, "task one: absent cannot be used at command:"),
        ({"repo": "plain"}, "is not a git repository that can be used"),
        ({"commit": "v9"}, "has no revision 'v9'"),
        ({"commit": "f" * 40}, "has no revision"),
    ],
    ids=["no folder", "no repository", "no such tag", "no such commit"],
)
def test_an_invalid_repository_or_commit_at_the_remote_place_is_reported_and_no_task_runs(
    tmp_path: Path, fields: dict[str, str], words: str
) -> None:
    manifest = one_task(tmp_path, **fields)
    (tmp_path / "there" / "plain").mkdir()
    refused(tmp_path, words, manifest, *place(tmp_path / "there"))


def test_a_remote_place_without_git_is_refused_without_a_traceback(tmp_path: Path) -> None:
    manifest = one_task(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    on = place(tmp_path / "there", f"/usr/bin/env PATH={tmp_path}/bin {BARE_PYTHON}")
    refused(tmp_path, "git cannot be started on command:", manifest, *on)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--on", "ftp:host:/x"], "does not name a place"),
        (["--on", "command:/:no-such-program-at-all"], "is not installed on this machine"),
        (["--on", "ssh:host:/x", "--dask", "tcp://127.0.0.1:9"], "--on cannot be combined with --dask"),
    ],
)
def test_an_unusable_remote_place_is_refused_without_a_traceback(
    tmp_path: Path, options: list[str], words: str
) -> None:
    refused(tmp_path, words, one_task(tmp_path), *options)


def test_a_place_that_is_a_new_container_for_each_process_is_refused(tmp_path: Path) -> None:
    place = {"kind": "docker", "target": "web", "image": "app"}
    (tmp_path / "settings.json").write_text(json.dumps({"agentLs": {"place": place}}))
    environ = environment(tmp_path / "home", AGENT_LS_SETTINGS=str(tmp_path / "settings.json"))
    arguments = ("batch", one_task(tmp_path), "--out", "runs", "--trust", "--on", "docker:web:/src")
    done = run(*arguments, cwd=tmp_path, environ=environ)
    assert done.code == 2 and "place.image" in done.err and "Traceback" not in done.err, done


def refused(folder: Path, words: str, *arguments: str) -> None:
    environ = environment(folder / "home")
    done = run("batch", *arguments, "--out", "runs", "--trust", cwd=folder, environ=environ)
    assert done.code == 2 and words in done.err and not done.out, done
    assert "Traceback" not in done.err and len(done.err.splitlines()) == 2, done.err
    assert "place" in done.err or "command:" in done.err or "--dask" in done.err, done.err
    assert not (folder / "runs").exists()
