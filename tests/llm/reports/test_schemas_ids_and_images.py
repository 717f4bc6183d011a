"""Reports about requests that servers refuse: schemas, ids, images, reasoning, limits of the output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    Message,
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
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import Request, Response
from agent_ls.loop.model.recovery import refuses_images, refuses_reasoning
from tests.llm.providers.test_gemini_stream import STOP as GEMINI_STOP, chunk, replayed as gemini_parts
from tests.llm.providers.test_openai_stream import CREATED, MESSAGE, added, done, final
from tests.llm.reports.chat import TOOLS, answer, codec, say
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_resent_requests import (
    IDS,
    MOON,
    called,
    has_one_system,
    has_short_ids,
    has_typed_schema,
    lacks,
    sent,
    with_schema,
)
from tests.llm.reports.test_responses import ASK as ASK_RESPONSES, answer as responses_answer
from tests.llm.reports.test_tools import declared, refused as refused_by_gemini
from tests.support.codec_runs import ANTHROPIC, OPENAI, body_of
from tests.support.reports import reported


def has_reasoning(body: Any) -> bool:
    return all("reasoning_content" in it for it in body["messages"] if it["role"] == "assistant")


def has_no_calls(body: Any) -> bool:
    return not any("tool_calls" in message for message in body["messages"])


def is_object(body: Any) -> bool:
    schema = body["tools"][0]["function"]["parameters"]
    return (schema["type"], schema["properties"]) == ("object", {})


def listed(**items: Any) -> Request:
    return with_schema(properties={"a": {"type": "array", "items": items}})


TOOLU, BACK = (
    "toolu_01VpEm654H",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
)
UNTHOUGHT = Request(
    "m",
    (
        user("hi"),
        Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
        tool_results([ToolResultPart("a", "read", "x")]),
    ),
)
TOLD = Request("m", (system("Be brief."), user("a"), assistant("ok"), system("Changed."), user("b")))
RESENT: list[Any] = [
    reported("lmstudio-ai/lmstudio-bug-tracker#2168", "lmstudio", with_schema(properties={"a": {"type": "string",
        "pattern": "\\S"}}), 400, say("JSON schema conversion failed:\nPattern must start with '^'", code=400),
        lacks("pattern")),
    reported("ggml-org/llama.cpp#25895", "llamacpp", listed(type="string", pattern="^(\\d+|b)$"), 400,
        say("Failed to initialize samplers: failed to parse grammar", code=400), lacks("pattern")),
    reported("can1357/oh-my-pi#5952", "compatible", listed(type="object", properties={"out": True}), 400,
        say(MOON.format("property schema for 'out' must be an object")),
        has_typed_schema),
    reported("anomalyco/opencode#39995", "compatible", Request("m", (user("hi"),), tools=(
        with_schema(properties={"a": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": {"type": "string"}}}).tools)), 400,
        say("Upstream request failed"), lacks("$ref")),
    reported("anomalyco/opencode#34089", "compatible", UNTHOUGHT, 400,
        say("bedrock error: The toolConfig field must be defined when using toolUse and toolResult content blocks."),
        has_no_calls),
    reported("mcowger/generic-copilot#40", "lmstudio", with_schema(), 400, say("Expected 'object'"), is_object),
    reported("zed-industries/zed#53034", "mistral", called(TOOLU), 400, say(IDS.format(TOOLU)), has_short_ids),
    reported("Mangi-11/Eta#59", "llamacpp", TOLD, 500, say("Jinja Exception: System message must be at the beginning."),
        has_one_system),
    reported("openclaw/openclaw#71455", "ollama", UNTHOUGHT, 400, say(BACK), has_reasoning),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "request_", "status", "body", "is_right"), RESENT)
def test_the_first_or_second_request_is_accepted(
    provider: str, request_: Request, status: int, body: Any, is_right: Callable[[Any], bool]
) -> None:
    assert is_right(sent(provider, request_, status, body)[-1])


@pytest.mark.report("nowledge-co/nowledge-mem#36")
def test_the_reasoning_that_a_server_demands_is_its_own() -> None:
    message = answer(piece(reasoning_content="Hm."), call_piece(0, "a", "read", "{}"), ENDS).message
    request = Request("m", (user("hi"), message, tool_results([ToolResultPart("a", "read", "x")])))
    assert sent("compatible", request, 400, say(BACK))[-1]["messages"][1]["reasoning_content"] == "Hm."


def on(wire: str) -> Any:
    kind = AnthropicCodec if wire == "anthropic" else OpenAIResponsesCodec
    return kind(capabilities_lookup(wire))


GRAMMARS: list[Any] = [
    reported("ollama/ollama#18226", "anthropic", "Failed to initialize samplers: failed to parse grammar"),
    ("anthropic", "JSON schema conversion failed: Pattern must start with '^' and end with '$'"),
    ("openai", "Failed to initialize samplers: failed to parse grammar"),
    ("openai", "Invalid schema for function 't': pattern is not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words"), GRAMMARS)
def test_schemas_are_plain_on_every_wire_for_a_server_that_refuses_them(wire: str, words: str) -> None:
    spoken, request = on(wire), listed(type="string", pattern="^[a\\-b]+$")
    error = spoken.decode_error(request, ReplyHead(400), json.dumps(say(words)).encode())
    assert "pattern" in spoken.encode(request, stream=True).content.decode()
    assert spoken.adapt_encoding(request, error)
    (tool,) = body_of(spoken.encode(request, stream=True))["tools"]
    schema = tool.get("input_schema") or tool.get("parameters")
    assert schema["properties"]["a"] == {"type": "array", "items": {"type": "string"}}
    assert not tool.get("strict")
    assert not spoken.adapt_encoding(request, error)


FITS = "maximum context length is 128000 tokens. However, you requested"
ROOMS: list[Any] = [
    reported("vllm-project/vllm#42474", "vllm", f"{FITS} 65535 output tokens and your prompt contains at least 62466 "
        "input tokens, for a total of at least 128001 tokens.", 65535, range(60_000, 62_500)),
    reported("Alishahryar1/free-claude-code#1633", "groq",
        "Request too large on tokens per minute (TPM): Limit 8000, Requested 9500.", 4000, range(2000, 2300)),
    ("vllm", f"{FITS} 140000 tokens (75000 in the messages, 65000 in the completion).", 65000, range(49_000, 53_000)),
    ("vllm", f"{FITS} 193000 tokens (128000 in the messages, 65000 in the completion).", 65000, None),
    ("vllm", f"{FITS} 140000 tokens (75000 in the messages, 65000 in the completion).", None, None),
    ("compatible", "The prompt is too long.", 65000, None),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "words", "wanted", "room"), ROOMS)
def test_the_limit_of_the_output_is_lowered_to_the_room_that_is_left(
    provider: str, words: str, wanted: int | None, room: range | None
) -> None:
    spoken, request = codec(provider), Request("m", (user("hi"),), max_output_tokens=wanted)
    error = spoken.decode_error(request, ReplyHead(413), json.dumps(say(words)).encode())
    assert isinstance(error, e.ContextLengthError)
    assert spoken.adapt_encoding(request, error) == (room is not None)
    limit = body_of(spoken.encode(request, stream=True)).get("max_tokens")
    assert limit in room if room else limit == wanted
    assert [spoken.adapt_encoding(request, error) for _ in range(4)][-1] is False


IMAGES: list[Any] = [
    reported("1jehuang/jcode#848", "compatible", say("messages[408]: unknown variant `image_url`, expected `text`")),
    reported("Gitlawb/openclaude#1421", "compatible", say("Param Incorrect", code="400", param="`text` is not set")),
    reported("open-octo/octo-agent#947", "compatible", say("Unexpected item type in content")),
    reported("charmbracelet/crush#3810", "anthropic", say("messages.2.content.1.image.source.base64.data: At "
        "least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels")),
    reported("can1357/oh-my-pi#10633", "anthropic", say("image.source: exceed max allowed size: 8000 pixels")),
    reported("lmstudio-ai/lmstudio-bug-tracker#1106", "responses",
        say("Invalid type for 'input'.", code="invalid_union")),
    reported("google-gemini/gemini-cli#3054", "gemini", say("Unsupported MIME type: image/svg+xml", code=400)),
    ("gemini", say("Unsupported MIME type: application/octet-stream", code=400)),
    ("responses", say("The data you provided is not valid", code="invalid_image_format")),
    reported("QwenLM/qwen-code#2028", "compatible",
        say("Invalid value: file. Supported values are: 'text','image_url','video_url' and 'video'.")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body"), IMAGES)
def test_a_refusal_of_an_image_is_recognised(wire: str, body: Any) -> None:
    assert refuses_images(refused(wire, 400, body))


@pytest.mark.parametrize(
    "words", ["Missing required parameter: 'model'", "Unsupported content type", "messages: text is too long"]
)
def test_other_refusals_are_none_of_images(words: str) -> None:
    assert not refuses_images(refused("compatible", 400, say(words)))


REASONING: list[Any] = [
    reported("NoeFabris/opencode-antigravity-auth#368", "gemini",
        say("Unable to submit request because Thought signature is not valid.. Learn more: https://x", code=400)),
    reported("maximhq/bifrost#5410", "responses", say("Item with id 'rs_03' not found. Items are not persisted.")),
    reported("can1357/oh-my-pi#290", "responses", say("The encrypted content for item rs_1 could not be verified.")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body"), REASONING)
def test_a_refusal_of_reasoning_is_recognised(wire: str, body: Any) -> None:
    assert refuses_reasoning(refused(wire, 400, body))


@pytest.mark.report("vybestack/llxprt-code#2335")
def test_thinking_stays_with_its_model() -> None:
    raw = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    thought = ReasoningPart("Hm.", Origin("anthropic", "claude-opus-4-8", raw))
    said = (user("a"), Message(Role.ASSISTANT, (thought, TextPart("ok"))), user("b"))
    assert (
        "signature" not in ANTHROPIC.encode(Request("claude-sonnet-5-5", said), stream=True).content.decode()
    )


def sent_back(response: Response, provider: str) -> dict[str, Any]:
    results = tool_results([ToolResultPart(one.id, "read", "x") for one in response.tool_calls])
    request = Request("m", (user("hi"), response.message, results), tools=TOOLS)
    found: dict[str, Any] = body_of(codec(provider).encode(request, stream=True))["messages"][1]
    return found


def detail(**more: Any) -> Any:
    return piece(reasoning_details=[{"type": "reasoning.text", "index": 0, **more}])


@pytest.mark.report("OpenRouterTeam/ai-sdk-provider#423")
def test_a_signature_that_arrives_alone_belongs_to_the_text_before() -> None:
    chunks = (detail(text="Hm "), detail(text="so."), detail(signature="eyJ", format="f"))
    response = answer(*chunks, call_piece(0, "a", "read", "{}"), ENDS, provider="openrouter")
    whole = {"type": "reasoning.text", "index": 0, "text": "Hm so.", "signature": "eyJ", "format": "f"}
    assert sent_back(response, "openrouter")["reasoning_details"] == [whole]


@pytest.mark.report("OpenRouterTeam/ai-sdk-provider#442")
def test_reasoning_of_another_server_is_not_sent() -> None:
    other = Message(Role.ASSISTANT, (ReasoningPart("Hm.", Origin("compatible", "m", {})), TextPart("ok")))
    body = body_of(codec("openrouter").encode(Request("m", (user("a"), other, user("b"))), stream=True))
    assert not {"reasoning", "reasoning_details"} & body["messages"][1].keys()


@pytest.mark.report("open-webui/open-webui#27467")
def test_unsigned_thinking_is_not_sent_back() -> None:
    unsigned = piece(reasoning_content="Hm.", reasoning_details=[{"type": "reasoning.text", "text": "Hm."}])
    response = answer(unsigned, call_piece(0, "a", "read", "{}"), ENDS)
    assert "Hm." not in json.dumps(sent_back(response, "compatible"))


def marks(node: Any) -> Iterator[Any]:
    """Yield the cache marks in a part of a request, in their order."""
    if isinstance(node, dict):
        yield from [node["cache_control"]] if "cache_control" in node else []
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from marks(inner)


@pytest.mark.report("CommonstackAI/UncommonRoute#1")
def test_all_cache_marks_have_the_same_life() -> None:
    said = (system("Be."), user("a"), assistant("b"), user("c"))
    body = body_of(ANTHROPIC.encode(Request("claude-sonnet-5-5", said, tools=TOOLS), stream=True))
    lives = [mark.get("ttl", "5m") for mark in marks([body["tools"], body["system"], body["messages"], body])]
    assert lives and len(set(lives)) == 1


@pytest.mark.report("sgl-project/sglang#33867")
def test_a_result_without_images_is_a_text() -> None:
    items = body_of(OPENAI.encode(UNTHOUGHT, stream=True))["input"]
    assert [item["output"] for item in items if "output" in item] == ["x"]


@pytest.mark.report("earendil-works/pi#1878")
def test_reasoning_without_a_summary_is_sent_back() -> None:
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "blob"}
    events = (
        added(0, {**item, "encrypted_content": None}),
        done(0, item),
        added(1, MESSAGE),
        done(1, MESSAGE),
    )
    message = responses_answer(CREATED, *events, final()).message
    request = Request(ASK_RESPONSES.model, (user("hi"), message, user("more")))
    items = body_of(OPENAI.encode(request, stream=True))["input"]
    assert [it["encrypted_content"] for it in items if it["type"] == "reasoning"] == ["blob"]


@pytest.mark.report("inngest/inngest-js#1180")
def test_the_first_of_parallel_calls_keeps_its_signature() -> None:
    called_once = {"functionCall": {"name": "f", "args": {}}}
    parts = gemini_parts(chunk({**called_once, "thoughtSignature": "s"}), chunk(called_once), GEMINI_STOP)
    assert [part.get("thoughtSignature") for part in parts if "functionCall" in part] == ["s", None]


NULLABLE = [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]
KIND = {"kind": {"const": "insert"}, "at": {"anyOf": NULLABLE}}
SCHEMAS: list[Any] = [
    reported("weave-os/router#65", {"type": "integer", "enum": [7, 14], "exclusiveMinimum": 0, "multipleOf": 7}),
    reported("pizza-bot-app/pizza-bot#62", {"anyOf": NULLABLE, "default": None}),
    reported("anomalyco/opencode#12908", {"anyOf": [{"const": "json"}, {"const": "markdown"}]}),
    reported("reposkein/reposkein#14", {"anyOf": [{"const": 1}, {"const": 2}]}),
    reported("taylorwilsdon/google_workspace_mcp#1099", {"oneOf": [{"type": "object", "properties": KIND}]}),
    reported("zendev-sh/goai#124", {"const": "a"}),
    {"type": ["string", "null"]},
    {"enum": ["a", 7]},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_schema_has_what_gemini_refuses(schema: Any) -> None:
    told = declared(a=schema)
    assert "parametersJsonSchema" in told or not list(refused_by_gemini(told["parameters"]))
