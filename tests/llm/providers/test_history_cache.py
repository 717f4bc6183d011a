"""A growing history is encoded as without a cache: any history, extended from any point."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import (
    ImagePart,
    JsonValue,
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
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import Codec, ModelCapabilities
from agent_ls.llm.providers.history_cache import MAX_CACHED_HISTORIES
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import Request, ToolDefinition
from tests.support.codec_runs import ANTHROPIC, CHAT, GEMINI, OPENAI, body_of

ALL_CODECS = (ANTHROPIC, OPENAI, CHAT, GEMINI)

CODECS: dict[str, Any] = {
    "anthropic": lambda: AnthropicCodec(lambda _: ModelCapabilities(64_000, "budget")),
    "openai": lambda: OpenAIResponsesCodec(lambda _: ModelCapabilities(64_000, "effort")),
}


def _raw(kind: str) -> st.SearchStrategy[Origin]:
    return st.builds(
        lambda provider, model, id_: Origin(provider, model, {"type": kind, "call_id": id_, "name": "f"}),
        st.sampled_from(["anthropic", "openai"]),
        st.sampled_from(["m", "n"]),
        IDS,
    )


IDS = st.sampled_from(["a", "b", "c"])
WORDS = st.sampled_from(["", " ", "words", "half \ud800", "}]}"])
ORIGINS = st.none() | _raw("thinking") | _raw("custom_tool_call") | _raw("function_call")
SAID = st.one_of(
    st.builds(TextPart, WORDS, ORIGINS),
    st.builds(ReasoningPart, WORDS, ORIGINS),
    st.builds(ToolCallPart, IDS, st.just("f"), st.sampled_from(["{}", "[broken"]), ORIGINS),
    st.builds(OpaquePart, _raw("server_tool_use")),
)
GIVEN = st.builds(
    ToolResultPart,
    IDS,
    st.just("f"),
    WORDS,
    st.booleans(),
    st.sampled_from([(), (ImagePart(b"i", "image/png"),)]),
)
MESSAGES = st.one_of(
    st.builds(user, WORDS),
    st.builds(system, WORDS),
    st.builds(lambda text: Message(Role.DEVELOPER, (TextPart(text),)), WORDS),
    st.builds(lambda parts: Message(Role.ASSISTANT, tuple(parts)), st.lists(SAID, max_size=3)),
    st.builds(lambda parts: Message(Role.TOOL, tuple(parts)), st.lists(GIVEN, max_size=3)),
)


def request_of(messages: Sequence[Message], model: str = "m") -> Request:
    return Request(model, tuple(messages), reasoning_effort="high")


@pytest.mark.parametrize("make", CODECS.values(), ids=CODECS)
@given(history=st.lists(MESSAGES, max_size=12), model_changes_at=st.integers(0, 12))
def test_a_growing_history_is_encoded_the_same_with_and_without_cache(
    make: Any, history: list[Message], model_changes_at: int
) -> None:
    growing: Codec = make()
    for count in range(len(history) + 1):
        request = request_of(history[:count], "n" if count > model_changes_at else "m")
        assert growing.encode(request, stream=True) == make().encode(request, stream=True)


@pytest.mark.parametrize("make", CODECS.values(), ids=CODECS)
@given(histories=st.lists(st.lists(MESSAGES, max_size=6), min_size=2, max_size=2), cut=st.integers(0, 6))
def test_a_history_changed_in_the_middle_is_encoded_the_same_with_and_without_cache(
    make: Any, histories: list[list[Message]], cut: int
) -> None:
    codec: Codec = make()
    one, other = histories
    for messages in (one, [*one[:cut], *other], one, [*one, *other]):
        request = request_of(messages)
        assert codec.encode(request, stream=True) == make().encode(request, stream=True)


@pytest.mark.parametrize("make", CODECS.values(), ids=CODECS)
def test_requests_are_right_with_more_sessions_than_the_cache_keeps(make: Any) -> None:
    codec: Codec = make()
    for rounds in range(1, 5):
        for session in range(2 * MAX_CACHED_HISTORIES):
            said = [
                message for n in range(rounds) for message in (user(f"{session}.{n}"), assistant(f"a{n}"))
            ]
            request = request_of([*said, user("and?")])
            assert codec.encode(request, stream=True) == make().encode(request, stream=True)


@pytest.mark.parametrize("codec", ALL_CODECS, ids=lambda codec: codec.name)
@pytest.mark.req("L5")
def test_a_request_with_unchanged_tools_encodes_only_the_new_messages(codec: Codec) -> None:
    tools = (ToolDefinition("f", "Does it.", {"type": "object", "properties": {"a": {"type": "string"}}}),)
    encoded: list[JsonValue] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "encode_json":
            encoded.append(frame.f_locals["value"])

    history = [system("You are an agent."), user("a")]
    for number in range(3):
        history += [assistant(f"answer {number}"), user(f"question {number}")]
        encoded.clear()
        sys.setprofile(note)
        try:
            sent = codec.encode(Request("m", tuple(history), tools=tools), stream=True)
        finally:
            sys.setprofile(None)
        assert body_of(sent)["tools"]
        of_tools = [value for value in encoded if isinstance(value, dict) and "tools" in value]
        assert len(of_tools) == (number == 0)
    assert 0 < len(encoded) <= 5, "the last two messages, and what may still change"


def test_a_history_with_a_refused_message_is_not_cached_in_part() -> None:
    codec = CODECS["anthropic"]()
    refused = Message(Role.USER, (ImagePart(b"i", "image/tiff"),))
    history = [user("a"), assistant("b"), refused, assistant("c"), user("d")]
    for _ in range(2):
        with pytest.raises(ConfigurationError):
            codec.encode(request_of(history), stream=True)
    good = [user("a"), assistant("b"), user("d")]
    assert [item["role"] for item in body_of(codec.encode(request_of(good), stream=True))["messages"]] == [
        "user",
        "assistant",
        "user",
    ]
