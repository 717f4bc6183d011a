"""Errors in words that no server is known to use: what they are about decides, not a fixed phrase."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.error_topics import topic_of_name
from agent_ls.loop.model.recovery import refuses_images, refuses_reasoning
from tests.llm.providers.test_refusals import FORCED, JSON, asking, at, second
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused

WORDINGS: dict[tuple[type[e.ProviderError], int], str] = {
    (e.ContextLengthError, 400): """
        The prompt exceeds the context budget of this model.
        Your conversation has grown beyond what the model can process.
        Prompt length 140000 is over the allowed 131072.
        Input length (140512) exceeds model's max context (131072)
        Total tokens 140512 > max_model_len 131072
        The input is longer than the model can handle.
        token count exceeds limit
        Number of input tokens exceeded
        The messages exceed the model's token capacity
        Please reduce your prompt; or completion length.
        prompt_too_long
        context_window_exceeded: 140512
        input exceeds the context window
        exceeds the available context size, try increasing it
        the request exceeds the available context size (32768 tokens)
        Requested token count exceeds the model's maximum
        输入长度超过模型最大上下文长度限制
        上下文长度超出限制，请减少输入
        提示词过长
        请求内容过长，超过模型最大token数
        入力が長すぎます。コンテキスト長の上限を超えています
        Prompt contains 140512 tokens and the model's limit is 131072 tokens
        Exceeded max tokens: prompt has 140512, limit 131072
        The total length of input and output exceeds limit: 140512 > 131072
        max input tokens exceeded
        Maximum input tokens is 30720, got 45123
        string too long. Expected a string with maximum length 1048576, but got a string with length 2297251 instead.
        The prompt is too large (140512 tokens).
        KV cache is full: the sequence does not fit in 32768 slots
        prompt_tokens + max_tokens exceeds the model's maximum sequence length
        Your request exceeded the maximum number of tokens allowed (200k)
        ContextWindowExceeded
        input_tokens_exceeded
    """,
    (e.ContextLengthError, 500): """
        the request exceeds the available context size. try increasing the context size or enable context shift
        Prompt length 140000 is over the allowed 131072 tokens.
        InternalError: The input (140512 tokens) is longer than the model's context length (131072 tokens).
    """,
    (e.QuotaExceededError, 429): """
        You have run out of credits.
        Your wallet balance is too low for this request.
        Monthly quota exceeded.
        Weekly limit reached. Resets on Monday.
        Your free trial has ended.
        Your plan's included usage has been consumed.
        账户余额不足，请充值
        您的套餐已到期
        You have reached your monthly spend limit
        Insufficient balance or no resource package. Please recharge.
        You've reached your usage limit for the month.
        Premium request allowance exceeded
        session limit reached, resets 3pm
        Exceeded your prepaid credits
    """,
    (e.QuotaExceededError, 403): """
        Please recharge your account.
        Your account balance is insufficient.
        Payment required to continue.
        Subscription expired
        Account in arrears
        用户额度不足, 剩余额度: ¥0.00
        您的账户已欠费
        该令牌额度已用尽
        token quota is not enough, token remain quota: ¥0.1, need quota: ¥0.2
        Not enough funds
        The account's credit has expired
        Your subscription has ended
    """,
    (e.QuotaExceededError, 400): """
        Billing is not enabled for this account.
        Insufficient quota: remaining 0
        Your account does not have enough credit to complete this request.
    """,
    (e.QuotaExceededError, 401): """
        Insufficient balance. Manage your billing here: https://x
        No active subscription
    """,
    (e.QuotaExceededError, 500): """
        insufficient account balance
    """,
    (e.QuotaExceededError, 503): """
        余额不足
    """,
    (e.RateLimitError, 429): """
        Too many requests, slow down.
        Rate limit: 5 requests per minute
        You are sending requests too quickly.
        Quota exceeded for requests per minute
        Tokens per minute limit exceeded
        请求过于频繁，请稍后再试
        Request was throttled. Expected available in 2 seconds.
        Too many tokens per minute
        Maximum number of concurrent requests exceeded
        You have exceeded your requests per second quota
        Quota exceeded for quota metric 'Generate content requests' and limit 'requests per minute'
        Reached the minute limit; upgrade your plan for more
        TPM limit of tier 1 reached, top up to raise it
        请求速度超过限制，充值可提升限额
    """,
    (e.NotFoundError, 400): """
        Model foo-7b could not be located.
        There is no model named foo
        foo: model does not exist
        The model 'foo' is not available.
        Invalid model name passed in model=foo. Call /v1/models to view available models
        model=foo is not hosted here
        unknown model `foo`
        模型不存在
        不支持的模型: foo
        No deployment for model foo
        Model foo has been deprecated and is no longer available
        Cannot find model foo
        No models loaded. Please load a model
        foo is not a supported model
        The model foo is not in the list of allowed models
        can't find deployment foo
        model not recognised
        Model identifier foo was not found
        The model foo was shut down on 2025-01-01
        No endpoints found for foo.
        Bad model id
    """,
    (e.NotFoundError, 422): """
        Model foo isn't recognized
    """,
    (e.NotFoundError, 500): """
        model 'foo' not found
    """,
    (e.AuthenticationError, 400): """
        API key not valid. Please pass a valid API key.
        The provided token is expired
        No API key provided
        Invalid token
        authentication failed
        无效的令牌
        You didn't provide an API key.
        Malformed authorization header
        Invalid bearer token
        Please provide an API key
        无效的API密钥
        Incorrect API key provided: sk-x
    """,
    (e.AuthenticationError, 403): """
        Invalid API Key
        Your API key has been disabled
        The API key you provided was rejected
        Token is invalid
        access token expired
        Forbidden: bad api key
        Unable to verify credentials
        身份验证失败
        this key does not exist
    """,
    (e.AuthenticationError, 401): """
        令牌已过期
    """,
    (e.AuthenticationError, 500): """
        Invalid API key
    """,
    (e.ContentFilterError, 400): """
        Your prompt was flagged by our moderation.
        The content violates our policies.
        Request blocked: harmful content detected
        输入内容涉嫌违规
        Input data may contain inappropriate content.
        Sensitive content detected
        The request was refused by the safety classifier
        The model refused due to policy
        Content blocked
        Guardrail intervened
        moderation_blocked
        Prompt rejected: disallowed content
        The input was rejected for safety
        Output blocked by content filtering policy
        jailbreak attempt detected
        unsafe content
    """,
    (e.ContentFilterError, 403): """
        Blocked by guardrail
        Content was flagged
    """,
    (e.PermissionDeniedError, 403): """
        Country, region, or territory not supported
    """,
    (e.PermissionDeniedError, 400): """
        The service is not available in your country
        Model not available in your region
        Your location is restricted
        unsupported_country_region_territory
        您所在的地区不支持
        Your organization must be verified to use the model `o3`.
        You do not have access to this model
        Access denied to model foo
        Permission denied
        This model requires a Pro subscription
        Model foo is not available on your plan
        This API key is not allowed to use this endpoint
        model access is denied
        team not allowed to access model. This team can only access models=['a']
    """,
}


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [(*key, line.strip()) for key, lines in WORDINGS.items() for line in lines.strip().split("\n")],
)
def test_an_error_in_new_words_has_its_class(kind: type[e.ProviderError], status: int, words: str) -> None:
    error = refused("compatible", status, say(words))
    assert isinstance(error, kind) and not isinstance(error, e.RequestTooLargeError)


BUSY = """
    Server is overloaded, try later
    系统繁忙，请稍后再试
    Upstream request failed
    Internal error, please retry
    The service is under maintenance
    Our servers are experiencing high traffic
    Model is temporarily unavailable
    An unexpected error occurred on the server. Try again later.
    no instances available
