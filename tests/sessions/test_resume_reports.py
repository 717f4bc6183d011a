"""Reports of sessions that could not be resumed or forgot: damaged logs, failed and repeated compactions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.errors import ServerError
from agent_ls.llm.requests import Request
from agent_ls.services.settings.model import ContextSettings, ProviderSettings, Settings
from tests.sessions.test_compaction import SUMMARY, chat, compacted
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import FakeProvider, Gate, Piece, error, problem_of, text, tool_call
from tests.support.reports import reported
from tests.support.session_rig import PROVIDER, SessionRig, running

pytestmark = pytest.mark.req("L13", "R3")

ANSWERS: list[Piece] = [text(f"answer {n}") for n in range(6)]


def small_context(tokens: int) -> Settings:
    return Settings(
        walkthrough_pause_ms=0,
        providers={PROVIDER: ProviderSettings(context_tokens=tokens)},
        context=ContextSettings(compact_at_percent=50, keep_messages=6),
    )


class Noted(Cast):
    """A cast whose requests for a summary are answered with notes."""

    def _player(self, request: Request) -> FakeProvider:
        if "You take over the notes" in request.messages[0].text:
            return FakeProvider([text("THE NOTES")])
        return super()._player(request)


def log_of(rig: SessionRig, session_id: str) -> Path:
    (path,) = rig.state.glob(f"workspaces/*/sessions/{session_id}/log.jsonl")
    return path


def said(rig: SessionRig) -> str:
    return "\n".join(message.text for message in rig.model.requests[-1].messages)


def in_line(word: bytes, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return a damage: `change` of each line of the log that has the word."""

    def damage(log: bytes) -> bytes:
        lines = log.split(b"\n")
        assert any(word in line for line in lines)
        return b"\n".join(change(line) if word in line else line for line in lines)

    return damage


