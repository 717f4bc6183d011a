"""Encode a generateContent request.

The service caches equal prefixes of requests by itself, so contents, tools and system text are encoded to the same
bytes in each request. `provider_options["gemini"]["cachedContent"]` names an existing cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.base import ModelCapabilities, WireRequest
from agent_ls.llm.providers.gemini.errors import NAME
from agent_ls.llm.providers.gemini.forms import adapt_contents
from agent_ls.llm.providers.gemini.history import GeminiHistory
from agent_ls.llm.providers.gemini.schema import to_gemini_schema
from agent_ls.llm.providers.options import merge_options
from agent_ls.llm.providers.wire_json import encode_body
from agent_ls.llm.requests import JsonFormat, NamedToolChoice, Request, ToolChoice, ToolDefinition

VERSION = "/v1beta"

# Thinking tokens for models that only accept a number.
_BUDGETS: Mapping[str, int] = {"none": 0, "minimal": 512, "low": 2048, "medium": 8192}
_MAX_BUDGET = 24_576
_MIN_BUDGET = 128  # for a model whose thinking cannot be disabled


def encode_request(
    request: Request,
    history: GeminiHistory,
    facts: ModelCapabilities,
    *,
    stream: bool,
    fit: Callable[[dict[str, JsonValue]], dict[str, JsonValue]] = lambda body: body,
    forms: frozenset[str] = frozenset(),
) -> WireRequest:
    """Encode the request. `history` contains the encoded messages of the request.

    `fit` removes fields that the server has refused; `forms` are the forms of contents that it needs (forms.py).
    """
    text = "\n\n".join(history.system)
    system: JsonObject = {"parts": [{"text": text}]} if text else {}
    config = {
        **_limits(request),
        **_thinking(request.reasoning_effort, facts),
        **_format(request.response_format),
    }
    body: dict[str, JsonValue] = {
        **({"systemInstruction": system} if system and "systemless" not in forms else {}),
        **_tools(request),
        **({"generationConfig": config} if config else {}),
    }
    whole = merge_options(fit(body), request.provider_options.get(NAME, {}))
    content = encode_body(whole, "contents", adapt_contents(history.contents, text, forms))
    return WireRequest(_path(request.model, stream=stream), {}, content)


def _path(model: str, *, stream: bool) -> str:
    name = quote(model if "/" in model else f"models/{model}", safe="/-._~")
    return f"{VERSION}/{name}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"


def _tools(request: Request) -> JsonObject:
    if not request.tools:
        return {}
    declared = {"functionDeclarations": [_tool(tool) for tool in request.tools]}
    config = _tool_choice(request.tool_choice)
    return {"tools": [declared], **({"toolConfig": {"functionCallingConfig": config}} if config else {})}


def _tool(tool: ToolDefinition) -> JsonObject:
    fields: JsonObject = {"name": tool.name, "description": tool.description or tool.name}
    if not tool.parameters.get("properties"):
        return fields  # the API refuses an object schema without properties
    fitting = to_gemini_schema(tool.parameters)
    if fitting is None:
        return {**fields, "parametersJsonSchema": tool.parameters}
    return {**fields, "parameters": fitting}


def _tool_choice(choice: ToolChoice) -> JsonObject:
    match choice:
        case "auto":
            return {}
        case "none":
            return {"mode": "NONE"}
        case "required":
            return {"mode": "ANY"}
        case NamedToolChoice(name):
            return {"mode": "ANY", "allowedFunctionNames": [name]}


def _limits(request: Request) -> JsonObject:
    fields: dict[str, JsonValue] = {
        "maxOutputTokens": request.max_output_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": [*request.stop_sequences] or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _thinking(effort: str | None, facts: ModelCapabilities) -> JsonObject:
    """Return the thinking settings. Thoughts are requested from every model that supports them, for display."""
    if facts.thinking not in ("level", "budget"):
        return {}
    config: dict[str, JsonValue] = {"includeThoughts": True}
    if effort is not None and facts.thinking == "level":
        # Gemini has no level for the effort "none", so use the model's lowest level.
        lowest = facts.efforts[0] if facts.efforts else "low"
        config["thinkingLevel"] = (lowest if effort == "none" else effort).upper()
    elif effort is not None:
        floor = 0 if "none" in facts.efforts else _MIN_BUDGET
        config["thinkingBudget"] = max(floor, _BUDGETS.get(effort, _MAX_BUDGET))
    return {"thinkingConfig": config}


def _format(wanted: JsonFormat | None) -> JsonObject:
    if wanted is None:
        return {}
    if not wanted.schema:
        return {"responseMimeType": "application/json"}
    fitting = to_gemini_schema(wanted.schema)
    schema = {"responseJsonSchema": wanted.schema} if fitting is None else {"responseSchema": fitting}
    return {"responseMimeType": "application/json", **schema}
