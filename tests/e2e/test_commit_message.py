"""Commit messages over real stdio, real git and real HTTP: what is sent, what is refused, and how calls are
cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.framed_client import CAPABILITIES, FramedClient, ResponseError, server_process
from tests.support.git import git
from tests.support.loopback import AnthropicServer, ErrorReply, Gate

pytestmark = pytest.mark.req("H20")

METHOD = "agent/commitMessage"
KEY = "sk-test-loopback-0123456789"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("total = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "shop: begin the cart")
    (folder / "cart.py").write_text("total = 2\n")
    return folder


@asynccontextmanager
async def connected(
    project: Path, service: AnthropicServer | None = None, *, trusted: bool = True, **settings: Any
) -> AsyncIterator[FramedClient]:
    env = {"AGENT_LS_STATE_DIR": str(project.parent / "state")} | ({} if trusted else {TRUST_VARIABLE: ""})
    if service:
        env |= {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": service.base_url}
    async with server_process(env=env) as server:
        await server.client.initialize(
            folder=project, capabilities=CAPABILITIES["vscode"], initializationOptions={"agentLs": settings}
        )
        yield server.client
        assert "Traceback" not in server.log


def sent(provider: AnthropicServer) -> str:
    return str(provider.requests[-1].body["messages"])


async def test_the_message_describes_the_changes_and_nothing_is_committed(project: Path) -> None:
    with AnthropicServer(["```\nshop: count to two\n```"]) as provider:
        async with connected(project, provider) as client:
            result = await client.request(METHOD, {"folder": project.as_uri(), "draft": "Fixes #7"})
        assert result == {"message": "shop: count to two", "staged": False}
        body = provider.requests[0].body
        assert "tools" not in body and body["max_tokens"] <= 2_048
        text = sent(provider)
        assert "+total = 2" in text and "shop: begin the cart" in text and "Fixes #7" in text
    assert git(project, "status", "--porcelain") == " M cart.py"
    assert git(project, "rev-list", "--count", "HEAD") == "1"


async def test_secrets_and_ignored_files_are_not_sent(project: Path) -> None:
    (project / ".agent-ls-ignore").write_text("private/\n")
    (project / "private").mkdir()
    (project / "private" / "plan.txt").write_text("the plan of the year\n")
    (project / ".env").write_text("PASSWORD=swordfish\n")
    (project / "cart.py").write_text(f"key = '{KEY}'\n")
    git(project, "add", "-f", ".")
    with AnthropicServer(["shop: x"]) as provider:
        async with connected(project, provider) as client:
            assert (await client.request(METHOD, {}))["staged"]
        text = sent(provider)
    assert "swordfish" not in text and "the plan of" not in text and KEY not in text
    assert "secret removed" in text and "- .env" in text


async def test_a_commit_message_for_an_untrusted_folder_is_refused(project: Path) -> None:
    with AnthropicServer([]) as provider:
        async with connected(project, provider, trusted=False) as client:
            with pytest.raises(ResponseError, match="not trusted this folder"):
                await client.request(METHOD, {})


async def test_a_repository_with_a_git_filter_program_is_refused(project: Path) -> None:
    ran = project.parent / "ran"
    git(project, "config", "filter.bad.clean", f"touch {ran}; cat")
    (project / ".gitattributes").write_text("*.py filter=bad\n")
    with AnthropicServer([]) as provider:
        async with connected(project, provider) as client:
            with pytest.raises(ResponseError, match=r"filter\.bad\.clean"):
                await client.request(METHOD, {})
    assert not ran.exists()


@pytest.mark.parametrize("where", ["outside", "clean"])
async def test_a_folder_that_is_not_open_or_has_no_changes_is_refused(project: Path, where: str) -> None:
    git(project, "checkout", "-q", "cart.py")
    params = {"folder": str(project.parent)} if where == "outside" else {}
    words = "not open in the editor" if where == "outside" else "no changes to commit"
    with AnthropicServer([]) as provider:
        async with connected(project, provider) as client:
            with pytest.raises(ResponseError, match=words):
                await client.request(METHOD, params)


async def test_cancelling_the_request_ends_the_model_call(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[gate], "shop: x"]) as provider:
        async with connected(project, provider) as client:
            request_id = await client.start(METHOD, {})
            await anyio.to_thread.run_sync(gate.wait_reached)
            await client.notify("$/cancelRequest", {"id": request_id})
            with pytest.raises(ResponseError) as cancelled:
                await client.result(request_id)
            assert cancelled.value.code == -32800
            await anyio.to_thread.run_sync(provider.requests[0].wait_disconnected)
            assert (await client.request(METHOD, {}))["message"] == "shop: x"
        gate.open()


async def test_provider_failures_keep_their_error_kind(project: Path) -> None:
    refused = ErrorReply(401, message="invalid x-api-key")
    with AnthropicServer([refused]) as provider:
        async with connected(project, provider) as client:
            with pytest.raises(ResponseError) as failed:
                await client.request(METHOD, {})
            assert failed.value.data["kind"] == "authentication"
    async with connected(project) as client:
        with pytest.raises(ResponseError) as failed:
            await client.request(METHOD, {})
        assert failed.value.data["kind"] == "configuration"
    async with connected(project, provider="walkthrough") as client:
        with pytest.raises(ResponseError, match="no commit messages"):
            await client.request(METHOD, {})


async def test_the_commit_message_is_requested_from_the_suggestions_model(project: Path) -> None:
    with AnthropicServer(["shop: x"]) as provider:
        async with connected(
            project, provider, models={"suggestions": "anthropic/claude-haiku-4-5"}, model="claude-sonnet-5-5"
        ) as client:
            await client.request(METHOD, {})
        assert provider.requests[0].body["model"] == "claude-haiku-4-5"
