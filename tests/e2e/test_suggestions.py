"""Edit suggestions over real stdio and real HTTP: when they are registered, what is sent, and what cancels a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from agent_ls.features.suggestions.prompt import AFTER_CHARS, BEFORE_CHARS
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, FramedClient, ResponseError, server_process
from tests.support.loopback import AnthropicServer, ErrorReply, Gate, Reply, Text

pytestmark = pytest.mark.req("H27")

METHOD = "textDocument/inlineCompletion"
MODEL = "anthropic/claude-haiku-4-5"
KEY = "sk-test-loopback-0123456789"
INVOKED, AUTOMATIC = 1, 2


def capabilities(*, dynamic: bool | None) -> dict[str, Any]:
    """Return the capabilities of VS Code.

    `dynamic`: whether inline completion can be registered dynamically; None: the editor has no inline completion.
    """
    known = CAPABILITIES["vscode"]
    inline = {} if dynamic is None else {"inlineCompletion": {"dynamicRegistration": dynamic}}
    return {**known, "textDocument": {**known["textDocument"], **inline}}


class Suggesting:
    """An editor with a project, connected to a server. `offered` lists the server's registrations and
    unregistrations.
    """

    def __init__(self, client: FramedClient, project: Path) -> None:
        self.client = client
        self.editor = Editor(client)
        self.project = project
        self.settings: dict[str, Any] = {}
        self.offered: list[tuple[str, str]] = []
        self.capabilities: dict[str, Any] = {}
        client.handlers["workspace/configuration"] = self._configuration
        client.handlers["client/registerCapability"] = self._register
        client.handlers["client/unregisterCapability"] = self._unregister

    async def _configuration(self, params: Any) -> Any:
        return [self.settings for _ in params["items"]]

    async def _register(self, params: Any) -> None:
        self.offered += [("offered", it["method"]) for it in params["registrations"]]

    async def _unregister(self, params: Any) -> None:
        self.offered += [("withdrawn", it["method"]) for it in params["unregisterations"]]

    async def configure(self, **settings: Any) -> None:
        """Change the settings of the editor, as a user does."""
        self.settings = settings
        await self.client.notify("workspace/didChangeConfiguration", {"settings": None})

    async def begin(self, path: Path, at: tuple[int, int], kind: int = INVOKED) -> int:
        return await self.client.start(
            METHOD,
            {
                "textDocument": {"uri": path.as_uri()},
                "position": {"line": at[0], "character": at[1]},
                "context": {"triggerKind": kind},
            },
        )

    async def suggest(self, path: Path, at: tuple[int, int], kind: int = INVOKED) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await self.client.result(await self.begin(path, at, kind)))["items"]
        return items

    @property
    def messages(self) -> Sequence[str]:
        return [
            m["params"]["message"] for m in self.client.received if m.get("method") == "window/showMessage"
        ]


@asynccontextmanager
async def suggesting(
    tmp_path: Path,
    provider: AnthropicServer | None = None,
    *,
    address: str = "",
    dynamic: bool | None = True,
    trusted: bool = True,
    **settings: Any,
) -> AsyncIterator[Suggesting]:
    """Run an editor with suggestions switched on. The server has a key only with a `provider` or an `address`."""
    project = tmp_path / "project"
    project.mkdir()
    env = {"AGENT_LS_STATE_DIR": str(tmp_path / "state")} | ({} if trusted else {TRUST_VARIABLE: ""})
    if url := provider.base_url if provider else address:
        env |= {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}
    async with server_process(env=env) as server:
        found = Suggesting(server.client, project)
        found.settings = {"suggestions": True, "models": {"suggestions": MODEL}, **settings}
        result = await server.client.initialize(
            folder=project,
            capabilities=capabilities(dynamic=dynamic),
            initializationOptions={"agentLs": found.settings},
        )
        found.capabilities = result["capabilities"]
        yield found
        assert "Traceback" not in server.log


async def test_a_suggestion_completes_the_unsaved_text_at_the_cursor(tmp_path: Path) -> None:
    with AnthropicServer(["```python\nprice * count)\n```"]) as provider:
        async with suggesting(tmp_path, provider) as found:
            cart = found.project / "shop" / "cart.py"
            await found.editor.open(cart, "# \U0001f6d2\ntotal = add()\nprint(total)\n")
            items = await found.suggest(cart, (1, 12))
            where = {"line": 1, "character": 12}
            assert items == [{"insertText": "price * count", "range": {"start": where, "end": where}}]
            assert not found.messages
        (request,) = provider.requests
        assert request.body["model"] == "claude-haiku-4-5"
        assert request.body["max_tokens"] <= 2_048 and "tools" not in request.body
        (message,) = request.body["messages"]
        text = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
        assert text == (
            "File: shop/cart.py\nLanguage: python\n\n<before_cursor># \U0001f6d2\ntotal = add(</before_cursor>"
            "<after_cursor>)\nprint(total)\n</after_cursor>"
        )


async def test_suggestion_positions_use_the_position_encoding_of_the_editor(tmp_path: Path) -> None:
    with AnthropicServer(["x"]) as provider:
        async with suggesting(tmp_path, provider) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "\U0001f6d2\U0001f6d2 = \n")
            (item,) = await found.suggest(file, (0, 7))
            assert item["range"]["start"] == {"line": 0, "character": 7}
        assert "<before_cursor>\U0001f6d2\U0001f6d2 = </before_cursor>" in str(provider.requests[0].body)


async def test_a_suggestion_request_sends_only_part_of_a_long_document_and_redacts_keys(
    tmp_path: Path,
) -> None:
    with AnthropicServer(["x"]) as provider:
        async with suggesting(tmp_path, provider) as found:
            file = found.project / "a.py"
            above, below = "a" * 3 * BEFORE_CHARS, "b" * 3 * AFTER_CHARS
            await found.editor.open(file, f"{above}\n{KEY}\nx = \n{below}")
            assert await found.suggest(file, (2, 4))
        sent = str(provider.requests[0].body["messages"])
        assert BEFORE_CHARS - 100 < sent.count("a") < BEFORE_CHARS + 100
        assert AFTER_CHARS - 100 < sent.count("b") < AFTER_CHARS + 100
        assert KEY not in sent and "secret removed" in sent


async def test_suggestions_are_neither_offered_nor_requested_from_the_model_by_default(
    tmp_path: Path,
) -> None:
    with AnthropicServer([]) as provider:
        async with suggesting(tmp_path, provider, suggestions=False) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            assert await found.suggest(file, (0, 4)) == []
            assert (
                "inlineCompletionProvider" not in found.capabilities
                and not found.offered
                and not found.messages
            )
        assert not provider.requests


async def test_automatic_suggestion_requests_while_the_user_types_get_an_empty_list(tmp_path: Path) -> None:
    with AnthropicServer(["1"]) as provider:
        async with suggesting(tmp_path, provider) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            assert await found.suggest(file, (0, 4), AUTOMATIC) == []
            assert await found.suggest(file, (0, 4), INVOKED)
        assert len(provider.requests) == 1


async def test_inline_completion_is_registered_and_unregistered_when_the_setting_changes(
    tmp_path: Path,
) -> None:
    with AnthropicServer([]) as provider:
        async with suggesting(tmp_path, provider, suggestions=False) as found:
            await found.configure(suggestions=True)
            await found.client.wait_for(lambda m: m.get("method") == "client/registerCapability")
            await found.configure(suggestions=False)
            await found.client.wait_for(lambda m: m.get("method") == "client/unregisterCapability")
            assert found.offered == [("offered", METHOD), ("withdrawn", METHOD)]
            (registration,) = next(
                m["params"]["registrations"]
                for m in found.client.received
                if m.get("method") == "client/registerCapability"
            )
            assert registration["registerOptions"] == {"documentSelector": [{"scheme": "file"}]}


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("is_on", [True, False])
async def test_inline_completion_is_a_static_capability_if_the_setting_is_on_at_startup(
    tmp_path: Path, dynamic: bool, is_on: bool
) -> None:
    with AnthropicServer(["1"]) as provider:
        async with suggesting(tmp_path, provider, dynamic=dynamic, suggestions=is_on) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            assert ("inlineCompletionProvider" in found.capabilities) == is_on
            assert bool(await found.suggest(file, (0, 4))) == is_on
            assert not found.offered


async def test_a_client_without_inline_completion_is_offered_no_suggestions(tmp_path: Path) -> None:
    async with suggesting(tmp_path, dynamic=None) as found:
        file = found.project / "a.py"
        await found.editor.open(file, "x = ")
        assert await found.suggest(file, (0, 4), AUTOMATIC) == []
        assert "inlineCompletionProvider" not in found.capabilities and not found.offered


async def test_cancelling_a_suggestion_request_ends_the_model_call(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[gate], "1"]) as provider:
        async with suggesting(tmp_path, provider) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            request_id = await found.begin(file, (0, 4))
            await anyio.to_thread.run_sync(gate.wait_reached)
            await found.client.notify("$/cancelRequest", {"id": request_id})
            with pytest.raises(ResponseError) as cancelled:
                await found.client.result(request_id)
            assert cancelled.value.code == -32800
            await anyio.to_thread.run_sync(provider.requests[0].wait_disconnected)
            assert await found.suggest(file, (0, 4)) and not found.messages
        gate.open()


@pytest.mark.parametrize("what", ["typing", "closing"])
async def test_changing_or_closing_the_document_ends_the_model_call_of_a_suggestion(
    tmp_path: Path, what: str
) -> None:
    gate = Gate()
    with AnthropicServer([[gate]]) as provider:
        async with suggesting(tmp_path, provider) as found:
            file, other = found.project / "a.py", found.project / "b.py"
            await found.editor.open(file, "x = ")
            await found.editor.open(other, "y = ")
            request_id = await found.begin(file, (0, 4))
            await anyio.to_thread.run_sync(gate.wait_reached)
            await found.editor.type(other, 0, "z")
            assert not provider.requests[0].disconnected.is_set()
            if what == "typing":
                await found.editor.type(file, 0, "z")
            else:
                await found.client.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})
            assert await found.client.result(request_id) == {"items": []}
            await anyio.to_thread.run_sync(provider.requests[0].wait_disconnected)
            assert not found.messages
        gate.open()


async def test_a_newer_suggestion_request_ends_the_older_one(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[gate], "2"]) as provider:
        async with suggesting(tmp_path, provider) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            older = await found.begin(file, (0, 4))
            await anyio.to_thread.run_sync(gate.wait_reached)
            (item,) = await found.suggest(file, (0, 4))
            assert item["insertText"] == "2"
            assert await found.client.result(older) == {"items": []}
        gate.open()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("project/private/a.py", ".agent-ls-ignore"),
        ("project/.env", "secrets"),
        ("elsewhere.py", "no folder that is open"),
        ("project/link.py", "outside the workspace"),
    ],
)
async def test_a_suggestion_request_sends_no_text_of_files_that_tools_must_not_read(
    tmp_path: Path, name: str, words: str
) -> None:
    with AnthropicServer([]) as provider:
        async with suggesting(tmp_path, provider) as found:
            (found.project / ".agent-ls-ignore").write_text("private/\n")
            (tmp_path / "elsewhere.py").write_text("x = ")
            (found.project / "link.py").symlink_to(tmp_path / "elsewhere.py")
            file = tmp_path / name
            await found.editor.open(file, "x = ")
            for _ in range(2):
                assert await found.suggest(file, (0, 4)) == []
            (message,) = found.messages
            assert "not sent" in message and words in message
        assert not provider.requests


async def test_a_suggestion_request_sends_no_text_of_an_untrusted_folder(tmp_path: Path) -> None:
    with AnthropicServer([]) as provider:
        async with suggesting(tmp_path, provider, trusted=False) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            for _ in range(2):
                assert await found.suggest(file, (0, 4)) == []
            (message,) = found.messages
            assert "not trusted" in message and "agent-ls trust add" in message
        assert not provider.requests


async def test_a_missing_api_key_for_suggestions_is_reported_once(tmp_path: Path) -> None:
    async with suggesting(tmp_path) as found:
        file = found.project / "a.py"
        await found.editor.open(file, "x = ")
        for _ in range(3):
            assert await found.suggest(file, (0, 4)) == []
        (message,) = found.messages
        assert MODEL in message and "no API key" in message and "ANTHROPIC_API_KEY" in message


async def test_the_walkthrough_model_suggests_nothing_and_reports_that_once(tmp_path: Path) -> None:
    async with suggesting(tmp_path) as found:
        await found.configure(suggestions=True, models={}, provider="walkthrough")
        file = found.project / "a.py"
        await found.editor.open(file, "x = ")
        for _ in range(2):
            assert await found.suggest(file, (0, 4)) == []
        (message,) = found.messages
        assert "scripted model" in message and "models.suggestions" in message


async def test_without_a_suggestion_model_suggestions_use_the_title_model_or_the_session_model(
    tmp_path: Path,
) -> None:
    with AnthropicServer(["1", "2"]) as provider:
        models = {"titles": "anthropic/claude-haiku-4-5"}
        async with suggesting(tmp_path, provider, models=models, model="claude-sonnet-5-5") as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            assert await found.suggest(file, (0, 4))
            await found.configure(
                suggestions=True, provider="anthropic", model="claude-sonnet-5-5", models={}
            )
            assert await found.suggest(file, (0, 4))
        assert [it.body["model"] for it in provider.requests] == ["claude-haiku-4-5", "claude-sonnet-5-5"]


async def test_each_model_failure_is_reported_once_until_a_suggestion_succeeds(tmp_path: Path) -> None:
    unknown = ErrorReply(404, message="model: no such model")
    overloaded = ErrorReply(529, message="Overloaded", headers={"x-should-retry": "false"})
    with AnthropicServer([unknown, unknown, overloaded, "1", unknown]) as provider:
        async with suggesting(tmp_path, provider) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            counts = []
            for _ in range(5):
                await found.suggest(file, (0, 4))
                counts.append(len(found.messages))
            assert counts == [1, 1, 2, 2, 3]
            assert all(message.startswith(f"No suggestion: {MODEL} failed: ") for message in found.messages)


async def test_model_answers_without_insertable_text_give_no_suggestion(tmp_path: Path) -> None:
    with AnthropicServer(["a\x1b[2Jb", Reply([Text("")])], allow_violations=True) as provider:
        async with suggesting(tmp_path, provider) as found:
            file = found.project / "a.py"
            await found.editor.open(file, "x = ")
            for _ in range(2):
                assert await found.suggest(file, (0, 4)) == []
            assert not found.messages


@pytest.mark.req("R5")
async def test_malformed_requests_and_unknown_documents_do_not_end_the_server(tmp_path: Path) -> None:
    async with suggesting(tmp_path) as found:
        for params in ({}, None, {"textDocument": {"uri": 1}, "position": {}, "context": {}}):
            with pytest.raises(ResponseError) as refused:
                await found.client.request(METHOD, params)
            assert refused.value.code == -32602
        assert await found.suggest(found.project / "closed.py", (0, 0)) == []
        file = found.project / "a.py"
        await found.editor.open(file, "")
        assert await found.suggest(file, (9_999, 9_999), AUTOMATIC) == []
