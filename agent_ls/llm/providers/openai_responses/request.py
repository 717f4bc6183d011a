"""Our request as a Responses API request, without state on the server (FORMATS section 1).

Replay rule: an item of the model that is asked goes back as it came. A reasoning item and the item that followed
it belong together: when the reasoning cannot go back, its follower goes back as plain text or a plain call, without
the id that names the pair, and when the follower is gone, the reasoning goes too.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from agent_ls.llm.messages import (
    ContentPart,
    ImagePart,
    JsonObject,
    JsonValue,
    Message,
    OpaquePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.providers.base import ModelFacts, WireRequest
from agent_ls.llm.providers.openai_responses.errors import NAME
from agent_ls.llm.providers.openai_responses.strict import fits_strict
from agent_ls.llm.providers.options import merged
from agent_ls.llm.providers.pairing import paired
from agent_ls.llm.providers.wire_json import parse_object, text_at
from agent_ls.llm.requests import NamedToolChoice, Request, ToolChoice, ToolDefinition

PATH = "/responses"


def encode_request(request: Request, facts: ModelFacts, *, stream: bool) -> WireRequest:
    instructions = "\n\n".join(m.text for m in request.messages if m.role is Role.SYSTEM and m.text)
    body: dict[str, JsonValue] = {
        "model": request.model,
        **({"stream": True} if stream else {}),
        **({"instructions": instructions} if instructions else {}),
        **_tools(request),
        **_reasoning(request, facts),
        **({"max_output_tokens": request.max_output_tokens} if request.max_output_tokens else {}),
        **({"prompt_cache_key": request.cache_key} if request.cache_key else {}),
        "store": False,
        "input": _input(request),
    }
    return WireRequest(PATH, {}, merged(body, request.provider_options.get(NAME, {})))


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


def _reasoning(request: Request, facts: ModelFacts) -> JsonObject:
    """Summaries, so that the user sees thoughts, and the encrypted items, so that they can be sent back. Models
    that do not reason refuse both keys."""
    if facts.thinking == "none":
        return {}
    effort = {"effort": request.reasoning_effort} if request.reasoning_effort is not None else {}
    return {"reasoning": {**effort, "summary": "auto"}, "include": ["reasoning.encrypted_content"]}


def _input(request: Request) -> list[JsonObject]:
    items: list[JsonObject] = []
    custom_calls: set[str] = set()
    for message in paired(request.messages):
        match message.role:
            case Role.SYSTEM:
                continue
            case Role.ASSISTANT:
                replayed = _assistant(message, request.model)
                custom_calls |= {
                    text_at(i, "call_id") for i in replayed if i.get("type") == "custom_tool_call"
                }
                items += replayed
            case Role.TOOL:
                results = (part for part in message.parts if isinstance(part, ToolResultPart))
                items += [_result(part, is_custom=part.tool_call_id in custom_calls) for part in results]
            case role:
                content = _content(message)
                items += [{"type": "message", "role": role.value, "content": content}] if content else []
    return items


def _content(message: Message) -> list[JsonObject]:
    content: list[JsonObject] = []
    for part in message.parts:
        match part:
            case TextPart(text) if text:
                content.append({"type": "input_text", "text": text})
            case ImagePart():
                content.append(_image(part))
            case _:
                pass  # other parts do not stand in a user's message
    return content


def _image(image: ImagePart) -> JsonObject:
    if image.data is None:
        return {"type": "input_image", "image_url": image.url}
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "input_image", "image_url": f"data:{image.media_type or 'image/png'};base64,{data}"}


def _result(part: ToolResultPart, *, is_custom: bool) -> JsonObject:
    # The wire has no error flag: the text must say it.
    marked = part.is_error and not part.content.lower().startswith("error")
    text = f"Error: {part.content}" if marked else part.content
    output: JsonValue = text
    if part.images:
        words: list[JsonObject] = [{"type": "input_text", "text": text}] if text else []
        output = [*words, *map(_image, part.images)]
    kind = "custom_tool_call_output" if is_custom else "function_call_output"
    return {"type": kind, "call_id": part.tool_call_id, "output": output}


def _assistant(message: Message, model: str) -> list[JsonObject]:
    items: list[JsonObject] = []
    held: list[JsonObject] = []  # reasoning that waits for its follower
    has_lost_reasoning = False
    for part in message.parts:
        own = _own(part, model)
        if isinstance(part, ReasoningPart):
            has_lost_reasoning = has_lost_reasoning or own is None
            held += [own] if own is not None else []
            continue
        if own is not None and not has_lost_reasoning:
            items += [*held, own]
        else:
            items += _plain(part)
        held, has_lost_reasoning = [], False
    return items


def _own(part: ContentPart, model: str) -> JsonObject | None:
    """The item to send back unchanged; None when another provider or model made it (U4)."""
    origin = None if isinstance(part, ImagePart | ToolResultPart) else part.origin
    if origin is None or origin.provider != NAME or origin.model != model:
        return None
    if isinstance(part, ToolCallPart) and origin.raw.get("type") == "function_call":
        return {**origin.raw, "arguments": _arguments(part.arguments)}
    return origin.raw


def _plain(part: ContentPart) -> Sequence[JsonObject]:
    match part:
        case TextPart(text, origin) if text:
            phase = text_at(origin.raw, "phase") if origin is not None and origin.provider == NAME else ""
            return [{"role": "assistant", "content": text, **({"phase": phase} if phase else {})}]
        case ToolCallPart(call_id, name, arguments):
            return [
                {
                    "type": "function_call",
                    "call_id": call_id,
                    "name": name,
                    "arguments": _arguments(arguments),
                }
            ]
        case TextPart() | ImagePart() | ReasoningPart() | ToolResultPart() | OpaquePart():
            return []


def _arguments(arguments: str) -> str:
    """The text as the model wrote it; `{}` for what is no JSON object (the model has been told so in the result)."""
    return arguments if parse_object(arguments) is not None else "{}"
