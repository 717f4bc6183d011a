"""What is said to and by a model: roles, content parts, messages. Frozen values; no wire format is known here.

Assistant parts may carry `origin`: the provider's own item, verbatim, that must be sent back unchanged to the
same provider (reasoning signatures, encrypted reasoning, message phases). A codec replays `origin.raw` when
`origin.provider` is its own name and the model family may take it, and otherwise falls back to the plain
fields (reasoning is then left out).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


class Role(StrEnum):
    """The five roles of the companion specification, section 3.2."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Origin:
    """A provider's own item, kept verbatim for replay. `raw` is a JSON object of that provider's wire format."""

    provider: str
    model: str
    raw: JsonObject


@dataclass(frozen=True, slots=True)
class Source:
    """A place that words come from: a page of the web by its `url`, or a document of the request, which only `title`
    names."""

    url: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """What the characters from `start` to `end` of a text (code points, the end is left out) rest on. `quote` are words
    of the source, where the provider tells them."""

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
    """An image as bytes (`data` with `media_type`, for example `image/png`) or by `url`; exactly one is given.

    `detail` is a hint at how closely it is looked at: `low`, `high`, `auto` or "", the provider's own choice.
    Providers that have no such thing ignore it.
    """

    data: bytes | None = None
    media_type: str = ""
    url: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document, mostly a PDF, as bytes (`data` with `media_type`) or by `url`; exactly one is given. `name` is its
    file's name, without which some providers refuse it: then one is made up."""

    data: bytes | None = None
    media_type: str = "application/pdf"
    url: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class AudioPart:
    """A sound as bytes (`data` with `media_type`, for example `audio/wav`) or by `url`; exactly one is given."""

    data: bytes | None = None
    media_type: str = "audio/wav"
    url: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Thoughts of the model. `text` may be empty (redacted or encrypted); `origin` is what is replayed."""

    text: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A call asked for by the model.

    `arguments` is the JSON text as the model wrote it: it may be invalid JSON, which is the tool pipeline's
    affair. No arguments at all are `"{}"`. `id` joins the call with its result.
    """

    id: str
    name: str
    arguments: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """The answer to one call. `images` follow the text."""

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[ImagePart, ...] = ()


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """An item that only its provider understands (server tool use and results); replayed, never run."""

    origin: Origin


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A search that the provider itself made while it answered, or what it found; replayed as an OpaquePart is.

    Some providers tell the two apart: then there are two parts, one with the queries, one with the sources.
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
        """What the provider searched for and found."""
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
