from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.llm.credentials import Credentials
from agent_ls.llm.errors import AuthenticationError
from agent_ls.loop.events.types import Error, ProcessingEnd, SessionEnd, SessionStart, Title, Warning
from agent_ls.loop.turns import AssistantTurn
from agent_ls.services.errors import (
    AppError,
    BadChoiceError,
    NotRunningError,
    SessionOpenHereError,
    UnknownSessionError,
)
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.live import LiveSession, SessionSummary
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec
from tests.support.fake_provider import CallTool, Gate, Piece, error, text, tool_call
from tests.support.processes import Fifo, new_token, processes_with
from tests.support.session_rig import SessionRig, Talk, running

Script: TypeAlias = Sequence[Piece | Sequence[Piece]]


def shell(command: str, **arguments: Any) -> CallTool:
    return tool_call("shell", json.dumps({"command": command, **arguments}))


# -- making


@pytest.mark.req("H2", "R5")
@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"provider": "oracle"}, "oracle"),
        ({"workspace_folder": "/no/such/folder"}, "/no/such/folder"),
        ({"workspace_folder": "/dev/null"}, "/dev/null"),
    ],
)
async def test_a_new_session_with_an_invalid_option_value_fails_and_stores_nothing(
    tmp_path: Path, options: dict[str, Any], word: str
) -> None:
    async with running(tmp_path) as rig:
        with pytest.raises(BadChoiceError, match=word) as refused:
            await rig.talk(**options)
        assert refused.value.hint and refused.value.is_usage
        assert await rig.manager.list_sessions(None, None, 10) == ([], None)


