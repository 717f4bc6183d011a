"""Helpers of the tests of Chat Completions servers."""

from __future__ import annotations

import json
from typing import Any

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    user,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.requests import Request, Response, ToolDefinition
from tests.llm.providers.test_chat_stream import wire
from tests.support.codec_runs import response_of

TOOLS = tuple(ToolDefinition(name, "", {"type": "object"}) for name in ("read", "list", "get_time"))
ASK = Request("m", (user("hi"),), tools=TOOLS)


def codec(provider: str = "compatible") -> ChatCodec:
    return ChatCodec(provider, capabilities_lookup(provider))


def answer(*chunks: Any, provider: str = "compatible") -> Response:
    return response_of(codec(provider), wire(*chunks), ASK)


def calls_of(response: Response) -> list[tuple[str, str]]:
    return [(part.name, part.arguments) for part in response.tool_calls]


def pieces(*calls: Any) -> Any:
    return {"tool_calls": [piece["tool_calls"][0] for piece in calls]}


def refusal(status: int, body: Any, provider: str = "compatible", **headers: str) -> e.LlmError:
    text = body if isinstance(body, str) else json.dumps(body)
    return codec(provider).decode_error(ASK, ReplyHead(status, headers, 1_000.0), text.encode())


def say(message: str, **more: Any) -> Any:
    return {"error": {"message": message, **more}}
