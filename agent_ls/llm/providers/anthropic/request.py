"""Our request as an Anthropic Messages request (FORMATS section 2).

Cache rule: breakpoints stand on the last tool, on the system text, and on the last block that the call before
this one sent (so that a round of many parallel calls does not outrun the service's look-back of 20 blocks); the
top-level `cache_control` marks the end of the conversation by itself. That is all four that are allowed.
`provider_options["anthropic"]["auto_cache"] = False` sets none.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import (
    ContentPart,
    ImagePart,
    JsonObject,
    JsonValue,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.providers.anthropic.errors import NAME
from agent_ls.llm.providers.base import ModelFacts, WireRequest
from agent_ls.llm.providers.options import merged, string_list
from agent_ls.llm.providers.pairing import paired
from agent_ls.llm.providers.wire_json import arguments_object
from agent_ls.llm.requests import NamedToolChoice, Request, ToolChoice

PATH = "/v1/messages"
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

# Our own keys among the options; all others are merged into the body.
_OWN_OPTIONS = ("auto_cache", "beta_headers", "beta_features")

_CACHE_MARK: JsonObject = {"type": "ephemeral"}
_REASONING_TYPES = ("thinking", "redacted_thinking")

# Tokens of thinking for models that only know a budget; `max_tokens` must be larger.
_BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 4096, "medium": 10_000, "high": 24_000}
_MAX_BUDGET = 32_000
_MIN_BUDGET = 1024


def encode_request(
    request: Request, facts: ModelFacts, version: str, betas: Sequence[str], *, stream: bool
) -> WireRequest:
    """
    Raises:
        ConfigurationError: a user's image is of a type that Anthropic does not take.
    """
    options = request.provider_options.get(NAME, {})
    messages = _messages(request)
    auto_cache = options.get("auto_cache", True) is not False
    body: dict[str, JsonValue] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens or facts.max_output_tokens,
        **({"stream": True} if stream else {}),
        **_system(request, auto_cache=auto_cache),
        **_tools(request, auto_cache=auto_cache),
        **_reasoning(request, facts, messages),
        **({"cache_control": _CACHE_MARK} if auto_cache else {}),
        "messages": _marked_tail(messages) if auto_cache else messages,
    }
    body = {**merged(body, {key: value for key, value in options.items() if key not in _OWN_OPTIONS})}
    return WireRequest(PATH, _headers(version, betas, options), body)


def _headers(version: str, betas: Sequence[str], options: JsonObject) -> Mapping[str, str]:
    # C names the option beta_headers in section 2.8 and beta_features in 3.6: both are taken.
    asked = [*betas, *string_list(options.get("beta_headers")), *string_list(options.get("beta_features"))]
    joined = ",".join(dict.fromkeys(asked))
    return {"anthropic-version": version, **({"anthropic-beta": joined} if joined else {})}


def _system(request: Request, *, auto_cache: bool) -> JsonObject:
    texts = [m.text for m in request.messages if m.role in (Role.SYSTEM, Role.DEVELOPER) and m.text]
    if not texts:
        return {}
    text = "\n\n".join(texts)
    return {"system": [{"type": "text", "text": text, "cache_control": _CACHE_MARK}] if auto_cache else text}


def _tools(request: Request, *, auto_cache: bool) -> JsonObject:
    if not request.tools:
        return {}
    tools: list[JsonObject] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in request.tools
    ]
    if auto_cache:
        tools[-1] = {**tools[-1], "cache_control": _CACHE_MARK}
    return {"tools": tools, **_tool_choice(request.tool_choice)}


def _tool_choice(choice: ToolChoice) -> JsonObject:
    match choice:
        case "auto":
            return {}
        case "none":
            return {"tool_choice": {"type": "none"}}
        case "required":
            return {"tool_choice": {"type": "any"}}
        case NamedToolChoice(name):
            return {"tool_choice": {"type": "tool", "name": name}}


def _reasoning(request: Request, facts: ModelFacts, messages: Sequence[JsonObject]) -> JsonObject:
    """`thinking` and `output_config` by the model's kind; nothing when no effort is set (L7)."""
    effort = request.reasoning_effort
    if effort is None or facts.thinking == "none":
        return {}
    forced = bool(request.tools) and request.tool_choice not in ("auto", "none")
    if facts.thinking == "budget":
        # Thinking and a forced tool exclude each other, and a tool loop that began without thinking (another
        # model's turn) cannot take it up in the middle.
        if effort == "none" or forced or _in_loop_without_thinking(messages):
            return {}
        return _budget(effort, request.max_output_tokens or facts.max_output_tokens)
    if effort == "none":
        return {} if facts.thinking == "always" else {"thinking": {"type": "disabled"}}
    output: JsonObject = {"output_config": {"effort": "low" if effort == "minimal" else effort}}
    if forced and facts.thinking == "adaptive":
        return output
    # Newer models leave the text of thoughts out unless it is asked for; the user wants to see them.
    return {"thinking": {"type": "adaptive", "display": "summarized"}, **output}


