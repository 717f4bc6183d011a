"""Settings, parsed once at the edge: what is right holds, what is wrong is told (settings section `agentLs`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from agent_ls.environments.local.environ import EnvRules
from agent_ls.llm.endpoint import ProviderSettings as EndpointSettings
from agent_ls.loop.config import KEEP_MAX, KEEP_MIN, ContextConfig

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class ProviderSettings(_Section):
    """One provider: `baseUrl` and extra `headers` for proxies, `caFile` for a private certificate authority.

    `contextTokens` 0 is what is known of the model. `toolCalls` "text" is the text protocol for models that cannot call
    tools. `options` are the provider's own (U13), over those of the family. Times are milliseconds; `totalTimeoutMs` 0
    limits: none.
    """

    base_url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    ca_file: str = ""
    context_tokens: int = Field(default=0, ge=0)
    tool_calls: Literal["native", "text"] = "native"
    options: dict[str, JsonValue] = Field(default_factory=dict)
    connect_timeout_ms: int = Field(default=10_000, ge=1)
    silence_timeout_ms: int = Field(default=300_000, ge=1)
    total_timeout_ms: int = Field(default=0, ge=0)

    def endpoint(self) -> EndpointSettings:
        """As the client takes it."""
        return EndpointSettings(
            base_url=self.base_url,
            headers=self.headers,
            ca_file=self.ca_file,
            connect_timeout_s=self.connect_timeout_ms / 1000,
            silence_timeout_s=self.silence_timeout_ms / 1000,
            total_timeout_s=self.total_timeout_ms / 1000 or None,
            text_tools=self.tool_calls == "text",
        )


class EditSettings(_Section):
    """`ambiguous`: what becomes of a patch whose lines fit loosely at several places (SEMANTICS 3.2).

    `read_first` as in ToolContext.read_first.
    """

    ambiguous: Literal["first", "refuse"] = "first"
    read_first: Literal["overwrite", "edit", "all"] = "edit"


class SessionSettings(_Section):
    """What is kept of stored sessions, 0: all of it. `keepDays` after their last use; `maxMebibytes` of one folder's

    sessions, of which the oldest go first. None that is open is touched.
    """

    keep_days: int = Field(default=0, ge=0)
    max_mebibytes: int = Field(default=0, ge=0)


class LimitSettings(_Section):
    """What one message, and a session, may use before the turn pauses and asks. 0: no limit."""

    tokens_per_input: int = Field(default=0, ge=0)
    tokens_per_session: int = Field(default=0, ge=0)
    cost_usd_per_input: float = Field(default=0, ge=0)
    cost_usd_per_session: float = Field(default=0, ge=0)
    seconds_per_input: float = Field(default=0, ge=0)
    seconds_per_session: float = Field(default=0, ge=0)


class ContextSettings(_Section):
    """What becomes of a conversation that fills the model's window, as loop/config.py has it."""

    compaction: Literal["auto", "request", "off"] = "auto"
    strategy: Literal["summarize", "dropOldest", "slidingWindow", "full"] = "summarize"
    compact_at_percent: int = Field(default=85, ge=50, le=95)
    keep_messages: int = Field(default=8, ge=KEEP_MIN, le=KEEP_MAX)
    window_messages: int = Field(default=40, ge=10, le=1000)
    chars_per_token: int = Field(default=4, ge=1, le=32)

    def config(self) -> ContextConfig:
        return ContextConfig(**dict(self))


class CommandEnvironmentSettings(_Section):
    """Which variables a command gets (X5): what it inherits, patterns of names beside those that are denied anyway, and
    names that are always given. Keys of providers are given to none.
    """

    inherit: Literal["filtered", "all", "none", "core", "minimal"] = "filtered"
    deny: list[str] = Field(default_factory=list)
    keep: list[str] = Field(default_factory=list)

    def rules(self) -> EnvRules:
        return EnvRules(self.inherit, tuple(self.deny), tuple(self.keep))


class SandboxSettings(_Section):
    """Whether commands are confined by the system (X4), and what they may do then: write below the workspace and
    `writable` (absolute folders, or below `~`), and use the network. `use`: what confines them, auto is the first that
    holds.
    """

    enabled: bool = False
    use: Literal["auto", "bubblewrap", "landlock", "seatbelt"] = "auto"
    network: bool = False
    writable: list[str] = Field(default_factory=list)


