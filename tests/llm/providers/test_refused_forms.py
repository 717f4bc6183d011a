"""Each form of messages on the wires of Anthropic, OpenAI and Google, and the words that ask for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    ImagePart,
    Message,
    Role,
    TextPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from tests.llm.reports.chat import say
from tests.llm.reports.forms import (
    CODECS,
    MODELS,
    NAMES,
    PARALLEL,
    SIGNED_PARALLEL,
    STEP,
    TALK,
    THINKING,
    TOOLS,
    UNKNOWN,
    Check,
    alternates,
    bodies,
    called,
    given,
    has_whole_answers,
    is_paired,
    items,
    lacks,
    own,
    roles,
)
from tests.support.codec_runs import body_of


def has_single_calls(body: Any) -> bool:
    """Return whether each call is alone, and its own result follows it."""
    if "input" in body:
        kinds = [it.get("type", "") for it in body["input"]]
        return all(
            kinds[at + 1] == "function_call_output"
            for at, kind in enumerate(kinds)
            if kind == "function_call"
        )
    counts = [
        sum(
            "functionCall" in it or it.get("type") == "tool_use"
            for it in message.get("content") or message["parts"]
        )
        for message in body.get("messages") or body["contents"]
    ]
    return max(counts) == 1 and is_paired(body)


def has_text(body: Any, key: str) -> bool:
    return all(isinstance(it[key], str) for it in items(body) if key in it)


def answers_between(body: Any) -> bool:
    return len(roles(body)) == 5 and alternates(body)


def last_is_text(body: Any) -> bool:
    return isinstance(body["messages"][-1]["content"], str)


PICTURE = tool_results([ToolResultPart("c1", "f", "x", images=(ImagePart(b"x", "image/png"),))])
BRIEF = (system("Be brief."), user("a"), assistant("b"), user("c"))
DEVELOPED = (user("a"), Message(Role.DEVELOPER, (TextPart("Be brief."),)), user("b"))
EMPTY = (user("a"), called("c1"), given("c1", text=""), user("b"))
# What servers refuse in other words, each form on each wire.
KINDS: list[Any] = [
    ("anthropic", PARALLEL, "This model only supports single tool-calls at once!", has_single_calls),
    ("anthropic", PARALLEL, "Expected toolResult blocks at messages.2.content for the following Ids: c2",
        has_single_calls),
    ("responses", PARALLEL, "Multiple tool calls are not supported", has_single_calls),
    ("gemini", PARALLEL, "parallel function calls are not supported by this model", has_single_calls),
    ("anthropic", STEP, "Conversation blocks and tool result blocks cannot be provided in the same turn.",
        answers_between),
    ("anthropic", STEP, "messages.2: tool_result blocks cannot be combined with text", answers_between),
    ("anthropic", STEP, "Tool call id was c1 but must be a-z, A-Z, 0-9, with a length of 9.",
        lambda body: is_paired(body) and all(len(it.get("id", "123456789")) == 9 for it in items(body))),
    ("responses", STEP, "Tool call id was c1 but must be a-z, A-Z, 0-9, with a length of 9.",
        lambda body: is_paired(body) and all(len(it.get("call_id", "123456789")) == 9 for it in items(body))),
    ("anthropic", EMPTY, "messages.2.content.0.tool_result.content: Field required",
        lambda body: all(it.get("content") != "" for it in items(body))),
    ("responses", EMPTY, "input[2].output must not be empty", lambda body: all(
        it.get("output") != "" for it in items(body))),
    ("anthropic", BRIEF, "system: Input should be a valid string", lambda body: isinstance(body["system"], str)),
    ("anthropic", BRIEF, "messages.2.content should be a string", last_is_text),
    ("anthropic", STEP, "messages.2.content.0.tool_result.content: Input should be a valid list", lambda body: all(
        isinstance(it["content"], list) for it in items(body) if "content" in it)),
    ("anthropic", BRIEF, "system: Extra inputs are not permitted", lambda body: "system" not in body
        and body["messages"][0]["content"][0]["text"] == "Be brief."),
    ("anthropic", BRIEF, "unknown field `system`", lambda body: "system" not in body),
    ("anthropic", THINKING, "messages[1].content: unknown variant `thinking`, expected one of `text`, `image`",
        lacks("thinking")),
    ("anthropic", THINKING, "unsupported content block: thinking", lacks("thinking")),
    ("anthropic", (user("a"), called("c1"), given("c1", is_error=True), user("b")),
        "messages.2.content.0.tool_result.is_error: Extra inputs are not permitted", lacks("is_error")),
    ("responses", DEVELOPED, "unknown variant `developer`, expected one of `system`, `user`", lacks("developer")),
    ("responses", BRIEF, "Unsupported parameter: instructions", lambda body: "instructions" not in body
        and body["input"][0]["role"] == "system"),
    ("responses", TALK, "input[0].content: Input should be a valid string", lambda body: has_text(body, "content")),
    ("responses", TALK, "Missing required parameter: 'input[1].type'.", has_whole_answers),
    ("responses", (user("a"), Message(Role.ASSISTANT, (TextPart("b", own("responses", "message", role="assistant",
        phase="commentary", id="msg_1", content=[{"type": "output_text", "text": "b"}])),)), user("c")),
        "Unknown parameter: 'input[1].phase'.", lambda body: lacks("phase")(body) and "msg_1" in str(body)),
    ("responses", (user("a"), called("c1"), PICTURE, user("b")), "Unknown parameter: 'input[2].output[1].detail'.",
        lacks("detail")),
    ("gemini", (user("a"), called("c1"), PICTURE, user("b")),
        UNKNOWN.format("parts", "contents[2].parts[0].function_response"), lambda body: lacks("parts")(body) and any(
            "inlineData" in it for it in items(body))),
    ("gemini", (user("a"), called("c1"), given("c1"), user("b")),
        "Please ensure that multiturn requests alternate between user and model.", alternates),
    ("gemini", (user("a"), user(" ")), "contents.parts must not be empty.", lambda body: all(
        it["text"].strip() for it in items(body))),
    ("gemini", (user("a"), SIGNED_PARALLEL, given("c1", "c2"), user("b")),
        UNKNOWN.format("thought_signature", "contents[1].parts[0]"), lacks("thoughtSignature")),
    ("gemini", BRIEF, "Developer instruction is not enabled for models/gemma-3-27b-it", lambda body: len(
        body["contents"]) == 4),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "messages", "words", "is_right"), KINDS)
def test_each_form_is_changed_on_each_wire(
    wire: str, messages: tuple[Message, ...], words: str, is_right: Check
) -> None:
    sent = bodies(wire, messages, 400, say(words))
    assert not is_right(sent[0]) and is_right(sent[1])


@pytest.mark.parametrize("wire", MODELS)
def test_what_tools_and_models_wrote_stays_as_it_is(wire: str) -> None:
    words = UNKNOWN.format("id", "contents[1].parts[0].function_call") + " Unknown parameter: 'input[1].id'."
    assert '"id' in json.dumps(bodies(wire, STEP, 400, say(words))[-1]).replace("\\", "")


@pytest.mark.parametrize("wire", MODELS)
def test_a_conversation_in_another_form_grows_without_changes_of_its_beginning(wire: str) -> None:
    words = "Multiple tool calls are not supported. content should be a valid string"
    codec = CODECS[wire](capabilities_lookup(NAMES[wire]))
    requests = [Request(MODELS[wire], PARALLEL[:count], tools=TOOLS) for count in (3, 4)]
    error = codec.decode_error(requests[0], ReplyHead(400), json.dumps(say(words)).encode())
    assert codec.adapt_encoding(requests[0], error)
    shorter, longer = (items(body_of(codec.encode(request, stream=True))) for request in requests)
    assert [{**it, "cache_control": 0} for it in longer[: len(shorter)]] == [
        {**it, "cache_control": 0} for it in shorter
    ]
