"""A compacted session across processes: the same history, identical request bytes, and no lost data (L13, O4, O6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.messages import Role
from agent_ls.loop.events.types import CacheLost, Compaction, UsageReport
from agent_ls.services.settings.model import ContextSettings, ProviderSettings, Settings
from tests.support.fake_provider import FakeProvider, Piece, problem_of, text, tool_call
from tests.support.session_rig import PROVIDER, SessionRig, Talk, running

SUMMARY = text("## Goal\nMend it.")


def prefix_of(model: FakeProvider, number: int = -1) -> tuple[Any, ...]:
    request = model.requests[number]
    return request.messages[0], request.tools


async def chat(talk: Talk, count: int) -> None:
    for number in range(count):
        await talk.say(f"message {number}")


async def compacted(rig: SessionRig, talk: Talk) -> None:
    before = len(talk.of(Compaction))
    talk.live.session.compact()
    await talk.until("compaction", before + 2)
    await talk.until("processing_end", [e.kind for e in talk.envelopes].count("user_input") + 1)


@pytest.mark.req("L13", "O6", "R3")
async def test_a_resumed_compacted_session_sends_the_same_request(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "AGENTS.md").write_text("Use tabs.")
    script: list[Piece] = [text(f"answer {n}") for n in range(6)]
    async with running(tmp_path, [*script, SUMMARY, text("found")]) as rig:
        talk = await rig.talk()
        await chat(talk, 6)
        await compacted(rig, talk)
        await talk.say("go on")
        kept = talk.live.session.history.messages("p")
        calibration = talk.of(UsageReport)[-1].calibration
        begun = prefix_of(rig.model)
        assert begun[1][-1].name == "search_history"
    async with running(tmp_path, [text("yes")]) as rig:
        again = await rig.reopen(talk.session_id)
        assert again.live.session.history.messages("p") == kept
        await again.say("and now?")
        sent = rig.model.requests[0].messages
        assert sent[1:-1] == kept[1:]
        assert prefix_of(rig.model) == begun
        assert problem_of(sent) == ""
        assert [event.reason for event in again.of(CacheLost)] == ["compaction", "tools"]
        assert calibration != 1.0
        fork = await rig.manager.fork(talk.session_id)
        assert fork.session.history.messages("p")[: len(kept)] == kept


@pytest.mark.req("O4", "O5", "O6")
async def test_a_resumed_session_sends_changed_project_documents_but_the_original_date(
    tmp_path: Path,
) -> None:
    (tmp_path / "project").mkdir()
    page = tmp_path / "project" / "AGENTS.md"
    page.write_text("Use tabs.")
    async with running(tmp_path) as rig:
        talk = await rig.talk()
        await chat(talk, 2)
        assert prefix_of(rig.model, 0) == prefix_of(rig.model, 1)
        (report, _) = talk.of(UsageReport)
        assert report.context.documents > 0
    log = next((tmp_path / "state").rglob("log.jsonl"))
    log.write_text(
        log.read_text().replace("Today's date: ", "Today's date: 19").replace('"today":"', '"today":"19')
    )
    page.write_text("Use blanks.")
    async with running(tmp_path) as rig:
        again = await rig.reopen(talk.session_id)
        await again.say("and now?")
        prefix = prefix_of(rig.model)[0].text
        assert "Use blanks." in prefix and "Use tabs." not in prefix
        assert "Today's date: 1920" in prefix  # the date on which the session began
        assert [event.reason for event in again.of(CacheLost)] == ["documents"]


@pytest.mark.req("L13")
async def test_pending_hunks_are_listed_with_the_summary(tmp_path: Path) -> None:
    write = {"file_path": "new.txt", "content": "one\ntwo\n"}
    script: list[Piece] = [tool_call("write_file", json.dumps(write)), *[text("ok")] * 8, SUMMARY, text("ok")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full")
        await chat(talk, 8)
        await compacted(rig, talk)
        await talk.say("go on")
        background = rig.model.requests[-1].messages[1].text
        heading = "# Your changes that wait for the user's decision"
        assert f"{heading}\n- new.txt: the file was created" in background
        assert "- message 0\n- message 1" in background


@pytest.mark.req("L13")
async def test_settings_define_the_threshold_and_strategy_of_automatic_compaction(tmp_path: Path) -> None:
    settings = Settings(
        walkthrough_pause_ms=0,
        providers={PROVIDER: ProviderSettings(context_tokens=10_000)},
        context=ContextSettings(compact_at_percent=50, keep_messages=6, strategy="dropOldest"),
    )
    async with running(tmp_path, settings=settings) as rig:
        talk = await rig.talk()
        for _ in range(9):
            await talk.say("x" * 20_000)
        begun, done, *_ = talk.of(Compaction)
        assert (begun.trigger, begun.strategy, done.status) == ("auto", "dropOldest", "done")
        assert [message.role for message in rig.model.requests[-1].messages[:2]] == [Role.SYSTEM, Role.USER]
