"""Reports on NVIDIA, LM Studio, DashScope, MiniMax and others."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.refused_tools import refuses_tools
from agent_ls.llm.requests import Request
from tests.llm.providers.test_anthropic_stream import sse, text_block
from tests.llm.reports.chat import TOOLS, answer as chat_answer, codec, say
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC
from tests.llm.reports.test_broken_streams import call_piece, piece, said
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.llm.reports.test_resent_requests import called, lacks, sent
from tests.support.codec_runs import ANTHROPIC, body_of, response_of
from tests.support.reports import reported

PARAMETERS = (
    "***.BadRequestError: OpenAIException - Failed to deserialize the JSON body into the target type: "
    "tools[25].function: missing field `parameters` at line 1 column 376825"
)
DEGRADED = {
    "status": 400,
    "title": "Bad Request",
    "detail": "Function id '8': DEGRADED function cannot be invoked",
}
USUAL = "\n\nThis is usually an issue with the model's prompt template. You can override it in My Models."
RENDER = 'Error rendering prompt with jinja template: "{}".' + USUAL
KINDS: list[Any] = [
    reported("simkeyur/vscode-agents#1", "compatible", 400,
        {"message": "You invoked an unsupported model or your request did not allow prompt caching. See the "
            "documentation for more information."}, e.NotFoundError, "unsupported model"),
    reported("heshengtao/super-agent-party#810", "compatible", 422,
        say(PARAMETERS, type="upstream_error", param="", code="422"), e.InvalidRequestError, "missing field"),
    reported("Routstr/routstr-core#554", "compatible", 404,
        say("The model `gpt-5.4-image-2` does not exist or you do not have access to it.",
            type="invalid_request_error", code="model_not_found"), e.NotFoundError, "image-2"),
    reported("tashfeenahmed/freellmapi#522", "compatible", 400, DEGRADED, e.ServerError, "DEGRADED"),
    reported("zed-industries/zed#45379", "lmstudio", 400, {"error": RENDER.format("Unknown test: sequence")},
        e.InvalidRequestError, "jinja"),
    reported("lmstudio-ai/lmstudio-bug-tracker#404", "lmstudio", 400,
        {"error": RENDER.format("Error: Expected iterable type in for loop: got StringValue")}, e.InvalidRequestError,
        "iterable"),
    reported("lmstudio-ai/lmstudio-bug-tracker#2012", "lmstudio", 400,
        {"error": RENDER.format("Cannot call something that is not a function: got UndefinedValue")},
        e.InvalidRequestError, "UndefinedValue"),
    pytest.param("compatible", 403,
        {"code": "AccessDenied", "message": "Access denied.", "request_id": "1"}, e.PermissionDeniedError, "denied"),
    ("compatible", 429, say("Your free quota for this model has been used up."), e.QuotaExceededError, "free quota"),
    ("compatible", 429, {"code": "Throttling.AllocationQuota", "message": "Allocated quota exceeded, please increase "
        "your quota limit."}, e.RateLimitError, "Allocated"),
    reported("modelscope/ms-agent#50", "compatible", 429,
        {"code": "Throttling.AllocationQuota", "message": "Free allocated quota exceeded.", "request_id": "1"},
        e.QuotaExceededError, "Free"),
    reported("QuantumNous/new-api#1401", "compatible", 400,
        say("Access denied, please make sure your account is in good standing.", type="Arrearage", param="",
            code="Arrearage"), e.QuotaExceededError, "standing"),
    reported("agentscope-ai/agentscope#425", "compatible", 400,
        say("<400> InternalError.Algo.InvalidParameter: The messages list should not contain only one message with "
            'role "system". Please include at least one other role in the messages.', code="invalid_parameter_error",
            param=None, type="invalid_request_error"), e.InvalidRequestError, "at least one other"),
    reported("lifan0127/ai-research-assistant#111", "compatible", 400,
        say("Tool names are not allowed to be [search]", code="invalid_parameter_error", param=None,
            type="invalid_request_error"), e.InvalidRequestError, "[search]"),
    reported("continuedev/continue#10839", "compatible", 403, '"Model disabled."', e.PermissionDeniedError,
        "Model disabled"),
    reported("continuedev/continue#9558", "deepseek", 402,
        say("Insufficient Balance", type="unknown_error", param=None, code="invalid_request_error"),
        e.QuotaExceededError, "Insufficient"),
    reported("MiniMax-AI/MiniMax-01#37", "compatible", 200,
        {"base_resp": {"status_code": 2049, "status_msg": "invalid api key"}}, e.AuthenticationError, "api key"),
    reported("nearai/ironclaw#1742", "anthropic", 401,
        {"type": "error", "error": {"type": "authorized_error", "message": "login fail: Please carry the API secret "
            "key in the 'Authorization' field of the request header (1004)"}}, e.AuthenticationError, "login fail"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)
    assert not refuses_tools(refused(wire, status, body))


WORDY = Request("m", (user("hi"), Message(Role.ASSISTANT, (TextPart("I look."), ToolCallPart("a", "read", "{}"))),
    tool_results([ToolResultPart("a", "read", "x")])), tools=TOOLS)  # fmt: skip
BOTH = (
    "Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis message in one or "
    "the other, but not both."
)


def has_no_text_beside_calls(body: Any) -> bool:
    return not any(it.get("content") and it.get("tool_calls") for it in body["messages"])


RESENT: list[Any] = [
    reported("QwenLM/Qwen#1298", "compatible", called("a"), 500,
        say("Unsupported param: tools", code=500, type="server_error"), lacks("tools")),
    reported("lmstudio-ai/lmstudio-bug-tracker#842", "lmstudio", WORDY, 400, {"error": RENDER.format(BOTH)},
        has_no_text_beside_calls),
]  # fmt: skip


RELATIVES: list[Any] = [
    (
        "compatible",
        called("a"),
        500,
        say("this model does not support tools", type="server_error"),
        lacks("tools"),
    ),
    ("compatible", called("a"), 500, say("Function calling is not supported by this model"), lacks("tools")),
    (
        "compatible",
        WORDY,
        400,
        say("A message must not contain both text and tool calls"),
        has_no_text_beside_calls,
    ),
    (
        "compatible",
        WORDY,
        400,
        say("You can't send both content and a function call"),
        has_no_text_beside_calls,
    ),
]


def test_a_failure_of_a_tool_is_no_refusal_of_tools() -> None:
    assert len(sent("compatible", called("a"), 500, say("tool call failed: the worker did not answer"))) == 1


@pytest.mark.parametrize(("provider", "request_", "status", "body", "is_right"), [*RESENT, *RELATIVES])
def test_a_refused_request_is_sent_in_another_form(
    provider: str, request_: Request, status: int, body: Any, is_right: Any
) -> None:
    _, *after = sent(provider, request_, status, body)
    assert [is_right(body) for body in after] == [True]


@pytest.mark.report("microsoft/autogen#6788")
def test_each_message_has_a_content() -> None:
    messages = body_of(codec("compatible").encode(called("a", "b"), stream=True))["messages"]
    assert all("content" in message for message in messages)


STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
ENDS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
A = '{"path": "a.py"}'
CODER = "<tool_call>\n<function=read>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>"
CALLS: list[Any] = [
    reported("lidge-jun/opencodex#361",
        [call_piece(0, "c", "read", ""), call_piece(0, None, None, A), call_piece(0, None, None, A), ENDS], [A]),
    reported("agentjido/req_llm#801",
        [call_piece(0, "c", "read", "{"), call_piece(0, None, None, '"path": "'), call_piece(0, None, None, 'a.py"}'),
            ENDS], [A]),
    reported("BerriAI/litellm#12513",
        [call_piece(0, "c", "read", '{"path": "a.'), call_piece(0, "", "null", 'py"}'), ENDS], [A]),
    reported("64bit/async-openai#329", [call_piece(0, "c", "read", A), ENDS], [A]),
    reported("decolua/9router#2869",
        [call_piece(0, "c", "read", '{"pa'), call_piece(0, None, None, '{"path": "a'), call_piece(0, None, None, A),
            ENDS, {**ENDS, "usage": {"prompt_tokens": 1, "completion_tokens": 1}}], [A]),
    reported("open-webui/open-webui#22235",
        [call_piece(0, "c", "read", ""), call_piece(0, None, "read", A), call_piece(0, None, None, '{"path": "b.py"}'),
            ENDS], [A, '{"path": "b.py"}']),
    ([call_piece(0, "c", "read", '{"path": "a."'), call_piece(0, "null", "None", '}'), ENDS], ['{"path": "a."}']),
    ([call_piece(0, "c", "read", '{"path": "a'), call_piece(0, None, "undefined", '.py"}'), ENDS], [A]),
    ([call_piece(0, "c", "read", '{"path": "a"}'), call_piece(0, None, None, A), ENDS], ['{"path": "a"}']),
    ([call_piece(0, "c", "read", '{"path": "a.py"}'), call_piece(0, None, None, '{"path": "a.py", "n": 1}'), ENDS],
        [A]),
    ([call_piece(0, "c", "read", A), call_piece(0, "c", "read", A), ENDS], [A]),
    reported("vllm-project/vllm#42021", [piece(reasoning="hm"), piece(content=f"\n\n{CODER}"), STOP], [A]),
    reported("vllm-project/vllm#39056", [piece(content=f"<think>I read.\n{CODER}"), STOP], [A]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "arguments"), CALLS)
def test_calls_are_read(chunks: list[Any], arguments: list[str]) -> None:
    response = chat_answer(*chunks)
    assert [(part.name, part.arguments) for part in response.tool_calls] == [("read", it) for it in arguments]


@pytest.mark.report("vllm-project/vllm#33965")
def test_a_value_may_have_the_tag_that_ends_it() -> None:
    first = "<parameter=path>\na </parameter> b\n</parameter>"
    text = f"<function=read>\n{first}\n<parameter=n>1</parameter>\n</function>"
    assert said(chat_answer(piece(content=text), STOP))[1] == [("read", {"path": "a </parameter> b", "n": 1})]


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#1602")
def test_an_answer_of_reasoning_alone_has_no_text() -> None:
    response = chat_answer(piece(reasoning_content="I think."), STOP)
    assert (response.text, response.reasoning, response.finish_reason.kind) == ("", "I think.", "stop")


USAGE: list[Any] = [
    reported("jeremychone/rust-genai#258", {"input_tokens": 3602, "output_tokens": 0},
        {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 3604, "output_tokens": 878}, (7206, 878, 3604)),
    reported("envoyproxy/ai-gateway#1631", {"input_tokens": 15, "output_tokens": 1},
        {"input_tokens": 0, "output_tokens": 9}, (15, 9, 0)),
    reported("earendil-works/pi#1045", {"input_tokens": 9, "output_tokens": 1}, {"output_tokens": 12}, (9, 12, 0)),
    reported("envoyproxy/ai-gateway#2236",
        {"input_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 0},
        {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 16},
        (16, 16, 5)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "last", "expected"), USAGE)
def test_counts_of_both_events_are_read(first: Any, last: Any, expected: Any) -> None:
    begin = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [], "usage": first}}  # fmt: skip
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}
    wire = sse(begin, *text_block(0, "hi"), delta, {"type": "message_stop"})
    usage = response_of(ANTHROPIC, wire, ASK_ANTHROPIC).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens or 0) == expected