class Settings(_Section):
    """`provider` and `model` "" leave the choice to the first key found; times are milliseconds, 0 limits: none."""

    provider: str = ""
    model: str = ""
    effort: str | None = None
    mode: Literal["plan", "ask", "edits", "full"] = "ask"
    review: Literal["after", "before"] = "after"
    max_turns: int = Field(default=0, ge=0)
    max_tool_rounds_per_input: int = Field(default=0, ge=0)
    default_command_timeout_ms: int = Field(default=10_000, ge=1)
    max_command_timeout_ms: int = Field(default=600_000, ge=1)
    terminal: Literal["relay", "own", "pipes"] = "relay"
    save: Literal["auto", "agent", "ask", "never"] = "agent"
    notify: Literal["off", "away", "unseen", "system"] = "unseen"
    user_instructions: str = ""
    edits: EditSettings = EditSettings()
    sessions: SessionSettings = SessionSettings()
    limits: LimitSettings = LimitSettings()
    context: ContextSettings = ContextSettings()
    command_environment: CommandEnvironmentSettings = CommandEnvironmentSettings()
    sandbox: SandboxSettings = SandboxSettings()
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    record: bool = False
    log_level: Literal["error", "warning", "info", "debug"] = "info"
    native_tool_names: bool = False
    think_tool: bool = False
    submit_tool: bool = False
    web_fetch: bool = False
    web_search: bool = False
    approval_timeout_ms: int = Field(default=0, ge=0)
    diagnostics_wait_ms: int = Field(default=1_500, ge=0, le=60_000)
    walkthrough_pause_ms: int = Field(default=25, ge=0, le=1000)


_SECTIONS = (
    Settings,
    EditSettings,
    SessionSettings,
    LimitSettings,
    ContextSettings,
    CommandEnvironmentSettings,
    SandboxSettings,
    ProviderSettings,
)


_GIVEN_CHARS = 40
_NOT_SHOWN = ("providers", "userInstructions")
"""Where a value may be a key, an address with one in it, or long."""

_SHOWN_LEVELS = 6
"""As deep as settings go; what is deeper is a value of a provider's own."""

_AN_OBJECT = ("model_type", "dict_type")


def parse_settings(raw: Mapping[str, Any], standing: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings, and a sentence for each entry that was left out because it is unknown or does not fit: which, what was
    given, what is allowed. In its place stays what `standing` has there, the last that was right; None: the default.
    """
    good = standing.model_dump(by_alias=True) if standing else {}
    entries = dict(raw)
    problems: list[str] = []
    left_out: set[_Place] = set()
    while True:
        try:
            return Settings.model_validate(entries), problems
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False)
            problems += [_problem(error) for error in errors]
            for place in dict.fromkeys(_there(entries, error["loc"]) for error in errors):
                again = place in left_out
                entries = _without(entries, place[:1] if again else place, None if again else good)
                left_out.add(place)


def _problem(error: ErrorDetails) -> str:
    place = error["loc"]
    shown = ".".join(map(str, place[:_SHOWN_LEVELS]))
    if error["type"] == "extra_forbidden":
        return f"agentLs.{shown}: is not a setting{_like(str(place[-1]))}; it is ignored"
    message = "input should be an object" if error["type"] in _AN_OBJECT else error["msg"]
    return f"agentLs.{shown}: {message[:1].lower()}{message[1:]}{_not_that(error)}; it is ignored"


def _not_that(error: ErrorDetails) -> str:
    """What was given, where that can be shown: no part of what a provider is told, and nothing long."""
    given = error["input"]
    if error["loc"][0] in _NOT_SHOWN or not isinstance(given, str | int | float | None):
        return ""
    shown = json.dumps(given, ensure_ascii=False)
    return f", not {shown}" if len(shown) <= _GIVEN_CHARS else ""


def _like(name: str) -> str:
    known = [to_camel(field) for section in _SECTIONS for field in section.model_fields]
    return "".join(f" (did you mean {near}?)" for near in get_close_matches(name, known, n=1))


def _there(entries: Mapping[str, Any], place: Sequence[int | str]) -> _Place:
    """The deepest entry on this way, by its name there. Of a list the whole: what is left of it might allow more."""
    found: list[str] = []
    inner: Any = entries
    for name in place:
        if not isinstance(inner, Mapping) or (key := _key(inner, str(name))) not in inner:
            break
        found.append(key)
        inner = inner[key]
    return tuple(found)


def _without(entries: Mapping[str, Any], place: _Place, good: Any) -> dict[str, Any]:
    """A copy in which stands there what `good` has, or nothing, and all else as it was: an address must not be lost by
    a slip in a header."""
    name, *deeper = place
    kept = {key: value for key, value in entries.items() if key != name}
    stands = good.get(to_camel(name), good.get(name, _NOTHING)) if isinstance(good, Mapping) else _NOTHING
    if deeper:
        return {**kept, name: _without(entries[name], tuple(deeper), stands)}
    return kept if stands is _NOTHING else {**kept, name: stands}


def _key(entries: Mapping[str, Any], name: str) -> str:
    """As it is written there: settings go by two names."""
    return next((key for key in (name, _snake(name)) if key in entries), name)


_Place: TypeAlias = tuple[str, ...]
_NOTHING = object()


def _snake(name: str) -> str:
    return "".join("_" + char.lower() if char.isupper() else char for char in name)
