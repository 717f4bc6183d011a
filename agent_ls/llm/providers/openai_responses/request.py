"""Our request as a Responses API request, without state on the server (FORMATS section 1)."""

from __future__ import annotations

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.base import ModelFacts, WireRequest
from agent_ls.llm.providers.openai_responses.errors import NAME
from agent_ls.llm.providers.openai_responses.history import ResponsesHistory
from agent_ls.llm.providers.options import merged
from agent_ls.llm.providers.strict import fits_strict
from agent_ls.llm.providers.wire_json import encode_body
from agent_ls.llm.requests import JsonFormat, NamedToolChoice, Request, ToolChoice, ToolDefinition

PATH = "/responses"
MIN_OUTPUT_TOKENS = 16  # the service refuses less


def encode_request(
    request: Request, history: ResponsesHistory, facts: ModelFacts, *, stream: bool
) -> WireRequest:
    """`history` is that of the request's messages."""
    instructions = "\n\n".join(history.instructions)
    body: dict[str, JsonValue] = {
        "model": request.model,
        **({"stream": True} if stream else {}),
        **({"instructions": instructions} if instructions else {}),
        **_tools(request),
        **_reasoning(request, facts),
        **_limits(request),
        **_format(request.response_format),
        **({"prompt_cache_key": request.cache_key} if request.cache_key else {}),
        "store": False,
    }
    whole = merged(body, request.provider_options.get(NAME, {}))
    return WireRequest(PATH, {}, encode_body(whole, "input", history.items))


def _tools(request: Request) -> JsonObject:
    if not request.tools:
        return {}
    return {
        "tools": [_tool(tool) for tool in request.tools],
        **_tool_choice(request.tool_choice),
        "parallel_tool_calls": True,
    }


def _tool(tool: ToolDefinition) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": fits_strict(tool.parameters),
    }


def _tool_choice(choice: ToolChoice) -> JsonObject:
    match choice:
        case "auto":
            return {}
        case NamedToolChoice(name):
            return {"tool_choice": {"type": "function", "name": name}}
        case word:
            return {"tool_choice": word}


def _limits(request: Request) -> JsonObject:
    if request.stop_sequences:
        raise ConfigurationError(
            f"{NAME} knows no stop sequences here", provider=NAME, hint="Cut the text when it has come."
        )
    told: dict[str, JsonValue] = {
        "max_output_tokens": request.max_output_tokens and max(request.max_output_tokens, MIN_OUTPUT_TOKENS),
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    return {key: value for key, value in told.items() if value is not None}


def _format(wanted: JsonFormat | None) -> JsonObject:
    if wanted is None:
        return {}
    strict = wanted.strict and fits_strict(wanted.schema)
    schema: JsonObject = {
        "type": "json_schema",
        "name": wanted.name,
        "schema": wanted.schema,
        "strict": strict,
    }
    return {"text": {"format": schema}}


def _reasoning(request: Request, facts: ModelFacts) -> JsonObject:
    """Summaries, so that the user sees thoughts, and the encrypted items, so that they can be sent back. Models
    that do not reason refuse both keys."""
    if facts.thinking == "none":
        return {}
    effort = {"effort": request.reasoning_effort} if request.reasoning_effort is not None else {}
    return {"reasoning": {**effort, "summary": "auto"}, "include": ["reasoning.encrypted_content"]}
