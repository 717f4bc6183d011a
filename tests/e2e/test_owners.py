"""Two server processes on one store: one owns a session, the other follows it or takes it over."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.support.commands import environment, provider_variables, start
from tests.support.editor import new_key, text_input
from tests.support.framed_client import DEADLINE_S, ResponseError
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall
from tests.support.served import TASK, Served, served

pytestmark = pytest.mark.req("H3", "R4", "R7")


def seqs(found: Served, session_id: str, since: int = 0) -> list[int]:
    return [event["seq"] for event in found.recorded(session_id) if event["seq"] > since]


def is_event(kind: str, **fields: Any) -> Any:
    def fits(message: dict[str, Any]) -> bool:
        params = message.get("params") or {}
        return (
            message.get("method") == "agent/event"
            and params.get("kind") == kind
            and all(params["data"].get(name) == value for name, value in fields.items())
        )

    return fits


def check_received(found: Served, session_id: str, first: int, last: int) -> None:
    """Check that this client has the events with these numbers, in order, each once."""
    numbers = [number for number in seqs(found, session_id) if first <= number <= last]
    assert numbers == list(range(first, last + 1))


async def wait_received(found: Served, session_id: str, last: int) -> None:
    """Wait until this client has the event with number `last`."""

    def fits(message: dict[str, Any]) -> bool:
        params = message.get("params") or {}
        return (
            message.get("method") == "agent/event"
            and params["sessionId"] == session_id
            and params.get("seq") == last
        )

    await found.client.wait_for(fits)


def logged(found: Served, session_id: str) -> list[dict[str, Any]]:
    """Return the events of the log, in order."""
    lines = (found.folder(session_id) / "log.jsonl").read_text().splitlines()
    return [record["event"] for line in lines if "event" in (record := json.loads(line))]


def check_log(found: Served, session_id: str) -> list[dict[str, Any]]:
    """Check that the log's events are numbered from 1 without gap or repetition; return them."""
    events = logged(found, session_id)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    return events


async def taken(found: Served, session_id: str, **params: Any) -> dict[str, Any]:
    with anyio.fail_after(DEADLINE_S):
        while True:
            try:
                answer = await found.change("takeOver", session_id, **params)
            except ResponseError as error:
                # on a slow machine the owner may answer too late: try again
                assert error.data["kind"] == "owner_silent"
                continue
            session: dict[str, Any] = answer["session"]
            assert (session["access"], session["live"]) == ("owner", True)
            return session


async def test_a_second_editor_follows_a_session_while_the_first_one_works(tmp_path: Path) -> None:
    async with served(tmp_path) as first, served(tmp_path) as second:
        session_id = await first.editor.new_session()
        opened = await second.editor.subscribe(session_id)
        assert opened["session"]["access"] == "readOnly" and not opened["session"]["live"]
        assert opened["session"]["owner"]["pid"] == first.server.process.pid
        (listed,) = (await second.client.request("agent/sessions", {}))["sessions"]
        assert (listed["access"], listed["owner"]["pid"]) == ("readOnly", first.server.process.pid)
        (own,) = (await first.client.request("agent/sessions", {}))["sessions"]
        assert own["access"] == "owner" and "owner" not in own

        await first.work_off(session_id, TASK)
        last = max(seqs(first, session_id))
        await wait_received(second, session_id, last)
        since = opened["lastSeq"]
        check_received(second, session_id, since + 1, last)
        common = [event for event in first.recorded(session_id) if since < event["seq"] <= last]
        assert [event for event in second.recorded(session_id) if event["seq"] <= last] == common
        others = [it for it in second.client.events if "seq" not in it and it["kind"] != "access"]
        assert all(it["kind"].endswith("_delta") for it in others)

        theirs = await second.ask("hunks", session_id)
        ours = await first.ask("hunks", session_id)
        assert [[hunk["id"] for hunk in file["hunks"]] for file in theirs["files"]] == [
            [hunk["id"] for hunk in file["hunks"]] for file in ours["files"]
        ]
        assert theirs["files"]
        assert await second.ask("history", session_id) == await first.ask("history", session_id)
        exported = await second.ask("export", session_id, format="jsonl")
        assert exported == await first.ask("export", session_id, format="jsonl")
        again = await second.editor.subscribe(session_id)
        assert [event["seq"] for event in again["events"]][:last] == list(range(1, last + 1))
        assert again["pending"]["hunks"] == theirs["files"]
        await first.change("rename", session_id, title="Read along")
        renamed = await second.client.event("title", title="Read along")
        check_received(second, session_id, since + 1, renamed["seq"])
        forked = (await second.change("fork", session_id))["session"]
        assert forked["access"] == "owner" and forked["id"] != session_id


