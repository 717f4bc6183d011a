"""Pure: convert the result of a server's tool to text and images for the model."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

from agent_ls.llm.image_data import decode_image, type_by_content
from agent_ls.llm.messages import ImagePart
from agent_ls.mcp.descriptions import CallResult, ResultBlock
from agent_ls.mcp.visible import without_hidden
from agent_ls.text import format_code_block
from agent_ls.tools.base import ToolOutput

MAX_BYTES = 1024 * 1024
MAX_IMAGE_BYTES = 5 * 1024 * 1024
_MEDIA = "(not as text)"
"""In structured content in place of an image, audio or a file."""


def output_of(result: CallResult) -> ToolOutput:
    """Return the result for the model, limited to 1 MiB of text.

    Structured content follows the text, unless the text is the same data. Images, audio and files in it are no text:
    SDKs repeat there what the content has.
    """
    images, texts = [], []
    rest, media = _split_media(result.structured)
    shown = {block.data for block in result.blocks}
    for block in (*result.blocks, *(it for it in media if it.data not in shown)):
        if (block.kind == "image" or block.mime_type.startswith("image/")) and (image := _image(block)):
            images.append(image)
        else:
            texts.append(block_text(block))
    text = "\n".join(filter(None, texts))
    if (
        rest is not None
        and not _is_said(result.structured, result.blocks)
        and not (media and _is_said(rest, result.blocks))
    ):
        data = without_hidden(json.dumps(rest, ensure_ascii=False, indent=1))
        text = f"{text}\n\nStructured content:\n{data}" if text else data
    text = limit_text(text) or ("" if images else "(no output)")
    return ToolOutput(
        text,
        is_error=result.is_error,
        error_kind="tool_error" if result.is_error else "",
        images=tuple(images),
    )


def _split_media(structured: Any) -> tuple[Any, list[ResultBlock]]:
    """Return structured content without the blocks of media in it, and these blocks."""
    try:
        return _without_media(structured)
    except RecursionError:
        return structured, []


def _without_media(value: Any) -> tuple[Any, list[ResultBlock]]:
    if block := _media(value):
        return _MEDIA, [block]
    if isinstance(value, dict):
        parts = {key: _without_media(inner) for key, inner in value.items()}
        return {key: rest for key, (rest, _) in parts.items()}, [
            it for _, found in parts.values() for it in found
        ]
    if isinstance(value, list):
        items = [_without_media(inner) for inner in value]
        media = [it for _, found in items for it in found]
        kept = [rest for rest, _ in items if rest is not _MEDIA]
        return (kept if kept or not media else _MEDIA), media
    return value, []


def _media(value: Any) -> ResultBlock | None:
    """Return the block that a JSON value is, if it is one with data."""
    match value:
        case {"type": "image" | "audio" as kind, "data": str(data)} if "://" not in data:
            return ResultBlock(kind, data=data, mime_type=_type_of(value))
        case {"type": "resource", "resource": {"blob": str(data)} as inner}:
            return ResultBlock(
                "resource", data=data, mime_type=_type_of(inner), uri=str(inner.get("uri", ""))
            )
        case _:
            return None


def _type_of(value: dict[str, Any]) -> str:
    return str(value.get("mimeType") or value.get("mime_type") or "")


def _is_said(structured: Any, blocks: Sequence[ResultBlock]) -> bool:
    """Return whether the text of a result is its structured content, also as SDKs write values that are no objects:
    `{"result": VALUE}`, with one text for each item of a list.
    """
    texts = [block.text for block in blocks if block.kind == "text"]
    forms: list[Any] = [structured]
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        forms.append(structured["result"])
    values = [_parse_or_keep(text) for text in texts]
    said = [*values, *texts, _parse_or_keep("\n".join(texts)), *([values, texts] if texts else []), _MEDIA]
    return any(value in said for value in forms) or structured in ({}, [])


def _parse_or_keep(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def text_of(blocks: Sequence[ResultBlock]) -> str:
    return limit_text("\n".join(filter(None, map(block_text, blocks))))


def block_text(block: ResultBlock) -> str:
    match block.kind:
        case "text":
            return without_hidden(block.text)
        case "link":
            named = f"{block.name} " if block.name else ""
            kind = f", {block.mime_type}" if block.mime_type else ""
            text = f": {block.text}" if block.text else ""
            return without_hidden(f"[resource {named}<{block.uri}>{kind}{text}]")
        case "resource" if not block.data:
            return f"Resource <{block.uri}>:\n{format_code_block(without_hidden(block.text))}"
        case "resource" if text := _text_in(block):
            return f"Resource <{block.uri}>:\n{format_code_block(without_hidden(text))}"
        case _:
            size = len(block.data) * 3 // 4
            what = " ".join(filter(None, (block.uri, block.mime_type))) or "of unknown type"
            return without_hidden(f"[{block.kind} {what}: {size} bytes, not displayed]")


def _text_in(block: ResultBlock) -> str:
    """Return the text that a server sends as bytes; "" if the type is that of other data."""
    kind = block.mime_type.partition(";")[0].strip().lower()
    if not kind.startswith("text/") and kind not in (
        "application/json",
        "application/xml",
        "application/yaml",
    ):
        return ""
    try:
        return base64.b64decode("".join(block.data.split()), validate=True).decode()
    except ValueError:
        return ""


def limit_text(text: str) -> str:
    if len(text) * 4 <= MAX_BYTES or len(data := text.encode("utf-8", "replace")) <= MAX_BYTES:
        return text
    left_out = len(data) - MAX_BYTES
    return f"{data[:MAX_BYTES].decode('utf-8', 'ignore')}\n[... {left_out} bytes left out ...]"


def _image(block: ResultBlock) -> ImagePart | None:
    """Return an image for the model; None if the type or the data is unsupported."""
    if len(block.data) * 3 // 4 > MAX_IMAGE_BYTES:
        return None
    try:
        image = decode_image(block.mime_type, block.data)
    except ValueError:
        return None
    return image if type_by_content(image.data or b"") else None  # services refuse anything else


def strings_in(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from strings_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_in(inner)