NO_LOSS = ("message 0", "answer 0", "message 1", "answer 1", "message 2", "answer 2")
AROUND = ("message 0", "answer 0", "message 2", "answer 2")
DAMAGES: list[Any] = [
    reported("github/copilot-cli#2649", in_line(b"answer 1", lambda it: it.replace(b"answer 1", b"an\nswer 1")), AROUND,
        id="a line in two"),
    reported("github/copilot-cli#4098", in_line(b"answer 1", lambda it: it[:60] + it), AROUND, id="two in a line"),
    reported("anthropics/claude-code#49876", in_line(b"answer 1", lambda it: b"\0" * 400 + b"\n" + it), NO_LOSS,
        id="nul"),
    reported("modelscope/ms-agent#1000", lambda it: it + '{"event":{"text":"é'.encode()[:-1], NO_LOSS,
        id="half a character"),
    reported("PrimeIntellect-ai/nano-rlm#97", lambda it: it + b'{"event":{"te\n\n', NO_LOSS, id="torn and empty"),
    reported("openai/codex#24425", in_line(b"answer 1", lambda it: it[: len(it) // 2] + b"\n" + it), NO_LOSS,
        id="half and whole"),
    reported("proma-ai/Proma#1048", in_line(b"answer 1", lambda it: it[:-9]), AROUND, id="one torn line"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "kept"), DAMAGES)
async def test_a_damaged_log_is_resumed_with_all_that_is_left(
    tmp_path: Path, damage: Callable[[bytes], bytes], kept: tuple[str, ...]
) -> None:
    async with running(tmp_path, ANSWERS) as rig:
        talk = await rig.talk()
        await chat(talk, 3)
        log = log_of(rig, talk.session_id)
    log.write_bytes(damage(log.read_bytes()))
    for number in (7, 8):
        async with running(tmp_path, [text(f"answer {number}")]) as rig:
            again = await rig.reopen(talk.session_id)
            await again.say(f"message {number}")
            assert all(words in said(rig) for words in kept)
            assert problem_of(rig.model.requests[-1].messages) == ""
    assert "message 7" in said(rig) and "answer 7" in said(rig)


@pytest.mark.report("openonion/connectonion#555")
@pytest.mark.report("yerzhansa/enduragent#190")
@pytest.mark.parametrize("content", [b'{"session_id": "a", "status": "runni', b"\0\0\0\n", b"", b"[]\n{}\n"])
async def test_a_log_without_a_readable_line_hides_no_other_session(tmp_path: Path, content: bytes) -> None:
    async with running(tmp_path, ANSWERS) as rig:
        bad, good = await rig.talk(say="bad one"), await rig.talk(say="good one")
        log = log_of(rig, bad.session_id)
    log.write_bytes(content)
    async with running(tmp_path, ANSWERS) as rig:
        listed, _ = await rig.manager.list_sessions(None, None, 10)
        assert good.session_id in [it.id for it in listed]
        await (await rig.reopen(good.session_id)).say("go on")
        assert "good one" in said(rig)
        await rig.talk(say="a new one")


@pytest.mark.report("paperclipai/paperclip#2358")
async def test_a_session_that_was_killed_within_a_call_goes_on(tmp_path: Path) -> None:
    call = tool_call("glob", '{"pattern": "*"}', id="g1")
    async with running(tmp_path, [call, text("ok")]) as rig:
        talk = await rig.talk(say="look")
        log = log_of(rig, talk.session_id)
    lines = log.read_bytes().split(b"\n")
    first = next(at for at, line in enumerate(lines) if b"g1" in line)
    for end in range(first + 1, len(lines)):
        log.write_bytes(b"\n".join(lines[:end]) + b"\n")
        async with running(tmp_path, [text("yes"), text("yes")]) as rig:
            again = await rig.reopen(talk.session_id)
            await again.say("go on")
            assert problem_of(rig.model.requests[-1].messages) == "" and "go on" in said(rig)


FAILED_SUMMARIES: list[Any] = [
    reported("openai/openai-agents-python#3117", error(ServerError("overloaded", provider=PROVIDER)), id="an error"),
    reported("quinnj/Agentif.jl#8", text(""), id="empty"),
]  # fmt: skip


@pytest.mark.parametrize("summary", FAILED_SUMMARIES)
async def test_a_compaction_that_fails_loses_nothing(tmp_path: Path, summary: Piece) -> None:
    async with running(tmp_path, [*ANSWERS, *[summary] * 6, text("after")]) as rig:
        talk = await rig.talk()
        await chat(talk, 6)
        await compacted(rig, talk)
    async with running(tmp_path, [text("after")]) as rig:
        await (await rig.reopen(talk.session_id)).say("go on")
        assert all(f"message {n}" in said(rig) and f"answer {n}" in said(rig) for n in range(6))


@pytest.mark.report("cloudflare/agents#2036")
async def test_after_two_compactions_one_summary_is_sent(tmp_path: Path) -> None:
    script: list[Piece] = [*ANSWERS, text("FIRST NOTES"), *ANSWERS, text("SECOND NOTES"), text("x")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk()
        await chat(talk, 6)
        await compacted(rig, talk)
        await chat(talk, 6)
        await compacted(rig, talk)
        await talk.say("now")
        assert (said(rig).count("FIRST NOTES"), said(rig).count("SECOND NOTES")) == (0, 1)
    async with running(tmp_path, [text("x")]) as rig:
        await (await rig.reopen(talk.session_id)).say("go on")
        assert (said(rig).count("FIRST NOTES"), said(rig).count("SECOND NOTES")) == (0, 1)


@pytest.mark.report("ahmadrosid/nakama#588")
async def test_results_before_a_compaction_can_be_found(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/needle-7351.txt").write_text("x")
    look = tool_call("glob", '{"pattern": "*"}', id="g1")
    search = tool_call("search_history", '{"query": "needle-7351"}', id="s1")
    script: list[Piece] = [look, text("seen"), *ANSWERS, SUMMARY, search, text("found")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(say="look")
        await chat(talk, 6)
        await compacted(rig, talk)
        await talk.say("which file was it?")
        assert "needle-7351.txt" in rig.results()[-1].content


@pytest.mark.report("anthropics/claude-code#90036")
async def test_agents_that_run_during_a_compaction_are_known_after_it(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for number in range(9):
        (tmp_path / f"project/{number}.txt").write_text(f"line {number}\n" * 2_000)
    gate = Gate()
    reads = [tool_call("read_file", json.dumps({"file_path": f"{n}.txt"}), id=f"r{n}") for n in range(9)]
    cast = Noted([spawn("dig"), *reads, wait_for("agent_1"), text("x")], {"dig": [[gate, text("it is 42")]]})
    async with running(tmp_path, settings=small_context(20_000), model=cast) as rig:
        talk = await rig.talk()
        talk.live.session.submit("go")
        await gate.reached.wait()
        await talk.until("compaction", 2)
        gate.open()
        await talk.until("processing_end")
    after = [it for it in cast.requests if any("THE NOTES" in message.text for message in it.messages)]
    assert after and "the agent agent_1: dig" in str(after[0].messages)
    assert "it is 42" in str(cast.requests[-1].messages)


async def test_processes_that_run_during_a_compaction_are_known_after_it(tmp_path: Path) -> None:
    start = tool_call("shell", '{"command": "exec sleep 1003", "background": true}', id="b1")
    async with running(tmp_path, [start, text("started"), *ANSWERS, text("NOTES"), text("x")]) as rig:
        talk = await rig.talk("full", say="start it")
        await chat(talk, 6)
        await compacted(rig, talk)
        await talk.say("go on")
        assert re.search(r"- the process \S+: exec sleep 1003", said(rig))


@pytest.mark.report("eltmon/overdeck#3525")
@pytest.mark.report("use-agent-os/agent-os#1647")
async def test_messages_before_and_during_a_compaction_reach_the_model(tmp_path: Path) -> None:
    gate = Gate()
    long = "word " * 2_500
    async with running(tmp_path, [text(f"answer {n}") for n in range(7)]) as rig:
        talk = await rig.talk()
        for number in range(7):
            await talk.say(f"message {number} {long}")
    async with running(
        tmp_path, [[gate, SUMMARY], text("a"), text("b")], settings=small_context(20_000)
    ) as rig:
        again = await rig.reopen(talk.session_id)
        again.live.session.submit("go on with step 7")
        await gate.reached.wait()
        again.live.session.submit("and then step 8")
        before = [it.kind for it in again.envelopes].count("processing_end")
        gate.open()
        await again.until("processing_end", before + 1)
        texts = rig.user_texts()
        assert "go on with step 7" in texts and "and then step 8" in texts


@pytest.mark.report("DROOdotFOO/raxol#934")
async def test_a_plan_survives_a_compaction(tmp_path: Path) -> None:
    items = [{"text": "Mend the parser", "status": "active"}, {"text": "Test it", "status": "pending"}]
    plan = tool_call("plan", json.dumps({"items": items}), id="p1")
    async with running(tmp_path, [plan, text("planned"), *ANSWERS, SUMMARY, text("x")]) as rig:
        talk = await rig.talk(say="plan it")
        await chat(talk, 6)
        await compacted(rig, talk)
        await talk.say("go on")
        assert "Mend the parser" in said(rig) and "Test it" in said(rig)
        assert talk.live.session.plan and len(talk.live.session.plan.items) == 2
