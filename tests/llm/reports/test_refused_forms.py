"""Forms of messages that servers of Anthropic's, OpenAI's and Google's APIs refused in reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.messages import Message, ReasoningPart, Role, TextPart, assistant, system, user
from agent_ls.llm.requests import ToolDefinition
from tests.llm.reports.chat import say
from tests.llm.reports.forms import (
    ADVISOR,
    AFTER,
    BEFORE,
    COUNT,
    LISTED,
    MISSING_SIGNATURE,
    PASSED_BACK,
    PDF,
    REQUIRED,
    SIGNED_PARALLEL,
    STEP,
    SYSTEM_ROLE,
    TALK,
    THINKING,
    THOUGHT,
    UNION,
    UNKNOWN,
    UNSAID,
    UNSIGNED,
    VLLM,
    ZOD,
    Check,
    alternates,
    bodies,
    called,
    given,
    has_whole_answers,
    is_paired,
    is_signed,
    items,
    lacks,
    own,
    parallel_in_one,
    roles,
    starts_with_user,
    thinks_first,
)
from tests.support.reports import reported

FORMS: list[Any] = [
    reported("anthropics/claude-code#3512", "anthropic", (user("a"), called("c1"), user("stop")), 400,
        say(f"messages.5: {UNSAID}"), is_paired),
    reported("Hmbown/Codewhale#4329", "anthropic", (user("a"), called("c1", "c2"), user("b")), 400,
        say(f"messages.1: {UNSAID}"), is_paired),
    reported("anthropics/claude-code#13460", "anthropic", (user("a"), given("c9"), user("b")), 400,
        say("messages.48.content.1: unexpected `tool_use_id` found in `tool_result` blocks: c9"), is_paired),
    reported("anthropics/claude-code#64383", "anthropic", (user("a"), ADVISOR, user("b")), 400,
        say("messages.7.content.0: unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_1. Each "
            "`advisor_tool_result` block must have a corresponding `server_tool_use` block before it."),
        lacks("advisor_tool_result")),
    reported("continuedev/continue#11164", "gemini", (user("a"), assistant("I look."), called("c1"), given("c1")), 400,
        say(BEFORE, code=400, status="INVALID_ARGUMENT"), alternates),
    reported("google-gemini/gemini-cli#26956", "gemini", (user("a"), called("c1"), given("c1"), given("c2"), user("b")),
        400, say(AFTER), is_paired),
    reported("google-gemini/gemini-cli#17208", "gemini", (user("a"), called("c1", "c2"), given("c2"), user("b")), 400,
        say(COUNT), is_paired),
    reported("google-gemini/gemini-cli#11814", "gemini", (called("c1"), given("c1"), user("b")), 400, say(BEFORE),
        starts_with_user),
    reported("langchain-ai/langchain#27799", "gemini", (user("a"), called("c1"), user("wait"), given("c1")), 400,
        say(AFTER), is_paired),
    reported("NousResearch/hermes-agent#11906", "anthropic",
        (user("a"), Message(Role.ASSISTANT, (TextPart(""), *called("c1").parts)), given("c1")), 400,
        say("messages: text content blocks must be non-empty"), lambda body: not any(
            it.get("text") == "" for it in items(body))),
    reported("openai/codex#8829", "responses", TALK, 400, say(VLLM), has_whole_answers),
    reported("tidyverse/ellmer#1153", "responses", TALK, 400, say("Cannot determine type of 'item'"),
        has_whole_answers),
    reported("langchain-ai/langchain#32557", "responses", TALK, 400,
        say(f"body -> input -> {UNION} -> 1 -> ResponseOutputTextParam -> annotations Field required"),
        has_whole_answers),
    reported("google-gemini/gemini-cli#13972", "gemini",
        (user("a"), SIGNED_PARALLEL, given("c1", "c2"), user("b")), 400,
        say(UNKNOWN.format("id", "contents[2].parts[0].function_response")), lacks("id")),
    reported("gera2ld/ai.nvim#13", "gemini", TALK, 400, say(UNKNOWN.format("role", "contents[0].parts")),
        lacks("role")),
    reported("Chevey339/kelivo#543", "gemini", STEP, 400, say(UNKNOWN.format("id", "contents[1].parts[0]")),
        lambda body: not any("id" in it for it in items(body))),
    reported("54xzh/FLIT#70", "gemini", (user("a"), called("c1"), given("c1"), user("")), 400,
        say("* GenerateContentRequest.contents[2].parts[1].data: required oneof field 'data' must have one initialized "
            "field"), lambda body: all(it.get("text") != "" for it in items(body))),
    reported("flyun/chatAir#108", "gemini", (user("a"), Message(Role.ASSISTANT, (
            ReasoningPart("hm", own("gemini", "", parts=[{"text": "hm", "thought": True}])), TextPart("Hi."))),
            user("b")), 400, say(UNKNOWN.format("thought", "contents[0].parts[0]")), lacks("thought")),
    reported("MayDay-wpf/snow-cli#104", "gemini", (user("a"), UNSIGNED, given("c1"), user("b")), 400,
        say(MISSING_SIGNATURE), is_signed),
    reported("googleapis/js-genai#1275", "gemini", (user("a"), SIGNED_PARALLEL, given("c1", "c2"), user("b")), 400,
        say(MISSING_SIGNATURE), parallel_in_one),
    reported("GewoonJaap/gemini-cli-openai#156", "gemini", (user("a"), UNSIGNED, given("c1"), user("b")), 400,
        say("Unable to submit request because function call `f` in the 5. content block is missing a "
            "`thought_signature`."), is_signed),
    reported("continuedev/continue#10092", "responses", (user("a"), given("c9"), user("b")), 400,
        say("No tool call found for function call output with call_id c9.", param="input"), is_paired),
    reported("symgraph/GhidrAssist#78", "responses", (user("a"), called("c1"), user("b")), 400,
        say("No tool output found for function call c1.", param="input"), is_paired),
    reported("nodetool-ai/nodetool#4252", "responses", STEP, 400,
        say("Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'."), lambda body: not any(
            "id" in it for it in items(body))),
    reported("microsoft/agent-framework#3795", "responses", TALK, 400, say(ZOD, code="invalid_prompt"),
        has_whole_answers),
    reported("CherryHQ/cherry-studio#10477", "responses", TALK, 400, say(REQUIRED), has_whole_answers),
    reported("jwadow/kiro-gateway#226", "anthropic", (system("Be brief."), user("a"), system("Now."), user("b")), 422,
        SYSTEM_ROLE, lambda body: "system" not in roles(body)),
    reported("Alishahryar1/free-claude-code#1041", "anthropic", (user("a"), Message(Role.DEVELOPER, (TextPart("b"),)),
        user("c")), 422, SYSTEM_ROLE, lambda body: "system" not in roles(body)),
    reported("jwadow/kiro-gateway#60", "anthropic", (assistant("Hi."), user("a"), user("b")), 400,
        say("Improperly formed request"), alternates),
    reported("theopenco/llmgateway#2508", "anthropic", THINKING, 400,
        {"error": True, "message": "messages.1.content.0.type: Invalid discriminator value. Expected 'text' | "
            "'image' | 'tool_use' | 'tool_result'"}, lacks("thinking")),
    reported("anthropics/claude-code#20705", "anthropic",
        (user("a"), Message(Role.ASSISTANT, (TextPart("Let me see."), *THOUGHT.parts)), given("c1"), user("b")), 400,
        say("messages.51.content.0: If an assistant message contains any thinking blocks, the first block must be "
            "thinking or redacted_thinking. Found text."), lambda body: all(
                "thinking" not in [it["type"] for it in message["content"][1:]] for message in body["messages"])),
    reported("Lapis0x0/obsidian-yolo#326", "anthropic", STEP, 400, say(PASSED_BACK), thinks_first),
    reported("OEvortex/aether#31", "anthropic", TALK, 400, say(PASSED_BACK), thinks_first),
    reported("anthropics/anthropic-sdk-typescript#622", "anthropic", (assistant("How can I help?"), user("a")), 400,
        say('messages: first message must use the "user" role'), starts_with_user),
    reported("anthropics/anthropic-sdk-typescript#565", "anthropic", (user("a"), user("b")), 400,
        say('messages: roles must alternate between "user" and "assistant"'), alternates),
    reported("pydantic/pydantic-ai#4495", "anthropic", (system("Choose one of a, b."),), 400,
        say("A conversation must start with a user message."), lambda body: roles(body) == ["user"]),
    reported("archestra-ai/archestra#4220", "anthropic", (PDF,), 400,
        say("A text block must be included when using documents."), lambda body: sorted(
            it["type"] for it in items(body)) == ["document", "text"]),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "messages", "status", "body", "is_right"), FORMS)
def test_a_refused_form_of_messages_is_changed(
    wire: str, messages: tuple[Message, ...], status: int, body: Any, is_right: Check
) -> None:
    assert any(map(is_right, bodies(wire, messages, status, body)))


@pytest.mark.report("chand1012/claude-code-mlx-proxy#3")  # fmt: skip
def test_refused_thinking_is_left_out() -> None:
    detail = [
        {"type": "missing", "loc": ["body", "thinking", "enabled"], "msg": "Field required", "input": {}}
    ]
    sent = bodies("anthropic", TALK, 422, {"detail": detail}, reasoning_effort="high")
    assert "thinking" in sent[0] and "thinking" not in sent[-1]


@pytest.mark.report("glowingjade/obsidian-smart-composer#455")  # fmt: skip
@pytest.mark.report("zed-industries/zed#53919")
def test_a_schema_is_sent_as_the_service_takes_it() -> None:
    words = UNKNOWN.format("type", "tools[0].function_declarations[0].parameters")
    tools = (ToolDefinition("f", "", LISTED),)
    last = json.dumps(bodies("gemini", TALK, 400, say(words), tools=tools)[-1])
    assert "additionalProperties" not in last and '["string"' not in last
