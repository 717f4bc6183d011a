"""Whole sessions in the real server process: the walkthrough on its sample project, driven by raw messages."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.support.editor import Editor, new_key, text_input
from tests.support.framed_client import DEADLINE_S, ResponseError, ServerProcess, server_process
from tests.support.processes import is_running

TASK = "Please fix the discount."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_sample_project(tmp_path / "project")


@asynccontextmanager
async def editing(project: Path, name: str = "vscode") -> AsyncIterator[tuple[Editor, ServerProcess]]:
    async with server_process() as server:
        editor = Editor(server.client, name)
        await editor.start(project)
        yield editor, server


@asynccontextmanager
async def approving(editor: Editor) -> AsyncIterator[None]:
    """Allow every request in this block, with an editor that does what the server requests."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(editor.approve_all)
        tasks.start_soon(editor.do_as_asked)
        yield
        tasks.cancel_scope.cancel()


def recorded(editor: Editor, session_id: str) -> list[dict[str, Any]]:
    return [event for event in editor.client.events if event["sessionId"] == session_id and "seq" in event]


@pytest.mark.req("H1", "H3", "H4", "H6", "H7")
@pytest.mark.parametrize("name", ["vscode", "neovim"])
async def test_a_task_edits_the_open_buffer_and_is_reviewed_hunk_by_hunk(name: str, project: Path) -> None:
    cart = project / "shop" / "cart.py"
    unsaved = "# not saved yet 😋\n" + cart.read_text()
    async with editing(project, name) as (editor, _):
        document = await editor.open(cart, unsaved)
        session_id = await editor.new_session()
        async with approving(editor):
            await editor.submit(session_id, TASK)
            ended = await editor.client.event("processing_end")
        assert ended["data"]["reason"] == "completed"
        events = recorded(editor, session_id)
        assert [event["seq"] for event in events] == list(
            range(events[0]["seq"], events[0]["seq"] + len(events))
        )
        assert document.source.startswith("# not saved yet 😋\n")
        changes = [event for event in events if event["kind"] == "file_change"]
        assert {change["data"]["uri"] for change in changes} == {cart.as_uri()}
        assert {hunk["uri"] for change in changes for hunk in change["data"]["hunks"]} == {cart.as_uri()}

        (file,) = (await editor.client.request("agent/hunks", {"uri": cart.as_uri()}))["files"]
        assert file["version"] == document.version
        first, last = file["hunks"][0], file["hunks"][-1]
        kept = await editor.client.request(
            "agent/review", {"clientKey": new_key(), "hunkIds": [first["id"]], "verdict": "keep"}
        )
        assert [hunk["state"] for hunk in kept["changed"]] == ["kept"]
        undone = await editor.client.request(
            "agent/review", {"clientKey": new_key(), "hunkIds": [last["id"]], "verdict": "undo"}
        )
        assert [hunk["state"] for hunk in undone["changed"]] == ["undone"]
        assert "".join(last["oldLines"]) in document.source
        assert "".join(first["newLines"]) in document.source


@pytest.mark.req("H4", "H6")
async def test_agent_only_changes_are_saved_before_a_command(project: Path) -> None:
    cart = project / "shop" / "cart.py"
    async with editing(project) as (editor, _):
        document = await editor.open(cart)
        session_id = await editor.new_session()
        async with approving(editor):
            await editor.submit(session_id, TASK)
            command = await editor.client.event("tool_call_end", name="shell")
            await editor.client.event("processing_end")
        assert "Not saved" not in command["data"]["output"]
        assert await anyio.Path(cart).read_text() == document.source
        last = [event for event in recorded(editor, session_id) if event["kind"] == "assistant_text_end"][-1]
        assert "All tests pass" in last["data"]["text"]


@pytest.mark.req("H4")
async def test_unsaved_user_changes_stay_unsaved_before_a_command_and_the_model_is_informed(
    project: Path,
) -> None:
    cart = project / "shop" / "cart.py"
    async with editing(project) as (editor, _):
        on_disk = await anyio.Path(cart).read_text()
        await editor.open(cart)
        await editor.type(cart, 0, "# mine\n")
        session_id = await editor.new_session()
        async with approving(editor):
            await editor.submit(session_id, TASK)
            command = await editor.client.event("tool_call_end", name="shell")
        assert "unsaved changes" in command["data"]["output"]
        assert str(cart) in command["data"]["output"]
        assert await anyio.Path(cart).read_text() == on_disk


