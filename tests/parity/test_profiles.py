"""Each family's profile as its service sees it: tools, prompt, options, and limits of commands (P2, P3, P4, P9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.parity import wires
from tests.parity.cell import SERVERS, cell
from tests.support.loopback import ToolCall

OF_ALL = ["processes", "plan", "ask_user", "spawn_agent", "send_input", "wait", "close_agent"]
TOOLS = {
    "openai": ["read_file", "apply_patch", "write_file", "shell", "grep", "glob"],
    "anthropic": ["read_file", "write_file", "edit_file", "shell", "grep", "glob"],
    "gemini": [
        "read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir",
    ],
}  # fmt: skip
DOCUMENTS = {
    "AGENTS.md": "For all.",
    "CLAUDE.md": "For Claude.",
    "GEMINI.md": "For Gemini.",
    ".codex/instructions.md": "For Codex.",
}
OWN = {"openai": "For Codex.", "anthropic": "For Claude.", "gemini": "For Gemini."}


@pytest.mark.req("P2", "P3", "P4", "P9", "O5")
@pytest.mark.parametrize("provider", SERVERS)
async def test_request_has_the_tools_and_the_documents_of_its_family(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        for name, words in DOCUMENTS.items():
            it.write(name, words)
        it.answers("Hello.")
        await it.say("Hello?")
        (body,) = it.bodies
        assert wires.offered(provider, body) == [*TOOLS[provider], *OF_ALL]
        prompt = wires.instructions(provider, body)
        included = {words for words in DOCUMENTS.values() if words in prompt}
        assert included == {"For all.", OWN[provider]}


@pytest.mark.req("P3", "L2")
async def test_anthropic_command_timeout_is_the_default_timeout_in_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"defaultCommandTimeoutMs": 100}
    async with cell("anthropic", tmp_path, monkeypatch, settings=settings) as it:
        it.answers([ToolCall("shell", {"command": "sleep 300"})], "It takes too long.")
        await it.say("Run it.")
        assert "timed out after 100ms" in it.results[0].text
        assert "the timeout parameter" in it.results[0].text, (
            "the name in the tool that the model was offered"
        )


@pytest.mark.req("P3")
async def test_beta_headers_are_those_that_the_model_needs_and_those_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {
        "model": "claude-haiku-4-5",
        "providers": {"anthropic": {"options": {"beta_headers": ["context-1m-2025-08-07"]}}},
    }
    async with cell("anthropic", tmp_path, monkeypatch, settings=settings | {"provider": "anthropic"}) as it:
        it.answers("Hello.")
        await it.say("Hello?")
        (request,) = it.server.requests
        assert request.body["model"] == "claude-haiku-4-5"
        assert request.headers["anthropic-beta"] == "interleaved-thinking-2025-05-14,context-1m-2025-08-07"


HARMS = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]


@pytest.mark.req("P4")
@pytest.mark.parametrize("is_set", [False, True])
async def test_safety_settings_of_gemini_are_in_each_request_and_can_be_set(
    is_set: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"providers": {"gemini": {"options": {"safetySettings": HARMS}}}} if is_set else {}
    async with cell("gemini", tmp_path, monkeypatch, settings=settings) as it:
        it.write("a.txt", "a\n")
        it.answers([ToolCall("read_file", {"file_path": "a.txt"})], "Hello.")
        await it.say("Hello?")
        sent = [body["safetySettings"] for body in it.bodies]
        assert sent[0] == sent[1]
        thresholds = {row["threshold"] for row in sent[0]}
        assert (sent[0] == HARMS) is is_set
        assert is_set or (len(sent[0]) == 4 and thresholds == {"BLOCK_ONLY_HIGH"})


CAPABILITIES = {
    "gpt-6.1-sol": ("high", True, True),
    "gpt-4.1": ("", True, True),
    "o3-mini": ("high", True, False),
    "o1-pro": ("high", False, False),
}


@pytest.mark.req("P1")
@pytest.mark.parametrize("model", CAPABILITIES)
async def test_request_uses_only_capabilities_that_the_model_catalogue_lists(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    effort, streams, in_parallel = CAPABILITIES[model]
    settings = {"provider": "openai", "model": model}
    async with cell("openai", tmp_path, monkeypatch, settings=settings, effort="high") as it:
        it.answers("Hello.")
        await it.say("Hello?")
        (body,) = it.bodies
        assert wires.effort("openai", body) == effort
        assert body.get("stream", False) is streams
        assert body.get("parallel_tool_calls", False) is in_parallel


@pytest.mark.req("P1", "P2", "P7")
@pytest.mark.parametrize(("model", "kind"), [("gpt-6.1-sol", "custom"), ("gpt-4.1", "function")])
async def test_apply_patch_is_a_custom_tool_only_for_openai_models_with_custom_tools(
    model: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"provider": "openai", "model": model}
    async with cell("openai", tmp_path, monkeypatch, settings=settings) as it:
        it.write("a.py", "x = 1\n")
        it.answers(it.edit("a.py", ("x = 1", 'x = "ä\\n"')), "Done.")
        await it.say("Set x.")
        assert it.read("a.py") == 'x = "ä\\n"\n'
        first, last = it.bodies
        (offered,) = [tool for tool in first["tools"] if tool["name"] == "apply_patch"]
        assert offered["type"] == kind
        called = {"custom": "custom_tool_call", "function": "function_call"}[kind]
        kinds = [item["type"] for item in last["input"] if "call_id" in item]
        assert kinds == [called, f"{called}_output"]


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)


@pytest.mark.req("P1", "U5")
@pytest.mark.parametrize(("model", "sees"), [("gpt-6.1-sol", True), ("o3-mini", False)])
async def test_image_in_a_result_is_left_out_for_a_model_that_sees_none(
    model: str, sees: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"provider": "openai", "model": model}
    async with cell("openai", tmp_path, monkeypatch, settings=settings) as it:
        (it.folder / "a.png").write_bytes(PIXEL)
        it.answers([ToolCall("read_file", {"file_path": "a.png"})], "A pixel.")
        await it.say("What is it?")
        assert ("input_image" in str(it.bodies[-1])) is sees
        assert ("cannot see images" in it.results[0].text) is not sees