TEXT = text_input("mine?")

CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("submit", {"input": TEXT}),
    ("steer", {"input": TEXT}),
    ("unsteer", {"steerId": "st"}),
    ("followUp", {"input": TEXT}),
    ("queue", {"remove": "q"}),
    ("interrupt", {}),
    ("abort", {}),
    ("configure", {"mode": "full"}),
    ("approve", {"decision": "allow", "scope": "once"}),
    ("answer", {"questionId": "q", "answers": ["yes"]}),
    ("review", {"verdict": "keep"}),
    ("rename", {"title": "Mine"}),
    ("revert", {"atTurnId": "t"}),
    ("compact", {}),
    ("deleteSession", {"force": True}),
    ("terminalInput", {"terminalId": "t", "data": "y\n"}),
    ("terminalKill", {"terminalId": "t"}),
    ("terminalResize", {"terminalId": "t", "columns": 80, "rows": 24}),
    ("removeRule", {"ruleId": "r"}),
]


@pytest.mark.report("openma-ai/deepseek-harness-acp#17")
async def test_requests_of_a_follower_that_change_the_session_are_refused_with_a_hint(tmp_path: Path) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": "touch made"})]]) as provider:
        async with served(tmp_path, provider=provider) as first, served(tmp_path) as second:
            session_id = await first.editor.new_session(provider="anthropic")
            await first.editor.submit(session_id, "go")
            asked = await first.client.event("approval_requested")
            opened = await second.editor.subscribe(session_id)
            (pending,) = opened["pending"]["approvals"]
            assert pending["requestId"] == asked["data"]["requestId"]
            assert opened["session"]["state"] == "PROCESSING"
            for method, params in CHANGES:
                if method == "approve":
                    params = {**params, "requestId": pending["requestId"]}
                error = await second.refused(method, session_id, **params)
                assert (error.code, error.data["kind"]) == (1002, "session_busy"), method
                assert "session over" in error.data["hint"], method
            await second.client.notify("agent/draft", {"sessionId": session_id, "text": "not mine"})
            await second.change("closeSession", session_id)
            assert "draft" not in await first.editor.subscribe(session_id)
            assert not (first.project / "made").exists()
            assert logged(first, session_id)[-1]["kind"] == "approval_requested"


async def test_an_idle_session_is_taken_over_and_the_former_owner_follows_it(tmp_path: Path) -> None:
    async with served(tmp_path) as first, served(tmp_path) as second:
        session_id = await first.task_done()
        opened = await second.editor.subscribe(session_id)
        await taken(second, session_id)
        lost = await first.client.event("access", access="readOnly")
        assert lost["sessionId"] == session_id and "seq" not in lost
        await first.client.event("access", access="readOnly", owner=owner(second))
        await second.client.event("access", access="owner")
        refused = await first.refused("submit", session_id, input=TEXT)
        assert refused.data["kind"] == "session_busy"

        await second.work_off(session_id, "And once more.")
        last = max(seqs(second, session_id))
        await wait_received(first, session_id, last)
        check_received(first, session_id, min(seqs(first, session_id)), last)
        check_received(second, session_id, opened["lastSeq"] + 1, last)
        check_log(second, session_id)