@pytest.mark.req("H4")
async def test_a_file_that_is_not_open_is_written_to_disk_and_the_editor_is_notified(project: Path) -> None:
    cart = project / "shop" / "cart.py"
    async with editing(project) as (editor, _):
        session_id = await editor.new_session()
        async with approving(editor):
            await editor.submit(session_id, TASK)
            asked = await editor.client.event("client_request", what="checkTime")
            await editor.client.event("processing_end")
        assert asked["data"]["params"]["uris"] == [cart.as_uri()]
        changed = await editor.client.event("file_change")
        assert "".join(changed["data"]["hunks"][0]["lines"]) in await anyio.Path(cart).read_text()


@pytest.mark.req("H3")
async def test_a_reconnecting_client_gets_exactly_the_missed_events(project: Path) -> None:
    async with editing(project) as (editor, _):
        session_id = await editor.new_session()
        await editor.submit(session_id, TASK)
        asked = await editor.client.event("approval_requested")
        await editor.client.request("agent/unsubscribe", {"sessionId": session_id})
        before = recorded(editor, session_id)
        pending = await editor.subscribe(session_id, since=0)
        assert [item["requestId"] for item in pending["pending"]["approvals"]] == [asked["data"]["requestId"]]
        assert [event["seq"] for event in pending["events"]] == list(range(1, pending["lastSeq"] + 1))
        half = before[len(before) // 2]["seq"]
        again = await editor.subscribe(session_id, since=half)
        assert again["events"] == pending["events"][half:]
        await editor.approve(asked, "deny", reason="not now")
        await editor.client.event("processing_end")
        seen = [event["seq"] for event in recorded(editor, session_id)]
        after = [seq for seq in seen if seq > again["lastSeq"]]
        assert after == list(range(again["lastSeq"] + 1, seen[-1] + 1))


@pytest.mark.req("H7")
async def test_the_first_answer_to_an_approval_wins(project: Path) -> None:
    async with editing(project) as (editor, _):
        session_id = await editor.new_session()
        await editor.submit(session_id, TASK)
        asked = await editor.client.event("approval_requested")
        first = await editor.approve(asked, "deny", reason="no")
        second = await editor.approve(asked, "allow")
        assert first == second
        assert first["decision"] == "deny"
        resolved = await editor.client.event("approval_resolved")
        assert resolved["data"]["decidedBy"] == first["decidedBy"]
        with pytest.raises(ResponseError) as unknown:
            await editor.approve({**asked, "data": {"requestId": "a-none"}})
        assert unknown.value.data["kind"] == "unknown_approval"


@pytest.mark.req("H2")
async def test_requests_with_the_same_client_key_have_one_effect(project: Path) -> None:
    async with editing(project) as (editor, _):
        key = new_key()
        made = {"clientKey": key, "provider": "walkthrough"}
        one, two = [await editor.client.start("agent/newSession", made) for _ in range(2)]
        session = (await editor.client.result(one))["session"]
        assert (await editor.client.result(two))["session"] == session
        await editor.subscribe(session["id"])
        submitted = {"sessionId": session["id"], "clientKey": new_key(), "input": text_input(TASK)}
        answers = [await editor.client.request("agent/submit", submitted) for _ in range(3)]
        assert answers[0] == answers[1] == answers[2]
        with pytest.raises(ResponseError) as reused:
            await editor.client.request("agent/steer", submitted)
        assert reused.value.data["kind"] == "key_reused"
        await editor.client.event("user_input")
        assert sum(event["kind"] == "user_input" for event in editor.client.events) == 1


@pytest.mark.req("H2", "L6")
async def test_steer_follow_up_interrupt_and_abort_requests_take_effect_on_a_running_turn(
    project: Path,
) -> None:
    async with editing(project) as (editor, _):
        client, session_id = editor.client, await editor.new_session()
        turn = await editor.submit(session_id, TASK)
        assert turn.keys() == {"turnId"}
        await client.event("approval_requested")
        steered = await client.request(
            "agent/steer",
            {
                "sessionId": session_id,
                "clientKey": new_key(),
                "input": text_input("a"),
                "expectedTurnId": turn["turnId"],
            },
        )
        await client.request("agent/unsteer", {"sessionId": session_id, "steerId": steered["steerId"]})
        with pytest.raises(ResponseError) as gone:
            await client.request("agent/unsteer", {"sessionId": session_id, "steerId": steered["steerId"]})
        assert gone.value.data["kind"] == "nothing_pending"
        queued = await client.request(
            "agent/followUp", {"sessionId": session_id, "clientKey": new_key(), "input": text_input("later")}
        )
        assert (await client.event("queue"))["data"]["items"][0]["queuedId"] == queued["queuedId"]
        with pytest.raises(ResponseError) as busy:
            await editor.submit(session_id, "now", whenBusy="refuse")
        assert busy.value.data["kind"] == "turn_running"
        await client.request("agent/interrupt", {"sessionId": session_id})
        assert (await client.event("processing_end"))["data"]["reason"] == "interrupted"
        await client.request("agent/abort", {"sessionId": session_id})
        await client.event("session_end")
        with pytest.raises(ResponseError) as closed:
            await client.request("agent/compact", {"sessionId": session_id, "clientKey": new_key()})
        assert closed.value.data["kind"] == "session_closed"
        assert (await editor.subscribe(session_id))["session"]["state"] == "IDLE"


@pytest.mark.req("H2")
async def test_sessions_are_listed_and_configured(project: Path) -> None:
    async with editing(project) as (editor, _):
        session_id = await editor.new_session(title="The discount", mode="plan")
        (listed,) = (await editor.client.request("agent/sessions", {"workspaceFolder": project.as_uri()}))[
            "sessions"
        ]
        assert (listed["id"], listed["title"], listed["mode"]) == (session_id, "The discount", "plan")
        assert listed["workspaceFolder"] == project.as_uri()
        assert listed["isWalkthrough"]
        elsewhere = {"workspaceFolder": project.parent.as_uri()}
        assert (await editor.client.request("agent/sessions", elsewhere))["sessions"] == []
        wanted = {"sessionId": session_id, "clientKey": new_key(), "mode": "edits", "effort": "high"}
        configured = await editor.client.request("agent/configure", wanted)
        assert (configured["session"]["mode"], configured["session"]["effort"]) == ("edits", "high")
        assert configured["appliesFrom"] == "now"


PARAMS_ERRORS: list[tuple[str, dict[str, Any] | None, str]] = [
    ("agent/submit", None, "invalid_params"),
    ("agent/submit", {"sessionId": 7}, "invalid_params"),
    ("agent/submit", {"sessionId": "s", "clientKey": "k", "input": []}, "invalid_params"),
    ("agent/submit", {"sessionId": "s", "clientKey": "k", "input": [{"type": "dance"}]}, "invalid_params"),
    ("agent/submit", {"sessionId": "s", "clientKey": "k", "input": text_input("x")}, "unknown_session"),
    ("agent/submit", {"sessionId": "s", "clientKey": "k", "input": text_input(" ")}, "invalid_params"),
    ("agent/subscribe", {"sessionId": "s-none"}, "unknown_session"),
    ("agent/subscribe", {"sessionId": "../../etc/passwd"}, "unknown_session"),
    ("agent/newSession", {"clientKey": "k1", "provider": "nobody"}, "bad_choice"),
    ("agent/newSession", {"clientKey": "k2", "workspaceFolder": "file:///no/such/folder"}, "bad_choice"),
    ("agent/newSession", {"clientKey": "k4", "mode": "reckless"}, "invalid_params"),
    ("agent/review", {"clientKey": "k", "verdict": "keep"}, "ambiguous_selection"),
    (
        "agent/review",
        {"clientKey": "k", "verdict": "keep", "turnId": "t", "uri": "file:///a"},
        "ambiguous_selection",
    ),
    ("agent/hunks", {"uri": "untitled:x"}, "invalid_params"),
    ("agent/clientAnswer", {"sessionId": "s", "requestId": "cr-none"}, "nothing_pending"),
    ("agent/terminals", {"sessionId": "s"}, "session_closed"),
    ("agent/doesNotExist", {}, "unknown_method"),
]


@pytest.mark.req("R5")
async def test_requests_with_invalid_params_are_refused_with_an_error_kind_and_no_traceback(
    project: Path,
) -> None:
    async with editing(project) as (editor, server):
        for method, params, kind in PARAMS_ERRORS:
            with pytest.raises(ResponseError) as caught:
                await editor.client.request(method, params)
            assert caught.value.data["kind"] == kind, (method, params, caught.value)
            assert "Traceback" not in json.dumps([caught.value.message, caught.value.data])
        assert (await editor.client.request("agent/hunks"))["files"] == []
        assert "Traceback" not in server.log


@pytest.mark.req("H8")
async def test_new_session_is_refused_with_a_hint_for_a_client_without_the_agent_ls_capability(
    project: Path,
) -> None:
    async with editing(project, "minimal") as (editor, _):
        with pytest.raises(ResponseError) as refused:
            await editor.new_session()
        assert refused.value.data["kind"] == "not_negotiated"
        assert "experimental.agentLs" in refused.value.data["detail"]


@pytest.mark.req("H8")
async def test_an_incompatible_plugin_is_reported_once_and_treated_as_plugin_free(project: Path) -> None:
    async with server_process() as server:
        capabilities = {"experimental": {"agentLs": {"version": 99, "events": True}}}
        result = await server.client.initialize(folder=project, capabilities=capabilities)
        assert "experimental" not in result["capabilities"]
        message = await server.client.wait_for(lambda m: m.get("method") == "window/showMessage")
        assert "version" in message["params"]["message"]
        with pytest.raises(ResponseError):
            await Editor(server.client).new_session()


@pytest.mark.req("R3", "R4", "H7")
async def test_a_resume_after_a_kill_keeps_everything_but_the_running_turn(project: Path) -> None:
    key = new_key()
    async with editing(project) as (editor, server):
        session_id = await editor.new_session()
        submitted = await editor.submit(session_id, TASK, clientKey=key)
        await editor.client.event("approval_requested")
        before = recorded(editor, session_id)
        server.process.send_signal(signal.SIGKILL)
        await server.exit_code()
    async with editing(project) as (editor, _):
        resumed = await editor.subscribe(session_id)
        events = resumed["events"]
        assert [event["seq"] for event in events] == list(range(1, resumed["lastSeq"] + 1))
        assert events[before[0]["seq"] - 1 : before[-1]["seq"]] == before
        assert resumed["session"]["state"] == "AWAITING_INPUT"  # the question is still pending
        assert await editor.submit(session_id, TASK, clientKey=key) == submitted
        await editor.client.request("agent/interrupt", {"sessionId": session_id, "clientKey": new_key()})
        await editor.client.event("processing_end", reason="interrupted")
        async with approving(editor):
            again = await editor.submit(session_id, TASK)
            await editor.client.event("processing_end", reason="completed")
        assert again != submitted


@pytest.mark.req("R4", "L16")
@pytest.mark.parametrize("how", ["hang up", "shutdown", "SIGTERM"])
async def test_an_editor_exit_ends_the_processes_of_running_commands(how: str, project: Path) -> None:
    tests = project / "tests" / "test_cart.py"
    pid_file = project / "pid"
    async with editing(project) as (editor, server):
        os.mkfifo(pid_file)
        slow = f"import os, time\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
        await anyio.Path(tests).write_text(slow + await anyio.Path(tests).read_text())
        session_id = await editor.new_session()
        async with approving(editor):
            await editor.submit(session_id, TASK)
            with anyio.fail_after(DEADLINE_S):
                pid = int(await anyio.Path(pid_file).read_text())
        if how == "shutdown":
            await editor.client.shut_down()
        elif how == "SIGTERM":
            server.process.send_signal(signal.SIGTERM)
        else:
            await editor.client.hang_up()
        assert await server.exit_code() == (1 if how == "hang up" else 0)
        assert not is_running(pid)
    async with editing(project) as (editor, _):
        events = (await editor.subscribe(session_id))["events"]
        kinds = [event["kind"] for event in events]
        assert kinds.count("tool_call_start") == kinds.count("tool_call_end")
        assert "processing_end" in kinds
