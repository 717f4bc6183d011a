"""Repair results of servers that do not quite follow the protocol, so that one odd part does not lose the rest."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent_ls.llm.image_data import decode_image, type_by_content
from agent_ls.mcp.schemas import is_object_schema

OLDEST_VERSION = "2024-11-05"
"""The version of a server that names none."""

_TYPE_KEYS = ("mimeType", "mime_type", "mediaType", "media_type")
_LISTS = ("tools", "prompts", "resources", "resourceTemplates", "messages", "contents")
_OF_OTHERS = frozenset(
    (
        *_LISTS,
        "protocolVersion",
        "capabilities",
        "supportedVersions",
        "completion",
        "content",
        "inputRequests",
        "task",
    )
)
"""Members that only the results of other requests than a call have."""
_OF_CALLS = frozenset(
    ("content", "structuredContent", "isError", "resultType", "requestState", "ttlMs", "cacheScope")
)
"""Members of the result of a call."""

MAX_DATA = 200


def as_result(value: Any) -> dict[str, Any]:
    """Return the result of a request as an object. PHP writes an empty object as an empty list."""
    if isinstance(value, dict):
        return value
    return {"content": _repair_blocks(value)} if value else {}


def repair_result(result: dict[str, Any]) -> None:
    """Change the result of a request in place.

    Members that are null are removed, as if the server had left them out; null for a list is the empty list. Content
    that is no list becomes one. A block of an unknown type, or without a member that its type needs, becomes a text
    block with its JSON. A result of a form that no version of the protocol has becomes one too. Structured content that
    is no object gets the form in which SDKs write such values.
    """
    if isinstance(old := result.pop("toolResult", None), dict) and "content" in old:
        result |= old
    elif old is not None:
        result["content"] = old if isinstance(old, str) else json.dumps(old, ensure_ascii=False)
    for name in [name for name, value in result.items() if value is None]:
        if name in _LISTS:
            result[name] = []
        elif name != "content":
            del result[name]
    for name in _LISTS:
        if isinstance(inner := result.get(name), dict):
            result |= _as_list(name, inner)
    if result.keys() & {"capabilities", "protocolVersion"} and "supportedVersions" not in result:
        _repair_handshake(result)
    if not isinstance(result.get("_meta", {}), dict):
        del result["_meta"]
    if not isinstance(structured := result.get("structuredContent", {}), dict):
        result["structuredContent"] = {"result": structured}
    if result.keys() & {"content", "structuredContent"} and not result.keys() & _OF_OTHERS - {"content"}:
        _keep_more(result)
    if "content" in result:
        result["content"] = _repair_blocks(result["content"])
    elif "structuredContent" in result or "isError" in result:
        result["content"] = []
    elif not result.keys() & _OF_OTHERS:
        said = {name: value for name, value in result.items() if name not in ("_meta", "resultType")}
        result["content"] = _repair_blocks(json.dumps(said, ensure_ascii=False) if said else None)
    messages = result.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and not isinstance(message.get("content"), list):
            message["content"] = _repair_block(message.get("content"))


def _as_list(name: str, inner: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a result whose list is an object: the whole result, items by their names, or an item."""
    if isinstance(inner.get(name), list):
        return inner
    if name in ("messages", "contents"):
        return {name: [inner]}
    key = {"resources": "uri", "resourceTemplates": "uriTemplate"}.get(name, "name")
    return {name: [{key: said, **item} for said, item in inner.items() if isinstance(item, dict)]}


def _keep_more(result: dict[str, Any]) -> None:
    """Move members that the result of a call does not have by the protocol into its text: the model may need them, as a
    cursor for the next page.
    """
    more = {name: it for name, it in result.items() if name not in _OF_CALLS and not name.startswith("_")}
    if more:
        texts = [*_repair_blocks(result.get("content")), json.dumps(more, ensure_ascii=False)]
        result["content"] = texts
        for name in more:
            del result[name]


