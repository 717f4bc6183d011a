"""Encode a request for Anthropic's Messages API.

Cache breakpoints are set at the last tool, at the system text, and at the last block of the previous request.
The breakpoint at the previous request is needed because the service searches only 20 blocks back for a cached
prefix, and a round may have more tool calls. The top-level `cache_control` sets a fourth breakpoint at the
end of the conversation. The service allows four breakpoints. `provider_options["anthropic"]["auto_cache"] =
False` disables all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.anthropic.errors import NAME
from agent_ls.llm.providers.anthropic.forms import adapt_messages
from agent_ls.llm.providers.anthropic.history import CACHE_MARK, AnthropicHistory
from agent_ls.llm.providers.base import ModelCapabilities, WireRequest
from agent_ls.llm.providers.options import merge_options, string_list
from agent_ls.llm.providers.wire_json import MAX_MEMBERS, encode_body
from agent_ls.llm.requests import NamedToolChoice, Request, ToolDefinition
from agent_ls.memo import Memo

PATH = "/v1/messages"

# Keys of `provider_options` that this module interprets. All other keys are merged into the request body.
_OWN_OPTIONS = ("auto_cache", "beta_headers", "beta_features")

# Thinking tokens for models that only accept a budget; `max_tokens` must be larger.
_BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 4096, "medium": 10_000, "high": 24_000}
_MAX_BUDGET = 32_000
_MIN_BUDGET = 1024

# API versions are dates. From this API version on, the service refuses temperature and top_p with status 400.
_NO_SAMPLING_FROM = "2026-10-21"


def encode_request(
    request: Request,
    history: AnthropicHistory,
    facts: ModelCapabilities,
    version: str,
    betas: Sequence[str],
    *,
    stream: bool,
    fit: Callable[[dict[str, JsonValue]], dict[str, JsonValue]] = lambda body: body,
) -> WireRequest:
    """Encode the request. `history` contains the encoded messages of the request.

    `fit` removes fields that the server has refused.
    """
    options = request.provider_options.get(NAME, {})
    auto_cache = options.get("auto_cache", True) is not False
    body: dict[str, JsonValue] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens or facts.max_output_tokens,
        **({"stream": True} if stream else {}),
        **_system(history, auto_cache=auto_cache),
        **_tools(request, facts, auto_cache=auto_cache),
        **_sampling(request, version),
        **_output(request, facts, history),
        **({"metadata": {"user_id": request.metadata["user_id"]}} if "user_id" in request.metadata else {}),
        **({"cache_control": CACHE_MARK} if auto_cache else {}),
    }
    whole = merge_options(
        fit(body), {key: value for key, value in options.items() if key not in _OWN_OPTIONS}
    )
    messages = adapt_messages(history.messages(marked=auto_cache), history.system, history.forms)
    content = encode_body(whole, "messages", messages)
    return WireRequest(PATH, _headers(version, betas, options), content)


def _headers(version: str, betas: Sequence[str], options: JsonObject) -> Mapping[str, str]:
    # The option has two names in use: beta_headers and beta_features. Both are accepted.
    asked = [*betas, *string_list(options.get("beta_headers")), *string_list(options.get("beta_features"))]
    joined = ",".join(dict.fromkeys(asked))
    return {"anthropic-version": version, **({"anthropic-beta": joined} if joined else {})}


def _system(history: AnthropicHistory, *, auto_cache: bool) -> JsonObject:
    if not history.system:
        return {}
    text = "\n\n".join(history.system)
    return {"system": [{"type": "text", "text": text, "cache_control": CACHE_MARK}] if auto_cache else text}


def _tools(request: Request, facts: ModelCapabilities, *, auto_cache: bool) -> JsonObject:
    if not request.tools:
        return {}
    tools = _marked_tools(request.tools) if auto_cache else _plain_tools(request.tools)
    return {"tools": tools, **_tool_choice(request, facts)}


def _encode_tools(tools: Sequence[ToolDefinition]) -> list[JsonValue]:
    return [
        {"name": tool.name, "description": tool.description or tool.name, "input_schema": tool.parameters}
        for tool in tools
    ]


def _mark_last(tools: Sequence[ToolDefinition]) -> list[JsonValue]:
    *others, last = _encode_tools(tools)
    assert isinstance(last, Mapping)
    return [*others, {**last, "cache_control": CACHE_MARK}]


# A session sends the same tools with each request. The same list again need not be compared with the encoded one.
_plain_tools: Memo[Sequence[ToolDefinition], list[JsonValue]] = Memo(
    _encode_tools, least=1, most=MAX_MEMBERS, alike=is_
)
_marked_tools: Memo[Sequence[ToolDefinition], list[JsonValue]] = Memo(
    _mark_last, least=1, most=MAX_MEMBERS, alike=is_
)


def _tool_choice(request: Request, facts: ModelCapabilities) -> JsonObject:
    choice = request.tool_choice
    if choice not in ("auto", "none") and not facts.forces_tools:
        raise ConfigurationError(
            f"{request.model} cannot be forced to call a tool",
            provider=NAME,
            model=request.model,
            hint="Request the tool call in the prompt and set the tool choice to auto, or choose another model.",
        )
    match choice:
        case "auto":
            return {}
        case "none":
            return {"tool_choice": {"type": "none"}}
        case "required":
            return {"tool_choice": {"type": "any"}}
        case NamedToolChoice(name):
            return {"tool_choice": {"type": "tool", "name": name}}


def _sampling(request: Request, version: str) -> JsonObject:
    if version >= _NO_SAMPLING_FROM and (request.temperature, request.top_p) != (None, None):
        raise ConfigurationError(
            f"version {version} of {NAME}'s API does not accept temperature and top_p",
            provider=NAME,
            model=request.model,
            hint="Leave both out, or set the version to 2023-06-01.",
        )
    fields: dict[str, JsonValue] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop_sequences": [*request.stop_sequences] or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _output(request: Request, facts: ModelCapabilities, history: AnthropicHistory) -> JsonObject:
    """Return `thinking`, and `output_config` with the effort and the answer format."""
    fields = _reasoning(request, facts, history)
    if request.response_format is None:
        return fields
    if not request.response_format.schema:
        raise ConfigurationError(
            f"{NAME} needs a schema to answer in JSON",
            provider=NAME,
            model=request.model,
            hint="Set the schema of the answer, or ask for JSON in the prompt.",
        )
    config = fields.get("output_config", {})
    shape: JsonObject = {"type": "json_schema", "schema": request.response_format.schema}
    return {**fields, "output_config": {**(config if isinstance(config, Mapping) else {}), "format": shape}}


def _reasoning(request: Request, facts: ModelCapabilities, history: AnthropicHistory) -> JsonObject:
    """Return `thinking` and `output_config` for the model's kind of reasoning; nothing if no effort is set."""
    effort = request.reasoning_effort
    if effort is None or facts.thinking == "none":
        return {}
    forced = bool(request.tools) and request.tool_choice not in ("auto", "none")
    if facts.thinking == "budget":
        # The service refuses thinking in two cases: if a tool call is forced, and if tool results answer a
        # message without thinking, which another model wrote.
        if effort == "none" or forced or history.is_in_loop_without_thinking:
            return {}
        return _budget(effort, request.max_output_tokens or facts.max_output_tokens)
    if effort == "none":
        return {} if facts.thinking == "always" else {"thinking": {"type": "disabled"}}
    output: JsonObject = {"output_config": {"effort": "low" if effort == "minimal" else effort}}
    if forced and facts.thinking == "adaptive":
        return output
    # Newer models send the text of their reasoning only on request. It is requested for display to the user.
    return {"thinking": {"type": "adaptive", "display": "summarized"}, **output}


def _budget(effort: str, max_tokens: int) -> JsonObject:
    budget = min(_BUDGETS.get(effort, _MAX_BUDGET), max_tokens - _MIN_BUDGET)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _MIN_BUDGET else {}
