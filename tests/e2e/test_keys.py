"""Keys that the editor sends: they apply at once, and exist only in the memory of the server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor, new_key
from tests.support.framed_client import ResponseError, ServerProcess, server_process
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    ChatServer,
    Gate,
    Reply,
    Text,
    ToolCall,
)

RIGHT = "sk-right-0123456789-abcdef"
WRONG = "sk-wrong-9876543210-fedcba"


@asynccontextmanager
async def editing(folder: Path, url: str, **variables: str) -> AsyncIterator[tuple[Editor, ServerProcess]]:
    """Run an editor with a server that has no key. Its state folder is next to `folder`."""
    env = {"ANTHROPIC_BASE_URL": url, "AGENT_LS_STATE_DIR": str(folder.parent / "state"), **variables}
    async with server_process(env=env) as server:
        editor = Editor(server.client)
        await editor.start(folder)
        yield editor, server
        everything = server.log + json.dumps(server.client.received)
        assert RIGHT not in everything and WRONG not in everything
        assert "Traceback" not in everything
    assert leaks(folder.parent) == []


def leaks(folder: Path) -> list[str]:
    keys = (RIGHT.encode(), WRONG.encode())
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(key in path.read_bytes() for key in keys)]


async def give(editor: Editor, secret: str | None, provider: str = "anthropic", key: str = "") -> Any:
    params = {"provider": provider, "secret": secret, "clientKey": key or new_key()}
    return await editor.client.request("agent/setCredential", params)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.mark.req("H16", "H2")
async def test_an_api_key_set_after_an_error_applies_to_the_open_session_at_once(folder: Path) -> None:
    with AnthropicServer(["Hello."], key=RIGHT) as provider:
        async with editing(folder, provider.base_url) as (editor, _):
            session_id = await editor.new_session(provider="anthropic")
            assert await editor.say(session_id, "Hello?") == "error"
            (error,) = [event["data"] for event in editor.client.events if event["kind"] == "error"]
            assert error["errorKind"] == "configuration" and "ANTHROPIC_API_KEY" in error["message"]
            assert await give(editor, f" {RIGHT}\n") == {"ok": True}
            assert await editor.say(session_id, "And now?") == "completed"
            await give(editor, None)
            assert await editor.say(session_id, "And without?") == "error"
        assert len(provider.requests) == 1


@pytest.mark.req("H16")
async def test_a_running_model_call_keeps_its_key(folder: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("One "), gate, Text("two.")], "Three."]) as provider:
        async with editing(folder, provider.base_url) as (editor, _):
            await give(editor, WRONG)
            session_id = await editor.new_session(provider="anthropic")
            await editor.submit(session_id, "Count.")
            await editor.client.event("assistant_text_start")
            await give(editor, RIGHT)
            gate.open()
            await editor.client.event("assistant_text_end", text="two.")
            await editor.client.event("processing_end", reason="completed")
            assert await editor.say(session_id, "Go on.") == "completed"
        assert [request.headers["x-api-key"] for request in provider.requests] == [WRONG, RIGHT]


@pytest.mark.req("H16", "X5")
async def test_commands_do_not_inherit_an_api_key_that_was_set_after_the_server_start(folder: Path) -> None:
    answers: list[Answer] = [[ToolCall("shell", {"command": "env; cat /proc/$PPID/cmdline; true"})], "Done."]
    with AnthropicServer(answers, key=RIGHT) as provider:
        # COPY contains the key, which the server did not know when it started.
        async with editing(folder, provider.base_url, COPY=f"x{RIGHT}x", PLAIN="seen") as (editor, _):
            session_id = await editor.new_session(provider="anthropic", mode="full")
            await give(editor, RIGHT)
            await editor.submit(session_id, "Show it.")
            await editor.approve(await editor.client.event("approval_requested"))
            ended = await editor.client.event("tool_call_end")
            assert "PLAIN=seen" in ended["data"]["output"]


REFUSED = [
    ("nobody", RIGHT, "nobody"),
    ("walkthrough", RIGHT, "walkthrough"),
    ("anthropic", f"{RIGHT} x", "not an API key"),
]


@pytest.mark.req("H16", "R5")
async def test_an_invalid_key_is_refused_without_repeating_it(folder: Path) -> None:
    async with editing(folder, "http://127.0.0.1:9") as (editor, _):
        for provider, secret, word in REFUSED:
            with pytest.raises(ResponseError, match=word) as refused:
                await give(editor, secret, provider)
            assert refused.value.data["kind"] == "bad_choice" and refused.value.data["hint"]
        with pytest.raises(ResponseError) as malformed:
            await editor.client.request("agent/setCredential", {"provider": "anthropic", "secret": [RIGHT]})
        assert malformed.value.data["kind"] == "invalid_params"


@pytest.mark.req("H16")
async def test_a_repeated_set_credential_request_with_the_same_client_key_is_accepted(folder: Path) -> None:
    async with editing(folder, "http://127.0.0.1:9") as (editor, _):
        client_key = new_key()
        assert await give(editor, RIGHT, key=client_key) == await give(editor, RIGHT, key=client_key)
        known = await editor.client.request("agent/models")
        assert {p["id"]: p["hasKey"] for p in known["providers"]}["anthropic"]
        await give(editor, "")
        known = await editor.client.request("agent/models")
        assert not {p["id"]: p["hasKey"] for p in known["providers"]}["anthropic"]


@pytest.mark.req("H2", "H16")
async def test_models_are_listed_with_key_variable_and_price(folder: Path) -> None:
    async with editing(folder, "http://127.0.0.1:9") as (editor, _):
        before = await editor.client.request("agent/models")
        assert before["defaultMode"] == "ask"
        providers = {provider["id"]: provider for provider in before["providers"]}
        assert providers["anthropic"]["keyVariable"] == "ANTHROPIC_API_KEY"
        assert "ANTHROPIC_API_KEY" in providers["anthropic"]["problem"]
        assert providers["walkthrough"] == {
            "id": "walkthrough",
            "name": "Walkthrough (built in, no AI)",
            "hasKey": True,
            "keyVariable": "",
        }
        assert "problem" not in providers["ollama"], "what runs on this machine needs no key"
        for provider in {model["provider"] for model in before["models"]}:
            defaults = [m for m in before["models"] if m["provider"] == provider and m["isDefault"]]
            assert len(defaults) == 1, provider
        model = next(m for m in before["models"] if m["provider"] == "anthropic" and m["isDefault"])
        assert model["images"] and model["efforts"] and model["outputPrice"] > model["inputPrice"] > 0
        await give(editor, RIGHT, "openai")
        after = await editor.client.request("agent/models")
        assert after["defaultProvider"] == "openai"
        assert "problem" not in {provider["id"]: provider for provider in after["providers"]}["openai"]


@pytest.mark.req("E6")
async def test_the_cost_of_calls_is_reported_and_summed_across_a_restart(folder: Path) -> None:
    used = {"input_tokens": 1000, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 200}
    reply = Reply([Text("Hello.")], usage={**used, "output_tokens": 100})
    dear = (1000 * 3 + 500 * 0.3 + 200 * 3.75 + 100 * 15) / 1e6
    with AnthropicServer([reply] * 4) as provider:
        async with editing(folder, provider.base_url, ANTHROPIC_API_KEY=RIGHT) as (editor, _):
            session_id = await editor.new_session(provider="anthropic", model="claude-sonnet-4-5")
            for _ in range(2):
                await editor.say(session_id, "Hello?")
            assert costs(editor) == [pytest.approx((dear, dear)), pytest.approx((dear, 2 * dear))]
        async with editing(folder, provider.base_url, ANTHROPIC_API_KEY=RIGHT) as (editor, _):
            last = (await editor.subscribe(session_id))["lastSeq"]
            await editor.say(session_id, "Hello?")
            assert costs(editor, last) == [pytest.approx((dear, 3 * dear))]
            unheard_of = {"sessionId": session_id, "clientKey": new_key(), "model": "claude-unheard-of"}
            await editor.client.request("agent/configure", unheard_of)
            await editor.say(session_id, "Hello?")
            assert costs(editor, last)[1:] == [(None, None)]


def costs(editor: Editor, after: int = 0) -> list[tuple[float | None, float | None]]:
    used = [e["data"] for e in editor.client.events if e["kind"] == "usage" and e["seq"] > after]
    return [(data["callCostUsd"], data["totalCostUsd"]) for data in used]


@pytest.mark.req("P5")
async def test_local_model_servers_are_queried_only_on_request_of_the_model_picker(folder: Path) -> None:
    with ChatServer([]) as local:
        local.listed = {"data": [{"id": "qwen", "max_model_len": 32_768}]}
        async with editing(folder, "http://127.0.0.1:9", VLLM_BASE_URL=local.base_url) as (editor, _):
            await editor.client.request("agent/models")
            assert local.requests == []
            found = await editor.client.request("agent/models", {"look": True})
            (model,) = [model for model in found["models"] if model["provider"] == "vllm"]
            assert (model["id"], model["contextTokens"], model["isDefault"]) == ("qwen", 32_768, False)
            assert model["address"] == local.base_url
            assert {request.method for request in local.requests} == {"GET"}
            session_id = await editor.new_session()
            chosen = {"sessionId": session_id, "provider": "vllm", "model": "qwen", "remember": True}
            await editor.client.request("agent/configure", {**chosen, "clientKey": new_key()})
            assert (await editor.client.request("agent/models"))["defaultProvider"] == "vllm"
        async with editing(folder, "http://127.0.0.1:9", VLLM_BASE_URL=local.base_url) as (editor, _):
            session = (await editor.client.request("agent/newSession", {"clientKey": new_key()}))["session"]
            assert (session["provider"], session["model"]) == ("vllm", "qwen")
