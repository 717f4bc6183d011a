"""Find the error in a body or in an event of a stream. Servers and proxies state errors in many forms."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from agent_ls.llm.errors import LlmError, ProviderError, StreamError
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure
from agent_ls.llm.providers.error_problems import problems_in
from agent_ls.llm.providers.wire_json import (
    int_at,
    object_at,
    objects_at,
    parse_object,
    repair_object,
    text_at,
)
from agent_ls.patterns import regex

_MESSAGES = (
    "message",
    "error_message",
    "errorMessage",
    "error_msg",
    "error_description",
    "detail",
    "msg",
    "Message",
    "details",
)
_NAMES = (
    "code", "Code", "type", "status", "__type", "error_code", "errorCode", "status_code", "http_status_code",
)  # fmt: skip
_MORE_NAMES = ("error_type", "reason")  # TGI, Novita; for others these are sentences
_NAME = regex(r"[\w.:#-]+")
_DELAYS = {
    "retry_after": 1.0, "retry_after_seconds": 1.0, "retry_after_ms": 0.001,
    "resets_in_seconds": 1.0, "reset_seconds": 1.0,  # Codex, CLIProxyAPI
}  # fmt: skip
_MAX_TEXT_CHARS = 200
# All target providers failed. / Upstream request failed.
_SAYS_NOTHING = regex(
    r"^\W*(all|every|each|no) [\w ]{0,30}(providers?|models?|endpoints?|attempts?|channels?|targets?|fallbacks?) "
    r"[\w ]{0,12}(failed|fail|succeeded)|^\W*(upstream|provider|backend) [\w ]{0,20}(failed|error)\W*$",
    re.IGNORECASE,
)
_LINKS = ("signin_url", "upgrade_url", "login_url", "billing_url")  # Ollama and others: what the user opens
_STATED = {"error", "message", "detail"}
_MAX_LITERAL_CHARS = 5_000
_BYTES = regex(r"\bb'\{.*\}(\\n)*'", re.DOTALL)  # LiteLLM: Vertex_ai_betaException - b'{"error": …}'
# vLLM, in Python: a list of problems, each with the refused part of the request
_ECHO = regex(r"(\[\{'type': '\w+', 'loc': \(.*?'msg': .*?), 'input': .*", re.DOTALL)
_MAX_INNER = 100  # parts of an error that are searched for a message
_KEEP_ALIVES = frozenset({"", "null", '""', "{}", "[]", "ping", "keep-alive", "keepalive", "heartbeat"})
_PAGE = regex(r"<!doctype html|<html|<head|<body", re.IGNORECASE)
_TITLE = regex(r"<title[^>]*>(.*?)</title>|<h1[^>]*>(.*?)</h1>", re.IGNORECASE | re.DOTALL)
_HIDDEN = regex(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG = regex(r"<[^>]*>")


def find_failure(body: JsonObject, request_id: str = "") -> ProviderFailure | None:
    """Return the error that a JSON object states; None if it states none.

    Do not pass an event of an answer: any text in a field such as `message` counts as an error.
    """
    error = _error_object(body)
    message = _message(body, error)
    if not message and error is not body and (deeper := next(_stated_inside(error), None)):
        message, error = _message(body, deeper), {**error, **deeper}
    if _SAYS_NOTHING.search(message):  # a gateway that has tried others lists what they said
        for reason in reversed([*_stated_inside(error)]):
            if (inner := find_failure({"error": reason})) and not _SAYS_NOTHING.search(inner.message):
                return inner
    nested = nested_object(message)
    if nested and "path" in nested and "message" not in nested:
        nested = None  # a problem that zod lists, whose reasons are in it
    if nested is not None and (inner := find_failure(nested)) and inner.message:
        # A proxy put the error body of another server into its message.
        own = _names_of(body, error)
        numbers = tuple(name for name in own if name.isdigit())
        names = (*(name for name in own if name not in numbers), *inner.names, *numbers)
        return replace(_failure(body, error, inner.message, names, request_id), is_quoted=True)
    has_error = bool(body.get("error")) or bool(message) or error is not body
    return _failure(body, error, message, _names_of(body, error), request_id) if has_error else None


def read_failure(body: bytes, request_id: str = "") -> ProviderFailure:
    """Return the error in the body of a refused request, also if the body is plain text or a page."""
    if value := first_object(body):
        failure = find_failure(value, request_id) or ProviderFailure(request_id=request_id)
        if not failure.message and (deeper := next(_stated_inside(value), None)):  # Portkey
            failure = find_failure({"error": deeper}, request_id) or failure
        # an answer in place of an error: the filter of Azure says inside of it what it refused
        is_answer = not failure.message and bool(value.get("choices"))
        return (find_failure({"error": value}, request_id) or failure) if is_answer else failure
    text, is_html = plain_text(body), is_page(body)
    quoted = None if is_html else find_failure({"message": text}, request_id)
    if quoted is not None and quoted.is_quoted:
        return quoted
    return ProviderFailure(text, request_id=request_id, is_page=is_html)


def unreadable_answer(table: FailureTable, model: str, body: bytes) -> LlmError:
    """Return the error of a body or an event with status 200 that is no answer, in the server's words."""
    if (value := first_object(body)) and (failure := find_failure(value)):
        return table.error(failure, model)
    text = plain_text(body).removeprefix("data:").strip()
    hint = (
        f"Check the base URL of {table.provider}, and whether a proxy or a login page answers in its place."
    )
    if text.startswith(("{", "[")) or not text:
        quoted = f": {text}" if text else ""
        message = f"{table.provider} answered with something that is not an answer of a model{quoted}"
        return StreamError(message, provider=table.provider, model=model, hint=hint)
    error = table.error(ProviderFailure(text), model)
    if type(error) is not ProviderError:
        return error
    unknown = StreamError(str(error), provider=table.provider, model=model, hint=hint)
    unknown.retryable = not is_page(body)  # a login page stays until somebody logs in
    return unknown


