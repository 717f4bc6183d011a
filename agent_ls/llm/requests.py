"""One model call: Request, Response, Usage, FinishReason, and tool definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, TypeVar

from agent_ls.argument_types import find_misuse
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import JsonObject, Message, ToolCallPart
from agent_ls.patterns import regex

_N = TypeVar("_N", int, float)

MAX_AMOUNT = 10**15
"""Largest number of tokens or US dollars that one usage may have."""


@dataclass(frozen=True, slots=True)
class FreeText:
    """Allows a model to call a tool with plain text instead of JSON, if the provider has custom tools.

    `argument` is the parameter that receives the text. `grammar` is a Lark grammar that the provider
    enforces, "" for none.
    """

    argument: str
    grammar: str = ""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as sent to a model. `parameters` is a JSON Schema whose root is an object.

    `free_text` None: calls always use JSON. Providers without custom tools ignore `free_text`.

    Raises:
        ConfigurationError: some provider refuses the name or the root of the schema, or a value has a wrong type.
    """

    name: str
    description: str
    parameters: JsonObject
    free_text: FreeText | None = None

    def __post_init__(self) -> None:
        check_tool(self.name, self.parameters)
        for name, hint in (("description", str), ("free_text", FreeText | None)):
            if misuse := find_misuse(f"the {name} of the tool {self.name}", getattr(self, name), hint):
                raise ConfigurationError(misuse[0], hint=misuse[1])


CHARS_PER_TOKEN = 4  # of English text and code, for estimates

TOOL_NAME = regex(r"[a-zA-Z][a-zA-Z0-9_]{0,63}")  # the tool names that every provider accepts
TOOL_NAME_RULE = "a letter, then letters, digits and underscores, 64 at most"


def check_tool_name(name: str) -> None:
    """Check a tool name.

    Raises:
        ConfigurationError: some provider refuses the name.
    """
    if not (isinstance(name, str) and TOOL_NAME.fullmatch(name)):
        raise ConfigurationError(
            f"{name!r} is not a valid tool name: {TOOL_NAME_RULE}", hint=f"Use {TOOL_NAME_RULE}."
        )


PARAMETER_NAME_CHARS = 64
PARAMETER_NAME = regex(
    r"[a-zA-Z0-9_.-]{1,64}"
)  # the names of parameters of tools that every provider accepts
PARAMETER_NAME_RULE = "letters from a to z, digits and `_`, 64 at most"


def check_tool(name: str, parameters: JsonObject) -> None:
    """Check a tool's name and parameters.

    Raises:
        ConfigurationError: some provider refuses the name, or the schema's root is not an object.
    """
    check_tool_name(name)
    if not (isinstance(parameters, Mapping) and parameters.get("type") == "object"):
        raise ConfigurationError(
            f"the parameters of the tool {name} are not an object",
            hint='Give the root of the schema "type": "object".',
        )


@dataclass(frozen=True, slots=True)
class NamedToolChoice:
    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | NamedToolChoice


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """Asks for JSON that matches `schema`, whose root is an object. An empty schema allows any JSON object.

    `strict`: the provider guarantees the match, if the provider supports this for the schema.
    """

    schema: JsonObject = field(default_factory=dict)
    name: str = "answer"
    strict: bool = True


FinishKind: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "pause", "error", "other"]


@dataclass(frozen=True, slots=True)
class FinishReason:
    """The reason why a response ended: `kind` is the same for all providers, `raw` is the provider's own word.

    Only `stop` and `tool_calls` are normal. After any other reason, the response's tool calls get results
    without being run. After `pause` (Anthropic's `pause_turn`), the same request is sent again with the answer
    appended.
    """

    kind: FinishKind
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one response, or a sum of several. None means not reported; a sum leaves such values out.

    `input_tokens` includes cached tokens; `output_tokens` includes reasoning. Codecs convert the counts of their
    providers. `reported_cost_usd` is the cost reported by a broker.
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


def is_amount(value: float) -> bool:
    """Return whether a count or a cost can be added to others: neither negative nor NaN nor beyond MAX_AMOUNT."""
    return 0 <= value <= MAX_AMOUNT


def wrong_amounts(usage: Usage) -> list[str]:
    """Return the names of the fields whose values `is_amount` refuses."""
    values = {field.name: getattr(usage, field.name) for field in fields(usage)}
    return [name for name, value in values.items() if value is not None and not is_amount(value)]


def known_usage(usage: Usage) -> Usage:
    """Return the usage with each wrong amount as if it was not reported."""
    wrong = wrong_amounts(usage)
    unreported: dict[str, Any] = {field.name: field.default for field in fields(Usage) if field.name in wrong}
    return replace(usage, **unreported) if wrong else usage


def _add(a: _N | None, b: _N | None) -> _N | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, slots=True)
class Request:
    """One model call. `provider` "" selects the client's default provider.

    If `reasoning_effort`, `temperature` or `top_p` is None, or `stop_sequences` is empty, the parameter is not
    sent, because many reasoning models refuse it. `max_output_tokens` None means the model's own limit.
    `provider_options` maps a provider's name to keys that are merged into the provider's request unchanged.
    `metadata` contains labels that the caller chooses: OpenAI accepts all labels, Anthropic only `user_id`,
    other providers none. `cache_key` is the same for all requests of a session, so that the provider routes
    equal prefixes to one cache.
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
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Rate limits from the response headers: remaining units, limits, and seconds until the reset.

    None means not reported.
    """

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    reset_s: float | None = None
    limit_requests: int | None = None
    limit_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """The complete answer. The parts of the assistant message `message` keep the provider's order and origins.

    `raw` is the provider's final body; empty for a stream without such a body. `cut_calls` are calls that the model
    began and did not finish: they are not in the message, and their arguments are no complete JSON.
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
    cut_calls: tuple[ToolCallPart, ...] = ()

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def reasoning(self) -> str:
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        return self.message.tool_calls