def _repair_handshake(result: dict[str, Any]) -> None:
    """Add what the answer to a handshake lacks. A server that announces nothing is asked for its tools."""
    result.setdefault("protocolVersion", OLDEST_VERSION)
    given = result.get("capabilities")
    named = given if isinstance(given, dict) else {}
    kept = {name: it if isinstance(it, dict) else {} for name, it in named.items() if it not in (None, False)}
    if not kept.keys() & {"tools", "prompts", "resources"}:
        kept["tools"] = {}
    result["capabilities"] = kept
    info = result.get("serverInfo")
    result["serverInfo"] = {"name": "", "version": ""} | (info if isinstance(info, dict) else {})


def repair_question(method: object, params: object) -> None:
    """Add what a form of a server lacks, in place: a form without fields only asks to go on."""
    if method != "elicitation/create" or not isinstance(params, dict) or "url" in params:
        return
    given = params.get("requestedSchema")
    kept = {name: it for name, it in (given if isinstance(given, dict) else {}).items() if it is not None}
    params["requestedSchema"] = {"properties": {}, **kept, "type": "object"}


def repair_tool(tool: dict[str, Any]) -> None:
    """Make the schema of a tool in a list one that the protocol allows, in place.

    No schema, null, or only a dialect means no parameters. A schema without a type, or with several, that allows an
    object gets the type `object`. Members that are null are removed. The schema of results is removed, because the
    SDK would drop a result that does not match it, and the model reads results as they are.
    """
    tool.pop("outputSchema", None)
    schema = tool.get("inputSchema")
    if schema is None or schema is True:
        schema = {}
    if not is_object_schema(schema):
        return
    kept = {name: value for name, value in schema.items() if value is not None}
    tool["inputSchema"] = {**kept, "type": "object"}


def reduce_tool(tool: dict[str, Any]) -> None:
    """Remove what nobody needs to call an invalid tool, in place. Hints that are no Booleans do not count."""
    hints = tool.get("annotations")
    words = tool.get("description")
    kept: dict[str, Any] = {name: tool[name] for name in ("name", "inputSchema") if name in tool}
    kept["description"] = words if isinstance(words, str) else json.dumps(words) if words else ""
    if isinstance(hints, dict):
        kept["annotations"] = {name: it for name, it in hints.items() if isinstance(it, bool)}
    if isinstance(task := tool.get("execution"), dict):
        kept["execution"] = task
    tool.clear()
    tool |= kept


def _repair_blocks(content: Any) -> list[Any]:
    if content is None:
        return []
    return [*map(_repair_block, content if isinstance(content, list) else [content])]


def _repair_block(block: Any) -> Any:
    if (image := _image_in(block)) is not None:
        return image
    if _is_block(block):
        return block
    if not isinstance(block, dict):
        return {
            "type": "text",
            "text": block if isinstance(block, str) else json.dumps(block, ensure_ascii=False),
        }
    plain = {name: value for name, value in block.items() if value is not None}
    if _is_block(plain):
        return plain
    text = plain.get("text") if plain.get("type", "text") == "text" else None
    said = (
        text if isinstance(text, str) else json.dumps(_without_data(block), ensure_ascii=False, default=str)
    )
    return {"type": "text", "text": said}


def _without_data(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block of an unknown kind without the bytes in it, which no model can read as text."""
    named = {name: block[name] for name in ("data", "blob") if len(str(block.get(name, ""))) > MAX_DATA}
    return {
        **block,
        **{name: f"[{len(str(data))} characters, not displayed]" for name, data in named.items()},
    }


def _image_in(block: Any) -> dict[str, str] | None:
    """Return the image block that a block is meant as: one without its type, or a text that is a data URL."""
    if not isinstance(block, dict):
        return None
    kind = next((it for key in _TYPE_KEYS if isinstance(it := block.get(key), str) and it), "")
    data = block.get("data") if block.get("type") == "image" else block.get("text")
    if not isinstance(data, str) or (block.get("type") != "image" and not data.startswith("data:image/")):
        return None
    with suppress(ValueError):
        image = decode_image(kind, data.strip())
        if image.data is not None and type_by_content(image.data):
            content = base64.b64encode(image.data).decode()
            return {"type": "image", "data": content, "mimeType": image.media_type}
    return None


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict) or "type" not in block:
        return False
    try:
        _blocks().validate_python(block, by_name=False)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=1)
def _blocks() -> TypeAdapter[Any]:
    import mcp_types  # imported here, because only a connection needs it

    return TypeAdapter(mcp_types.ContentBlock)
