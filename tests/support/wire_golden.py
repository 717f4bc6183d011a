"""Hand-written response streams in the providers' formats, with their decoded values, from tests/golden/wire.

NAME.sse contains the bytes of a stream, NAME.body.json the same answer unstreamed if there is one, NAME.json
the expected values: `answer` and the part of it that the next request sends `back`, or the `error`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.errors import LlmError, ProviderError
from agent_ls.llm.messages import (
    Citation,
    ContentPart,
    Message,
    OpaquePart,
    ReasoningPart,
    SearchPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.requests import Request, Response, ToolDefinition, Usage
from tests.support import REPOSITORY
from tests.support.codec_runs import ANTHROPIC, CHAT, GEMINI, OPENAI, body_of

FOLDER = REPOSITORY / "tests" / "golden" / "wire"
WIRES: Mapping[str, Codec] = {"anthropic": ANTHROPIC, "responses": OPENAI, "gemini": GEMINI, "chat": CHAT}


@dataclass(frozen=True)
class Golden:
    wire: str
    name: str
    expected: Mapping[str, Any]

    @property
    def codec(self) -> Codec:
        """Return the codec; some streams of Chat Completions are specific to one server."""
        provider = self.expected.get("provider")
        return ChatCodec(provider, capabilities_lookup(provider)) if provider else WIRES[self.wire]

    @property
    def request(self) -> Request:
        names = self.expected.get("tools", ())
        tools = tuple(ToolDefinition(name, "Does.", {"type": "object"}) for name in names)
        return Request("m", (user("hi"),), tools=tools)

    @property
    def stream(self) -> bytes:
        return (FOLDER / self.wire / f"{self.name}.sse").read_bytes()

    @property
    def body(self) -> bytes | None:
        path = FOLDER / self.wire / f"{self.name}.body.json"
        return path.read_bytes() if path.exists() else None


def golden() -> list[Golden]:
    """Return all golden streams, sorted by path."""
    paths = sorted(path for path in FOLDER.glob("*/*.sse"))
    return [
        Golden(path.parent.name, path.stem, json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
        for path in paths
    ]


def answer(response: Response) -> dict[str, Any]:
    """Return a response in the form of a golden file's `answer`: without unset fields and without origins.

    The origins of parts are in `back`.
    """
    found = {
        "id": response.id,
        "model": response.model,
        "finish": [response.finish_reason.kind, response.finish_reason.raw],
        "usage": _usage(response.usage),
        "warnings": [*response.warnings],
        "parts": [_part(part) for part in response.message.parts],
    }
    return {key: value for key, value in found.items() if value or key == "parts"}


def back(codec: Codec, request: Request, message: Message) -> list[Any]:
    """Return the items with which the next request sends this answer back, and the results of its calls, if any."""
    results = [ToolResultPart(call.id, call.name, "done") for call in message.tool_calls]
    history = (user("hi"), message, tool_results(results) if results else user("go on"))
    options = {"anthropic": {"auto_cache": False}}
    going_on = Request(request.model, history, tools=request.tools, provider_options=options)
    body = body_of(codec.encode(going_on, stream=True))
    items: list[Any] = next(body[name] for name in ("messages", "input", "contents") if name in body)
    return items[1:] if results else items[1:-1]


def failure(error: LlmError) -> dict[str, Any]:
    """Return an error in the form of a golden file's `error`."""
    found: dict[str, Any] = {"class": type(error).__name__, "text": str(error), "retryable": error.retryable}
    found |= {"retry_after_s": error.retry_after_s} if error.retry_after_s is not None else {}
    return found | ({"code": error.code} if isinstance(error, ProviderError) and error.code else {})


def _usage(usage: Usage) -> dict[str, Any]:
    values = {field.name: getattr(usage, field.name) for field in fields(usage)}
    return {name: value for name, value in values.items() if value is not None}


def _part(part: ContentPart) -> dict[str, Any]:
    match part:
        case TextPart(text, _, citations):
            return {"text": text, **({"citations": [_citation(c) for c in citations]} if citations else {})}
        case ReasoningPart(text):
            return {"reasoning": text}
        case ToolCallPart(call_id, name, arguments):
            return {"call": name, "id": call_id, "arguments": json.loads(arguments)}
        case SearchPart(queries, sources):
            return {"queries": [*queries], "sources": [[source.url, source.title] for source in sources]}
        case OpaquePart():
            return {"opaque": True}
        case _:
            raise AssertionError(f"an answer cannot have {part}")


def _citation(citation: Citation) -> list[Any]:
    source = citation.source
    return [citation.start, citation.end, source.url, source.title, citation.quote]
