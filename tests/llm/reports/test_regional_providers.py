"""Reports on Chinese providers, clouds, gateways, local servers, and refused items of the Responses API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.refused_tools import name_refused_tools
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_refusals import JSON, asking, at, second, spoken
from tests.llm.reports.chat import TOOLS, say
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_resent_requests import called, is_paired, sent, unpaired
from tests.support.codec_runs import body_of
from tests.support.reports import reported

HF = "The requested model 'a/b' is not supported by any provider you have enabled."
JINJA = (
    'Error rendering prompt with jinja template: "Error: Parser Error: Expected closing statement token. '
    'OpenSquareBracket !== CloseStatement.\n    at _0x1 (/llmworker.js:77:1)". This is usually an issue with the '
    "model's prompt template."
)
UNDEFINED = (
    "Error rendering prompt with jinja template: TypeError: Cannot read properties of undefined ('type')"
)
DEGRADED = {
    "status": 400,
    "title": "Bad Request",
    "detail": "Function id '3b97': DEGRADED function cannot be invoked",
}
NIM = (
    "Upstream provider NIM returned HTTP 400.\nCategory: invalid_request_error\nMapped message: Invalid request sent "
    "to provider.\n\nUpstream error:\n"
)
PUBLISHER = (
    "Publisher Model `projects/1/locations/us/publishers/google/models/m` was not found or your project does not have "
    "access to it. Please ensure you are using a valid model version."
)
FEATURE = "This feature is either not supported or it has been disabled explicitly for ai_query. Check requirements."


def watsonx(code: str, message: str) -> Any:
    return {
        "errors": [{"code": code, "message": message, "more_info": "https://x"}],
        "trace": "t",
        "status_code": 400,
    }


KINDS: list[Any] = [
    reported("router-for-me/CLIProxyAPI#2515", "compatible", 400,
        {**say("bad request", code="invalid_parameter_error", param=None, type="invalid_request_error"),
            "request_id": "r"}, e.InvalidRequestError, "bad request"),
    reported("InternLM/MindSearch#307", "compatible", 400,
        say("you must provide a messages parameter", code="missing_required_parameter", param="message",
            type="invalid_request_error"), e.InvalidRequestError, "messages parameter"),
    reported("agentscope-ai/agentscope-java#613", "compatible", 400,
        say("<400> InternalError.Algo.InvalidParameter: The input messages do not contain elements with the role of "
            "user", code="invalid_parameter_error"), e.InvalidRequestError, "role of user"),
    reported("QwenLM/Qwen3#241", "vllm", 400,
        {"object": "error", "message": "max_tokens must be at least 1, got -2815.", "type": "BadRequestError",
            "param": None, "code": 400}, e.ContextLengthError, "-2815"),
    reported("lobehub/lobehub#5981", "compatible", 400,
        say("The request failed because it is missing one or multiple required parameters. Request id: 02",
            code="MissingParameter", param="", type="BadRequest"), e.InvalidRequestError, "required parameters"),
    reported("n4ze3m/page-assist#727", "compatible", 400, say(HF), e.NotFoundError, "any provider"),
    reported("cline/cline#5098", "compatible", 400,
        say(HF, type="invalid_request_error", param="model", code="model_not_supported"), e.NotFoundError, "a/b"),
    reported("huggingface/huggingface.js#2225", "compatible", 400,
        {"error": "Model not supported by provider together"}, e.NotFoundError, "together"),
    reported("vercel/ai#7788", "responses", 400, say(HF), e.NotFoundError, "any provider"),
    reported("lmstudio-ai/lmstudio-bug-tracker#535", "lmstudio", 200, {"error": JINJA}, e.InvalidRequestError, "jinja"),
    reported("lmstudio-ai/lmstudio-bug-tracker#393", "lmstudio", 200, {"error": UNDEFINED}, e.InvalidRequestError,
        "jinja"),
    reported("vllm-project/semantic-router#3608", "compatible", 403,
        {"code": "003001", "message": "This account is not allowed to access this endpoint. Please contact support.",
            "request_id": "r", "error_code": "003001"}, e.PermissionDeniedError, "not allowed"),
    reported("i-am-bee/beeai-framework#746", "compatible", 400,
        "litellm.BadRequestError: watsonxException - " + json.dumps(watsonx("invalid_request_entity",
            "Missing json field response_format.type in request entity")), e.InvalidRequestError, "response_format"),
    reported("decolua/9router#2527", "compatible", 400,
        say(f"[nvidia/minimaxai/minimax-m3] [400]: {json.dumps(DEGRADED)} (reset after 27s)"), e.ServerError,
        "DEGRADED"),
    reported("Alishahryar1/free-claude-code#1012", "anthropic", 400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": NIM + json.dumps(DEGRADED)}},
        e.ServerError, "DEGRADED"),
    reported("continuedev/continue#10303", "compatible", 404, "404 page not found\n", e.NotFoundError, "not found"),
    reported("chatboxai/chatbox#2573", "compatible", 401, '"Api key is invalid"', e.AuthenticationError, "invalid"),
    reported("verbeux-ai/code#36", "compatible", 503, say("no eligible instance"), e.ServerError, "eligible"),
    reported("chatchat-space/Langchain-Chatchat#2272", "compatible", 400,
        {"object": "error", "message": "Only chatglm3-6b allowed now, your model chatglm2-6b", "code": 40301},
        e.NotFoundError, "chatglm2"),
    reported("MiniMax-AI/MiniMax-M2.5#18", "compatible", 200,
        {"base_resp": {"status_code": 2049, "status_msg": "invalid api key"}}, e.AuthenticationError, "api key"),
    reported("NanmiCoder/cc-haha#1283", "anthropic", 400,
        {"type": "error", "error": {"type": "invalid_request_error", "code": "1210",
            "message": "[1210][API 调用参数有误，请检查文档。][2026]"}}, e.InvalidRequestError, "1210"),
    reported("databricks/databricks-sdk-py#1263", "compatible", 400,
        {"error_code": "BAD_REQUEST", "message": 'Bad request: json: unknown field "inputs"'}, e.InvalidRequestError,
        "inputs"),
    reported("databricks-demos/dbdemos#220", "compatible", 404,
        {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Endpoint with name 'a' does not exist.", "details": [
            {"@type": "type.googleapis.com/google.rpc.RequestInfo", "request_id": "r", "serving_data": ""}]},
        e.NotFoundError, "does not exist"),
    reported("n8n-io/n8n#38642", "compatible", 429,
        {"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "REQUEST_LIMIT_EXCEEDED: Exceeded workspace QPS rate limit "
            "for m. Please use a provisioned throughput endpoint for a higher rate limit."}, e.RateLimitError, "QPS"),
    reported("databricks/databricks-sdk-py#274", "compatible", 200,
        {"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "The RPC token bucket limit has been exceeded."},
        e.RateLimitError, "bucket"),
    reported("databricks-demos/dbdemos#241", "compatible", 403, {"error_code": "PERMISSION_DENIED", "message": FEATURE},
        e.PermissionDeniedError, "disabled"),
    reported("genkit-ai/genkit#4688", "gemini", 404, [say(PUBLISHER, code=404, status="NOT_FOUND")], e.NotFoundError,
        "Publisher"),
    reported("truefoundry/models#946", "compatible", 404,
        {"status": "failure", "message": f"vertex error: {PUBLISHER}", **say(f"vertex error: {PUBLISHER}",
            type="APIError", code="404")}, e.NotFoundError, "vertex"),
    reported("cloudflare/ai#279", "compatible", 400,
        {"errors": [{"message": "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/'"
            " are 'input'", "code": 5006}], "success": False, "result": {}, "messages": []}, e.InvalidRequestError,
        "Bad input"),
    reported("IBM/eval-assist#20", "compatible", 400,
        watsonx("model_not_supported", "Model 'meta-llama/llama-3-1-70b-instruct' is not supported"), e.NotFoundError,
        "llama-3-1"),
    reported("lancedb/lancedb#1535", "compatible", 400,
        watsonx("invalid_input_argument", "Invalid input argument for Model 'm': Token sequence length is longer than "
            "the specified maximum sequence length for this model (1336 > 512)."), e.ContextLengthError, "1336"),
    reported("continuedev/continue#10993", "compatible", 400,
        {"code": 20015, "message": "max_total_tokens (33802) must be less than or equal to max_seq_len (32768)",
            "data": None}, e.ContextLengthError, "33802"),
    reported("langflow-ai/langflow#7818", "compatible", 400,
        watsonx("invalid_input_argument", "Invalid input argument for Model 'm': \"auto\" tool choice requires "
            "--enable-auto-tool-choice and --tool-call-parser to be set"), e.InvalidRequestError, "tool choice"),
    reported("lbjlaq/Antigravity-Manager#1802", "gemini", 503,
        "Token error: No accounts available with quota for model: gemini-3-pro-preview", e.QuotaExceededError,
        "No accounts"),
    reported("chatboxai/chatbox#2153", "compatible", 403, {"code": 30003, "message": "Model disabled.", "data": None},
        e.PermissionDeniedError, "disabled"),
    reported("spiceai/spiceai#13303", "deepseek", 402,
        say("Insufficient Balance", type="unknown_error", param=None, code="invalid_request_error"),
        e.QuotaExceededError, "Balance"),
    reported("huggingface/text-generation-inference#2240", "compatible", 422,
        {"error": "Tool error: invalid escape at line 3 column 15", "error_type": "tool_error"}, e.InvalidRequestError,
        "escape"),
    reported("tencentmusic/supersonic#1572", "compatible", 400,
        {"statusCode": 400, "message": "Access denied, please make sure your account is in good standing.",
            "code": "Arrearage", "isJson": True, "requestId": "r"}, e.QuotaExceededError, "good standing"),
    reported("RooCodeInc/Roo-Code#515", "openrouter", 403,
        say("Key limit exceeded. Manage it using the settings", code=403), e.QuotaExceededError, "Key limit"),
    reported("MCPJam/inspector#1287", "compatible", 200,
        {"ok": False, "error": "Key limit exceeded (total limit). Manage it using the settings"}, e.QuotaExceededError,
        "total limit"),
    reported("CherryHQ/cherry-studio#733", "openrouter", 429,
        say("Provider returned error", code=429, metadata={"provider_name": "SambaNova", "raw": {"__kind": "OK",
            "data": json.dumps(say("Rate limit exceeded", type="rate_limit_exceeded")) + "\n"}}), e.RateLimitError,
        ": Rate limit exceeded"),
    reported("anomalyco/opencode#12219", "openrouter", 402,
        say("This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only "
            "afford 0. To increase, visit the settings and create a key with a higher monthly limit", code=402),
        e.QuotaExceededError, "afford 0"),
    reported("Wei-Shaw/sub2api#3038", "responses", 200,
        {"status": "failed", "error": {"code": "upstream_error", "message": "Upstream request failed"}}, e.ServerError,
        "Upstream"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    error = refused(wire, status, body)
    is_written = "escape" in words  # the model's call is broken: another try may be right
    assert (type(error), words in str(error), error.retryable) == (kind, True, kind.retryable or is_written)


@pytest.mark.report("jekalmin/extended_openai_conversation#228")
def test_a_method_that_cloudflare_does_not_know_is_a_wrong_address() -> None:
    body = {"result": None, "success": False, "errors": [{"code": 7001, "message": "GET not supported for requested "
        "URI."}], "messages": []}  # fmt: skip
    error = refused("compatible", 405, body)
    assert (type(error), "URL" in error.hint) == (e.ConfigurationError, True)


@pytest.mark.report("Alishahryar1/free-claude-code#946")
def test_a_model_without_anthropics_api_names_the_other_one() -> None:
    words = 'AiError: Anthropic Messages API is not supported for model "@cf/moonshotai/kimi-k2.6" (1234)'
    error = refused(
        "anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    )
    assert (error.retryable, "compatible" in error.hint) == (False, True)


ITEM = "Item 'fc_03' of type 'function_call' was provided without its required 'reasoning' item: 'rs_03'."
ITEMS: list[Any] = [
    reported("earendil-works/pi#886", 400, say(ITEM, type="invalid_request_error", param="input", code=None)),
    reported("earendil-works/pi#2118", 400, say(f"400 {ITEM}")),
    reported("openai/codex#6375", 400,
        say("Item 'msg_0c' of type 'message' was provided without its required 'reasoning' item: 'rs_0c'",
            type="invalid_request_error", param="input", code=None)),
    reported("openai/codex#1498", 400,
        say("Item 'rs_68' of type 'reasoning' was provided without its required following item.", param="input")),
    reported("Wei-Shaw/sub2api#2863", 400,
        say("The encrypted content - **...x could not be verified. Reason: Encrypted content could not be decrypted or "
            "parsed.", code="invalid_encrypted_content", param=None, type="invalid_request_error")),
    reported("openai/codex#8145", 400,
        say("The encrypted content gAAA...DQ== could not be verified.", code="invalid_encrypted_content")),
    reported("edison7009/EchoBird#255", 400,
        "The encrypted content Work...out. could not be verified. Reason: Encrypted content could not be decrypted or "
        "parsed."),
    reported("can1357/oh-my-pi#41", 404,
        say("Item with id 'rs_04' not found. Items are not persisted when `store` is set to false. Try again with "
            "`store` set to true, or remove this item from your input.")),
    reported("router-for-me/CLIProxyAPI#2381", 400,
        say("Item with id 'rs_03' not found. Items are not persisted when `store` is set to false.", param="input")),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), ITEMS)
def test_refused_items_of_earlier_answers_are_left_out(status: int, body: Any) -> None:
    assert refuses_reasoning(refused("responses", status, body))


def has_texts(body: Any) -> bool:
    return all(message["content"] for message in body["messages"])


def has_strings(body: Any) -> bool:
    return all(isinstance(message["content"], str) for message in body["messages"])


def has_no_system(body: Any) -> bool:
    return all(message["role"] != "system" for message in body["messages"])


ROLES = (
    "Jinja Exception: After the optional system message, conversation roles must alternate user and assistant"
)
ENGINE = "Engine protocol predict request returned 500: " + json.dumps(say(f"\n------------\nWhile executing "
    f"CallExpression at line 46, column 32 in source:\n...\nError: {ROLES}", code=500))  # fmt: skip
ONLY = 'Error rendering prompt with jinja template: "Only user, assistant and tool roles are supported, got system."'
RESENT: list[Any] = [
    reported("ikechan8370/chatgpt-plugin#696", "compatible", called("a"), 400,
        {"code": "InvalidParameter", "message": "Role must be user or assistant and Content length must be greater "
            "than 0", "request_id": "r"}, has_texts),
    reported("QwenLM/qwen-code#656", "compatible", unpaired(), 400,
        say('<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by '
            'tool messages responding to each "tool_call_id".'), is_paired),
    reported("musistudio/claude-code-router#965", "compatible", asking("compatible"), 400,
        say("Unable to tokenize message with status code 400 for model m: Invalid 'content' type. Expected one of: "
            "['str'], got list.\nError: Error from provider"), has_strings),
    reported("Usagi-org/ai-goofish-monitor#57", "compatible", asking("compatible"), 422,
        "Failed to deserialize the JSON body into the target type: messages[0]: data did not match any variant of "
        "untagged enum ChatCompletionRequestContent at line 1 column 1301180", has_strings),
    reported("lmstudio-ai/lmstudio-bug-tracker#2218", "lmstudio", asking("lmstudio"), 500, say(ENGINE), has_no_system),
    reported("lmstudio-ai/lmstudio-bug-tracker#2219", "lmstudio", asking("lmstudio"), 500, say(ONLY), has_no_system),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "request_", "status", "body", "is_right"), RESENT)
def test_what_is_sent_is_accepted_at_the_latest_the_second_time(
    provider: str, request_: Request, status: int, body: Any, is_right: Any
) -> None:
    assert is_right(sent(provider, request_, status, body)[-1])


RANGE = say("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]", param=None,
    code="invalid_parameter_error", type="invalid_request_error")  # fmt: skip
LIMITS: list[Any] = [
    reported("musistudio/claude-code-router#184", "compatible", 400,
        say(f"Error from provider: {json.dumps(RANGE)}", type="api_error", code="provider_response_error"), 8192),
    reported("databricks/databricks-sdk-go#1183", "compatible", 400,
        {"error_code": "BAD_REQUEST", "message": "Bad request: rpc error: code = InvalidArgument desc = max_tokens "
            "(10000) cannot exceed 8192. Please reduce the length of max output tokens generated."}, 8192),
    reported("lobehub/lobehub#1398", "zai", 400, say("max_tokens参数非法。请检查文档。", code="1214"), None),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "most"), LIMITS)
def test_a_refused_output_limit_is_lowered(wire: str, status: int, body: Any, most: int | None) -> None:
    assert at(second(wire, body, asking(wire, max_output_tokens=10000), status), "max_tokens") == most


EFFORT = (
    "Function tools with reasoning_effort are not supported for {} in /v1/chat/completions. Use /v1/responses"
)
JSON_WORD = (
    "<400> InternalError.Algo.InvalidParameter: 'messages' must contain the word 'json' in some form, to use "
    "'response_format' of type 'json_object'."
)
UNAVAILABLE = (
    "Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is "
    "unavailable now at line 32 column 1"
)
FIELDS: list[Any] = [
    reported("can1357/oh-my-pi#11052", "compatible", 400,
        say(EFFORT.format("gpt-6-astra") + " or set reasoning_effort to 'none'."), "reasoning_effort"),
    reported("agentgateway/agentgateway#2894", "compatible", 400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": EFFORT.format("gpt-5.6-luna") +
            " instead."}}, "reasoning_effort"),
    reported("tidyverse/ellmer#426", "compatible", 400,
        {"error_code": "BAD_REQUEST", "message": 'Bad request: json: unknown field "stream_options"'},
        "stream_options"),
    reported("decolua/9router#2268", "zai", 400,
        say("Validation: Unsupported parameter(s): thinking", type="Bad Request", code=400), "thinking"),
    reported("agno-agi/agno#5317", "compatible", 400, say(JSON_WORD, code="invalid_parameter_error"),
        "response_format"),
    reported("karakeep-app/karakeep#1160", "compatible", 422, UNAVAILABLE, "response_format"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "field"), FIELDS)
def test_a_refused_field_is_left_out(wire: str, status: int, body: Any, field: str) -> None:
    request = asking(wire, **(JSON if field == "response_format" else {}))
    assert at(body_of(spoken(wire).encode(request, stream=True)), field) is not None
    assert at(second(wire, body, request, status), field) in (None, "none")


@pytest.mark.report("vxcontrol/pentagi#160")
def test_calls_are_sent_as_text_where_no_tools_are_offered() -> None:
    words = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    again = second("compatible", say(words), asking("compatible", tools=()))
    assert all(it["role"] != "tool" and "tool_calls" not in it for it in again["messages"])


@pytest.mark.report("opea-project/GenAIInfra#1026")
def test_the_options_of_a_stream_have_the_field_that_tgi_requires() -> None:
    body = body_of(spoken("compatible").encode(asking("compatible"), stream=True))
    assert at(body, "stream_options.include_usage") is True


@pytest.mark.report("Portkey-AI/gateway#1124")
def test_no_empty_list_of_tools_is_sent() -> None:
    assert "tools" not in body_of(spoken("compatible").encode(asking("compatible", tools=()), stream=True))


@pytest.mark.report("posit-dev/querychat#273")
def test_each_tool_has_parameters() -> None:
    body = body_of(spoken("compatible").encode(asking("compatible"), stream=True))
    assert all(tool["function"]["parameters"]["type"] == "object" for tool in body["tools"])


@pytest.mark.report("kirodotdev/Kiro#11026")
def test_the_tool_of_bedrocks_place_is_named() -> None:
    words = (
        "The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of the following: object."
    )
    error = refused("compatible", 400, say(words))
    assert isinstance(error, e.InvalidRequestError)
    name_refused_tools(error, TOOLS)
    assert "list" in error.hint


@pytest.mark.report("Kilo-Org/kilocode#9006")
def test_a_model_without_tools_is_asked_without() -> None:
    words = 'No endpoints found that support tool use. Try disabling "question".'
    assert not second("openrouter", say(words, code=404), asking("openrouter"), 404).get("tools")
