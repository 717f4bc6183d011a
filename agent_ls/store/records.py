"""Pure: convert turns to JSON and back. The conversion is written by hand, because `origin.raw` is a
provider's JSON and must stay unchanged.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias, assert_never

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import (
    AudioPart,
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    SearchPart,
    Source,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.requests import FinishReason, ToolDefinition, Usage
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.turns import (
    AssistantTurn,
    CompactionTurn,
    SteeringTurn,
    SystemTurn,
    ToolResultsTurn,
    Turn,
    UserTurn,
)

Json: TypeAlias = Mapping[str, Any]


def turn_to_json(turn: Turn) -> dict[str, Any]:
    record: dict[str, Any] = {"type": turn.type, "timestamp": turn.timestamp}
    match turn:
        case UserTurn():
            record |= {"content": turn.content, "images": [part_to_json(image) for image in turn.images]}
            record |= {"context": turn.context} if turn.context else {}
        case SystemTurn():
            record |= {"content": turn.content}
        case SteeringTurn():
            images = [part_to_json(image) for image in turn.images]
            record |= {"content": turn.content, "source": turn.source, "images": images}
        case ToolResultsTurn():
            record |= {"results": [part_to_json(result) for result in turn.results]}
        case CompactionTurn():
            record |= {
                "content": turn.content,
                "keptTurns": turn.kept_turns,
                "summary": turn.summary,
                "usage": _usage_to_json(turn.usage),
                "compactionId": turn.compaction_id,
            }
        case AssistantTurn():
            record |= {
                "parts": [part_to_json(part) for part in turn.message.parts],
                "usage": _usage_to_json(turn.usage),
                "responseId": turn.response_id,
                "provider": turn.provider,
                "model": turn.model,
                "finish": {"kind": turn.finish_reason.kind, "raw": turn.finish_reason.raw},
            }
        case never:
            assert_never(never)
    return record


def turn_from_json(record: Json) -> Turn | None:
    """Return the turn; None for an unknown type, because another version may have written the record.

    Raises:
        ValueError: the record is incomplete.
    """
    try:
        return _turn(record)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a turn: {error!r}") from error


def prefix_to_json(prefix: Prefix) -> dict[str, Any]:
    """Return a prefix (the tools, and the sources of the system prompt) as JSON.

    The text of the system prompt is left out, because it has its own record (`prompt`).
    """
    return {
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in prefix.tools
        ],
        "provider": prefix.provider,
        "model": prefix.model,
        "instructions": prefix.instructions,
        "documents": prefix.documents,
        "documentsChars": prefix.documents_chars,
    }


def prefix_from_json(record: Json) -> Prefix:
    """Restore a prefix without the text of the system prompt.

    Raises:
        KeyError, TypeError, ValueError: the record is incomplete.
    """
    try:
        tools = tuple(
            ToolDefinition(_text(tool["name"]), _text(tool["description"]), tool["parameters"])
            for tool in record["tools"]
        )
    except ConfigurationError as error:
        raise ValueError(str(error)) from error
    return Prefix(
        tools=tools,
        provider=_text(record["provider"]),
        model=_text(record["model"]),
        instructions=_text(record["instructions"]),
        documents=_text(record["documents"]),
        documents_chars=int(record["documentsChars"]),
    )


def _usage_to_json(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in Usage.__slots__}


def _usage(record: Json) -> Usage:
    return Usage(**{name: record[name] for name in Usage.__slots__ if name in record})


def images_from_json(record: Json) -> tuple[ImagePart, ...]:
    """Return the images in the field `images`.

    Raises:
        KeyError, TypeError, ValueError: the record is incomplete.
    """
    return tuple(_image(image) for image in record["images"])


def _turn(record: Json) -> Turn | None:
    timestamp = _text(record["timestamp"])
    match record["type"]:
        case "user":
            context = _text(record.get("context", ""))
            return UserTurn(_text(record["content"]), timestamp, images_from_json(record), context)
        case "system":
            return SystemTurn(_text(record["content"]), timestamp)
        case "steering":
            return SteeringTurn(
                _text(record["content"]), timestamp, record["source"], images_from_json(record)
            )
        case "tool_results":
            return ToolResultsTurn(tuple(result_from_json(result) for result in record["results"]), timestamp)
        case "compaction":
            return CompactionTurn(
                _text(record["content"]),
                int(record["keptTurns"]),
                timestamp,
                _text(record.get("summary", "")),
                _usage(record.get("usage", {})),
                _text(record.get("compactionId", "")),
            )
        case "assistant":
            parts = tuple(_part(part) for part in record["parts"])
            return AssistantTurn(
                message=Message(Role.ASSISTANT, tuple(part for part in parts if part)),
                usage=_usage(record["usage"]),
                response_id=_text(record["responseId"]),
                provider=_text(record["provider"]),
                model=_text(record["model"]),
                finish_reason=FinishReason(record["finish"]["kind"], _text(record["finish"]["raw"])),
                timestamp=timestamp,
            )
        case _:
            return None


def part_to_json(part: ContentPart) -> dict[str, Any]:
    match part:
        case TextPart():
            cited = {"citations": [asdict(citation) for citation in part.citations]} if part.citations else {}
            return {"type": "text", "text": part.text, **_origin_to_json(part.origin), **cited}
        case ReasoningPart():
            return {"type": "reasoning", "text": part.text, **_origin_to_json(part.origin)}
        case ToolCallPart():
            call = {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
            return {**call, **_origin_to_json(part.origin)}
        case OpaquePart():
            return {"type": "opaque", **_origin_to_json(part.origin)}
        case SearchPart():
            # Older versions have no type for searches. With the type "opaque", they can read the record.
            found = {"queries": [*part.queries], "sources": [asdict(source) for source in part.sources]}
            return {"type": "opaque", **_origin_to_json(part.origin), "search": found}
        case ImagePart():
            return _file_to_json("image", part) | ({"detail": part.detail} if part.detail else {})
        case DocumentPart():
            return _file_to_json("document", part) | {"name": part.name}
        case AudioPart():
            return _file_to_json("audio", part)
        case ToolResultPart():
            return {
                "type": "tool_result",
                "id": part.tool_call_id,
                "name": part.name,
                "content": part.content,
                "isError": part.is_error,
                "images": [part_to_json(image) for image in part.images],
            }
        case never:
            assert_never(never)


def _file_to_json(kind: str, part: ImagePart | DocumentPart | AudioPart) -> dict[str, Any]:
    data = None if part.data is None else base64.b64encode(part.data).decode("ascii")
    return {"type": kind, "data": data, "mediaType": part.media_type, "url": part.url}


def _part(record: Json) -> ContentPart | None:
    match record["type"]:
        case "text":
            cited = tuple(_citation(row) for row in record.get("citations", ()))
            return TextPart(_text(record["text"]), _origin(record), cited)
        case "reasoning":
            return ReasoningPart(_text(record["text"]), _origin(record))
        case "tool_call":
            return ToolCallPart(
                _text(record["id"]), _text(record["name"]), _text(record["arguments"]), _origin(record)
            )
        case "opaque":
            return _opaque(record)
        case "image":
            return _image(record)
        case "document":
            return DocumentPart(*_file(record), _text(record.get("name", "")))
        case "audio":
            return AudioPart(*_file(record))
        case "tool_result":
            return result_from_json(record)
        case _:
            return None


def _opaque(record: Json) -> OpaquePart | SearchPart | None:
    origin = _origin(record)
    if origin is None or "search" not in record:
        return OpaquePart(origin) if origin else None
    found = record["search"]
    return SearchPart(
        tuple(map(_text, found["queries"])), tuple(_source(row) for row in found["sources"]), origin
    )


def _citation(record: Json) -> Citation:
    return Citation(
        _source(record["source"]), int(record["start"]), int(record["end"]), _text(record["quote"])
    )


def _source(record: Json) -> Source:
    return Source(_text(record["url"]), _text(record["title"]))


def result_from_json(record: Json) -> ToolResultPart:
    """Restore a tool result.

    Raises:
        KeyError, TypeError: not a result.
    """
    return ToolResultPart(
        _text(record["id"]),
        _text(record["name"]),
        _text(record["content"]),
        bool(record["isError"]),
        images_from_json(record),
    )


def _image(record: Json) -> ImagePart:
    return ImagePart(*_file(record), _text(record.get("detail", "")))


def _file(record: Json) -> tuple[bytes | None, str, str]:
    """Return the bytes (None for a file given by its URL), the media type and the URL."""
    data = record["data"]
    return (
        None if data is None else base64.b64decode(_text(data)),
        _text(record["mediaType"]),
        _text(record["url"]),
    )


def _origin_to_json(origin: Origin | None) -> dict[str, Any]:
    if origin is None:
        return {}
    return {"origin": {"provider": origin.provider, "model": origin.model, "raw": origin.raw}}


def _origin(record: Json) -> Origin | None:
    if "origin" not in record:
        return None
    origin = record["origin"]
    return Origin(_text(origin["provider"]), _text(origin["model"]), origin["raw"])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, not {type(value).__name__}")
    return value
