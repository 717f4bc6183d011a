"""Messages to and from a model: roles, content parts, messages. Immutable; no wire format is known here.

Assistant parts may have an `origin`: the provider's own item, verbatim, which has to be sent back unchanged
to the same provider (reasoning signatures, encrypted reasoning, message phases). A codec sends `origin.raw`
if `origin.provider` is its own name and the model accepts it; otherwise it sends the plain fields, without
reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


class Role(StrEnum):
    """The roles of messages."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Origin:
    """A provider's own item, stored verbatim to be sent back. `raw` is a JSON object of that provider's wire
    format.
    """

    provider: str
    model: str
    raw: JsonObject


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a statement: a web page (`url`), or a document of the request, which only `title` names."""

    url: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """The source of the characters from `start` to `end` (exclusive, in code points) of a text. `quote` are
    words of the source, if the provider reports them.
    """

    source: Source
    start: int
    end: int
    quote: str = ""


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str
    origin: Origin | None = None
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image as bytes (`data` with `media_type`, for example `image/png`) or by `url`; exactly one is
    given.

    `detail` is a hint on resolution: `low`, `high`, `auto` or "", the provider's default. Some providers
    ignore it.
    """

    data: bytes | None = None
    media_type: str = ""
    url: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document, usually a PDF, as bytes (`data` with `media_type`) or by `url`; exactly one is given.
    `name` is its file name; a name is made up for providers that require one.
    """

    data: bytes | None = None
    media_type: str = "application/pdf"
    url: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class AudioPart:
    """Audio as bytes (`data` with `media_type`, for example `audio/wav`) or by `url`; exactly one is given."""

    data: bytes | None = None
    media_type: str = "audio/wav"
    url: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Reasoning of the model. `text` may be empty (redacted or encrypted); `origin` is the item that is sent
    back.
    """

    text: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A tool call by the model.

    `arguments` is the JSON text as the model wrote it, possibly invalid; the tool pipeline handles invalid
    JSON. No arguments are `"{}"`. `id` links the call to its result.
    """

    id: str
    name: str
    arguments: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """The result of one call. `images` follow the text."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[ImagePart, ...] = ()


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """An item that only its provider understands (server tool use and results); sent back, never run."""

    origin: Origin


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A search that the provider itself made while answering, or its results; sent back like an OpaquePart.

    Some providers report the two separately: then one part has the queries and another the sources.
    """

    queries: tuple[str, ...]
    sources: tuple[Source, ...]
    origin: Origin


ContentPart: TypeAlias = (
    TextPart
    | ImagePart
    | DocumentPart
    | AudioPart
    | ReasoningPart
    | ToolCallPart
    | ToolResultPart
    | OpaquePart
    | SearchPart
)


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    parts: tuple[ContentPart, ...] = field(default=())

    @property
    def text(self) -> str:
        """All text parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """All readable reasoning joined."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def searches(self) -> tuple[SearchPart, ...]:
        """The searches that the provider made, with their results."""
        return tuple(part for part in self.parts if isinstance(part, SearchPart))

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart))


def system(text: str) -> Message:
    return Message(Role.SYSTEM, (TextPart(text),))


def user(text: str) -> Message:
    return Message(Role.USER, (TextPart(text),))


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, (TextPart(text),))


def tool_results(results: Sequence[ToolResultPart]) -> Message:
    return Message(Role.TOOL, tuple(results))
