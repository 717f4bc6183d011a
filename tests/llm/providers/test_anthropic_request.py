from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import (
    ImagePart,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ModelCapabilities, Thinking
from agent_ls.llm.requests import NamedToolChoice, Request, ToolChoice, ToolDefinition
from tests.support.codec_runs import body_of

MARK = {"cache_control": {"type": "ephemeral"}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = ToolDefinition("read_file", "Reads.", SCHEMA)
NO_CACHE: Mapping[str, Any] = {"anthropic": {"auto_cache": False}}


def encode(request: Request, thinking: Thinking = "adaptive", **more: Any) -> dict[str, Any]:
    codec = AnthropicCodec(lambda _: ModelCapabilities(64_000, thinking), **more)
    return body_of(codec.encode(request, stream=True))


def messages_of(*messages: Message, model: str = "m") -> list[Any]:
    sent = encode(Request(model, messages, provider_options=NO_CACHE))["messages"]
    assert isinstance(sent, list)
    return sent


def own(raw: Mapping[str, Any], model: str = "m", provider: str = "anthropic") -> Origin:
    return Origin(provider, model, raw)


def turn(*parts: Any) -> Message:
    return Message(Role.ASSISTANT, parts)


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
REDACTED = {"type": "redacted_thinking", "data": "d"}
CALL = ToolCallPart("t1", "read_file", '{"path": "a"}')
RESULT = ToolResultPart("t1", "read_file", "text")
USE = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}}
GIVEN = {"type": "tool_result", "tool_use_id": "t1", "content": "text"}


