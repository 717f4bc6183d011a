"""One call of a model: Request, Response, Usage, FinishReason, and the definition of tools."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import JsonObject, Message, ToolCallPart

_N = TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it. `parameters` is a JSON Schema whose root is an object (U15)."""

    name: str
    description: str
    parameters: JsonObject


TOOL_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,63}")  # what every provider takes (C section 5.1)


def check_tool(name: str, parameters: JsonObject) -> None:
    """
    Raises:
        ConfigurationError: a name that some provider refuses, or a schema whose root is no object.
    """
    if not TOOL_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} cannot be the name of a tool",
            hint="A letter, then letters, digits and underscores, 64 at most.",
        )
    if parameters.get("type") != "object":
        raise ConfigurationError(
            f"the parameters of the tool {name} are no object",
            hint='The root of the schema has "type": "object".',
        )


def fitting_name(foreign: str) -> str:
    """A name from elsewhere (MCP) as one that every provider takes: the same one for the same name."""
    if TOOL_NAME.fullmatch(foreign):
        return foreign
    plain = re.sub(r"[^a-zA-Z0-9_]+", "_", foreign).strip("_")
    mark = hashlib.sha256(foreign.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{plain if plain[:1].isalpha() else f't_{plain}'}"[:57] + f"_{mark}"


@dataclass(frozen=True, slots=True)
class NamedToolChoice:
    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | NamedToolChoice


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """The answer is JSON that fits `schema` (its root is an object). `strict`: the provider guarantees it, where the
    schema is within what it can guarantee; else it is asked for."""

    schema: JsonObject
    name: str = "answer"
    strict: bool = True


FinishKind: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "pause", "error", "other"]


@dataclass(frozen=True, slots=True)
class FinishReason:
    """Why a response ended: our word and the provider's own (C section 3.8).

    Only `stop` and `tool_calls` are natural; calls of any other response are answered but not run (L17).
    `pause` (Anthropic `pause_turn`): the same request is sent again with the answer appended.
    """

    kind: FinishKind
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one response, or a sum of several. `None` is "not reported", and stays so when added up.

    `input_tokens` counts everything sent, cached or not; `output_tokens` includes reasoning. Codecs convert
    (wire formats differ in both). `reported_cost_usd` is what a broker says the call cost.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reported_cost_usd: float | None = None

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _add(self.reasoning_tokens, other.reasoning_tokens),
            _add(self.cache_read_tokens, other.cache_read_tokens),
            _add(self.cache_write_tokens, other.cache_write_tokens),
            _add(self.reported_cost_usd, other.reported_cost_usd),
        )


def _add(a: _N | None, b: _N | None) -> _N | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, slots=True)
class Request:
    """One model call. `provider` routes it; "" is the client's default.

    `reasoning_effort` None leaves the parameter out (L7). `max_output_tokens` None is the model's own limit.
    `provider_options` maps a provider's name to keys merged into its request unchanged (U13).
    `cache_key` is stable for a session (routes equal prefixes to one cache). `temperature` and `top_p` None, and no
    `stop_sequences`, leave those parameters out: many reasoning models refuse them.
    """

    model: str
    messages: tuple[Message, ...]
    provider: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: ToolChoice = "auto"
    reasoning_effort: str | None = None
    max_output_tokens: int | None = None
    provider_options: Mapping[str, JsonObject] = field(default_factory=dict)
    cache_key: str = ""
    response_format: JsonFormat | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop_sequences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What the answer's headers told: remaining units and seconds until reset; None is "not told"."""

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    reset_s: float | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """The whole answer. `message` is an assistant message whose parts keep the provider's order and origins.

    `raw` is the provider's final body where there is one (empty for a stream that never sends it whole).
    """

    id: str
    provider: str
    model: str
    message: Message
    finish_reason: FinishReason
    usage: Usage
    warnings: tuple[str, ...] = ()
    rate_limit: RateLimit | None = None
    raw: JsonObject = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def reasoning(self) -> str:
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        return self.message.tool_calls
