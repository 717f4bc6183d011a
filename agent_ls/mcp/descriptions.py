"""Pure: the tools, prompts and resources that an MCP server describes, as our own types."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]
Era: TypeAlias = Literal["modern", "legacy"]


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool as its server describes it. The hints are the server's own claims; None if the server makes no
    claim.
    """

    name: str
    description: str
    schema: JsonObject
    title: str = ""
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None

    @property
    def definition(self) -> JsonObject:
        """Return the definition that an approval covers: a changed definition needs a new approval."""
        return {
            "name": self.name,
            "description": self.description,
            "schema": self.schema,
            "annotations": {
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "openWorldHint": self.open_world,
            },
        }

    @property
    def digest(self) -> str:
        return digest_of(self.definition)


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerResource:
    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ServerDescription:
    """The description of a connected server. The uri of one of `templates` has places in braces that the reader fills
    in. `invalid` has a sentence for each invalid entry that was left out.
    """

    title: str = ""
    version: str = ""
    era: Era = "legacy"
    protocol: str = ""
    instructions: str = ""
    tools: tuple[ServerTool, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()
    resources: tuple[ServerResource, ...] = ()
    templates: tuple[ServerResource, ...] = ()
    invalid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """One part of a result. `data` is base64; `uri` and `name` belong to a resource or to a link to a
    resource.
    """

    kind: Literal["text", "image", "audio", "resource", "link"]
    text: str = ""
    data: str = ""
    mime_type: str = ""
    uri: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallResult:
    blocks: tuple[ResultBlock, ...] = ()
    structured: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class FormField:
    """One value that a server asks the user for. `choices` are pairs of value and label."""

    name: str
    kind: Literal["string", "number", "integer", "boolean"]
    title: str = ""
    description: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    is_multiple: bool = False
    is_required: bool = False
    default: Any = None
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A server's request to the user: to fill in a form, or to open a URL."""

    message: str
    fields: tuple[FormField, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class ElicitationReply:
    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, str | int | float | bool | Sequence[str] | None] = field(default_factory=dict)


def digest_of(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def tool_from_json(raw: Any) -> ServerTool | None:
    """Parse a tool; None if it is invalid."""
    if not isinstance(raw, dict):
        return None
    try:
        tool = ServerTool(**raw)
    except TypeError:
        return None
    is_whole = (
        isinstance(tool.name, str) and isinstance(tool.description, str) and isinstance(tool.schema, dict)
    )
    return tool if is_whole else None
