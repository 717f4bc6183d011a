"""Change messages for servers that refuse a usual form: a system message, empty texts, missing reasoning."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from agent_ls.llm.messages import JsonValue
from agent_ls.llm.providers.call_names import short_call_id, valid_call_id
from agent_ls.llm.providers.plain_schemas import REFUSED, with_plain_schemas
from agent_ls.llm.providers.refused_forms import NO_TEXT, NOT, SHORT_IDS, SINGLE, TOOL_CALLS, without_fields
from agent_ls.llm.providers.wire_json import arguments_object, encode_json
from agent_ls.patterns import regex

_BARRED = (
    r"(not|n't|cannot) (be )?(allow|support|permit|provid|present|set|combin|includ|specif|hav|contain)\w*"
)
# How the messages or schemas of a request are changed:
#
# `reasoning`: every answer carries `reasoning_content`. `first`: only the first message is the system's. `between`: an
# answer is between results and the next message. `apart`: an answer with calls has no text. `system`: the system text
# is a part of the user's first message, and roles alternate. `filled`: each message has a text, also beside calls.
# `empty`: no text is empty. `ids`: the ids of calls have only letters, digits, `_` and `-`. `short_ids`: they are nine
# letters and digits. `signed`: the first call of each answer has a signature. `single`: each answer has at most one
# call. `joined`: neighbouring messages of one role are one. `objects`: the arguments of calls are objects, not texts.
# `strings`: each content is a text. `schemas`: schemas state only names and types. `typed`: each part of them has a
# type, and none beside `anyOf`.
#
# What servers refuse: the part of the messages, and a word of what is wrong with it. The first match decides.
FIELDS = ("reasoning_content", "reasoning_details", "thinking_blocks")
REFUSALS: Mapping[str, re.Pattern[str]] = {
    # DeepSeek: The `reasoning_content` in the thinking mode must be passed back to the API.
    # Moonshot: thinking is enabled but reasoning_content is missing in assistant tool call message at index 2
    "reasoning": regex(
        r"reasoning_content.{0,80}(must|missing|required|passed back|returned|empty|include)"
        r"|(missing|require|include|pass|return|must|必须).{0,30}reasoning_content"
    ),
    # vLLM, Qwen: System message must be at the beginning.
    "first": regex(
        r"system (message|role|prompt)s?\b.{0,60}(beginning|\bfirst\b|\bstart\b|(index|position) 0)"
        r"|(only one|multiple|more than one|a single) system (message|prompt)|invalid chat setting"  # MiniMax
    ),
    # Mistral: Unexpected role 'user' after role 'tool' / Bedrock: Conversation blocks and tool result blocks cannot be
    # provided in the same turn.
    "between": regex(
        r"(role |message )?.?user.?( message| role)?.{0,20}(after|follow)\w*( role| a)? .?tool"
        r"|tool message.{0,30}followed by (an? )?.?assistant|after (a |the )?.?tool.? (message|role)"
        r"|conversation blocks and tool result blocks"
        r"|both \W?messages?\W? and \W?tool.?results"  # Cohere
    ),
    # Bedrock: Conversation blocks and tool use blocks cannot be provided in the same turn.
    # Cohere: text content is not allowed when tool_calls are provided / Mistral: either content or tool_calls, not both
    "apart": regex(
        rf"conversation blocks and tool use blocks|(content|text)\b.{{0,40}}{_BARRED}.{{0,30}}{TOOL_CALLS}"
        rf"|(content|text) (and|or) {TOOL_CALLS}.{{0,20}}(not both|{_BARRED})"
        rf"|(not|n't|cannot) (\w+ ){{1,3}}both .{{0,60}}{TOOL_CALLS}"
    ),
    # Ollama: Cannot have 2 or more assistant messages at the end of the list.
    "joined": regex(r"\b(2|two) or more (user|assistant) messages"),
    # templates of Gemma and Mistral: System role not supported / Conversation roles must alternate user/assistant
    "system": regex(
        rf"system\W? role|role.{{0,30}}system|system (message|prompt|instruction)s?.{{0,40}}{NOT}"
        r"|system is not a|alternat|交替|must be an odd number"  # Hunyuan, ERNIE
        r"|must (start|begin) with (a )?user|first message must (use|be|have)"
        r"|does not support system|不支持.{0,4}system|only .?user.? and .?assistant|one of .{0,6}user.{0,6}assistant"
        # DeepSeek: does not support successive user or assistant messages
        r"|(successive|consecutive|multiple) (user|assistant)|(user|assistant) messages in a row|expected role"
        r"|expected last role|after the optional system|unexpected role"
    ),
    "short_ids": SHORT_IDS,
    # Anthropic through a broker: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'
    "ids": regex(
        r"(tool_?use|tool_call|call)s?[._ \[\]\d'\"]*_?id\b.{0,80}(pattern|invalid|must|length|format|char|too long)"
        r"|(invalid|malformed|characters).{0,30}\b(tool|call)[ _](call )?_?id\b"
        r"|\bid of (the |a )?tool call.{0,40}(invalid|char)"
    ),
    # Gemini through a proxy: Function call is missing a thought_signature in functionCall parts.
    "signed": regex(r"missing a `?thought_?signature"),
    "single": SINGLE,
    # templates of Qwen: Can only get item pairs from a mapping. / 'str object' has no attribute 'items'
    # Ollama behind a proxy: cannot unmarshal string into .messages.tool_calls.function.arguments of type …Arguments
    "objects": regex(
        r"item pairs from a mapping|'?str(ing)?( object)?'? has no attribute '?(items|keys|get)\b"
        r"|unmarshal string into .{0,80}arguments|filter \W?items\W? for type string"
        r"|arguments\b.{0,60}(must|should|expected|has to)( be)? (an? )?(valid )?(json )?(object|dict|mapping)"
    ),
    # Moonshot: not a valid moonshot flavored json schema, details: <At path 'properties.a': type is not defined>
    "typed": regex(r"flavored json schema|type (is not|should be) defined|missing 'type'"),
    "schemas": REFUSED,
    # xAI: Each message must have at least one content element.
    # Moonshot: the message at position 4 with role 'assistant' must not be empty
    "filled": regex(
        r"(each|every) message (must have|needs).{0,40}content|an empty message was provided"
        r"|all elements in \w+ must have a message"  # Cohere
        r"|message.{0,30} with role 'assistant' must not be empty|content length must be (greater|at least|more)"
        r"|\bcontents?\b(?!_|\.\d).{0,120}\b(null|none|required|missing)\b|(null|none|missing)\b.{0,40}\bcontents?\b(?!\.)|内容不能为空"
        # templates and servers that take the length or a part of a content that is null
        r"|not callable: null|(null|'none'|nonetype|undefined)\b.{0,60}(content|split|strip|itera|subscript|len\b)"
        r"|'nonetype' has no len"
    ),
    # MiniMax: Input should be a valid string / Workers AI: '/messages/0/content', 'array' not in 'string'
    "strings": regex(
        r"content\b.{0,80}((valid|be a|of type|of|expected.{0,10}) string|'array' not in 'string'|\bstr\b|be text\b"
        r"|must be a?\s?字符串|字符串|string expected)|(array|list) content|only (string|text) content"
        r"|chatcompletiontoolmessage|invalid type: (sequence|map), expected a string"
        r"|\(not \"list\"\)|'list' object has|list\)? to str|unhashable type: 'list'"
        # Ollama: json: cannot unmarshal array into Go struct field Message.messages.content of type string
        r"|cannot unmarshal array into .{0,60}content"
    ),
    # Bedrock: The text field in the ContentBlock object at messages.2.content.0 is blank
    "empty": regex(
        r"(content|text|message).{0,80}(is blank|is empty|not be (empty|blank|null)|non-?(empty|whitespace)"
        r"|cannot be (empty|blank|null)|must have .{0,30}content)|empty (content|message|text)|at least 1 character"
    ),
}
_ID_CHARS = 40  # the limit of OpenAI in Chat Completions
_OF_MORE = frozenset(
    ("system", "joined", "first", "between", "typed", "schemas")
)  # changes that `_adapt` does not make
_SIGNED = {
    "google": {"thought_signature": "skip_thought_signature_validator"}
}  # the service does not check this one
_NO_IMAGE = "(an image, which this server does not accept)"


def adapt_messages(messages: Sequence[bytes], chosen: frozenset[str]) -> list[bytes]:
    """Return the encoded messages in the form that the server accepts."""
    return without_fields(_in_forms(messages, chosen), chosen)


def _in_forms(messages: Sequence[bytes], chosen: frozenset[str]) -> list[bytes]:
    out = [_adapt(message, chosen) for message in messages] if chosen - _OF_MORE else [*messages]
    out = _one_call_each(out) if "single" in chosen else out
    if "system" in chosen:
        return _joined(_alternate(out))
    out = _joined(out) if "joined" in chosen else out
    out = [*out[:1], *map(_as_users, out[1:])] if "first" in chosen else out
    return _with_answers(out) if "between" in chosen else out


def _is_blank(content: object) -> bool:
    return not (content.strip() if isinstance(content, str) else content)


@lru_cache(maxsize=4096)  # the messages of a conversation are the same bytes in each request
def _adapt(encoded: bytes, chosen: frozenset[str]) -> bytes:
    message: dict[str, Any] = json.loads(encoded)
    if chosen & {"ids", "short_ids"}:
        fit = short_call_id if "short_ids" in chosen else partial(valid_call_id, limit=_ID_CHARS)
        for call in message.get("tool_calls") or ():
            call["id"] = fit(call["id"])
        if "tool_call_id" in message:
            message["tool_call_id"] = fit(message["tool_call_id"])
    if "objects" in chosen:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = arguments_object(call["function"]["arguments"])
    if "apart" in chosen and message.get("tool_calls"):
        message["content"] = None
    if "signed" in chosen and message.get("tool_calls"):
        message["tool_calls"][0].setdefault("extra_content", _SIGNED)
    if "reasoning" in chosen and message["role"] == "assistant" and not message.get("reasoning_content"):
        message["reasoning_content"] = " "  # servers check that the field is there; the reasoning is unknown
    if "filled" in chosen and _is_blank(message.get("content")):
        message["content"] = NO_TEXT
    if "empty" in chosen and isinstance(message.get("content"), str) and not message["content"].strip():
        message["content"] = None if message.get("tool_calls") else NO_TEXT
    if "empty" in chosen and isinstance(parts := message.get("content"), list):
        message["content"] = [part for part in parts if part.get("text", "x").strip()] or NO_TEXT
    if "strings" in chosen and message.get("content") is None:
        message["content"] = ""
    if "strings" in chosen and isinstance(parts := message.get("content"), list):
        message["content"] = "\n".join(part.get("text", _NO_IMAGE) for part in parts)
    return encode_json(message)


def adapt_body(body: dict[str, JsonValue], chosen: frozenset[str]) -> dict[str, JsonValue]:
    """Return the other fields of a request in the form that the server accepts."""
    if "stream" not in body:
        body.pop("stream_options", None)
    return with_plain_schemas(body, typed="typed" in chosen) if chosen & {"schemas", "typed"} else body


def _one_call_each(messages: Sequence[bytes]) -> list[bytes]:
    """Give each call an answer of its own, which its result follows."""
    out: list[bytes] = []
    waiting: dict[str, bytes] = {}
    for encoded in messages:
        message: dict[str, Any] = json.loads(encoded)
        calls = message.get("tool_calls") or ()
        if len(calls) > 1:
            first = {**message, "tool_calls": calls[:1]}
            alone = [{"role": "assistant", "content": None, "tool_calls": [call]} for call in calls[1:]]
            waiting = {made["tool_calls"][0]["id"]: encode_json(made) for made in (first, *alone)}
            continue
        if (call_id := message.get("tool_call_id")) in waiting:
            out.append(waiting.pop(call_id))
        out.append(encoded)
    return out


def _as_users(encoded: bytes) -> bytes:
    message = json.loads(encoded)
    is_system = message["role"] in ("system", "developer")
    return encode_json({**message, "role": "user"}) if is_system else encoded


def _with_answers(messages: Sequence[bytes]) -> list[bytes]:
    """Let an answer follow the results before a message of the user."""
    out: list[bytes] = []
    for encoded in messages:
        if out and json.loads(encoded)["role"] == "user" and json.loads(out[-1])["role"] == "tool":
            out.append(encode_json({"role": "assistant", "content": NO_TEXT}))
        out.append(encoded)
    return out


def _alternate(messages: Sequence[bytes]) -> list[bytes]:
    """Send system messages as the user's, let one of the user begin, and an answer follow results."""
    out: list[dict[str, Any]] = []
    for encoded in messages:
        message = json.loads(encoded)
        if message["role"] in ("system", "developer"):
            message["role"] = "user"
        if message["role"] == "assistant" and not out:
            out.append({"role": "user", "content": NO_TEXT})
        if message["role"] == "user" and out and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": NO_TEXT})
        out.append(message)
    return [*map(encode_json, out)]


def _joined(messages: Sequence[bytes]) -> list[bytes]:
    """Join neighbouring messages of the user, and neighbouring answers."""
    out: list[dict[str, Any]] = []
    for message in map(json.loads, messages):
        last = out[-1] if out else {"role": ""}
        if (
            message["role"] != last["role"]
            or message["role"] not in ("user", "assistant")
            or last.get("tool_calls")
        ):
            out.append(message)
        else:
            said, more = last.get("content"), message.get("content")
            out[-1] = {**message, "content": _join(said, more) if said and more else said or more}
    return [*map(encode_json, out)]


def _join(first: str | list[Any], second: str | list[Any]) -> str | list[Any]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: str | list[Any]) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
