"""Encode a Responses API request, without state on the server.

The provider option `strict_tools` makes the schemas of tools strict where that is possible. For a strict schema, the
API guarantees that arguments match, and the model sends null for each absent argument.
"""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.base import ModelCapabilities, WireRequest
from agent_ls.llm.providers.openai_responses.errors import NAME
from agent_ls.llm.providers.openai_responses.forms import adapt_body, adapt_items
from agent_ls.llm.providers.openai_responses.history import ResponsesHistory
from agent_ls.llm.providers.options import merge_options
from agent_ls.llm.providers.plain_schemas import with_properties
from agent_ls.llm.providers.strict import fits_strict, to_strict
from agent_ls.llm.providers.wire_json import encode_body
from agent_ls.llm.requests import JsonFormat, NamedToolChoice, Request, ToolDefinition

PATH = "/responses"
_OWN_OPTIONS = ("strict_tools",)
MIN_OUTPUT_TOKENS = 16  # the API refuses smaller values


def encode_request(
    request: Request,
    history: ResponsesHistory,
    facts: ModelCapabilities,
    *,
    stream: bool,
    forms: frozenset[str] = frozenset(),
    fit: Callable[[dict[str, JsonValue]], dict[str, JsonValue]] = lambda body: body,
) -> WireRequest:
    """Encode the request. `history` contains the encoded messages of the request.

    `fit` removes fields that the server has refused; `forms` are the forms of items that it needs (forms.py).
    """
    options = request.provider_options.get(NAME, {})
    instructions = "\n\n".join(history.instructions)
    body: dict[str, JsonValue] = {
        "model": request.model,
        **({"stream": True} if stream else {}),
        **({"instructions": instructions} if instructions else {}),
        **_tools(request, facts, strict=options.get("strict_tools") is True),
        **_reasoning(request, facts),
        **_limits(request),
        **_format(request.response_format),
        **({"metadata": dict(request.metadata)} if request.metadata else {}),
        **({"prompt_cache_key": request.cache_key} if request.cache_key else {}),
        "store": False,
    }
    whole = merge_options(
        adapt_body(fit(body), forms),
        {key: value for key, value in options.items() if key not in _OWN_OPTIONS},
    )
    return WireRequest(PATH, {}, encode_body(whole, "input", adapt_items(history.items, instructions, forms)))


def _tools(request: Request, facts: ModelCapabilities, *, strict: bool) -> JsonObject:
    if not request.tools:
        return {}
    return {
        "tools": [
            _custom(tool) if is_custom(tool, facts) else _tool(tool, strict=strict) for tool in request.tools
        ],
        **_tool_choice(request, facts),
        **({"parallel_tool_calls": True} if facts.calls_in_parallel else {}),
    }


def _tool(tool: ToolDefinition, *, strict: bool) -> JsonObject:
    closed = to_strict(tool.parameters) if strict else None
    parameters = with_properties(tool.parameters) if closed is None else closed
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description or tool.name,
        "parameters": parameters,
        "strict": fits_strict(parameters),
    }


def is_custom(tool: ToolDefinition, facts: ModelCapabilities) -> bool:
    """Return whether the tool is offered as a custom tool, with free text instead of JSON arguments."""
    return facts.custom_tools and tool.free_text is not None


def _custom(tool: ToolDefinition) -> JsonObject:
    grammar = tool.free_text.grammar if tool.free_text else ""
    written: JsonObject = {"type": "grammar", "syntax": "lark", "definition": grammar}
    return {
        "type": "custom",
        "name": tool.name,
        "description": tool.description or tool.name,
        "format": written if grammar else {"type": "text"},
    }


def _tool_choice(request: Request, facts: ModelCapabilities) -> JsonObject:
    match request.tool_choice:
        case "auto":
            return {}
        case NamedToolChoice(name):
            named = (tool for tool in request.tools if tool.name == name)
            kind = "custom" if any(is_custom(tool, facts) for tool in named) else "function"
            return {"tool_choice": {"type": kind, "name": name}}
        case word:
            return {"tool_choice": word}


def _limits(request: Request) -> JsonObject:
    if request.stop_sequences:
        raise ConfigurationError(
            f"{NAME} does not accept stop sequences in this API",
            provider=NAME,
            hint="Cut the received text at the stop sequence yourself.",
        )
    fields: dict[str, JsonValue] = {
        "max_output_tokens": request.max_output_tokens and max(request.max_output_tokens, MIN_OUTPUT_TOKENS),
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _format(wanted: JsonFormat | None) -> JsonObject:
    if wanted is None:
        return {}
    if not wanted.schema:
        return {"text": {"format": {"type": "json_object"}}}
    strict = wanted.strict and fits_strict(wanted.schema)
    schema: JsonObject = {
        "type": "json_schema",
        "name": wanted.name,
        "schema": wanted.schema,
        "strict": strict,
    }
    return {"text": {"format": schema}}


def _reasoning(request: Request, facts: ModelCapabilities) -> JsonObject:
    """Return the reasoning settings. They request summaries for display, and encrypted items to be sent back.

    Models without reasoning refuse both keys.
    """
    if facts.thinking == "none":
        return {}
    effort = {"effort": request.reasoning_effort} if request.reasoning_effort is not None else {}
    return {"reasoning": {**effort, "summary": "auto"}, "include": ["reasoning.encrypted_content"]}