"""


@pytest.mark.parametrize("words", BUSY.strip().split("\n"))
def test_a_busy_server_is_asked_again_whatever_its_status(words: str) -> None:
    error = refused("compatible", 400, say(words.strip()))
    assert isinstance(error, e.ServerError) and error.retryable


OTHER_THINGS = """
    Field 'description' exceeds maximum length of 1024 characters
    tools.0.description: string too long. Expected maximum length 1024, got 1500
    max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for m
    too many images in the request: 30 > 20
    Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got 20 instead.
    stop: at most 4 sequences are allowed, got 5
    thinking.budget_tokens must be less than max_tokens
    `max_tokens` must be greater than `thinking.budget_tokens`
    image dimensions exceed the maximum allowed size: 8000 pixels
    No tool output found for function call call_1
    tool_call_id is not found
    Invalid 'tools[0].function.name': string does not match pattern.
    Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.
    Unexpected role 'system'. The Messages API accepts a top-level `system` parameter
    messages: at least one message is required
    Required parameter input is missing
    the prompt must not be empty
    context_management: Extra inputs are not permitted
    Unknown parameter: 'input[2].id'
    This model does not support image input.
    messages[4]: missing field `content`
    input must have at least 1 token.
    no tool calls but found tool output
    prompt_cache_key too long
    prompt_cache_retention is not supported on this model
    model output must contain either output text or tool calls
    Messages with more than 20 images are not supported
    too many cache breakpoints in messages
    messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes
    the key 'a' is missing
    Invalid input: key must be a string
    tools[0].parameters.properties.region is not supported
