"""Refused files, efforts, sampling values and streams are left out, and the answer says so once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import (
    AudioPart,
    DocumentPart,
    Message,
    Role,
    TextPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.providers.openai_chat.reasoning import ThinkingBlocks
from agent_ls.llm.providers.refused_streams import demands_stream, refuses_stream
from agent_ls.llm.requests import Request
from tests.llm.providers.test_refusals import asking, spoken
from tests.llm.reports.chat import answer, codec, say
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece
from tests.llm.reports.test_error_kinds import refused
from tests.llm.test_end_to_end import Server, connected, every_wire, streamed
from tests.support.codec_runs import body_of
from tests.support.loopback import ChatServer, ErrorReply

PDF = DocumentPart(b"%PDF-1.7", name="plan.pdf")
MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5.1", "gemini": "gemini-3-pro-preview"}


def read(provider: str, *parts: Any) -> Request:
    return Request(MODELS.get(provider, "m"), (Message(Role.USER, (TextPart("read"), *parts)),))


FILES: list[Any] = [
    ("compatible", 400, say("Unknown part type: file")),
    ("compatible", 422, say("messages[0]: unknown variant `file`, expected `text` or `image_url`")),
    ("compatible", 400, say("'content' objects must have a 'type' field that is either 'text' or 'image_url'")),
    ("compatible", 400, say("'messages.0' : content.1.type : value is not one of the allowed values")),
    ("openrouter", 404, say("No endpoints found that support file input", code=404)),
    ("llamacpp", 500, say("unsupported content[].type", code=500)),
    ("anthropic", 400, say("messages.0.content.1: Input tag 'document' found using 'type' does not match any")),
    ("openai", 400, say("Invalid value: 'input_file'. Supported values are: 'input_text'.")),
    ("gemini", 400, say("Unsupported MIME type: application/pdf", code=400, status="INVALID_ARGUMENT")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body"), FILES)
def test_a_text_with_the_name_is_sent_in_place_of_a_file_that_is_refused(
    wire: str, status: int, body: Any
) -> None:
    speaker, request = spoken(wire), read(wire, PDF)
    error = refused("responses" if wire == "openai" else wire, status, body)
    assert speaker.adapt_encoding(request, error)
    sent = speaker.encode(request, stream=True).content
    assert b"plan.pdf" in sent and b"JVBERi0" not in sent
    assert not speaker.adapt_encoding(request, error)


def test_a_file_that_another_request_has_is_sent_first() -> None:
    speaker, error = spoken("compatible"), refused("compatible", 400, say("Unknown part type: file"))
    assert speaker.adapt_encoding(read("compatible", PDF), error)
    other = read("compatible", DocumentPart(b"%PDF-2", name="b.pdf"), AudioPart(b"RIFF"))
    assert b"JVBERi0y" in speaker.encode(other, stream=True).content


@pytest.mark.parametrize("words", ["Rate limit of files", "messages: at least one message is required"])
def test_a_refusal_of_something_else_keeps_the_file(words: str) -> None:
    speaker, request = spoken("compatible"), read("compatible", PDF)
    status = 429 if "Rate" in words else 400
    speaker.adapt_encoding(request, refused("compatible", status, say(words)))
    assert b"JVBERi0" in speaker.encode(request, stream=True).content


@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
@every_wire
async def test_the_answer_says_once_which_file_was_refused(
    server: Server, provider: str, is_streamed: bool, tmp_path: Path
) -> None:
    (tmp_path / "plan.pdf").write_bytes(b"%PDF-1.7")
    request = read(provider, DocumentPart(url=str(tmp_path / "plan.pdf")))
    no = ErrorReply(400, message="this model does not accept a file of type application/pdf")
    async with connected(server, provider, [no, "a", "b"]) as (client, running):
        first, second = [
            await (streamed(client, request) if is_streamed else client.complete(request)) for _ in "12"
        ]
    assert (first.text, second.text, len(running.requests)) == ("a", "b", 3)
    assert [len(first.warnings), len(second.warnings)] == [1, 0]
    assert "plan.pdf" in first.warnings[0]


LEFT: list[Any] = [
    ("compatible", "Unsupported parameter: reasoning_effort", "high"),
    ("compatible", "Unsupported parameter: temperature", "0.5"),
    ("anthropic", "`top_p` cannot both be specified", "0.9"),
    ("anthropic", "output_config.effort: Extra inputs are not permitted", "high"),
    ("openai", "Unsupported parameter: 'temperature' is not supported with this model.", "0.5"),
    ("openai", "Unsupported value: 'reasoning.effort' is not supported", "high"),
    ("gemini", "Unknown name \"topP\" at 'generation_config': Cannot find field.", "0.9"),
    ("gemini", "Unknown name \"thinkingLevel\" at 'generation_config.thinking_config': Cannot find field.", "high"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words", "value"), LEFT)
def test_a_value_of_the_user_that_is_left_out_is_named_once(wire: str, words: str, value: str) -> None:
    speaker, request = spoken(wire), asking(wire)
    speaker.encode(request, stream=True)
    assert speaker.adapt_encoding(
        request, refused("responses" if wire == "openai" else wire, 400, say(words))
    )
    (notice,) = speaker.take_notices(request.model)
    assert value in notice
    assert not speaker.take_notices(request.model)


def test_a_field_that_agent_ls_sets_itself_is_left_out_without_a_word() -> None:
    speaker, request = spoken("compatible"), asking("compatible")
    assert speaker.adapt_encoding(request, refused("compatible", 400, say("unknown field: stream_options")))
    assert not speaker.take_notices(request.model)


@pytest.mark.parametrize(
    ("wire", "model"), [("anthropic", "claude-3-5-haiku-latest"), ("openai", "gpt-4.1"), ("gemini", "gemini-2.0-flash")]
)  # fmt: skip
def test_an_effort_for_a_model_that_has_none_is_named(wire: str, model: str) -> None:
    speaker = spoken(wire)
    request = asking(wire, model=model)
    speaker.encode(request, stream=True)
    speaker.encode(request, stream=True)
    assert ["high" in notice for notice in speaker.take_notices(model)] == [True]


DEMANDS = (
    "This model only support stream mode, please enable the stream parameter to access the model.",
    "Stream must be set to true",
    "Requests with max_tokens > 4096 must have stream=true",
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "stream=false is not supported",
    "Non-streaming is not supported for this model",
)
REFUSES = (
    "Streaming is not supported for this model",
    "The model is unsupported for streaming.",
    "This model does not support streaming",
)


KINDS = [*((words, True) for words in DEMANDS), *((words, False) for words in REFUSES)]


@pytest.mark.parametrize(("words", "is_demanded"), KINDS)
def test_it_is_known_which_kind_of_answer_a_server_has(words: str, is_demanded: bool) -> None:
    error = e.InvalidRequestError(words)
    assert (demands_stream(error), refuses_stream(error)) == (is_demanded, not is_demanded)


@every_wire
async def test_a_server_that_only_streams_is_asked_for_a_stream(server: Server, provider: str) -> None:
    no = ErrorReply(400, message="This model only support stream mode, please enable the stream parameter.")
    async with connected(server, provider, [no, "a", "b"]) as (client, running):
        texts = [(await client.complete(read(provider))).text for _ in "12"]
    assert (texts, len(running.requests)) == (["a", "b"], 3)


@every_wire
async def test_a_server_that_does_not_stream_is_asked_for_a_whole_answer(
    server: Server, provider: str
) -> None:
    no = ErrorReply(400, message="Streaming is not supported for this model")
    async with connected(server, provider, [no, "a", "b"]) as (client, running):
        texts = [(await streamed(client, read(provider))).text for _ in "12"]
    assert (texts, len(running.requests)) == (["a", "b"], 3)


async def test_a_refusal_of_both_kinds_is_reported() -> None:
    no = [ErrorReply(400, message=f"{words} is not supported") for words in ("stream=false", "streaming")]
    async with connected(ChatServer, "openrouter", [*no, *no]) as (client, running):
        with pytest.raises(e.InvalidRequestError):
            await client.complete(read("openrouter"))
    assert len(running.requests) <= 3


def test_a_model_that_gemini_does_not_know_is_not_asked_again() -> None:
    words = "models/x is not found for API version v1beta, or is not supported for streamGenerateContent."
    error = refused("gemini", 404, say(words))
    assert not spoken("gemini").adapt_encoding(read("gemini"), error)


THOUGHT: Any = {"type": "thinking", "thinking": "Think hard.", "signature": "c2ln"}
HIDDEN: Any = {"type": "redacted_thinking", "data": "aGlk"}


@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
def test_signed_thinking_of_a_proxy_is_sent_back_in_the_same_turn(is_streamed: bool) -> None:
    call = call_piece(0, "a", "read", "{}")
    if is_streamed:
        parts: list[Any] = [("Think ", ""), ("hard.", ""), ("", "c2ln")]
        chunks = [
            piece(reasoning_content=text, thinking_blocks=[{"type": "thinking", "thinking": text, "signature": sig}])
            for text, sig in parts
        ]  # fmt: skip
        chunks += [piece(thinking_blocks=[HIDDEN]), call]
    else:
        calls = call["choices"][0]["delta"]["tool_calls"]
        chunks = [piece(reasoning_content="Think hard.", thinking_blocks=[THOUGHT, HIDDEN], tool_calls=calls)]
    response = answer(*chunks, ENDS)
    assert response.reasoning == "Think hard."
    sent = messages_after(response)
    assert sent["same turn"]["thinking_blocks"] == [THOUGHT, HIDDEN]
    assert "thinking_blocks" not in sent["next turn"]


def test_equal_pieces_of_signed_thinking_are_all_kept() -> None:
    parts = [("ha", ""), ("ha", ""), ("ha", ""), ("", "c2ln")]
    blocks = [{"type": "thinking", "thinking": text, "signature": sign} for text, sign in parts]
    response = answer(*(piece(thinking_blocks=[it]) for it in blocks), call_piece(0, "a", "read", "{}"), ENDS)
    (block,) = messages_after(response)["same turn"]["thinking_blocks"]
    assert (block["thinking"], block["signature"]) == ("hahaha", "c2ln")


def test_the_work_per_piece_of_thinking_does_not_grow_with_the_thinking() -> None:
    joined, blocks = [], ThinkingBlocks()

    class Text(str):
        def __eq__(self, other: object) -> bool:
            joined.append(other)
            return super().__eq__(other)

        __hash__ = str.__hash__

    for _ in range(1_000):
        blocks.add({"thinking_blocks": [{"type": "thinking", "thinking": Text("a")}]})
    blocks.add({"thinking_blocks": [{"type": "thinking", "thinking": Text("a" * 1_000), "signature": "s"}]})
    assert len(joined) == 1, "compared only where the signature comes"
    assert blocks.signed_blocks == [{"type": "thinking", "thinking": "a" * 1_000, "signature": "s"}]


def messages_after(response: Any) -> dict[str, Any]:
    """Return the answer as it is sent back in its own turn, and after the user's next message."""
    results = [ToolResultPart(call.id, call.name, "x") for call in response.tool_calls]
    said = (user("hi"), response.message, tool_results(results))
    bodies = [
        body_of(codec().encode(Request("m", messages), stream=True)) for messages in (said, (*said, user("more")))
    ]  # fmt: skip
    return {name: body["messages"][1] for name, body in zip(("same turn", "next turn"), bodies, strict=True)}


def test_unsigned_thinking_of_a_proxy_is_not_sent_back() -> None:
    unsigned = piece(thinking_blocks=[{"type": "thinking", "thinking": "Hm.", "signature": None}])
    response = answer(unsigned, call_piece(0, "a", "read", "{}"), ENDS)
    assert response.reasoning == "Hm."
    assert "thinking_blocks" not in messages_after(response)["same turn"]


def test_gemini_is_asked_at_the_other_address_if_it_does_not_stream() -> None:
    speaker, request = spoken("gemini"), read("gemini")
    assert speaker.adapt_encoding(request, refused("gemini", 400, say(REFUSES[0])))
    assert speaker.encode(request, stream=True).path.endswith(":generateContent")