def is_keep_alive(data: str) -> bool:
    """Return whether the data of an event has no content: some proxies send such events while a model thinks.

    Others pass on the comments of another stream as data: `data: : OPENROUTER PROCESSING`.
    """
    said = data.strip().lower()
    return said in _KEEP_ALIVES or said.startswith(":")


def plain_text(body: bytes) -> str:
    """Return the beginning of a body that is not JSON. For an HTML page: its title, or else its text."""
    text = body[:20_000].decode("utf-8-sig", "replace").strip()
    if text.startswith(("{", "[")) and "\n" not in text and len(text) > _MAX_TEXT_CHARS:
        return text[:_MAX_TEXT_CHARS]
    if _PAGE.search(text[:1_000]):
        found = _TITLE.search(text)
        text = (found[1] or found[2]) if found else _TAG.sub(" ", _HIDDEN.sub(" ", text))
        text = _TAG.sub(" ", text)
    return " ".join(text.split())[:_MAX_TEXT_CHARS]


def is_page(body: bytes) -> bool:
    """Return whether a body is an HTML page, which no model server sends as an answer."""
    return bool(_PAGE.search(body[:1_000].decode("utf-8", "replace")))


def nested_object(message: str) -> JsonObject | None:
    """Return the JSON object inside a message, which may have text before and after it. It may be written in Python."""
    if "{" not in message:
        return None
    if found := _BYTES.search(message):
        written = _evaluated(found[0])
        message = written.decode("utf-8", "replace") if isinstance(written, bytes) else message
    begin = message.index("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(message, begin)
    except (ValueError, RecursionError):
        value = _evaluated(message[begin : message.rfind("}") + 1])
        value = value if isinstance(value, dict) and value.keys() & _STATED else None
    return repair_object(value) if isinstance(value, dict) else None


def _evaluated(literal: str) -> object:
    """Return the value of a literal of Python, with which proxies quote bodies; None if it is none."""
    if len(literal) > _MAX_LITERAL_CHARS:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # about the escapes in it
            return cast("object", ast.literal_eval(literal))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _error_object(body: JsonObject) -> JsonObject:
    """Return the object with the fields of the error; `body` itself if they are at the top level."""
    if error := object_at(body, "error"):
        return object_at(error, "error") or error
    for key in ("errors", "error"):
        if first := next(objects_at(body, key), None):
            described = {"message": first.get("description")} if "message" not in first else {}  # Writer
            return {**first, **described}
    if (detail := object_at(body, "detail")) and "error" not in body:  # FastAPI
        return _error_object(detail)
    if (reply := object_at(body, "base_resp")) and int_at(reply, "status_code"):  # MiniMax
        return {"message": text_at(reply, "status_msg"), "code": int_at(reply, "status_code")}
    # Output: an error of AWS inside an event / Response: Tencent Cloud
    return (
        object_at(body, "Output") or object_at(body, "Response", "Error") or object_at(body, "Error") or body
    )


def _stated_inside(error: JsonObject) -> Iterator[JsonObject]:
    """Yield the objects inside of an error that state a message: proxies name them `upstream_error`, `cause`, …"""
    waiting: deque[JsonValue] = deque(error.values())
    for _ in range(_MAX_INNER):
        if not waiting:
            break
        found = waiting.popleft()
        if isinstance(found, Mapping):
            if any(text_at(found, key) for key in _MESSAGES):
                yield found
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)