"""


@pytest.mark.parametrize("words", OTHER_THINGS.strip().split("\n"))
def test_a_refused_part_of_a_request_is_nothing_else(words: str) -> None:
    assert type(refused("compatible", 400, say(words.strip()))) is e.InvalidRequestError


FIELDS: dict[tuple[str, int], tuple[Any, str]] = {
    ("temperature", 400): (
        {},
        """
        `temperature` is not a valid parameter for this model.
        Field "temperature" was not expected.
        body.temperature: unknown field
        temperature: Extra inputs are not permitted
        /temperature is not permitted
        Property temperature is forbidden
        参数 temperature 不被支持
        temperature 参数无效
        invalid temperature: only 1 is allowed for this model
        Remove temperature from the request.
        This model ignores sampling; 'temperature' cannot be set
        json: unknown field "temperature"
        temperature does not work with reasoning models
        Illegal argument temperature
        temperature must not be set when thinking is on
        'temperature' n'est pas pris en charge
        temperature : 不允许
        Expected temperature to be undefined
        model does not take temperature
        temperature and top_p are mutually exclusive
    """,
    ),
    ("temperature", 422): (
        {},
        """
        unexpected keyword argument 'temperature'
    """,
    ),
    ("reasoning_effort", 400): (
        {},
        """
        reasoning_effort is not applicable to this model
        该模型不支持 reasoning_effort
        reasoning effort 'high' unknown; choose low or medium
        This model has no reasoning capability, drop reasoning_effort
    """,
    ),
    ("stream_options", 400): (
        {},
        """
        stream_options can only be used with stream=true
        stream_options: property not recognised
        Unsupported option: stream_options.include_usage
    """,
    ),
    ("stream_options", 500): (
        {},
        """
        TypeError: create() got an unexpected keyword argument 'stream_options'
    """,
    ),
    ("tool_choice", 400): (
        FORCED,
        """
        tool_choice 'required' has no effect in thinking mode and is rejected
        tool_choice must be auto
        only tool_choice=auto works
    """,
    ),
    ("response_format", 400): (
        JSON,
        """
        response_format type json_schema is unavailable
        This response_format type is unavailable now
        structured outputs aren't available with this model
    """,
    ),
    ("stop", 400): (
        {},
        """
        stop: not supported by reasoning models
    """,
    ),
    ("top_p", 400): (
        {},
        """
        top_p is deprecated for this model.
        model refuses top_p values other than 0.95
    """,
    ),
    ("tools", 400): (
        {},
        """
        tools are not available on this model
        该模型不支持工具调用
        Model does not implement tool calling
        tools: Extra inputs are not permitted
        'tools' is not a valid field
        function calling is disabled for this model
        Tools unsupported
        tools cannot be used with this model
        不支持 function call
    """,
    ),
}


@pytest.mark.parametrize(
    ("path", "status", "more", "words"),
    [
        (*key, more, line.strip())
        for key, (more, lines) in FIELDS.items()
        for line in lines.strip().split("\n")
    ],
)
def test_a_field_that_is_refused_in_new_words_is_left_out(
    path: str, status: int, more: Any, words: str
) -> None:
    assert at(second("compatible", say(words), asking("compatible", **more), status), path) is None


SCHEMAS = """
    Invalid JSON schema in tool read
    tool read has an invalid schema: oneOf is not permitted
    tools[0].function.parameters: unsupported keyword 'pattern'
    input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12
    oneOf is not allowed in parameters
    Unable to compile the schema of function read
    schema too complex
    函数参数的 schema 不合法
    Function 'read' parameters schema rejected
    Invalid function definition: pattern not supported
    parameter schema of tool `read` could not be parsed
    regex pattern '^a' is not supported by the grammar backend
    The tool's parameters use features that are not supported: oneOf
    unrecognized schema keyword: pattern