async def test_a_client_that_follows_one_session_still_answers_requests_for_a_session_that_it_owns(
    tmp_path: Path,
) -> None:
    """The server sends a client's requests to the session that it subscribed to last, whichever process owns it."""
    async with served(tmp_path) as first, served(tmp_path) as second:
        session_id = await first.editor.new_session()
        own = await second.editor.new_session()
        await second.editor.open(second.project / "shop" / "cart.py")
        await second.editor.subscribe(session_id)
        await second.work_off(own, TASK)
        asked = await second.client.event("client_request", what="save")
        assert asked["sessionId"] == session_id


def owner(found: Served) -> dict[str, Any]:
    return {"pid": found.server.process.pid, "host": socket.gethostname(), "program": "Visual Studio Code"}


async def test_after_a_take_over_only_the_new_owner_can_review_hunks(tmp_path: Path) -> None:
    async with served(tmp_path) as first, served(tmp_path) as second:
        session_id = await first.task_done()
        await second.editor.subscribe(session_id)
        await taken(second, session_id)
        (file, *_) = (await second.ask("hunks", session_id))["files"]
        hunk = file["hunks"][0]
        await first.client.event("access", access="readOnly", owner=owner(second))
        for selection in ({"hunkIds": [hunk["id"]]}, {"uri": file["uri"]}, {"turnId": hunk["turnId"]}):
            with pytest.raises(ResponseError) as refused:
                await first.client.request(
                    "agent/review", {"clientKey": new_key(), "verdict": "undo", **selection}
                )
            assert refused.value.data["kind"] == "session_busy"
        undone = await second.client.request(
            "agent/review", {"clientKey": new_key(), "verdict": "undo", "hunkIds": [hunk["id"]]}
        )
        assert [it["state"] for it in undone["changed"]] == ["undone"]
        published = await first.client.event("hunk_state")
        assert published["data"]["hunks"][0]["id"] == hunk["id"]


async def test_a_follower_that_joins_during_a_reply_gets_the_text_so_far_and_the_rest(tmp_path: Path) -> None:
    gates = Gate(), Gate()
    with AnthropicServer([[Text("One ", gates[0], "two ", gates[1], "three.")]]) as provider:
        async with served(tmp_path, provider=provider) as first, served(tmp_path) as second:
            session_id = await first.editor.new_session(provider="anthropic")
            await first.editor.submit(session_id, "go")
            await first.client.wait_for(is_event("assistant_text_delta"))
            opened = await second.editor.subscribe(session_id)
            if not opened["openParts"]:
                await second.client.wait_for(is_event("assistant_text_delta", text="One "))
            gates[0].open()
            delta = await second.client.wait_for(is_event("assistant_text_delta", text="two "))
            assert delta["params"]["offset"] == len("One ")
            again = await second.editor.subscribe(session_id)
            assert [part["text"] for part in again["openParts"]] == ["One two "]
            gates[1].open()
            await second.client.event("assistant_text_end", text="One two three.")


