"""Programs without an event loop use the same sessions and models, without `await`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.llm.generate import StreamResult, build_request, default_client, set_default_client
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text
from tests.support.loopback import AnthropicServer

pytestmark = pytest.mark.req("H13", "U1")


def test_session_is_used_without_await(tmp_path: Path) -> None:
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(request.tool)
        return True

    model = FakeProvider([call("shell", command="touch made"), text("One."), text("Two.")])
    with agent_ls.open_session_sync(**options(tmp_path, model, approve=approve)) as session:
        kinds = [event.kind for event in session.run("go")]
        assert kinds[-1] == "processing_end" and asked == ["shell"]
        assert session.ask("again") == "Two."
        assert [record.name for record in session.calls()] == ["shell"]
        session.configure(mode="plan")
        assert session.follow_up and session.queue == () and session.id.startswith("s-")
    assert (tmp_path / "project" / "made").exists()


def test_error_of_a_session_reaches_the_program(tmp_path: Path) -> None:
    with pytest.raises(agent_ls.AppError, match="oracle"):
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider()) | {"provider": "oracle"}):
            pass
    with pytest.raises(ZeroDivisionError):
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider())):
            raise ZeroDivisionError


async def test_sync_functions_inside_a_running_loop_raise_an_error_that_says_await(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="await"):
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider())):
            pass


@pytest.mark.req("U9")
def test_models_can_be_called_repeatedly_without_await(monkeypatch: pytest.MonkeyPatch) -> None:
    with AnthropicServer(["One.", "Two.", '{"n": 3}']) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        set_default_client(None)
        try:
            request = build_request("claude-sonnet-4-5", "Say it.")
            assert agent_ls.run_sync(agent_ls.generate, request).text == "One."
            streamed: StreamResult = agent_ls.stream(request)
            assert list(agent_ls.iterate_sync(streamed)) and streamed.response().text == "Two."
            schema: dict[str, Any] = {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
            }
            assert agent_ls.run_sync(agent_ls.generate_object, request, schema).output == {"n": 3}
            agent_ls.run_sync(default_client().close)
        finally:
            set_default_client(None)