"""


@pytest.mark.parametrize("words", SCHEMAS.strip().split("\n"))
@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ("compatible", "tools.0.function.parameters.oneOf"),
        ("openai", "tools.0.parameters.oneOf"),
        ("anthropic", "tools.0.input_schema.oneOf"),
    ],
)
def test_a_schema_that_is_refused_in_new_words_is_plain(wire: str, path: str, words: str) -> None:
    assert at(second(wire, say(words.strip()), asking(wire)), path) is None


IMAGES = """
    This model cannot see images
    image_url is not supported
    Vision is not enabled
    Could not decode image
    unsupported content type image_url
    Failed to download file from url
    Only text input is supported
    The model only accepts text
    content must be a string
    图像格式错误
    Cannot process input modality
    Invalid image data
    this model is text-only
    No multimodal support: mmproj missing
    base64 decode failed
    不支持多模态输入
    photo too large
"""
REASONING = """
    The encrypted content gAAA could not be verified.
    Reasoning item rs_1 was not found
    thinking signature mismatch
    Could not decrypt reasoning
    The thinking block cannot be verified
    reasoning: decryption failed
    Unable to validate thought
    Item 'rs_1' of type 'reasoning' was provided without its required following item.
    Corrupted thought signature.
    messages.1.content.0.thinking: each thinking block must contain thinking
    推理内容签名无效
    previous thinking could not be restored
    input[2]: unsupported type 'reasoning'
    Expected `thinking` or `redacted_thinking`, but found `tool_use`
    thinking blocks must be unmodified
"""


@pytest.mark.parametrize("words", IMAGES.strip().split("\n"))
def test_an_image_that_is_refused_in_new_words_is_recognised(words: str) -> None:
    assert refuses_images(refused("compatible", 400, say(words.strip())))


@pytest.mark.parametrize("words", REASONING.strip().split("\n"))
def test_reasoning_that_is_refused_in_new_words_is_recognised(words: str) -> None:
    assert refuses_reasoning(refused("responses", 400, say(words.strip())))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("prompt_too_long", e.ContextLengthError),
        ("ContextWindowExceeded", e.ContextLengthError),
        ("InvalidApiKey", e.AuthenticationError),
        ("token_expired", None),
        ("unsupported_model", e.NotFoundError),
        ("unsupported_country_region_territory", e.PermissionDeniedError),
        ("account_balance_exhausted", e.QuotaExceededError),
        ("invalid_request_error", None),
        ("internal_error", None),
    ],
)
def test_a_code_is_read_as_words(name: str, kind: type[e.ProviderError] | None) -> None:
    assert topic_of_name(name) is kind
