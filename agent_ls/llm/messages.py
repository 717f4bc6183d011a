"""Messages to and from a model: roles, content parts, messages. Immutable, and independent of wire formats.

Assistant parts may have an `origin`: the provider's own item, verbatim. It has to be sent back unchanged to the
same provider (reasoning signatures, encrypted reasoning, message phases). A codec sends `origin.raw` if
`origin.provider` is the codec's provider and the model accepts the item. Otherwise the codec sends the plain fields,
without reasoning.
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
    """The source of a statement: a web page (`url`), or a document of the request, identified only by `title`."""

    url: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """The source of the characters [start, end) of a text, counted in code points.

    `quote` is a quotation from the source, if the provider reports one.
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
    """An image as bytes (`data` with `media_type`, for example `image/png`) or by `url`, but not both.

    Without `media_type`, the content decides if it is PNG, JPEG, GIF or WebP. A `url` without a scheme in a
    user's message is a path, such as `a.png` or `~/a.png`: the file is then sent.

    `detail` is a hint on resolution: `low`, `high`, `auto`, or "" for the provider's default. Some providers
    ignore this hint.
    """

    data: bytes | None = None
    media_type: str = ""
    url: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document, usually a PDF, as bytes (`data` with `media_type`) or by `url`, but not both.

    `name` is the file name. If `name` is "" and the provider requires a name, codecs invent one.
    """

    data: bytes | None = None
    media_type: str = "application/pdf"
    url: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class AudioPart:
    """Audio as bytes (`data` with `media_type`, for example `audio/wav`) or by `url`, but not both."""

    data: bytes | None = None
    media_type: str = "audio/wav"
    url: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Reasoning of the model. `text` is empty if the reasoning is redacted or encrypted.

    `origin` is the item to send back to the provider.
    """

    text: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A tool call by the model.

    `arguments` is the JSON text as the model wrote it. It may be invalid; the tool pipeline handles invalid JSON. It
    is `"{}"` if there are no arguments. `id` links the call to its result.
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
    """An item that only its provider understands, such as a call of a tool that the provider itself runs.

    Later requests send the item back. agent-ls never runs it.
    """

    origin: Origin


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A web search that the provider itself made while answering, or the results of such a search.

    It is sent back like an OpaquePart. Some providers report search and results separately: then one part has the
    queries, and another part the sources.
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
        """The texts of all text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The texts of all reasoning parts, joined."""
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
