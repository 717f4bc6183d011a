"""Refused requests of the APIs of Anthropic, OpenAI and Google, and the requests that follow."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    DocumentPart,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.support.codec_runs import body_of

Check = Callable[[Any], bool]
MODELS = {"anthropic": "claude-opus-4-7", "responses": "gpt-5.1", "gemini": "gemini-3-pro"}
OTHERS = {"anthropic": "claude-opus-4-6", "responses": "gpt-5.2", "gemini": "gemini-3-flash"}
NAMES = {"anthropic": "anthropic", "responses": "openai", "gemini": "gemini"}
CODECS: dict[str, Any] = {
    "anthropic": AnthropicCodec,
    "responses": OpenAIResponsesCodec,
    "gemini": GeminiCodec,
}
TOOLS = (ToolDefinition("f", "", {"type": "object", "properties": {"a": {"type": "string"}}}),)


def called(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCallPart(one, "f", '{"id": "x"}') for one in ids))


def given(*ids: str, text: str = "x", is_error: bool = False) -> Message:
    return tool_results([ToolResultPart(one, "f", text, is_error) for one in ids])


def own(wire: str, kind: str, **fields: Any) -> Origin:
    return Origin(NAMES[wire], MODELS[wire], {"type": kind, **fields} if kind else fields)


def bodies(wire: str, messages: tuple[Message, ...], status: int, body: Any, **more: Any) -> list[Any]:
    """Return the bodies that are sent, each of which but the last is refused, until nothing further is changed."""
    codec = CODECS[wire](capabilities_lookup(NAMES[wire]))
    request = Request(MODELS[wire], messages, **{"tools": TOOLS, **more})
    text = body if isinstance(body, str) else json.dumps(body)
    sent = [body_of(codec.encode(request, stream=True))]
    error = codec.decode_error(request, ReplyHead(status, {}, 1.0), text.encode())
    while codec.adapt_encoding(request, error):
        sent.append(body_of(codec.encode(request, stream=True)))
        assert len(sent) < 9, "it is not sent again for ever"
    if refuses_reasoning(error):
        # The loop then sends earlier answers as another model would get them.
        sent.append(body_of(codec.encode(replace(request, model=OTHERS[wire]), stream=True)))
    return sent


def items(body: Any) -> list[Any]:
    """Return all content blocks, items or parts of a body."""
    lists = [body["input"]] if "input" in body else []
    lists += [
        message["content"] for message in body.get("messages", ()) if isinstance(message["content"], list)
    ]
    lists += [content["parts"] for content in body.get("contents", ())]
    return [item for found in lists for item in found]


def roles(body: Any) -> list[str]:
    return [message["role"] for message in body.get("messages") or body.get("contents")]


def alternates(body: Any) -> bool:
    return roles(body)[0] == "user" and all(one != other for one, other in itertools.pairwise(roles(body)))


def is_paired(body: Any) -> bool:
    """Return whether all results follow their calls at once, one for each."""
    names = ("tool_use", "tool_result"), ("function_call", "function_call_output")
    made, answered = [], []
    for item in items(body):
        kind = item.get("type", "")
        made += [item] if kind in (names[0][0], names[1][0]) or "functionCall" in item else []
        answered += [item] if kind in (names[0][1], names[1][1]) or "functionResponse" in item else []
    ids = [it.get("id") if it.get("type") == "tool_use" else it.get("call_id") for it in made]
    given_ids = [it.get("tool_use_id") or it.get("call_id") for it in answered]
    return len(made) == len(answered) and sorted(map(str, ids)) == sorted(map(str, given_ids))


def lacks(*names: str) -> Check:
    return lambda body: not any(f'"{name}"' in json.dumps(items(body)) for name in names)


def has_whole_answers(body: Any) -> bool:
    """Return whether each answer is an item as the service itself writes it."""
    said = [it for it in body["input"] if it.get("role") == "assistant"]
    return all(
        it.get("type") == "message"
        and it.get("status") == "completed"
        and str(it.get("id")).startswith("msg_")
        and all(part["type"] == "output_text" and part["annotations"] == [] for part in it["content"])
        for it in said
    )


def starts_with_user(body: Any) -> bool:
    return roles(body)[0] == "user"


def thinks_first(body: Any) -> bool:
    return all(
        message["content"][0]["type"] == "thinking"
        for message in body["messages"]
        if message["role"] == "assistant"
    )


def is_signed(body: Any) -> bool:
    contents = [content["parts"] for content in body["contents"] if content["role"] == "model"]
    firsts = [
        next((it for it in parts if "functionCall" in it), {"thoughtSignature": 1}) for parts in contents
    ]
    return all("thoughtSignature" in it for it in firsts)


def parallel_in_one(body: Any) -> bool:
    return [len(content["parts"]) for content in body["contents"]] == [1, 2, 2, 1]


TALK = (user("hi"), assistant("Hello."), user("more"))
STEP = (user("hi"), called("c1"), given("c1"), user("more"))
PARALLEL = (user("hi"), called("c1", "c2"), given("c1", "c2"), user("more"))
UNSAID = "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each needs one."
BEFORE = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
AFTER = "Please ensure that function response turn comes immediately after a function call turn."
COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts."
)
UNKNOWN = "Invalid JSON payload received. Unknown name \"{}\" at '{}': Cannot find field."
PASSED_BACK = "The `content[].thinking` in the thinking mode must be passed back to the API."
UNION = "list[union[EasyInputMessageParam,Message,ResponseOutputMessageParam,FunctionCallOutput]]"
VLLM = (
    f"1 validation error: body -> input -> {UNION} -> 1 -> Message -> content -> 0 -> type Input should be "
    f"'input_text'; body -> input -> {UNION} -> 1 -> ResponseOutputMessageParam -> id Field required; -> status Field "
    "required"
)
ZOD = json.dumps(
    [
        {
            "code": "invalid_union",
            "path": ["input"],
            "errors": [
                [
                    {
                        "code": "invalid_value",
                        "values": ["message"],
                        "path": [1, "type"],
                        "message": 'expected "message"',
                    }
                ],
                [
                    {
                        "code": "invalid_type",
                        "path": [1, "id"],
                        "message": "Invalid input: expected string, received undefined",
                    }
                ],
            ],
        }
    ]
)
REQUIRED = json.dumps(
    {
        "name": "ZodError",
        "issues": [
            {
                "code": "invalid_type",
                "expected": "'completed'",
                "received": "undefined",
                "path": ["input", 1, "status"],
                "message": "Required",
            }
        ],
    }
)
SYSTEM_ROLE = {
    "detail": [
        {
            "type": "literal_error",
            "loc": ["body", "messages", 1, "role"],
            "msg": "Input should be 'user' or 'assistant'",
            "input": "system",
        }
    ]
}
THOUGHT = Message(
    Role.ASSISTANT,
    (ReasoningPart("hm", own("anthropic", "thinking", thinking="hm", signature="s")), *called("c1").parts),
)
THINKING = (user("hi"), THOUGHT, given("c1"), user("more"))
ADVISOR = Message(
    Role.ASSISTANT,
    (
        OpaquePart(own("anthropic", "advisor_tool_result", tool_use_id="srvtoolu_1", content=[])),
        TextPart("Done."),
    ),
)
SIGNED_PARALLEL = Message(Role.ASSISTANT, tuple(
    ToolCallPart(name, "f", "{}", own("gemini", "", parts=[
        {"functionCall": {"name": "f", "args": {}, "id": name}, **signature}]))
    for name, signature in (("c1", {"thoughtSignature": "s"}), ("c2", {}))))  # fmt: skip
UNSIGNED = Message(
    Role.ASSISTANT,
    (ToolCallPart("c1", "f", "{}", own("gemini", "", parts=[{"functionCall": {"name": "f", "args": {}}}])),),
)
PDF = Message(Role.USER, (DocumentPart(b"%PDF-1.4", name="a.pdf"),))
MISSING_SIGNATURE = "Function call is missing a thought_signature in functionCall parts, position 2."
LISTED: Any = {
    "type": "object",
    "properties": {
        "a": {"type": ["string", "null"]},
        "b": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"c": {"type": "string"}},
                "additionalProperties": False,
            },
        },
    },
}
