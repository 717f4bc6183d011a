"""The text protocol on the APIs of Anthropic, OpenAI and Google: what is sent, and what is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.providers.text_tools import NO_TOOLS
from tests.llm.providers.test_anthropic_stream import end, sse as events, start, text_block
from tests.llm.providers.test_gemini_stream import chunk, wire as gemini_wire
from tests.llm.providers.test_openai_stream import CREATED, added, done, final, sse as items
from tests.llm.providers.test_refusals import asking, spoken
from tests.llm.reports.chat import say
from tests.support.codec_runs import body_of, response_of

REFUSED = {
    "anthropic": "registry.ollama.ai/library/gemma does not support tools",
    "openai": "tools is not supported in this model",
    "gemini": "Function calling is not enabled for models/gemma-3-27b-it",
}
CODECS: dict[str, Any] = {
    "anthropic": AnthropicCodec,
    "openai": OpenAIResponsesCodec,
    "gemini": GeminiCodec,
}
CALL = '<tool_call>\n{"name": "read", "arguments": {"a": "b"}}\n</tool_call>'


def toolless(wire: str) -> Any:
    """Return a codec whose server has refused tools."""
    speaker, request = spoken(wire), asking(wire)
    error = speaker.decode_error(request, ReplyHead(400), json.dumps(say(REFUSED[wire])).encode())
    assert speaker.adapt_encoding(request, error)
    assert not speaker.adapt_encoding(request, error), "it is sent again once"
    return speaker


def answered(wire: str, text: str) -> bytes:
    match wire:
        case "anthropic":
            return events(start(), *text_block(0, text), *end())
        case "openai":
            said = {"type": "message", "id": "m", "role": "assistant"}
            whole = {**said, "content": [{"type": "output_text", "text": text}]}
            return items(CREATED, added(0, {**said, "content": []}), done(0, whole), final())
    return gemini_wire(chunk({"text": text}), chunk(finish="STOP"))


@pytest.mark.req("P5")
@pytest.mark.parametrize("wire", REFUSED)
def test_a_model_whose_server_refuses_tools_gets_them_as_text(wire: str) -> None:
    sent = body_of(toolless(wire).encode(asking(wire), stream=True))
    text = json.dumps(sent)
    assert not {"tools", "tool_choice", "toolConfig", "parallel_tool_calls"} & {*sent}
    assert not any(name in text for name in ("tool_use", "function_call", "functionCall", "functionResponse"))
    assert "## read" in text, "the tools are described"
    assert r"<tool_call>\n{\"name\": \"read\"" in text, "earlier calls are texts"
    assert r"<tool_result name=\"list\">" in text, "and so are their results"


@pytest.mark.parametrize("wire", REFUSED)
def test_the_user_gets_a_warning_once(wire: str) -> None:
    speaker, model = toolless(wire), asking(wire).model
    assert NO_TOOLS in speaker.take_notices(model)
    assert not speaker.take_notices(model)


@pytest.mark.parametrize("wire", REFUSED)
def test_the_calls_that_the_model_writes_are_read(wire: str) -> None:
    response = response_of(toolless(wire), answered(wire, f"I look.\n\n{CALL}\n\nIt says"), asking(wire))
    assert [(call.name, json.loads(call.arguments)) for call in response.tool_calls] == [("read", {"a": "b"})]
    assert (response.text.strip(), response.finish_reason.kind) == ("I look.", "tool_calls")


@pytest.mark.parametrize("wire", REFUSED)
def test_the_setting_asks_for_texts_from_the_first_request_on(wire: str) -> None:
    speaker = CODECS[wire](capabilities_lookup(wire), text_tools=True)
    assert "tools" not in body_of(speaker.encode(asking(wire), stream=True))


@pytest.mark.parametrize("wire", REFUSED)
def test_another_model_still_gets_tools(wire: str) -> None:
    assert body_of(toolless(wire).encode(asking(wire, model="another"), stream=True))["tools"]
