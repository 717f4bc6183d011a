"""Gemini's wire of a loopback provider: refuses what the real service refuses, and renders scripted answers.

A signature names the part that it belongs to, so that any server can check any history.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.loopback.script import (
    CutStream,
    DropConnection,
    ErrorReply,
    Event,
    Gate,
    Item,
    Json,
    MidStreamError,
    PromptCache,
    Reasoning,
    Reply,
    Text,
    ToolCall,
    Violation,
    is_base64,
    text_of,
)

_ERRORS = {
    400: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
    404: ("NOT_FOUND", "models/x is not found for API version v1beta."),
    429: ("RESOURCE_EXHAUSTED", "Resource has been exhausted."),
    500: ("INTERNAL", "An internal error has occurred."),
    503: ("UNAVAILABLE", "The model is overloaded."),
    529: ("UNAVAILABLE", "The model is overloaded."),
}
_KEYS = {
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
    "serviceTier", "store", "labels",
}  # fmt: skip
_SCHEMA_KEYS = {
    "type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties",
    "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum", "anyOf",
    "default", "example", "propertyOrdering", "additionalProperties", "defs", "ref",
}  # fmt: skip
WRONG_KEY = {
    "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}],
    }
}  # this service answers such an error with status 400
_ROUTE = re.compile(r"/v1beta/models/([^:/?]+):(generateContent|streamGenerateContent\?alt=sse)")
_FUNCTION_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_SKIP = "skip_thought_signature_validator"


class GeminiWire:
    """Wire format of the loopback server; LoopbackProvider shows its use."""

    name = "gemini"
    path = "/v1beta"
    base_path = ""

    def __init__(self) -> None:
        self._cache = PromptCache()

    def route(self, path: str, body: Json) -> Json | None:
        """Read the model and the form of the answer from the URL."""
        found = _ROUTE.fullmatch(path)
        return {**body, "model": found[1], "stream": found[2].startswith("stream")} if found else None

    def key_of(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-goog-api-key", "")

    def error_body(self, error: ErrorReply) -> Json:
        status, message = _ERRORS.get(error.status, ("UNKNOWN", "Error"))
        return {"error": {"code": error.status, "message": error.message or message, "status": status}}

    # --- requests that the service refuses

    def check(self, body: Json, headers: Mapping[str, str]) -> None:
        for key in body:
            if key not in _KEYS | {"model", "stream"}:
                raise Violation(f'Invalid JSON payload received. Unknown name "{key}"')
        if not body.get("contents"):
            raise Violation("contents is not specified")
        declared = [it for tool in body.get("tools", []) for it in tool.get("functionDeclarations", [])]
        _check_names([it.get("name", "") for it in declared])
        for function in declared:
            _check_schema(function.get("parameters"))
        _check_contents(body["contents"], body["model"])

    # --- answers

    def whole(self, reply: Reply, body: Json) -> Json:
        parts = [part for item in _signed_once(reply) for part in _parts(item)]
        return self._chunk(body, parts, _finish(reply), self._usage(reply, body))

    def steps(self, reply: Reply, body: Json) -> Iterator[bytes | Gate | CutStream | DropConnection]:
        def frame(data: Json) -> bytes:
            return f"data: {json.dumps(data, ensure_ascii=False)}\r\n\r\n".encode()

        yield frame(self._chunk(body, [], "", {}))
        for item in _signed_once(reply):
            match item:
                case Event(data):
                    yield frame(data)
                case Gate():
                    yield item
                case CutStream() | DropConnection():
                    yield item
                    return
                case MidStreamError(_, message):
                    error = {"error": {"code": 500, "message": message, "status": "INTERNAL"}}
                    yield (json.dumps(error, indent=2) + "\n").encode()
                    return
                case Text(pieces=pieces) | Reasoning(pieces=pieces):
                    thought = {"thought": True} if isinstance(item, Reasoning) else {}
                    for piece in pieces:
                        is_gate = isinstance(piece, Gate)
                        yield (
                            piece
                            if is_gate
                            else frame(self._chunk(body, [{"text": piece, **thought}], "", {}))
                        )  # type: ignore[misc]
                case ToolCall() | _Unsigned():
                    yield frame(self._chunk(body, _parts(item), "", {}))
        yield frame(self._chunk(body, [], _finish(reply), self._usage(reply, body)))

    def _chunk(self, body: Json, parts: list[Json], finish: str, usage: Json) -> Json:
        candidate: dict[str, Any] = {
            "content": {"role": "model", **({"parts": parts} if parts else {})},
            "index": 0,
        }
        if finish:
            candidate["finishReason"] = finish
        counted = {"usageMetadata": usage} if usage else {}
        return {"candidates": [candidate], "modelVersion": body["model"], "responseId": _id(body), **counted}

    def _usage(self, reply: Reply, body: Json) -> Json:
        prefix = [body.get("tools", []), body.get("systemInstruction", {})]
        blocks = [json.dumps(block, sort_keys=True) for block in [*prefix, *body["contents"]]]
        read, _, total = self._cache.look(blocks, len(blocks))
        thought = sum(len(text_of(item)) for item in reply.items if isinstance(item, Reasoning)) // 4
        made = sum(len(json.dumps(_parts(item))) for item in reply.items) // 4 + 1
        return {
            "promptTokenCount": total,
            "cachedContentTokenCount": read,
            "candidatesTokenCount": made,
            "thoughtsTokenCount": thought,
            "totalTokenCount": total + made + thought,
            **reply.usage,
        }


def _id(body: Json) -> str:
    return f"r{uuid.uuid4().hex[:20]}"


# --- checks


def _check_names(names: list[str]) -> None:
    for name in names:
        if not _FUNCTION_NAME.fullmatch(name):
            raise Violation("Invalid function name. Must start with a letter or an underscore.")
        if names.count(name) > 1:
            raise Violation(f"Duplicate function declaration found: {name}")


def _check_schema(schema: Json | None) -> None:
    if schema is None:
        return
    properties = schema.get("properties", {})
    match str(schema.get("type", "")).lower():
        case "object" if not properties:
            raise Violation("parameters.properties: should be non-empty for OBJECT type")
        case "array" if "items" not in schema:
            raise Violation("parameters.items: missing field.")
        case kind if "enum" in schema and kind != "string":
            raise Violation("parameters.enum: only allowed for STRING type")
    if unknown := [name for name in schema.get("required", []) if name not in properties]:
        raise Violation(f"parameters.required[0]: property is not defined: {unknown[0]}")
    for key in schema:
        if key not in _SCHEMA_KEYS:
            raise Violation(f'Unknown name "{key}" at parameters: Cannot find field.')
    for inner in [*properties.values(), *schema.get("anyOf", [])]:
        _check_schema(inner)
    if isinstance(schema.get("items"), dict):
        _check_schema(schema["items"])


def _check_contents(contents: list[Json], model: str) -> None:
    waiting: list[Json] = []
    if contents[0].get("role") == "model":
        raise Violation("Please ensure that the conversation begins with a user turn")
    before = ""
    for content in contents:
        parts = content.get("parts")
        if content.get("role") not in ("user", "model") or not parts:
            raise Violation("Please ensure that contents have a role and parts")
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if waiting or answers:
            same = [c["name"] for c in waiting] == [a["name"] for a in answers]
            if not same or [c.get("id") for c in waiting] != [a.get("id") for a in answers]:
                raise Violation(
                    "Please ensure that the number of function response parts is equal to the number of "
                    "function call parts of the function call turn."
                )
            if any(not isinstance(answer.get("response"), dict) for answer in answers):
                raise Violation("functionResponse.response must be an object")
        if before == "model" and content["role"] == "model" and any("functionCall" in part for part in parts):
            raise Violation(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        before = content["role"]
        for part in parts:
            _check_media(part)
        waiting = [part["functionCall"] for part in parts if "functionCall" in part]
        if content["role"] == "model":
            _check_model(parts, model)
    if waiting:
        raise Violation("a function call turn comes immediately after a user turn; responses are missing")


def _check_media(part: Json) -> None:
    blob, file = part.get("inlineData"), part.get("fileData")
    if blob is not None and not (blob.get("mimeType") and is_base64(blob.get("data"))):
        raise Violation("Invalid value at 'contents.parts.inline_data' (TYPE_BYTES), or no MIME type")
    if file is not None and not file.get("fileUri"):
        raise Violation("contents.parts.file_data.file_uri is required")


def _check_model(parts: list[Json], model: str) -> None:
    calls = [part for part in parts if "functionCall" in part]
    if calls and not calls[0].get("thoughtSignature"):
        raise Violation("Function call is missing a thought_signature in functionCall parts.")
    for part in parts:
        signature = part.get("thoughtSignature", _SKIP)
        if signature not in (_SKIP, _signature(part)):
            raise Violation("Corrupted thought signature.")


# --- rendering


def _signature(part: Json) -> str:
    return base64.urlsafe_b64encode(f"sig-{part.get('functionCall', {}).get('name', '')}".encode()).decode()


@dataclass(frozen=True)
class _Unsigned:
    """A call without a signature: of parallel calls only the first one has it."""

    call: ToolCall


def _signed_once(reply: Reply) -> list[Item | _Unsigned]:
    first = next((item for item in reply.items if isinstance(item, ToolCall)), None)
    return [_Unsigned(it) if isinstance(it, ToolCall) and it is not first else it for it in reply.items]


def _parts(item: Any) -> list[Json]:
    match item:
        case _Unsigned(call):
            return [{"functionCall": part["functionCall"]} for part in _parts(call)]
        case Text():
            return [{"text": text_of(item)}]
        case Reasoning():
            return [{"text": text_of(item), "thought": True}]
        case ToolCall(name, arguments, call_id, unfinished):
            if unfinished:
                return []
            # The wire requires an object: arguments that are not valid JSON are sent as an empty object.
            args = _object(arguments) if isinstance(arguments, str) else arguments
            made = {"name": name, **({"args": args} if args else {}), **({"id": call_id} if call_id else {})}
            return [{"functionCall": made, "thoughtSignature": _signature({"functionCall": made})}]
    return []


def _object(text: str) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _finish(reply: Reply) -> str:
    if any(isinstance(item, ToolCall) and item.unfinished for item in reply.items):
        return "MAX_TOKENS"
    return reply.stop or "STOP"