def _message(body: JsonObject, error: JsonObject) -> str:
    """Return the most specific message. A broker's `metadata.raw` is the message of the provider that it called."""
    message = _ECHO.sub(r"\1", next((text for text in _messages(body, error) if text), ""))
    if page := _PAGE.search(message):  # a gateway quotes the page of another server
        message = message[: page.start()] + plain_text(message[page.start() :].encode())
    message = (_place(error) if message else "") + message
    reason = text_at(error, "param")  # MiMo: Param Incorrect, with the reason here and not only a name
    if " " not in reason:  # Azure: Invalid payload, with the fields in a list
        listed = problems_in(error) + (problems_in(body) if error is not body else [])
        reason = "; ".join(it for it in dict.fromkeys(listed) if it not in message)
    message = f"{message}: {reason}" if message and reason and reason not in message else message
    link = next((url for holder in (error, body) for key in _LINKS if (url := text_at(holder, key))), "")
    return (
        f"{message} ({link})" if message and link.startswith("https://") and link not in message else message
    )


def _messages(body: JsonObject, error: JsonObject) -> Iterator[str]:
    quoted = object_at(error, "metadata")
    yield text_at(quoted, "raw")
    if quoted.get("raw") and text_at(error, "message") == "Provider returned error":
        yield _as_text(quoted["raw"])
    for key in _MESSAGES:
        yield text_at(error, key)
    yield text_at(body, "error")  # xAI, Ollama
    for holder in (error, body):
        # Mistral and FastAPI send a list of problems; `detail` may be an error object as well.
        for key in ("detail", "message"):
            inner = object_at(holder, key)
            yield next(
                (text for name in _MESSAGES if (text := text_at(inner, name))), text_at(inner, "error")
            )
    if error is not body:
        for key in _MESSAGES:
            yield text_at(body, key)
    for holder in (error, body):
        yield "; ".join(problems_in(holder))


def _as_text(quoted: JsonValue) -> str:
    """Return the body that a broker quotes as an object, or as JSON within an object."""
    texts = quoted.values() if isinstance(quoted, Mapping) else ()
    inner = (text for text in texts if isinstance(text, str) and text.startswith("{"))
    return next(inner, "") or json.dumps(quoted)


def _place(problem: JsonObject) -> str:
    """Return the field that a problem is about."""
    place = problem.get("loc") or problem.get("path")
    if isinstance(place, list) and place:
        return ".".join(map(str, place)) + ": "
    named = text_at(problem, "property")  # Elysia
    return f"{named.lstrip('/')}: " if named.startswith("/") else ""


def _names_of(body: JsonObject, error: JsonObject) -> tuple[str, ...]:
    """Return codes and types, the most specific first. Numbers are less specific than names."""
    found = [holder.get(key) for holder in (error, body) for key in _NAMES]
    found += [
        name
        for holder in (error, body)
        for key in _MORE_NAMES
        if _NAME.fullmatch(name := text_at(holder, key))
    ]
    words = [word for word in found if isinstance(word, str) and word and word != "error"]
    names = [word.rpartition("#")[2] for word in words if not word.isdigit()]
    numbers = [str(n) for n in found if isinstance(n, int) and not isinstance(n, bool)]
    return tuple(dict.fromkeys([*names, *numbers, *(word for word in words if word.isdigit())]))


def _failure(
    body: JsonObject, error: JsonObject, message: str, names: tuple[str, ...], request_id: str
) -> ProviderFailure:
    headers = object_at(error, "metadata", "headers")  # OpenRouter
    reset = text_at(headers, "X-RateLimit-Reset")
    return ProviderFailure(
        message,
        names,
        request_id or text_at(body, "request_id"),
        retry_after_s=_seconds(error, body),
        prompt_tokens=int_at(error, "n_prompt_tokens") or 0,  # llama.cpp
        context_tokens=int_at(error, "n_ctx") or 0,
        param=text_at(error, "param"),
        reset_at_s=int(reset) / 1000 if reset.isdigit() and len(reset) == 13 else None,
    )


def _seconds(error: JsonObject, body: JsonObject) -> float | None:
    for holder in (error, object_at(error, "metadata"), body):
        for key, unit in _DELAYS.items():
            value = holder.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
                return value * unit
    return None


def first_object(body: bytes) -> JsonObject:
    """Return the object in a body, or the first item of a body that is a list; empty if there is none.

    In a list of chunks, the first chunk contains the error.
    """
    if (value := parse_object(body)) is not None:
        return value
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    is_list = isinstance(found, list) and bool(found) and isinstance(found[0], dict)
    return repair_object(found[0]) if is_list else {}