async def test_a_take_over_interrupts_a_streaming_turn_and_keeps_its_partial_text(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Half of ", gate, "it.")], "The other."]) as provider:
        async with (
            served(tmp_path, provider=provider) as first,
            served(tmp_path, provider=provider) as second,
        ):
            session_id = await first.editor.new_session(provider="anthropic")
            opened = await second.editor.subscribe(session_id)
            await first.editor.submit(session_id, "go")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await first.client.wait_for(is_event("assistant_text_delta"))
            queued = await first.editor.submit(session_id, "later")
            session = await taken(second, session_id)
            gate.open()
            assert [item["queuedId"] for item in session["queue"]] == [queued["queuedId"]]
            ended = await first.client.event("processing_end")
            assert ended["data"]["reason"] == "interrupted"
            said = await second.client.event("assistant_text_end")
            assert said["data"]["text"] == "Half of "
            # Queued messages wait for the user, as after any interrupt, and belong to the new owner.
            await second.change("queue", session_id, startNow=queued["queuedId"])
            await second.client.event("assistant_text_end", text="The other.")
            await second.client.event("processing_end", reason="completed")
            last = check_log(second, session_id)[-1]["seq"]
            await wait_received(second, session_id, last)
            await wait_received(first, session_id, last)
            check_received(second, session_id, opened["lastSeq"] + 1, last)
            check_received(first, session_id, min(seqs(first, session_id)), last)


async def test_a_take_over_keeps_the_pending_approval_of_a_waiting_turn(tmp_path: Path) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": "touch made"})], "Made."]) as provider:
        async with (
            served(tmp_path, provider=provider) as first,
            served(tmp_path, provider=provider) as second,
        ):
            session_id = await first.editor.new_session(provider="anthropic")
            await first.editor.submit(session_id, "go")
            asked = await first.client.event("approval_requested")
            opened = await second.editor.subscribe(session_id)
            session = await taken(second, session_id)
            assert session["state"] == "AWAITING_INPUT"
            await first.client.event("session_end", reason="suspended")
            (pending,) = (await second.editor.subscribe(session_id))["pending"]["approvals"]
            assert pending["requestId"] == asked["data"]["requestId"]
            assert (await first.refused("approve", session_id, **answer(asked))).data[
                "kind"
            ] == "session_busy"
            assert not (second.project / "made").exists()
            await second.editor.approve(asked)
            await second.client.event("assistant_text_end", text="Made.")
            await second.client.event("processing_end", reason="completed")
            assert (second.project / "made").exists()
            last = check_log(second, session_id)[-1]["seq"]
            await wait_received(first, session_id, last)
            check_received(first, session_id, min(seqs(first, session_id)), last)
            check_received(second, session_id, opened["lastSeq"] + 1, last)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    return {"requestId": asked["data"]["requestId"], "decision": "allow", "scope": "once"}


async def test_a_session_can_be_taken_over_after_its_owner_is_killed(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Half", gate)]]) as provider:
        async with served(tmp_path, provider=provider) as first, served(tmp_path) as second:
            session_id = await first.editor.new_session(provider="anthropic")
            opened = await second.editor.subscribe(session_id)
            await first.editor.submit(session_id, "go")
            await anyio.to_thread.run_sync(gate.wait_reached)
            os.kill(first.server.process.pid, signal.SIGKILL)
            await first.server.exit_code()
            await second.client.wait_for(
                lambda m: is_event("access")(m) and "owner" not in m["params"]["data"]
            )
            assert (await second.refused("submit", session_id, input=TEXT)).data["kind"] == "session_busy"
            await taken(second, session_id)
            await second.client.event("processing_end", reason="interrupted")
            await second.editor.submit(session_id, "hello?", whenBusy="queue")
            last = check_log(second, session_id)[-1]["seq"]
            assert seqs(second, session_id)[:1] == [opened["lastSeq"] + 1] and last
        gate.open()


@pytest.mark.report("can1357/oh-my-pi#12242")
async def test_a_frozen_owner_is_replaced_by_force_and_writes_nothing_afterwards(
    tmp_path: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Half", gate, " and more.")], "By the other.", "Still."]) as provider:
        async with (
            served(tmp_path, provider=provider) as first,
            served(tmp_path, provider=provider) as second,
        ):
            session_id = await first.editor.new_session(provider="anthropic")
            opened = await second.editor.subscribe(session_id)
            await first.editor.submit(session_id, "go")
            await anyio.to_thread.run_sync(gate.wait_reached)
            os.kill(first.server.process.pid, signal.SIGSTOP)
            try:
                silent = await second.refused("takeOver", session_id)
                assert silent.data["kind"] == "owner_silent" and "force" in silent.data["hint"]
                assert str(first.server.process.pid) in silent.message
                assert (await second.refused("submit", session_id, input=TEXT)).data["kind"] == "session_busy"
                await taken(second, session_id, force=True)
                await second.editor.submit(session_id, "you")
                await second.client.event("assistant_text_end", text="By the other.")
                await second.client.event("processing_end", reason="completed")
            finally:
                os.kill(first.server.process.pid, signal.SIGCONT)
            gate.open()
            await first.client.event("access", access="readOnly", owner=owner(second))
            assert (await first.refused("submit", session_id, input=TEXT)).data["kind"] == "session_busy"
            await second.editor.submit(session_id, "still you?")
            events = check_log(second, session_id)
            texts = [e["data"]["text"] for e in events if e["kind"] == "assistant_text_end"]
            assert "By the other." in texts and not any("more" in text for text in texts)
            last = events[-1]["seq"]
            await wait_received(second, session_id, last)
            await wait_received(first, session_id, last)
            check_received(second, session_id, opened["lastSeq"] + 1, last)
            check_received(first, session_id, min(seqs(first, session_id)), last)


async def test_a_headless_run_ends_when_its_session_is_taken_over(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Half", gate)], "Mine."]) as provider:
        async with served(tmp_path, provider=provider) as second:
            environ = environment(tmp_path, **provider_variables(provider))
            run = start("exec", "--provider", "anthropic", "go", cwd=second.project, environ=environ)
            with run:
                await anyio.to_thread.run_sync(gate.wait_reached)
                (found,) = (await second.client.request("agent/sessions", {}))["sessions"]
                assert (found["owner"]["pid"], found["owner"]["program"]) == (run.pid, "agent-ls exec")
                await taken(second, found["id"])
                out, err = await anyio.to_thread.run_sync(run.communicate)
            gate.open()
            assert run.returncode == 130 and found["id"] in err and "Traceback" not in out + err
            assert f"process {second.server.process.pid}" in err and "taken this session over" in err
            await second.editor.subscribe(found["id"])
            await second.editor.submit(found["id"], "And you?")
            await second.client.event("assistant_text_end", text="Mine.")
            check_log(second, found["id"])


async def test_a_session_deleted_by_its_owner_is_unknown_to_its_followers(tmp_path: Path) -> None:
    async with served(tmp_path) as first, served(tmp_path) as second:
        session_id = await first.editor.new_session()
        await second.editor.subscribe(session_id)
        await first.change("deleteSession", session_id, force=True)
        with anyio.fail_after(DEADLINE_S):
            while True:  # the follower notices the deletion a moment later
                error = await second.refused("submit", session_id, input=TEXT)
                if error.data["kind"] != "session_busy":
                    break
        assert error.data["kind"] == "unknown_session"
        assert (await second.refused("takeOver", session_id)).data["kind"] == "unknown_session"


async def listed(found: Served, session_id: str) -> dict[str, Any]:
    sessions = (await found.client.request("agent/sessions", {}))["sessions"]
    session: dict[str, Any] = next(it for it in sessions if it["id"] == session_id)
    return session


@pytest.mark.parametrize("how", ["question", "proposal"])
async def test_a_take_over_includes_pending_questions_and_proposed_hunks(tmp_path: Path, how: str) -> None:
    call = (
        ToolCall("ask_user", {"question": "Which one?", "choices": ["this", "that"]})
        if how == "question"
        else ToolCall("write_file", {"file_path": "made.txt", "content": "made\n"})
    )
    with AnthropicServer([[call], "Good."]) as provider:
        async with (
            served(tmp_path, provider=provider) as first,
            served(tmp_path, provider=provider) as second,
        ):
            session_id = await first.editor.new_session(provider="anthropic", mode="edits", review="before")
            await second.editor.subscribe(session_id)
            await first.editor.submit(session_id, "go")
            asked = await second.client.event("question_asked" if how == "question" else "hunk_state")
            session = await taken(second, session_id)
            assert session["state"] == "AWAITING_INPUT"
            pending = (await second.editor.subscribe(session_id))["pending"]
            if how == "question":
                (question,) = pending["questions"]
                assert question["questionId"] == asked["data"]["questionId"]
                await second.change("answer", session_id, questionId=question["questionId"], answers=["this"])
            else:
                (file,) = pending["hunks"]
                assert [it["id"] for it in file["hunks"]] == [it["id"] for it in asked["data"]["hunks"]]
                await second.client.request(
                    "agent/review",
                    {"clientKey": new_key(), "verdict": "keep", "hunkIds": [file["hunks"][0]["id"]]},
                )
            await second.client.event("assistant_text_end", text="Good.")
            assert (second.project / "made.txt").exists() is (how == "proposal")
            check_log(second, session_id)
