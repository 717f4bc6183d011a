"""A real panel process next to real servers: pages read and decide in sessions that editors own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_ls.loop.calls.redaction import MARK
from tests.support.editor import text_input
from tests.support.framed_client import ResponseError
from tests.support.loopback import Answer, AnthropicServer, Gate, Text, ToolCall
from tests.support.panel import PanelProcess, panel
from tests.support.processes import eventually
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H29")

MAKE_FILE = ToolCall("shell", {"command": "touch made-by-agent"})


@asynccontextmanager
async def editor_and_panel(
    tmp_path: Path, script: Sequence[Answer]
) -> AsyncIterator[tuple[Served, PanelProcess]]:
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            variables = {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
            async with panel(found.state, found.project, **variables) as running:
                yield found, running


async def test_page_reads_the_editors_turn_approves_steers_and_stops_it(tmp_path: Path) -> None:
    gate = Gate()
    script: list[Answer] = [[MAKE_FILE], [Text("It ", gate, "is done.")], "Shorter."]
    async with editor_and_panel(tmp_path, script) as (found, running):
        session = await found.editor.new_session(provider="anthropic", mode="ask")
        await found.editor.submit(session, "Make it.")
        asked = await found.client.event("approval_requested")
        async with running.page(await running.log_in()) as page:
            (listed,) = (await page.request("panel/sessions"))["sessions"]
            assert (listed["id"], listed["live"], listed["activity"]) == (session, True, "waiting")
            assert listed["owner"]["pid"] == found.server.process.pid
            opened = await page.subscribe(session)
            assert opened["session"]["access"] == "owner"
            (pending,) = opened["pending"]["approvals"]
            await page.of(session, "approve", requestId=pending["requestId"], decision="allow", scope="once")
            assert pending["requestId"] == asked["data"]["requestId"]
            await page.event("assistant_text_delta")
            await page.of(session, "submit", input=text_input("Shorter."), whenBusy="steer")
            await found.client.event("steering_queued")
            await page.of(session, "interrupt")
            end = await page.event("processing_end")
            assert end["data"]["reason"] == "interrupted"
            gate.open()
        assert (found.project / "made-by-agent").exists()


async def test_page_undoes_a_hunk_in_the_editors_document(tmp_path: Path) -> None:
    async with editor_and_panel(tmp_path, []) as (found, running):
        path = found.project / "shop" / "cart.py"
        before = path.read_text()
        document = await found.editor.open(path)
        session = await found.task_done()
        assert document.source != before
        async with running.page(await running.log_in()) as page:
            opened = await page.subscribe(session)
            ids = [hunk["id"] for file in opened["pending"]["hunks"] for hunk in file["hunks"]]
            wanted = {"hunkIds": ids, "verdict": "undo", "clientKey": "undo-by-panel"}
            async with found.editor.doing_as_asked():
                await page.request("agent/review", session, **wanted)
            await page.event("hunk_state")
        await eventually(lambda: document.source == before)


async def test_page_takes_a_session_over_and_its_former_owner_follows_it(tmp_path: Path) -> None:
    async with editor_and_panel(tmp_path, ["From the panel."]) as (found, running):
        session = await found.editor.new_session(provider="anthropic")
        async with running.page(await running.log_in()) as page:
            await page.subscribe(session)
            await page.take_over(session)
            assert (await page.subscribe(session))["session"]["access"] == "owner"
            assert (await found.client.event("access"))["data"]["access"] == "readOnly"
            await page.of(session, "submit", input=text_input("Here?"))
            await page.event("assistant_text_end", text="From the panel.")
            await found.client.event("assistant_text_end", text="From the panel.")


async def test_a_killed_owner_makes_the_session_read_only_until_it_is_taken_over(tmp_path: Path) -> None:
    async with editor_and_panel(tmp_path, [[MAKE_FILE], "Done."]) as (found, running):
        session = await found.editor.new_session(provider="anthropic", mode="ask")
        await found.editor.submit(session, "Make it.")
        await found.client.event("approval_requested")
        async with running.page(await running.log_in()) as page:
            await page.subscribe(session)
            found.server.process.kill()
            access = await page.event("access")
            assert access["data"] == {"access": "readOnly"}
            with pytest.raises(ResponseError) as closed:
                await page.subscribe(session)  # reading a session makes nobody its owner
            assert closed.value.data["kind"] == "not_open"
            await page.take_over(session)
            opened = await page.subscribe(session)
            (pending,) = opened["pending"]["approvals"]
            assert not (found.project / "made-by-agent").exists()
            await page.of(session, "approve", requestId=pending["requestId"], decision="allow", scope="once")
            await page.event("processing_end")
        assert (found.project / "made-by-agent").exists()


async def test_session_whose_owner_has_closed_its_channel_is_not_opened_by_the_panel(tmp_path: Path) -> None:
    """An owner that is being killed closes its channel a moment before its lock is free."""
    async with editor_and_panel(tmp_path, []) as (found, running):
        session = await found.editor.new_session(provider="anthropic", mode="ask")
        name = f"*-{found.server.process.pid}-*.sock"
        await eventually(lambda: any((found.state / "channels").glob(name)))
        (channel,) = (found.state / "channels").glob(name)
        channel.unlink()
        channel.touch()  # a name that refuses to be connected to
        async with running.page(await running.log_in()) as page:
            with pytest.raises(ResponseError) as closed:
                await page.subscribe(session)
            assert closed.value.data["kind"] == "not_open"


async def test_a_killed_panel_changes_nothing_in_the_editors_session(tmp_path: Path) -> None:
    async with editor_and_panel(tmp_path, [[MAKE_FILE], "Done."]) as (found, running):
        session = await found.editor.new_session(provider="anthropic", mode="ask")
        await found.editor.submit(session, "Make it.")
        asked = await found.client.event("approval_requested")
        async with running.page(await running.log_in()) as page:
            await page.subscribe(session)
            running.process.kill()
            await running.process.wait()
        (pending,) = (await found.editor.subscribe(session))["pending"]["approvals"]
        assert pending["requestId"] == asked["data"]["requestId"]
        await found.editor.approve(asked)
        await found.client.event("processing_end")


async def test_first_approval_decision_counts_if_two_panels_display_one_session(tmp_path: Path) -> None:
    async with editor_and_panel(tmp_path, [[MAKE_FILE], "Done."]) as (found, first):
        session = await found.editor.new_session(provider="anthropic", mode="ask")
        await found.editor.submit(session, "Make it.")
        asked = await found.client.event("approval_requested")
        async with panel(found.state, found.project) as second:
            async with (
                first.page(await first.log_in()) as one,
                second.page(await second.log_in()) as other,
            ):
                for page in (one, other):
                    await page.subscribe(session)
                answer = {"requestId": asked["data"]["requestId"], "scope": "once"}
                decided = await one.of(session, "approve", decision="deny", **answer)
                repeated = await other.of(session, "approve", decision="allow", **answer)
                assert (decided["decision"], repeated["decision"]) == ("deny", "deny")
                for page in (one, other):
                    await page.event("processing_end")
        assert not (found.project / "made-by-agent").exists()


async def test_api_keys_do_not_reach_the_page(tmp_path: Path) -> None:
    show_key = ToolCall("shell", {"command": "printf 'sk-test-%s' loopback"})
    async with editor_and_panel(tmp_path, [[show_key], "Done."]) as (found, running):
        session = await found.editor.new_session(provider="anthropic", mode="ask")
        async with running.page(await running.log_in()) as page:
            await page.subscribe(session)
            await page.request("agent/models")
            await page.of(session, "submit", input=text_input("Show it."))
            await page.event("processing_end")
            assert "sk-test-loopback" not in str(page.received)
            assert MARK in str(page.received)