@pytest.mark.req("R7", "R5")
async def test_a_new_session_in_an_unwritable_store_fails_with_the_path_and_a_hint(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    state.write_text("a file, where a folder should be")
    async with running(tmp_path, state=state) as rig:
        with pytest.raises(AppError, match=str(state)) as refused:
            await rig.talk()
        assert "AGENT_LS_STATE_DIR" in refused.value.hint
        assert await rig.manager.list_sessions(None, None, 10) == ([], None)


async def test_new_session_without_a_running_manager_is_refused_and_leaves_no_lock(
    tmp_path: Path,
) -> None:
    rig = SessionManager(settings=Settings(), credentials=Credentials(), state_dir=tmp_path / "state")
    with pytest.raises(NotRunningError):
        await rig.new_session(SessionSpec(workspace_folder=str(tmp_path), provider="walkthrough"))
    assert await rig.list_sessions(None, None, 10) == ([], None)


@pytest.mark.req("H2")
async def test_options_of_a_new_session_come_from_the_request_then_settings_then_the_available_api_key(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, credentials=Credentials({"openai": "k"})) as rig:
        assert (await rig.talk(provider=None)).live.summary().provider == "openai"
        named = await rig.talk(provider="openai", model="gpt-x", effort="high")
        summary = named.live.summary()
        assert (summary.provider, summary.model, summary.effort) == ("openai", "gpt-x", "high")
    settings = Settings(provider="openai", model="from-settings", effort="low", mode="plan")
    async with running(tmp_path, settings=settings) as rig:
        live = await rig.manager.new_session(SessionSpec(workspace_folder=str(rig.folder)))
        summary = live.summary()
        assert (summary.provider, summary.model) == ("openai", "from-settings")
        assert (summary.effort, summary.mode) == ("low", "plan")
        other = await rig.manager.new_session(
            SessionSpec(workspace_folder=str(rig.folder), provider="anthropic")
        )
        assert other.summary().model != "from-settings"


@pytest.mark.req("H2")
async def test_the_session_title_is_the_requested_title_or_the_start_of_the_first_input(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        given = await rig.talk(title="Mine", say="something else")
        assert given.live.summary().title == "Mine"
        plain = await rig.talk()
        assert plain.live.summary().title == ""
        await plain.say("Fix  the discount " + "x" * 100 + "\n\nand more")
        title = plain.live.summary().title
        assert title.startswith("Fix the discount xxx") and len(title) == 60 and title.endswith("…")
        await plain.say("Another input")
        assert plain.of(Title) == [Title(title)] and given.of(Title) == []
        listed, _ = await rig.manager.list_sessions(None, None, 10)
        assert {summary.title for summary in listed} == {"Mine", title}


# -- opening


@pytest.mark.req("H2", "R5")
@pytest.mark.parametrize("session_id", ["s-none", "", "../../etc", "s" * 500, "s\0"])
async def test_opening_an_unknown_session_is_an_error(tmp_path: Path, session_id: str) -> None:
    async with running(tmp_path) as rig:
        with pytest.raises(UnknownSessionError):
            await rig.manager.open_session(session_id)
        assert rig.manager.find_live(session_id) is None


@pytest.mark.req("R3", "H2")
async def test_two_simultaneous_opens_return_one_session(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        talk = await rig.talk(say="hello")
    found: list[LiveSession] = []
    async with running(tmp_path) as rig:

        async def reopen() -> None:
            found.append(await rig.manager.open_session(talk.session_id))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(reopen)
        assert len({id(live) for live in found}) == 1
        assert len(Talk(found[0], lambda _: None).of(SessionStart)) == 2


@pytest.mark.req("R3")
async def test_a_session_that_this_program_has_open_cannot_be_opened_again_until_it_is_closed(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as first:
        session_id = (await first.talk()).session_id
        async with running(tmp_path) as second:
            with pytest.raises(SessionOpenHereError):
                await second.manager.open_session(session_id)
    async with running(tmp_path) as third:
        await third.manager.open_session(session_id)


@pytest.mark.req("L3", "L7", "H2")
@pytest.mark.parametrize("is_configured", [False, True], ids=["as made", "as configured"])
async def test_a_resume_keeps_provider_model_effort_and_mode(tmp_path: Path, is_configured: bool) -> None:
    async with running(tmp_path) as rig:
        talk = await rig.talk("edits", provider="openai", model="gpt-a", effort="low")
        if is_configured:
            await talk.live.configure(provider="anthropic", model="claude-b", effort="high", mode="plan")
        before = talk.live.summary()
    other = Settings(effort="medium", mode="full", provider="openai")
    async with running(tmp_path, settings=other) as rig:
        after = (await rig.reopen(before.id)).live.summary()
    for name in ("provider", "model", "effort", "mode", "title", "created", "workspace_folder"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.model == ("claude-b" if is_configured else "gpt-a")


@pytest.mark.req("L3")
async def test_an_unset_effort_stays_unset_on_resume(tmp_path: Path) -> None:
    async with running(tmp_path, settings=Settings(effort="high")) as rig:
        talk = await rig.talk()
        await talk.live.configure(effort="")
    async with running(tmp_path, settings=Settings(effort="high")) as rig:
        assert (await rig.reopen(talk.session_id)).live.summary().effort is None


@pytest.mark.req("L3", "R1")
async def test_a_session_closed_by_a_wrong_key_can_be_reopened_at_once_with_its_history(
    tmp_path: Path,
) -> None:
    script: Script = [error(AuthenticationError("the key is wrong")), text("Hello again.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(say="hello")
        again = await rig.reopen(talk.session_id)
        assert again.live is not talk.live
        assert [event.error_kind for event in again.of(Error)] == ["authentication"]
        await again.say("hello?")
        turns = again.live.session.history.turns
        assert isinstance(turns[-1], AssistantTurn) and turns[-1].message.text == "Hello again."
        assert [message.text for message in rig.model.requests[-1].messages[1:]] == ["hello", "hello?"]


@pytest.mark.req("H2", "L3")
async def test_opening_a_session_that_is_closing_returns_a_new_session_object(tmp_path: Path) -> None:
    gate = Gate()
    async with running(tmp_path, [[text("slow", gate)]]) as rig:
        talk = await rig.talk()
        talk.live.session.submit("go")
        await gate.reached.wait()
        talk.live.session.abort()
        again = await rig.reopen(talk.session_id)
        assert again.live is not talk.live and not again.live.session.is_closing
        await again.say("still there?")


@pytest.mark.req("L3")
async def test_a_session_with_an_unknown_provider_is_refused_and_not_left_locked(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        talk = await rig.talk()
        session_id = talk.session_id
    log = next((tmp_path / "state").rglob("log.jsonl"))
    log.write_bytes(log.read_bytes().replace(b'"anthropic"', b'"oracle"'))
    async with running(tmp_path) as rig:
        for _ in range(2):
            with pytest.raises(BadChoiceError, match="oracle"):
                await rig.manager.open_session(session_id)


# -- configuring


@pytest.mark.req("H2", "L7")
async def test_configure_takes_effect_at_the_reported_time(tmp_path: Path) -> None:
    gate = Gate()
    script: Script = [[text("slow", gate), shell("true")], text("done"), text("new")]
    async with running(tmp_path, script) as rig, anyio.create_task_group() as group:
        talk = await rig.talk("full", model="first")
        assert await talk.live.configure(effort="low") == "now"
        group.start_soon(talk.say, "go")
        await gate.reached.wait()
        assert await talk.live.configure(mode="full") == "now"
        assert await talk.live.configure(effort="high") == "nextCall"
        assert await talk.live.configure(model="second", effort="medium") == "nextTurn"
        gate.open()
        await talk.until("processing_end")
        await talk.say("more")
        asked = [(request.model, request.reasoning_effort) for request in rig.model.requests]
    assert asked == [("first", "low"), ("first", "medium"), ("second", "medium")]


@pytest.mark.req("H2")
async def test_configure_with_an_unknown_provider_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        talk = await rig.talk("ask", model="first")
        before = talk.live.summary()
        with pytest.raises(BadChoiceError, match="oracle"):
            await talk.live.configure(provider="oracle", effort="high", mode="full")
        after = talk.live.summary()
        assert (after.provider, after.model, after.effort, after.mode) == (
            before.provider, before.model, before.effort, before.mode,
        )  # fmt: skip


@pytest.mark.req("H2")
async def test_configure_of_another_provider_selects_its_default_model(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        talk = await rig.talk(model="claude-x")
        await talk.live.configure(provider="openai")
        assert talk.live.summary().model not in ("claude-x", "")


# -- listing


async def sessions(rig: SessionRig, count: int) -> list[Talk]:
    talks = []
    for number in range(count):
        talk = await rig.talk()
        await talk.say(f"input {number}")
        log = next(rig.state.rglob(f"{talk.session_id}/log.jsonl"))
        os.utime(log, (1_700_000_000 + number,) * 2)
        talks.append(talk)
    return talks


@pytest.mark.req("H2")
async def test_list_pages_through_live_and_stored_sessions_newest_first(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        talks = await sessions(rig, 5)
        talks[1].live.session.abort()
        await talks[1].live.ended.wait()
        os.utime(next(rig.state.rglob(f"{talks[1].session_id}/log.jsonl")), (1_700_000_001,) * 2)
        found: list[SessionSummary] = []
        cursor, pages = None, 0
        while pages == 0 or cursor:
            page, cursor = await rig.manager.list_sessions(str(rig.folder), cursor, 2)
            found += page
            pages += 1
        assert pages == 3
        assert [summary.title for summary in found] == [f"input {number}" for number in (4, 3, 2, 1, 0)]
        assert await rig.manager.list_sessions(str(tmp_path), None, 10) == ([], None)


@pytest.mark.req("H2")
async def test_paging_repeats_and_omits_no_session_when_sessions_move_or_are_added(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        await sessions(rig, 4)
        first, cursor = await rig.manager.list_sessions(None, None, 2)
        os.utime(next(rig.state.rglob(f"{first[1].id}/log.jsonl")), (1_800_000_000,) * 2)
        await rig.talk()
        second, cursor = await rig.manager.list_sessions(None, cursor, 2)
        assert [summary.title for summary in (*first, *second)] == [f"input {n}" for n in (3, 2, 1, 0)]
        assert cursor is None


async def test_listing_with_an_invalid_cursor_is_an_error(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        with pytest.raises(BadChoiceError, match="nonsense"):
            await rig.manager.list_sessions(None, "nonsense", 2)


async def test_the_summary_of_a_session_with_a_deleted_log_is_still_available(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        talk = await rig.talk()
        next(rig.state.rglob("log.jsonl")).unlink()
        summary = talk.live.summary()
        assert summary.updated == summary.created


@pytest.mark.req("H3")
@pytest.mark.parametrize("bulk_chars", [0, 100_000, 3_000_000])
async def test_events_since_a_sequence_number_returns_all_later_events_of_a_long_log(
    tmp_path: Path, bulk_chars: int
) -> None:
    async with running(tmp_path, [text("x" * bulk_chars), text("short"), text("y" * bulk_chars)]) as rig:
        talk = await rig.talk()
        for number in range(3):
            await talk.say(f"input {number}")
        last = talk.live.session.last_seq
        for since in (*range(last + 1), last + 10):
            numbers = [json.loads(encoded)["seq"] for encoded in talk.live.events_since(since)]
            assert numbers == list(range(since + 1, last + 1))


# -- ending


@pytest.mark.req("L16", "R2", "T5")
async def test_a_cancelled_manager_ends_its_sessions_and_their_processes(tmp_path: Path) -> None:
    token = new_token()
    folder = tmp_path / "project"
    folder.mkdir()
    with Fifo(folder / "started") as started:
        begin = f"TOKEN={token} sleep 300 & echo go > started; wait"
        script: Script = [[shell(begin, background=True)], [shell(begin, timeout_ms=600_000)]]
        async with running(tmp_path, script) as rig:
            talk = await rig.talk("full")
            talk.live.session.submit("go")
            for _ in range(2):
                assert await started.line() == "go"
            assert len(processes_with(token)) >= 2
    assert processes_with(token) == {}
    assert talk.of(ProcessingEnd)[-1].reason == "interrupted"
    assert isinstance(talk.envelopes[-1].event, SessionEnd)
    async with running(tmp_path) as rig:
        await (await rig.reopen(talk.session_id)).say("and on")


@pytest.mark.req("R3")
async def test_the_user_is_informed_when_the_session_can_no_longer_be_stored(tmp_path: Path) -> None:
    async with running(tmp_path, [[shell("yes | head -c 200000")]]) as rig:
        talk = await rig.talk("full")
        (next(rig.state.rglob("log.jsonl")).parent / "outputs").write_text("in the way")
        await talk.say("print a lot")
        await talk.until("warning")
        (warning,) = talk.of(Warning)
        assert "stored on disk" in warning.message