def texts(*words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": word} for word in words]


def test_the_complete_body_of_a_plain_request() -> None:
    codec = AnthropicCodec(lambda _: ModelCapabilities(64_000, "adaptive"))
    wire = codec.encode(Request("claude-x", (system("be"), user("hi")), tools=(TOOL,)), stream=True)
    assert wire.path == "/v1/messages"
    assert wire.headers == {"anthropic-version": "2023-06-01"}
    assert body_of(wire) == {
        "model": "claude-x",
        "max_tokens": 64_000,
        "stream": True,
        "system": [{"type": "text", "text": "be", **MARK}],
        "tools": [{"name": "read_file", "description": "Reads.", "input_schema": SCHEMA, **MARK}],
        **MARK,
        "messages": [{"role": "user", "content": texts("hi")}],
    }
    assert "stream" not in body_of(codec.encode(Request("claude-x", (user("hi"),)), stream=False))


@pytest.mark.req("U14")
def test_system_and_developer_texts_are_extracted() -> None:
    developer = Message(Role.DEVELOPER, (TextPart("b"),))
    body = encode(Request("m", (system("a"), developer, user("hi"), system("c")), provider_options=NO_CACHE))
    assert body["system"] == "a\n\nb\n\nc"
    assert body["messages"] == [{"role": "user", "content": texts("hi")}]


MESSAGES: dict[str, tuple[Sequence[Message], list[Any]]] = {
    "neighbours are joined": (
        [user("a"), user("b"), assistant("c"), assistant("d"), user("e")],
        [("user", texts("a", "b")), ("assistant", texts("c", "d")), ("user", texts("e"))],
    ),
    "empty texts are never sent": (
        [user("a"), turn(TextPart("")), user(" "), turn(), user("b")],
        [("user", texts("a", "b"))],
    ),
    "an answer of blank text only is not sent back": (
        [user("a"), assistant("\n"), user("b"), turn(TextPart("\n"), CALL), tool_results([RESULT])],
        [("user", texts("a", "b")), ("assistant", [*texts("\n"), USE]), ("user", [GIVEN])],
    ),
    "results come before a steer, in one message": (
        [user("a"), turn(CALL, replace(CALL, id="t2")), user("steer"), tool_results([RESULT]),
         tool_results([replace(RESULT, tool_call_id="t2")])],
        [("user", texts("a")), ("assistant", [USE, {**USE, "id": "t2"}]),
         ("user", [GIVEN, {**GIVEN, "tool_use_id": "t2"}, *texts("steer")])],
    ),
    "errors are flagged": (
        [user("a"), turn(CALL), tool_results([replace(RESULT, is_error=True)])],
        [("user", texts("a")), ("assistant", [USE]), ("user", [{**GIVEN, "is_error": True}])],
    ),
    "broken arguments replay as an empty object": (
        [user("a"), turn(replace(CALL, arguments='{"pa')), tool_results([RESULT])],
        [("user", texts("a")), ("assistant", [{**USE, "input": {}}]), ("user", [GIVEN])],
    ),
    "reasoning goes back unchanged, in its place": (
        [user("a"), turn(ReasoningPart("hm", own(THOUGHT)), ReasoningPart("", own(REDACTED)), CALL),
         tool_results([RESULT])],
        [("user", texts("a")), ("assistant", [THOUGHT, REDACTED, USE]), ("user", [GIVEN])],
    ),
    "reasoning of others is left out": (
        [user("a"), turn(ReasoningPart("hm", own(THOUGHT, model="other")), TextPart("t")), user("b")],
        [("user", texts("a")), ("assistant", texts("t")), ("user", texts("b"))],
    ),
    "reasoning of another provider is left out": (
        [user("a"), turn(ReasoningPart("hm", own({"type": "reasoning"}, provider="openai")), TextPart("t"))],
        [("user", texts("a")), ("assistant", texts("t"))],
    ),
    "thinking that led to nothing is left out": (
        [user("a"), turn(TextPart("t"), ReasoningPart("hm", own(THOUGHT))), user("b")],
        [("user", texts("a")), ("assistant", texts("t")), ("user", texts("b"))],
    ),
    "unsigned thinking is left out": (
        [user("a"), turn(ReasoningPart("hm"), TextPart("t")), user("b")],
        [("user", texts("a")), ("assistant", texts("t")), ("user", texts("b"))],
    ),
    "server tool blocks go back": (
        [user("a"), turn(OpaquePart(own({"type": "server_tool_use", "id": "s"})), TextPart("t"))],
        [("user", texts("a")), ("assistant", [{"type": "server_tool_use", "id": "s"}, *texts("t")])],
    ),
    "citations go back to their model, as text to another": (
        [user("a"), turn(TextPart("t", own({"type": "text", "text": "t", "citations": [1]})),
                         TextPart("u", own({"type": "text", "text": "u", "citations": [1]}, model="other")))],
        [("user", texts("a")), ("assistant", [{"type": "text", "text": "t", "citations": [1]}, *texts("u")])],
    ),
}  # fmt: skip


@pytest.mark.req("U4", "U14")
@pytest.mark.parametrize(("history", "expected"), MESSAGES.values(), ids=MESSAGES)
def test_history_is_encoded_as_anthropic_messages(history: Sequence[Message], expected: list[Any]) -> None:
    assert messages_of(*history) == [{"role": role, "content": content} for role, content in expected]


@pytest.mark.req("U14")
def test_an_empty_tool_call_id_of_an_own_block_is_replaced_in_the_call_and_its_result() -> None:
    raw = {"type": "tool_use", "id": "", "name": "read_file", "input": {"path": "a"}}
    call = replace(CALL, id="", origin=own(raw))
    _, answer, result = messages_of(user("a"), turn(call), tool_results([replace(RESULT, tool_call_id="")]))
    assert answer["content"][0]["id"] == result["content"][0]["tool_use_id"] != ""


@pytest.mark.req("U5")
def test_images_of_user_messages_and_tool_results_are_encoded() -> None:
    picture = ImagePart(data=b"\x01\x02", media_type="image/png")
    source = {"type": "base64", "media_type": "image/png", "data": "AQI="}
    link = ImagePart(url="https://x/y.png")
    sent = messages_of(
        Message(Role.USER, (TextPart("see"), picture, link)),
        turn(CALL),
        tool_results([replace(RESULT, images=(picture, ImagePart(b"x", "image/tiff")))]),
    )
    assert sent[0]["content"][1:] == [
        {"type": "image", "source": source},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
    ]
    note = "[image of type image/tiff left out: anthropic does not accept this type]"
    assert sent[2]["content"][0]["content"] == [
        *texts("text"),
        {"type": "image", "source": source},
        *texts(note),
    ]


@pytest.mark.req("U5")
def test_user_image_of_an_unsupported_type_is_refused_with_a_hint() -> None:
    with pytest.raises(ConfigurationError, match="does not accept images of type image/tiff") as raised:
        messages_of(Message(Role.USER, (ImagePart(b"x", "image/tiff"),)))
    assert "image/png" in raised.value.hint


CHOICES: list[tuple[ToolChoice, Any]] = [
    ("auto", None),
    ("none", {"type": "none"}),
    ("required", {"type": "any"}),
    (NamedToolChoice("read_file"), {"type": "tool", "name": "read_file"}),
]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_every_kind_of_tool_choice_is_encoded(choice: ToolChoice, expected: Any) -> None:
    assert (
        encode(Request("m", (user("a"),), tools=(TOOL,), tool_choice=choice)).get("tool_choice") == expected
    )
    assert "tool_choice" not in encode(Request("m", (user("a"),), tool_choice=choice))


ADAPTIVE = {"thinking": {"type": "adaptive", "display": "summarized"}}
EFFORTS: list[tuple[Thinking, str | None, dict[str, Any]]] = [
    ("adaptive", None, {}),
    ("adaptive", "high", {**ADAPTIVE, "output_config": {"effort": "high"}}),
    ("adaptive", "minimal", {**ADAPTIVE, "output_config": {"effort": "low"}}),
    ("adaptive", "xhigh", {**ADAPTIVE, "output_config": {"effort": "xhigh"}}),
    ("adaptive", "none", {"thinking": {"type": "disabled"}}),
    ("always", "none", {}),
    ("always", "low", {**ADAPTIVE, "output_config": {"effort": "low"}}),
    ("budget", None, {}),
    ("budget", "low", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
    ("budget", "high", {"thinking": {"type": "enabled", "budget_tokens": 24_000}}),
    ("budget", "max", {"thinking": {"type": "enabled", "budget_tokens": 32_000}}),
    ("budget", "none", {}),
    ("none", "high", {}),
]


@pytest.mark.req("L7")
@pytest.mark.parametrize(("thinking", "effort", "expected"), EFFORTS)
def test_reasoning_effort_is_encoded_by_the_thinking_kind_of_the_model(
    thinking: Thinking, effort: str | None, expected: dict[str, Any]
) -> None:
    body = encode(Request("m", (user("a"),), reasoning_effort=effort), thinking)
    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == expected


def test_thinking_budget_is_below_max_tokens() -> None:
    asked = Request("m", (user("a"),), reasoning_effort="high", max_output_tokens=4000)
    assert encode(asked, "budget")["thinking"] == {"type": "enabled", "budget_tokens": 2976}
    assert "thinking" not in encode(replace(asked, max_output_tokens=1500), "budget")


def test_thinking_is_left_out_with_a_forced_tool_unless_the_model_always_thinks() -> None:
    asked = Request("m", (user("a"),), tools=(TOOL,), tool_choice="required", reasoning_effort="low")
    assert "thinking" not in encode(asked, "adaptive")
    assert "thinking" not in encode(asked, "budget")
    assert "thinking" in encode(asked, "always")


def test_budget_thinking_is_not_enabled_during_a_tool_loop_that_began_without_it() -> None:
    began = Request("m", (user("a"), turn(CALL), tool_results([RESULT])), reasoning_effort="low")
    assert "thinking" not in encode(began, "budget")
    thought = turn(ReasoningPart("hm", own(THOUGHT)), CALL)
    assert "thinking" in encode(
        replace(began, messages=(user("a"), thought, tool_results([RESULT]))), "budget"
    )


@pytest.mark.req("U7")
def test_cache_breakpoints_are_on_the_last_tool_the_system_text_and_the_previous_request_end() -> None:
    history = (system("s"), user("a"), turn(CALL), tool_results([RESULT]), assistant("b"), user("c"))
    body = encode(Request("m", history, tools=(TOOL, replace(TOOL, name="other"))))
    assert [("cache_control" in tool) for tool in body["tools"]] == [False, True]
    assert "cache_control" in body["system"][-1]
    assert body["cache_control"] == {"type": "ephemeral"}
    marked = [
        m["content"] for m in body["messages"] if any("cache_control" in block for block in m["content"])
    ]
    assert marked == [[{**GIVEN, **MARK}]]  # where the call before this one ended


@pytest.mark.req("U7")
def test_auto_cache_off_sets_no_breakpoint() -> None:
    history = (system("s"), user("a"), assistant("b"), user("c"))
    body = encode(Request("m", history, tools=(TOOL,), provider_options=NO_CACHE))
    assert "cache_control" not in repr(body)
    assert "auto_cache" not in body


@pytest.mark.req("U13")
def test_provider_options_are_sent_unchanged_and_options_of_other_providers_are_left_out() -> None:
    options: Mapping[str, Any] = {
        "anthropic": {
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "tools": [{"type": "web_search_20260318", "name": "web_search"}],
            "metadata": {"user_id": "u"},
            "beta_headers": ["b", "c"],
            "beta_features": ["c", "d"],
        },
        "openai": {"truncation": "auto"},
    }
    codec = AnthropicCodec(lambda _: ModelCapabilities(9, "adaptive"), version="2026-10-21", betas=["a", "b"])
    wire = codec.encode(Request("m", (user("a"),), tools=(TOOL,), provider_options=options), stream=True)
    tools = body_of(wire)["tools"]
    assert isinstance(tools, list)
    assert tools[-1] == {"type": "web_search_20260318", "name": "web_search"}
    assert body_of(wire)["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body_of(wire)["metadata"] == {"user_id": "u"}
    assert not {"truncation", "beta_headers", "beta_features"} & body_of(wire).keys()
    assert wire.headers == {"anthropic-version": "2026-10-21", "anthropic-beta": "a,b,c,d"}


@pytest.mark.req("O6")
def test_prefix_of_a_growing_conversation_is_unchanged_except_for_cache_breakpoints() -> None:
    def plain(request: Request) -> list[str]:
        body = encode(request)
        parts = [
            *body["tools"],
            *body["system"],
            *(block for m in body["messages"] for block in m["content"]),
        ]
        return [repr({key: value for key, value in part.items() if key != "cache_control"}) for part in parts]

    short = Request("m", (system("s"), user("a"), turn(CALL), tool_results([RESULT])), tools=(TOOL,))
    longer = replace(short, messages=(*short.messages, assistant("b"), user("c")))
    assert plain(longer)[: len(plain(short))] == plain(short)


@pytest.mark.req("U2")
def test_temperature_is_refused_for_an_api_version_without_sampling_options() -> None:
    warm = Request("m", (user("hi"),), temperature=0.0)
    assert encode(warm)["temperature"] == 0.0
    assert "temperature" not in encode(Request("m", (user("hi"),)), version="2026-10-21")
    with pytest.raises(ConfigurationError, match="does not accept temperature"):
        encode(warm, version="2026-10-21")
