"""Reports on refused forms: fields of blocks, whole items, ends and schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.messages import (
    DocumentPart,
    ImagePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    assistant,
    system,
    user,
)
from agent_ls.llm.requests import JsonFormat, ToolDefinition
from tests.llm.reports.chat import say
from tests.llm.reports.forms import (
    TALK,
    Check,
    bodies,
    given,
    has_whole_answers,
    items,
    own,
    roles,
)
from tests.support.reports import reported

BRIEF = (system("Be brief."), user("a"), assistant("b"), user("c"))
MARKED = Message(Role.ASSISTANT, (ToolCallPart("c1", "f", "{}", own("anthropic", "tool_use", id="c1", name="f",
    input={"text": "kept"}, text="")),))  # fmt: skip
ECHO = [{"role": "user", "content": [{"type": "input_text", "text": "hello " * 200}]}]
UNION = "list[union[EasyInputMessageParam,Message,ResponseOutputMessageParam]]"
VLLM = (
    f"240 validation errors:\n  {{'type': 'string_type', 'loc': ('body', 'input', 'str'), 'msg': 'Input should be a \
valid string', 'input': {ECHO}}}\n  {{'type': 'missing', 'loc': ('body', 'input', '{UNION}', 1, 'id')}}"
)
SGLANG = (
    "17 validation errors for ChatCompletionRequest messages.0.ChatCompletionMessageGenericParam.content.str Input \
should be a valid string [type=string_type, input_value=[{'text': 'Who are you?', 'type': 'input_text'}]]"
)
SUMMARY = json.dumps([{"code": "invalid_value", "values": ["reasoning_text"], "path": ["content", 0, "type"],
    "message": 'Invalid input: expected "reasoning_text"'}, {"expected": "array", "code": "invalid_type",
    "path": ["summary"], "message": "Invalid input: expected array, received undefined"}])  # fmt: skip
REASONED = Message(Role.ASSISTANT, (ReasoningPart("hm", own("responses", "reasoning", id="rs_1", content=[])),
    TextPart("b", own("responses", "message", id="msg_1", role="assistant", status="completed", content=[
        {"type": "output_text", "text": "b", "annotations": []}]))))  # fmt: skip
NO_PARTS = (
    "Unable to submit request because it must include at least one parts field, which describes the prompt."
)
THOUGHT_ONLY = Message(Role.ASSISTANT, (ReasoningPart("hm"),))
PICTURE = Message(Role.USER, (TextPart("What is it?"), ImagePart(b"x", "image/png")))

FORMS: list[Any] = [
    reported("anthropics/claude-code#4378", "anthropic", (user("a"), MARKED, given("c1"), user("b")), 400,
        say("messages.65.content.1.tool_use.text: Extra inputs are not permitted"), lambda body: any(
            it.get("type") == "tool_use" and "text" not in it and it["input"] for it in items(body))),
    reported("anomalyco/opencode#4282", "responses", BRIEF, 400, say("instructions: Extra inputs are not permitted"),
        lambda body: "instructions" not in body and "Be brief." in json.dumps(body["input"])),
    reported("lmstudio-ai/lmstudio-bug-tracker#1399", "anthropic", BRIEF, 400,
        say("request.messages.1.role: Invalid discriminator value. Expected 'user' | 'assistant'"),
        lambda body: set(roles(body)) == {"user", "assistant"}),
    reported("openai/codex#3451", "responses", TALK, 400, say("Missing required parameter: 'input[2].id'.",
        param="input[2].id", code="missing_required_parameter"), has_whole_answers),
    reported("MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#138", "responses", TALK, 400, say(VLLM, code=400),
        has_whole_answers),
    reported("sgl-project/sglang#17853", "responses", TALK, 400, say(SGLANG), lambda body: all(
        isinstance(it["content"], str) for it in items(body))),
    reported("lmstudio-ai/docs#141", "responses", (PICTURE,), 400, say("Invalid type for 'input'.", param="input",
        code="invalid_union"), lambda body: [it["type"] for it in body["input"][0]["content"]] == [
            "input_text", "input_image"]),
    reported("sourcebot-dev/sourcebot#630", "responses", (user("a"), REASONED, user("c")), 400, say(SUMMARY),
        lambda body: any(it.get("summary") == [] for it in items(body))),
    reported("QuantumNous/new-api#1260", "gemini", (user("hello"), user("")), 400, say(NO_PARTS),
        lambda body: all(content["parts"] for content in body["contents"])),
    reported("egoist/chatwise-releases#250", "gemini", (user("a"), THOUGHT_ONLY, user("b")), 400,
        say("* GenerateContentRequest.contents[1].parts: contents.parts must not be empty."),
        lambda body: all(content["parts"] for content in body["contents"])),
    reported("envoyproxy/ai-gateway#2686", "gemini", (user("a"), assistant("Let me")), 400,
        say("Requests ending with a model turn are not supported."), lambda body: roles(body)[-1] == "user"),
    reported("Portkey-AI/gateway#462", "gemini", (user("a"), Message(Role.USER, (TextPart(""), TextPart("b")))), 400,
        say("Unable to submit request because it has an empty text parameter."),
        lambda body: all(it["text"] for it in items(body))),
    reported("agno-agi/agno#5843", "gemini", (Message(Role.USER, (DocumentPart(b"%PDF", name="a.pdf"),)),), 400,
        say(NO_PARTS), lambda body: bool(items(body))),
    reported("Calcium-Ion/new-api-horizon#24", "gemini", (system("Complete the code."),), 400,
        say("Unable to submit request because at least one contents field is required."),
        lambda body: roles(body) == ["user"]),
    reported("router-for-me/CLIProxyAPI#176", "gemini", (user("a"), assistant(""), user("b")), 400, say(NO_PARTS),
        lambda body: all(content["parts"] for content in body["contents"])),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "messages", "status", "body", "is_right"), FORMS)
def test_a_refused_form_of_the_second_draw_is_changed(
    wire: str, messages: tuple[Message, ...], status: int, body: Any, is_right: Check
) -> None:
    assert any(map(is_right, bodies(wire, messages, status, body)))


@pytest.mark.report("MiniMax-AI/MiniMax-M2.7#17")  # fmt: skip
@pytest.mark.parametrize("wire", ["anthropic", "responses", "gemini"])
@pytest.mark.parametrize(
    "words", ["invalid params", "Invalid request", "Request contains an invalid argument."]
)
def test_a_format_of_the_answer_is_left_out_if_there_is_no_other_reason(wire: str, words: str) -> None:
    wanted = JsonFormat({"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]})
    sent = bodies(wire, TALK, 400, say(words, type="invalid_request_error"), response_format=wanted)
    names = ("output_config", "text", "generationConfig")
    assert any(name in sent[0] for name in names) and not any(
        "format" in str(sent[-1].get(it)) for it in names
    )


SCHEMAS: list[Any] = [
    ("anthropic", 500, say("Engine protocol predict request returned 400: failed to parse grammar", type="api_error")),
    reported("google-gemini/gemini-cli#2706", "gemini", 400, say(
        "* GenerateContentRequest.tools[0].function_declarations[49].parameters.properties[url].format: only 'enum' "
        "and 'date-time' are supported for STRING type")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body"), SCHEMAS)
def test_a_refused_schema_is_sent_plain(wire: str, status: int, body: Any) -> None:
    schema: Any = {
        "type": "object",
        "properties": {"url": {"type": "string", "format": "uri", "pattern": "^h"}},
    }
    last = json.dumps(bodies(wire, TALK, status, body, tools=(ToolDefinition("f", "", schema),))[-1])
    assert '"format"' not in last and '"pattern"' not in last