def _budget(effort: str, max_tokens: int) -> JsonObject:
    budget = min(_BUDGETS.get(effort, _MAX_BUDGET), max_tokens - _MIN_BUDGET)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _MIN_BUDGET else {}


def _in_loop_without_thinking(messages: Sequence[JsonObject]) -> bool:
    if len(messages) < 2 or not any(block.get("type") == "tool_result" for block in _blocks(messages[-1])):
        return False
    first = next(iter(_blocks(messages[-2])), {})
    return first.get("type") not in _REASONING_TYPES


def _blocks(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _messages(request: Request) -> list[JsonObject]:
    """Strictly alternating messages; neighbours of one role are joined, empty ones left out."""
    joined: list[tuple[str, list[JsonObject]]] = []
    for message in paired(request.messages):
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            continue
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _assistant(message, request.model) if role == "assistant" else _user(message)
        if not blocks:
            continue
        if joined and joined[-1][0] == role:
            joined[-1][1].extend(blocks)
        else:
            joined.append((role, blocks))
    return [{"role": role, "content": _ordered(role, blocks)} for role, blocks in joined]


def _ordered(role: str, blocks: list[JsonObject]) -> list[JsonObject]:
    # Results stand before any text of their message; sorting is stable, so their own order holds.
    return sorted(blocks, key=lambda block: block.get("type") != "tool_result") if role == "user" else blocks


def _user(message: Message) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    for part in message.parts:
        match part:
            case TextPart(text) if text.strip():  # blank user text is refused
                blocks.append({"type": "text", "text": text})
            case ImagePart():
                blocks.append(_image(part))
            case ToolResultPart():
                blocks.append(_result(part))
            case _:
                pass  # other parts do not stand in a user's message
    return blocks


def _result(part: ToolResultPart) -> JsonObject:
    content: JsonValue = part.content
    if part.images:
        text: list[JsonObject] = [{"type": "text", "text": part.content}] if part.content.strip() else []
        content = [*text, *(_result_image(image) for image in part.images)]
    error = {"is_error": True} if part.is_error else {}
    return {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": content, **error}


def _result_image(image: ImagePart) -> JsonObject:
    if _is_refused(image):  # the model can react to this; an error would end the session for good
        return {
            "type": "text",
            "text": f"[image of type {image.media_type} left out: {NAME} does not take it]",
        }
    return _image(image)


def _image(image: ImagePart) -> JsonObject:
    if image.data is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    if _is_refused(image):
        raise ConfigurationError(
            f"{NAME} does not take images of type {image.media_type}",
            provider=NAME,
            hint=f"Convert it to one of {', '.join(IMAGE_TYPES)}.",
        )
    data = base64.b64encode(image.data).decode("ascii")
    media_type = image.media_type or "image/png"
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _is_refused(image: ImagePart) -> bool:
    return image.data is not None and image.media_type not in ("", *IMAGE_TYPES)


def _assistant(message: Message, model: str) -> list[JsonObject]:
    blocks = [block for part in message.parts if (block := _assistant_block(part, model)) is not None]
    while blocks and blocks[-1].get("type") in _REASONING_TYPES:
        blocks.pop()  # a message may not end with thinking; without what it led to it is of no use
    return blocks


def _assistant_block(part: ContentPart, model: str) -> JsonObject | None:
    match part:
        case TextPart(text, origin):
            own = _own(origin, model)
            return own or ({"type": "text", "text": text} if text else None)
        case ReasoningPart(_, origin):
            return _own(origin, model)
        case OpaquePart(origin):
            return _own(origin, model)
        case ToolCallPart(call_id, name, arguments, origin):
            own = _own(origin, model)
            return own or {
                "type": "tool_use",
                "id": call_id,
                "name": name,
                "input": arguments_object(arguments),
            }
    return None  # images and results do not stand in an assistant's message


def _own(origin: Origin | None, model: str) -> JsonObject | None:
    """The block to send back unchanged; None when another provider or model made it (U4)."""
    is_own = origin is not None and origin.provider == NAME and origin.model == model
    return origin.raw if origin is not None and is_own else None


def _marked_tail(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The breakpoint where the call before this one ended: the last user message before the last assistant's."""
    answered = next((i for i in reversed(range(len(messages))) if messages[i]["role"] == "assistant"), 0)
    out = list(messages)
    if answered:
        before = out[answered - 1]
        blocks = _blocks(before)
        out[answered - 1] = {
            **before,
            "content": [*blocks[:-1], {**blocks[-1], "cache_control": _CACHE_MARK}],
        }
    return out
