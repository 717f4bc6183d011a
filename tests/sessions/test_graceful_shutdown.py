"""Aborting a session with running work ends everything in the specified order (requirements R2, L8, L16)."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from agent_ls.loop.events.types import AssistantTextEnd, SessionEnd, SubagentChanged
from tests.support.agents import Cast, spawn
from tests.support.fake_provider import Gate, text, tool_call
from tests.support.processes import eventually, new_token, processes_with
from tests.support.session_rig import DEADLINE_S, running

STUBBORN = "trap 'echo told >>told' TERM; echo ready >told; while :; do sleep 600; done"
"""A script that reports SIGTERM and keeps running."""


@pytest.mark.req("R2", "L8", "L16", "A2")
@pytest.mark.spec("loop 9.11.5", "loop 9.1.6")
async def test_an_abort_ends_the_model_stream_processes_and_subagents_before_session_end(
    tmp_path: Path,
) -> None:
    token, gate = new_token(), Gate()
    command = tool_call("shell", json.dumps({"command": f"bash stubborn.sh {token}"}), id="c1")
    cast = Cast([[spawn("count"), command]], {"count": [text("Half a sen", gate, "tence.")]})
    streams: dict[str, int] = {}
    processes: dict[str, int] = {}
    async with running(tmp_path, model=cast) as rig:
        (rig.folder / "stubborn.sh").write_text(STUBBORN)
        said = rig.folder / "told"
        talk = await rig.talk("full")
        with anyio.fail_after(DEADLINE_S), talk.live.session.subscribe() as events:
            talk.live.session.submit("go")
            await gate.reached.wait()
            await eventually(lambda: said.exists() and said.read_text() != "")
            begun = anyio.current_time()
            talk.live.session.abort()
            # keeps the counts at the last event of each kind
            async for item in events:
                streams[item.envelope.kind] = cast.open_streams
                processes[item.envelope.kind] = len(processes_with(token))
        await talk.live.ended.wait()
        assert talk.live.session.state == "CLOSED"
        emitted = [envelope.event for envelope in talk.envelopes]
    assert said.read_text() == "ready\ntold\n"
    assert anyio.current_time() - begun >= 2  # the time between SIGTERM and SIGKILL
    # the stream ends before the processes
    assert streams["assistant_text_end"] == 0 and processes["assistant_text_end"] > 0
    assert processes["tool_call_end"] == processes["terminal_exit"] == 0
    cut = next(event for event in emitted if isinstance(event, AssistantTextEnd))
    assert (cut.text, cut.interrupted) == ("Half a sen", True)
    agent = [event for event in emitted if isinstance(event, SubagentChanged)][-1]
    assert (agent.status, agent.reason) == ("failed", "interrupted")
    kinds = [envelope.kind for envelope in talk.envelopes]
    assert kinds.count("tool_call_start") == kinds.count("tool_call_end") == 2
    assert kinds[-3:] == ["state", "processing_end", "session_end"]
    assert emitted[-1] == SessionEnd("CLOSED", "aborted")
