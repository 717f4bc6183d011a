from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.headless.allowed import allow_listed
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd
from agent_ls.replay.session import read_recording, replay
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import Settings
from agent_ls.tools.web_fetch import WebPage as Fetched
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.session_rig import SessionRig, allow, deny, running
from tests.support.web_server import Answer as Page, web_server

pytestmark = pytest.mark.req("P4", "X8")
FETCHING = Settings(web_fetch=True)


def fetch(url: str) -> Any:
    return tool_call("web_fetch", json.dumps({"url": url}))


def offered(rig: SessionRig) -> list[str]:
    return [tool.name for tool in rig.model.requests[0].tools]


async def test_web_tools_are_offered_only_if_the_settings_enable_them(tmp_path: Path) -> None:
    async with running(tmp_path, [text("Hello.")]) as rig:
        await (await rig.talk()).say("hello")
        assert not {"web_fetch", "web_search"} & set(offered(rig))
    (tmp_path / "other").mkdir()
    both = Settings(web_fetch=True, web_search=True)
    async with running(tmp_path / "other", [text("Hello.")], settings=both) as rig:
        await (await rig.talk()).say("hello")
        assert offered(rig)[-2:] == ["web_fetch", "web_search"]


async def test_an_approval_displays_the_whole_url_and_a_stored_rule_covers_the_next_fetch(
    tmp_path: Path,
) -> None:
    asked: list[ApprovalRequested] = []

    def by_rule(request: ApprovalRequested) -> ApprovalAnswer:
        asked.append(request)
        return ApprovalAnswer("allow", rule_id=request.rules[0].id, scope="session", decided_by="test")

    pages = {"/guide?page=1": Page(b"<h1>Guide</h1>", "text/html"), "/more": Page(b"More.")}
    with web_server(pages) as server:
        script = [fetch(server.url("/guide?page=1")), fetch(server.url("/more")), text("Read.")]
        async with running(tmp_path, script, settings=FETCHING) as rig:
            await rig.talk("full", answers=by_rule, say="read the guide")
            assert [result.content.split("\n\n")[1] for result in rig.results()] == ["# Guide", "More."]
        assert [path for path, _ in server.asked] == ["/guide?page=1", "/more"]
    (request,) = asked
    assert request.effect == {
        "type": "FetchEffect", "url": server.url("/guide?page=1"), "privateAddress": "127.0.0.1",
    }  # fmt: skip
    assert "private network" in request.reason


@pytest.mark.parametrize("mode", ["plan", "ask", "full"])
async def test_a_denied_fetch_sends_no_request(tmp_path: Path, mode: Any) -> None:
    with web_server({"/": Page(b"Hello")}) as server:
        async with running(tmp_path, [fetch(server.url()), text("No.")], settings=FETCHING) as rig:
            talk = await rig.talk(mode, answers=deny, say="fetch it")
            assert "Permission denied" in rig.results()[0].content
            assert [end.error_kind for end in talk.of(ToolCallEnd)] == ["permission_denied"]
            assert len(talk.of(ApprovalRequested)) == (mode != "plan")
        assert server.asked == []


async def test_a_recorded_fetch_is_replayed_without_the_network(tmp_path: Path) -> None:
    settings = Settings(web_fetch=True, record=True, walkthrough_pause_ms=0)
    with web_server({"/": Page(b"Hello")}) as server:
        script = [
            fetch(server.url()),
            fetch(server.url("/none")),
            fetch("http://127.0.0.1:1/"),
            text("Done."),
        ]
        async with running(tmp_path, script, settings=settings) as rig:
            await (await rig.talk(answers=allow)).say("fetch them")
            contents = [result.content for result in rig.results()]
    assert "Hello" in contents[0] and "404" in contents[1] and "cannot be fetched" in contents[2]
    (path,) = (tmp_path / "state" / "recordings").glob("*.jsonl")
    done = await replay(read_recording(path))
    assert done.differences == []
    assert done.calls == 4


async def test_a_changed_model_keeps_the_web_tools(tmp_path: Path) -> None:
    async with running(tmp_path, [text("One."), text("Two.")], settings=FETCHING) as rig:
        talk = await rig.talk(say="one")
        await talk.live.configure(model="claude-haiku-4-5")
        await talk.say("two")
        names = [[tool.name for tool in request.tools] for request in rig.model.requests]
        assert names[0] == names[1] and "web_fetch" in names[1]
    assert isinstance(rig.model, FakeProvider)


@pytest.mark.parametrize("listed", [[], ["https://docs.example/"]])
async def test_a_headless_run_fetches_only_listed_sites(tmp_path: Path, listed: list[str]) -> None:
    web = Web()
    script = [fetch("https://docs.example/a"), fetch("https://other.example/"), text("Done.")]
    async with running(tmp_path, script, settings=FETCHING, pages=web) as rig:
        talk = await rig.talk("full", answers=deny)
        await allow_listed(talk.live, listed, os.environ)
        await talk.say("fetch them")
    assert web.asked == (["https://docs.example/a"] if listed else [])


@pytest.mark.parametrize("wrong", ["https://", "http://[x/"])
async def test_an_invalid_site_in_the_headless_allow_list_is_refused(tmp_path: Path, wrong: str) -> None:
    async with running(tmp_path, settings=FETCHING) as rig:
        talk = await rig.talk()
        with pytest.raises(BadChoiceError, match="not an address of a site"):
            await allow_listed(talk.live, [wrong], os.environ)


class Web:
    """ADAPTER WebFetcher: a page for every address."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def private_address(self, url: str) -> str:
        return ""

    async def fetch(self, url: str, private_address: str) -> Fetched:
        self.asked.append(url)
        return Fetched(url, 200, "text/plain", "Hello")
