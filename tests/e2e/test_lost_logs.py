"""A session whose log cannot be written, or is deleted, runs nothing more without the user's consent."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import command, environment, finish, provider_variables
from tests.support.loopback import AnthropicServer, Text, ToolCall
from tests.support.processes import eventually
from tests.support.served import served, served_session

pytestmark = [
    pytest.mark.req("R3", "X8"),
    pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there"),
]

ROUNDS = 12


def counting(body: Mapping[str, Any]) -> list[ToolCall | Text]:
    """Answer as a model that runs the same command in each round, with a long description that fills the log."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    if done >= ROUNDS:
        return [Text("Done.")]
    return [ToolCall("shell", {"command": "echo ran >> ran.txt", "description": f"{done} " + "x" * 6000})]


def ran(project: Path) -> int:
    found = project / "ran.txt"
    return len(found.read_text().splitlines()) if found.exists() else 0


def commands(*lines: str) -> list[Any]:
    """Return a script in which the model runs one command for each message of the user."""
    return [item for line in lines for item in ([ToolCall("shell", {"command": line})], "Done.")]


def logged(folder: Path) -> list[int]:
    """Return the sequence numbers of the events in the log."""
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [record["event"]["seq"] for line in lines if "event" in (record := json.loads(line))]


def test_exec_ends_with_an_error_when_the_session_log_cannot_be_written(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with AnthropicServer(counting) as provider:
        environ = environment(tmp_path / "home", **provider_variables(provider))
        # A file size limit of 60 KB simulates a full disk.
        limited = ["sh", "-c", 'ulimit -f 120; exec "$@"', "sh", *command("exec", "--mode", "full", "Go.")]
        process = subprocess.Popen(
            limited,
            cwd=project,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        result = finish(process)
    assert result.code == 1
    printed = result.out + result.err
    assert "File too large" in printed
    assert 0 < ran(project) < ROUNDS


DELETED: dict[str, Callable[[Path], object]] = {
    "the log": lambda folder: (folder / "log.jsonl").unlink(),
    "the folder of the session": lambda folder: shutil.rmtree(folder),
    "all that is stored": lambda folder: shutil.rmtree(folder.parents[3]),
}


@pytest.mark.parametrize("what", DELETED)
async def test_a_log_deleted_while_the_session_runs_is_created_again(what: str, tmp_path: Path) -> None:
    with AnthropicServer(commands("echo ran >> ran.txt", "echo ran >> ran.txt")) as provider:
        async with served_session(tmp_path, provider, mode="full") as (found, session_id):
            assert await found.editor.say(session_id, "One.") == "completed"
            folder = found.folder(session_id)
            DELETED[what](folder)
            assert await found.editor.say(session_id, "Two.") == "completed"
            assert ran(found.project) == 2
            numbers = logged(folder)
            assert numbers == list(range(1, len(numbers) + 1))
            async with served(tmp_path, provider=provider) as other:  # this server still owns the session
                assert (await other.editor.subscribe(session_id))["session"]["access"] == "readOnly"


@pytest.mark.parametrize("what", DELETED)
async def test_a_log_deleted_while_a_command_runs_is_created_again(what: str, tmp_path: Path) -> None:
    may_end, begun = tmp_path / "project" / "may_end", tmp_path / "project" / "begun"
    waits = "touch begun; while [ ! -e may_end ]; do sleep 0.05; done; echo ran >> ran.txt"
    with AnthropicServer(commands(waits, "echo ran >> ran.txt")) as provider:
        async with served_session(tmp_path, provider, mode="full") as (found, session_id):
            start = len(found.client.received)
            await found.editor.submit(session_id, "One.")
            await eventually(begun.exists)
            folder = found.folder(session_id)
            DELETED[what](folder)
            may_end.touch()
            assert await found.editor.turn_end(session_id, start) == "completed"
            assert await found.editor.say(session_id, "Two.") == "completed"
            assert ran(found.project) == 2
            numbers = logged(folder)
            assert numbers == list(range(1, len(numbers) + 1))


def block(folder: Path) -> Path:
    """Delete the stored sessions and replace their folder by a file, so that nothing can be written there."""
    shutil.rmtree(folder.parent)
    folder.parent.write_text("")
    return folder.parent


@pytest.mark.report("openai/codex#35385")
async def test_a_session_with_an_unwritable_log_asks_the_user_before_it_runs_a_command(
    tmp_path: Path,
) -> None:
    lines = ["echo ran >> ran.txt"] * 3
    with AnthropicServer(
        [*commands(lines[0]), [ToolCall("shell", {"command": lines[1]})], *commands(*lines[2:])]
    ) as provider:
        async with served_session(tmp_path, provider, mode="full") as (found, session_id):
            await found.editor.say(session_id, "One.")
            folder = found.folder(session_id)
            blocked = block(folder)
            start = len(found.client.received)
            await found.editor.submit(session_id, "Two.")
            asked = (await found.client.event("question_asked"))["data"]
            assert "cannot be written" in asked["question"]
            assert ran(found.project) == 1
            await found.change(
                "answer", session_id, questionId=asked["questionId"], answers=[], declined=True
            )
            assert await found.editor.turn_end(session_id, start) == "error"
            error = (await found.client.event("error"))["data"]
            assert "cannot be written" in error["message"]
            assert error["action"] == "retry"
            assert ran(found.project) == 1
            codes = [event["data"].get("code") for event in found.recorded(session_id)]
            assert codes.count("not_recorded") == 1
            blocked.unlink()  # the log can be written again
            assert await found.editor.say(session_id, "Three.") == "completed"
            assert ran(found.project) == 2
            numbers = logged(folder)
            assert numbers == list(range(1, len(numbers) + 1))


async def test_a_user_can_allow_a_session_to_continue_without_a_log(tmp_path: Path) -> None:
    line = "echo ran >> ran.txt"
    script = [*commands(line), [ToolCall("shell", {"command": line})], *commands(line)]
    with AnthropicServer(script) as provider:
        async with served_session(tmp_path, provider, mode="full") as (found, session_id):
            await found.editor.say(session_id, "One.")
            block(found.folder(session_id))
            start = len(found.client.received)
            await found.editor.submit(session_id, "Two.")
            asked = (await found.client.event("question_asked"))["data"]
            which = {"questionId": asked["questionId"], "answers": [asked["choices"][0]]}
            await found.change("answer", session_id, **which)
            assert await found.editor.turn_end(session_id, start) == "completed"
            assert ran(found.project) == 3
            questions = [e for e in found.recorded(session_id) if e["kind"] == "question_asked"]
            assert len(questions) == 1
