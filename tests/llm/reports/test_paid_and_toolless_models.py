"""Reports on providers, clouds and gateways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.refused_tools import name_refused_tools
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_refusals import asking, at, second
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import check_exact_error, exhausted, refused
from tests.llm.reports.test_resent_requests import called, has_typed_schema, sent, with_schema
from tests.support.reports import reported

BUSY = "Too many tokens, please wait before trying again."
THROTTLED = (
    f"An error occurred (ThrottlingException) when calling the InvokeModel operation (max retries: 4): {BUSY}"
)
MORE = "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford "
PLACE = "tools[0].function_declarations[1].parameters.properties[9].value"
VALUE = f"Invalid value at '{PLACE}' (type.googleapis.com/google.cloud.aiplatform.v1.Schema), \"object\""
SUSPENDED = json.dumps(say("Your account org-1 <ak-1> is suspended due to insufficient balance, please recharge",
    type="exceeded_current_quota_error")["error"])  # fmt: skip
KIMI = ("Upstream provider KIMI returned HTTP 429.\n"
    "Category: exceeded_current_quota_error\nMapped message: Provider rate "
    "limit reached. Please retry shortly.\n\nUpstream error:\n" + SUSPENDED + "\n\nRequest ID: req_1")  # fmt: skip


def anthropic(kind: str, message: str) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}


KINDS: list[Any] = [
    reported("dwgx/WindsurfAPI#102", "compatible", 200, say("The model produced an invalid tool call."),
        e.ProviderError, "invalid tool call"),
    reported("anthropics/claude-code#236", "anthropic", 429, {"message": BUSY}, e.RateLimitError, "Too many"),
    reported("hyunhwan-bcm/MARRVEL_MCP#225", "compatible", 400, say(THROTTLED), e.RateLimitError, "Too many"),
    reported("ranxianglei/billion-context-pi#169", "compatible", 200, {"message": BUSY}, e.RateLimitError, "Too many"),
    reported("songquanpeng/one-api#1503", "compatible", 200,
        say("Open api daily request limit reached", type="baidu_error", param="", code=17), e.QuotaExceededError,
        "daily"),
    reported("666ghj/BettaFish#585", "compatible", 429, [exhausted("Resource has been exhausted (e.g. check quota).")],
        e.RateLimitError, "exhausted"),
    reported("cline/cline#5301", "openrouter", 429,
        say("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
            code=429), e.QuotaExceededError, "free-models-per-day"),
    reported("huggingface/agents-course#386", "compatible", 402,
        {"error": "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get "
            "20x more monthly included credits."}, e.QuotaExceededError, "monthly"),
    reported("open-assistant-org/open-assistant#80", "openrouter", 402,
        say("Insufficient credits. Add more using the settings", code=402, metadata={"limit_source":
            "openrouter_credits", "remedy_hint": "Add credits, or lower max_tokens"}), e.QuotaExceededError,
        "Insufficient"),
    reported("SUSYUSTC/MathTranslate#21", "compatible", 200,
        {"Response": {"Error": {"Code": "RequestLimitExceeded", "Message":
            "您当前每秒请求 `6` 次，超过了每秒频率上限 `5`，请稍后重试。"}, "RequestId": "r"}}, e.RateLimitError,
        "频率"),
    reported("ddean2009/MoneyPrinterPlus#53", "compatible", 200,
        {"Response": {"Error": {"Code": "UnsupportedOperation.PkgExhausted", "Message": "The resource pack allowance "
            "has been exhausted, please check your resource pack."}, "RequestId": "r"}}, e.QuotaExceededError, "pack"),
    reported("anthropics/claude-code#1466", "anthropic", 400,
        {"message": "Invocation of model ID anthropic.claude-sonnet-4 with on-demand throughput isn\u2019t supported. "
            "Retry your request with the ID or ARN of an inference profile that contains this model."},
        e.NotFoundError, "on-demand"),
    reported("danilofalcao/jarvis#62", "compatible", 402,
        say("Insufficient Balance", type="unknown_error", param=None, code="invalid_request_error"),
        e.QuotaExceededError, "Balance"),
    reported("egoist/chatwise-releases#1023", "responses", 400,
        say("Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again "
            "with the new parameter.", type="invalid_request_error", param=None, code="unsupported_parameter"),
        e.InvalidRequestError, "moved"),
    reported("harry0703/MoneyPrinterTurbo#279", "compatible", 403,
        {"status_code": 403, "request_id": "r", "code": "AccessDenied.Unpurchased", "message": "Access to model "
            "denied. Please make sure you are eligible for using the model.", "output": None, "usage": None},
        e.PermissionDeniedError, "eligible"),
    reported("zhayujie/CowAgent#2024", "compatible", 200,
        {"error_code": 17, "error_msg": "Open api daily request limit reached"}, e.QuotaExceededError, "daily"),
    reported("continuedev/continue#11823", "zai", 429, say("余额不足或无可用资源包,请充值。", code="1113"),
        e.QuotaExceededError, "余额"),
    reported("anthropics/claude-code#9201", "anthropic", 429,
        anthropic("1113", "Insufficient balance or no resource package. Please recharge."), e.QuotaExceededError,
        "recharge"),
    reported("yilewang/llm-for-zotero#17", "compatible", 429,
        {"error": {"code": "1302", "message": "您的账户已达到速率限制，请您控制请求频率"}}, e.RateLimitError, "速率"),
    reported("zai-org/GLM-5#78", "anthropic", 200,
        {"error": {"message": "[1302][您的账户已达到速率限制，请您控制请求频率]"}}, e.RateLimitError, "1302"),
    reported("Alishahryar1/free-claude-code#1223", "anthropic", 429, anthropic("rate_limit_error", KIMI),
        e.QuotaExceededError, "insufficient balance"),
    reported("MiniMax-AI/MiniMax-M2.7#36", "anthropic", 429,
        anthropic("rate_limit_error", "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 "
            "used), resets at 2026-05-15T15:00:00Z (2056)"), e.QuotaExceededError, "5-hour"),
    reported("MiniMax-AI/MiniMax-M3#6", "anthropic", 500, anthropic("api_error", "unknown error, 999 (1000)"),
        e.ServerError, "999"),
    reported("Gitlawb/openclaude#1554", "compatible", 402,
        say("Free quota used (30 requests / 5h). Resets at 10:00 UTC. Top up for unlimited access.",
            type="insufficient_quota", code="free_quota_exceeded"), e.QuotaExceededError, "Free quota"),
    reported("MiniMax-AI/MiniMax-M2#62", "anthropic", 500, anthropic("api_error", "insufficient balance (1008)"),
        e.QuotaExceededError, "1008"),
    reported("modelscope/modelscope#1691", "compatible", 429,
        {"error": {"http_code": "429", "message": "insufficient balance (1008)", "type": "insufficient_balance_error"},
            "request_id": "r"}, e.QuotaExceededError, "1008"),
    reported("dzhng/deep-research#83", "compatible", 422,
        say("invalid input error", type="Invalid input", code="Invalid input", status=422), e.InvalidRequestError,
        "invalid input"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


WRONG_ID = {"message": "Invalid 'input[3].id': 'msg_0a'. Expected an ID that begins with 'fc'.", "type":
    "invalid_request_error", "param": "input[3].id", "code": "invalid_value"}  # fmt: skip
WRONG_KIND = {
    **WRONG_ID,
    "message": "Invalid 'input[91].id': 'fc_7d'. Expected an ID that begins with 'ctc'.",
}
ITEMS: list[Any] = [
    reported("continuedev/continue#11689", 400, WRONG_ID),
    reported("Alishahryar1/free-claude-code#1826", 400,
        say("Upstream provider OpenAI returned HTTP 400.\nCategory: invalid_request_error\nMapped message: Invalid "
            f"request sent to provider.\n\nUpstream error:\n{json.dumps(WRONG_KIND)}\n\nRequest ID: req_1",
            type="invalid_request_error", param=None, code=None)),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), ITEMS)
def test_refused_items_of_earlier_answers_are_left_out(status: int, body: Any) -> None:
    assert refuses_reasoning(refused("responses", status, body))


@pytest.mark.report("decolua/9router#1081")
def test_the_tool_of_a_place_at_vertex_is_named() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": PLACE, "description":
        VALUE}]}  # fmt: skip
    quoted = json.dumps(say(VALUE, code=400, status="INVALID_ARGUMENT", details=[detail]))
    error = refused("anthropic", 400, say(f"[vertex/gemini-3.1] [400]: {quoted}"))
    assert isinstance(error, e.InvalidRequestError)
    name_refused_tools(
        error, tuple(ToolDefinition(name, "", {"type": "object"}) for name in ("read", "list"))
    )
    assert "list" in error.hint


@pytest.mark.report("musistudio/claude-code-router#632")
def test_a_model_that_may_not_call_tools_is_asked_without() -> None:
    quoted = json.dumps({**say("<400> InternalError.Algo.InvalidParameter: The tool call is not supported.", param=None,
        code="invalid_parameter_error", type="invalid_request_error"), "request_id": "r"})  # fmt: skip
    body = say(f"Error from provider(modelscope,moonshotai/Kimi-K2-Instruct: 400): {quoted}Error: {quoted}")
    assert not second("compatible", body, asking("compatible")).get("tools")


@pytest.mark.report("databricks/databricks-sdk-go#1076")
def test_a_model_at_databricks_without_tools_is_asked_without() -> None:
    body = {"error_code": "BAD_REQUEST", "message": 'Bad request: parameter "tools" is not supported'}
    assert not second("compatible", body, asking("compatible")).get("tools")


MOON = "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.source': "
RESENT: list[Any] = [
    reported("earendil-works/pi#4138", with_schema(properties={"source": {}}), 400,
        say("Error from provider: Provider returned error\n" + json.dumps(say(f"{MOON}type is not defined>"))),
        has_typed_schema),
    reported("continuedev/continue#11600", called("a"), 400,
        say("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
        lambda body: all(it["reasoning_content"] for it in body["messages"] if it["role"] == "assistant")),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "status", "body", "is_right"), RESENT)
def test_what_is_sent_is_accepted_at_the_latest_the_second_time(
    request_: Request, status: int, body: Any, is_right: Any
) -> None:
    assert is_right(sent("compatible", request_, status, body)[-1])


LIMITS: list[Any] = [
    reported("astrio-labs/forall#76",
        say("litellm.APIError: APIError: OpenrouterException - " + json.dumps(say(f"{MORE}2666. To increase, visit the "
            "settings", code=402, metadata={"provider_name": None})), code="402"), 402, 2666),
    reported("cline/cline#940", say("max_tokens limit exceeded: 64000 > 9577. To increase, create another key",
        code=402), 402, 9577),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "most"), LIMITS)
def test_the_output_that_can_be_paid_for_is_asked_for(body: Any, status: int, most: int) -> None:
    again = second("openrouter", body, asking("openrouter", max_output_tokens=64000), status)
    assert at(again, "max_tokens") == most
