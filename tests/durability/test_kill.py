"""kill -9 of the real server at any message: the log is readable, and the session continues without loss."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.abc import TaskStatus

from agent_ls.store.sessions import SessionStore
from tests.durability.story import SERVERS, Story, environment, model
from tests.support.editor import Editor
from tests.support.framed_client import ServerProcess, server_process
from tests.support.loopback import Answer, AnthropicServer, Gate, LoopbackProvider, Reasoning, Text, ToolCall
from tests.support.processes import eventually, new_token, processes_with

SEED, KILLS = 20_000, 4  # kills per provider; the sweep takes every message


@dataclass(frozen=True)
class Serving:
    """A server with its editor, which runs until `is_done` is set."""

    story: Story
    is_done: anyio.Event


async def serve(
    provider: LoopbackProvider, name: str, root: Path, *, task_status: TaskStatus[Serving]
) -> None:
    async with server_process(env=environment(provider, root / "state")) as server:
        editor = Editor(server.client)
        await editor.start(root)
        serving = Serving(Story(editor, server, name), anyio.Event())
        task_status.started(serving)
        await serving.is_done.wait()


def points(messages: int) -> list[int]:
    """Return the messages that kill the server: all of them in a sweep, else one of each of KILLS equal ranges."""
    if os.environ.get("AGENT_LS_SWEEPS") == "whole":
        return list(range(1, messages + 1))
    chance = random.Random(SEED)
    edges = [1 + messages * share // KILLS for share in range(KILLS + 1)]
    return [chance.randrange(start, end) for start, end in pairwise(edges)]


@pytest.mark.req("R3", "R4", "H3", "H6", "L16")
@pytest.mark.sweep
# each kill plays a whole session
@pytest.mark.timeout(3600 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 600)
@pytest.mark.parametrize("name", SERVERS)
async def test_a_server_killed_at_any_message_loses_no_reported_event(name: str, tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "state", on_failure=lambda _, error: pytest.fail(str(error)))
    with SERVERS[name](model(name)) as provider:
        async with anyio.create_task_group() as tasks:
            start = partial(tasks.start, serve, provider, name, tmp_path)
            serving: Serving = await start()
            whole = await serving.story.play(tmp_path / "whole")
            # Each server resumes the session of the previous server, and is then killed during its own session.
            for kill in points(whole.messages):
                following: Serving = await start()
                killed = await serving.story.play(tmp_path / f"killed-at-{kill}", kill)
                serving.is_done.set()
                serving = following
                try:
                    await serving.story.resume(killed, store)
                except AssertionError as error:
                    error.add_note(f"killed at message {kill}: {killed.events[-1:]}")
                    raise
            serving.is_done.set()


@asynccontextmanager
async def editing(provider: LoopbackProvider, root: Path) -> AsyncIterator[tuple[Editor, ServerProcess]]:
    async with server_process(env=environment(provider, root / "state")) as server:
        editor = Editor(server.client)
        await editor.start(root, mode="full")
        yield editor, server


async def killed_when_kept(server: ServerProcess, root: Path, text: str) -> None:
    """Kill the server with SIGKILL as soon as the log has this text in a part that is still open."""
    wanted = json.dumps({"text": text}, separators=(",", ":"))[1:].encode()
    await eventually(lambda: any(b'{"partial"' in line and wanted in line for line in _log_lines(root)))
    await die(server)


async def die(server: ServerProcess) -> None:
    server.process.send_signal(signal.SIGKILL)
    await server.exit_code()


def _log_lines(root: Path) -> list[bytes]:
    (log,) = root.glob("state/workspaces/*/sessions/*/log.jsonl")
    return log.read_bytes().split(b"\n")


@pytest.mark.req("R3", "R4", "U4")
@pytest.mark.parametrize("name", SERVERS)
async def test_partial_text_is_restored_after_a_kill_and_reasoning_is_not_resent_to_the_model(
    name: str, tmp_path: Path
) -> None:
    gate = Gate()
    cut: Answer = [Reasoning("A thought."), Text("Half a sen", gate)]
    with SERVERS[name]([cut, "And the rest."]) as provider:
        async with editing(provider, tmp_path) as (editor, server):
            session_id = await editor.new_session(provider=name)
            await editor.submit(session_id, "Talk.")
            await killed_when_kept(server, tmp_path, "Half a sen")
        async with editing(provider, tmp_path) as (editor, server):
            events = (await editor.subscribe(session_id))["events"]
            ends = [
                event["data"] for event in events if event["kind"] in ("reasoning_end", "assistant_text_end")
            ]
            assert [(end["text"], end["interrupted"]) for end in ends] == [
                ("A thought.", False),
                ("Half a sen", True),
            ]
            await editor.submit(session_id, "Go on.")
            await editor.client.event("assistant_text_end", text="And the rest.")
        gate.open()
        sent = json.dumps(provider.requests[1].body)
        assert "Half a sen" in sent
        assert "A thought." not in sent


@pytest.mark.req("R3", "R4", "T5")
async def test_command_output_is_restored_after_a_kill_and_an_orphaned_process_blocks_no_session(
    tmp_path: Path,
) -> None:
    token = new_token()
    # the text "so far" shows that the background process has started
    call = ToolCall("shell", {"command": f"LEFT={token} sleep 600 & echo so far; wait"})
    with AnthropicServer([[call], "I see."]) as provider:
        try:
            async with editing(provider, tmp_path) as (editor, server):
                session_id = await editor.new_session(provider="anthropic")
                await editor.submit(session_id, "Run it.")
                await killed_when_kept(server, tmp_path, "so far\n")
            assert processes_with(token)
            async with editing(provider, tmp_path) as (editor, _):
                events = (await editor.subscribe(session_id))["events"]
                (end,) = (event["data"] for event in events if event["kind"] == "tool_call_end")
                assert end["errorKind"] == "interrupted"
                assert end["output"].startswith("so far\n")
                await editor.submit(session_id, "Go on.")
                await editor.client.event("assistant_text_end", text="I see.")
        finally:
            for pid in processes_with(token):
                os.killpg(os.getpgid(pid), signal.SIGKILL)


@pytest.mark.req("R3", "R4")
async def test_a_session_killed_during_its_resume_can_be_resumed(tmp_path: Path) -> None:
    gate = Gate()
    call = ToolCall("read_file", {"file_path": "none"})
    with AnthropicServer([[Text("I look."), call], [Text("Then", gate)], "Fine."]) as provider:
        async with editing(provider, tmp_path) as (editor, server):
            session_id = await editor.new_session(provider="anthropic")
            await editor.submit(session_id, "Look.")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await die(server)
        known: list[dict[str, Any]] = []
        for _ in range(2):
            async with editing(provider, tmp_path) as (editor, server):
                resumed = await editor.subscribe(session_id)
                assert resumed["events"][: len(known)] == known
                known = resumed["events"]
                await die(server)
        kinds = [event["kind"] for event in known]
        assert kinds.count("processing_end") == kinds.count("tool_call_end") == 1
        async with editing(provider, tmp_path) as (editor, _):
            await editor.subscribe(session_id)
            await editor.submit(session_id, "Go on.")
            await editor.client.event("assistant_text_end", text="Fine.")
        gate.open()
