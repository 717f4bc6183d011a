"""The settings (section `agentLs`), parsed once. Valid entries apply; each invalid entry is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from agent_ls.environments.local.environ import EnvRules
from agent_ls.environments.remote.place import Place, check_place
from agent_ls.llm.endpoint import ConnectionSettings as EndpointSettings
from agent_ls.llm.requests import CHARS_PER_TOKEN
from agent_ls.llm.retry import RetryPolicy
from agent_ls.loop.config import KEEP_MAX, KEEP_MIN, ContextConfig
from agent_ls.mcp.entry import ServerEntry
from agent_ls.near_names import nearest


class _Section(BaseModel):
    # Sections get no validators of their own, because the validator of Settings covers all sections. Defaults are
    # created by `model_construct`, which needs no validator.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


class ProviderSettings(_Section):
    """Settings of one provider: `baseUrl` and extra `headers` for proxies, `caFile` for a private certificate
    authority.

    `contextTokens` 0: the model's known context size. `toolCalls` "text": use the text protocol for models that
    cannot call tools. `options` are provider-specific options (U13) that override those of the model family.
    Times are milliseconds; `totalTimeoutMs` 0: no limit.
    """

    base_url: str = ""
    headers: dict[str, str] = {}
    ca_file: str = ""
    context_tokens: int = Field(default=0, ge=0)
    tool_calls: Literal["native", "text"] = "native"
    options: dict[str, JsonValue] = {}
    connect_timeout_ms: int = Field(default=10_000, ge=1)
    silence_timeout_ms: int = Field(default=300_000, ge=1)
    total_timeout_ms: int = Field(default=0, ge=0)

    def endpoint(self) -> EndpointSettings:
        """Convert these settings for the model client, with times in seconds."""
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
    """Checks of edits before they are applied.

    `ambiguous`: what to do with a patch that matches loosely at several positions (docs/editing.md, Finding a
    chunk).

    `readFirst`: which changes require that the model has read the file. "overwrite": overwriting a whole file.
    "edit": also edits by edit_file. "all": also patches.
    """

    ambiguous: Literal["first", "refuse"] = "first"
    read_first: Literal["overwrite", "edit", "all"] = "edit"


class SessionSettings(_Section):
    """Limits for stored sessions; 0: no limit.

    `keepDays` counts from the last use. `maxMebibytes` limits the sessions of one folder; the oldest are
    deleted first. Open sessions are never deleted.
    """

    keep_days: int = Field(default=0, ge=0)
    max_mebibytes: int = Field(default=0, ge=0)


class LimitSettings(_Section):
    """Limits for one message and for a session. At a limit the turn pauses and the user is asked. 0: no limit."""

    tokens_per_input: int = Field(default=0, ge=0)
    tokens_per_session: int = Field(default=0, ge=0)
    cost_usd_per_input: float = Field(default=0, ge=0)
    cost_usd_per_session: float = Field(default=0, ge=0)
    seconds_per_input: float = Field(default=0, ge=0)
    seconds_per_session: float = Field(default=0, ge=0)


class ContextSettings(_Section):
    """When and how a conversation is compacted as it fills the model's context window (loop/config.py)."""

    compaction: Literal["auto", "request", "off"] = "auto"
    strategy: Literal["summarize", "dropOldest", "slidingWindow", "full"] = "summarize"
    compact_at_percent: int = Field(default=85, ge=50, le=95)
    keep_messages: int = Field(default=8, ge=KEEP_MIN, le=KEEP_MAX)
    window_messages: int = Field(default=40, ge=10, le=1000)
    chars_per_token: int = Field(default=CHARS_PER_TOKEN, ge=1, le=32)

    def config(self) -> ContextConfig:
        return ContextConfig(**dict(self))


class CommandEnvironmentSettings(_Section):
    """Environment variables of commands (X5): which variables are inherited, additional denied name patterns,
    and names that are always passed. API keys of providers are never passed.
    """

    inherit: Literal["filtered", "all", "none", "core", "minimal"] = "filtered"
    deny: list[str] = []
    keep: list[str] = []

    def rules(self) -> EnvRules:
        return EnvRules(self.inherit, tuple(self.deny), tuple(self.keep))


class SandboxSettings(_Section):
    """Whether commands run in a sandbox (X4), and what it permits: writing below the workspace and below
    `writable` (absolute paths, or below `~`), and network access. `use`: the sandbox program; "auto" selects
    the first available one.
    """

    enabled: bool = False
    use: Literal["auto", "bubblewrap", "landlock", "seatbelt"] = "auto"
    network: bool = False
    writable: list[str] = []


class PathSettings(_Section):
    """Paths where tools may act besides the workspace (X6).

    `roots` count as workspace. `denied` is never read or written; relative paths are below each workspace
    folder. `temporary` is a folder for temporary files that is treated like the workspace: "auto" (a private
    folder of the user), "off" (no folder), or a path.
    """

    roots: list[str] = []
    denied: list[str] = []
    temporary: str = "auto"

    def without_added(self) -> PathSettings:
        """Return the settings of a policy that allows no folders besides the workspace."""
        return self.model_copy(update={"roots": [], "temporary": "off"})


class LoopDetectionSettings(_Section):
    """Whether the model is warned when its last `window` calls repeat a pattern of one to three calls (L9)."""

    enabled: bool = True
    window: int = Field(default=10, ge=2, le=100)


class SubagentSettings(_Section):
    """How many levels of subagents may be started (0: none), how many of one parent run at the same time, and how
    often one may call its model, and for how many US dollars (0: no limit).
    """

    max_depth: int = Field(default=1, ge=0, le=5)
    max_running: int = Field(default=8, ge=1, le=64)
    max_turns: int = Field(default=0, ge=0)
    max_cost_usd: float = Field(default=0.0, ge=0)


def _check_model_name(name: str) -> str:
    provider, _, model = name.partition("/")
    if name and not (provider.strip() and model.strip()):
        raise ValueError('write PROVIDER/MODEL, for example "openai/gpt-6.1-sol"')
    return name


ModelName: TypeAlias = Annotated[str, AfterValidator(_check_model_name)]


class ModelSettings(_Section):
    """Models for purposes other than the session's conversation, each as "PROVIDER/MODEL".

    If `compaction` or `subagents` is "", the session's model is used. If `titles` is "", no model writes
    titles. If `suggestions` is "", the model of `titles` is used, else the model of new sessions. `fallbacks`
    are tried in order when the session's model is unavailable.
    """

    compaction: ModelName = ""
    titles: ModelName = ""
    subagents: ModelName = ""
    suggestions: ModelName = ""
    fallbacks: list[ModelName] = []


class SkillSettings(_Section):
    """Skills and slash commands in files: whether they are read, additional skill folders (absolute, or below
    `~`), and whether folders of other agents (`.claude`, `.github`, `.codex` and similar) are included.
    """

    enabled: bool = True
    folders: list[str] = []
    foreign: bool = True


class HookSettings(_Section):
    """Whether hooks run, and whether files of other agents (`.claude/settings.json`) are included."""

    enabled: bool = True
    foreign: bool = False


PresetName: TypeAlias = Literal["none", "minimal", "standard", "full", "swe-agent", "openhands", "custom"]
PackName: TypeAlias = Literal[
    "execution", "file_read", "file_write", "file_manage", "directory", "search", "git", "testing", "validation",
    "process", "network", "reasoning", "control", "python", "javascript", "rust", "go", "browser", "containers", "data",
]  # fmt: skip


PRESET_NAMES: tuple[str, ...] = get_args(PresetName)
PACK_NAMES: tuple[str, ...] = get_args(PackName)


class ToolPackSettings(_Section):
    """Additional tools for the model (docs/tool-packs.md): a preset, further packs by name, and `detect`: also packs
    that fit the languages and the kind of task of the folder.
    """

    preset: PresetName = "none"
    packs: list[PackName] = []
    detect: bool = False


class RetrySettings(_Section):
    """How many times a failed model call is retried. The delay starts at `base_delay_ms` and doubles each time
    (U8).
    """

    max_retries: int = Field(default=2, ge=0, le=20)
    base_delay_ms: int = Field(default=1_000, ge=0)
    max_delay_ms: int = Field(default=60_000, ge=0)

    def policy(self) -> RetryPolicy:
        return RetryPolicy(
            max_retries=self.max_retries,
            base_delay_s=self.base_delay_ms / 1000,
            max_delay_s=self.max_delay_ms / 1000,
        )


class McpSettings(_Section):
    """MCP servers by name, in addition to the servers in MCP configuration files.

    `projectFiles`: whether `.mcp.json` and `.vscode/mcp.json` are read. If the tool definitions exceed
    `deferAtPercent` of the model's context window, the model searches for tools instead of getting the full list; 0:
    it always searches. Times are milliseconds. `firstWaitMs`: how long the first message waits for servers whose
    tools are not known yet.
    """

    servers: dict[str, ServerEntry] = {}
    project_files: bool = True
    defer_at_percent: int = Field(default=3, ge=0, le=100)
    first_wait_ms: int = Field(default=3_000, ge=0)
    start_timeout_ms: int = Field(default=30_000, ge=100)
    call_timeout_ms: int = Field(default=120_000, ge=100)


class PlaceSettings(_Section):
    """Another machine or a container in which sessions work (docs/remote.md).

    Only the user's own settings file may contain these. `target` is the host, the container,
    `NAMESPACE/POD/CONTAINER` or the folder of a dev container. For the kind "command", `command` is the command
    line that starts Python there. `path` is the folder on that machine. `image`: a new container is started
    from this image, with the folders `mounts`, and with network access only if `network` is true. `map`: local
    folders that mirror folders of that machine or container.
    """

    kind: Literal["ssh", "docker", "podman", "nerdctl", "kubectl", "devcontainer", "command"]
    target: str = ""
    path: str = ""
    command: list[str] = []
    user: str = ""
    image: str = ""
    mounts: list[str] = []
    network: bool = False
    python: str = "python3"
    map: dict[str, str] = {}

    def place(self) -> Place:
        """Return the remote machine that these settings name.

        Raises:
            PlaceNameError: a part of it is missing or invalid.
        """
        place = Place(
            self.kind,
            self.target,
            self.path,
            tuple(self.command),
            self.user,
            self.image,
            tuple(self.mounts),
            self.network,
            self.python,
            dict(self.map),
        )
        check_place(place)
        return place


Limit: TypeAlias = Annotated[int, Field(ge=0)]


class Settings(_Section):
    """All settings (docs/configuration.md). If `provider` is "", the user's stored choice is used, else the
    first provider that has a key.

    Settings whose names end with `Ms` are times in milliseconds. For most limits,
    such as `maxTurns`, 0 means no limit.
    """

    provider: str = ""
    model: str = ""
    models: ModelSettings = ModelSettings.model_construct()
    effort: str | None = None
    mode: Literal["plan", "ask", "edits", "full"] = "ask"
    review: Literal["after", "before"] = "after"
    max_turns: int = Field(default=0, ge=0)
    max_tool_rounds_per_input: int = Field(default=0, ge=0)
    default_command_timeout_ms: int = Field(default=10_000, ge=1)
    max_command_timeout_ms: int = Field(default=600_000, ge=1)
    max_background_processes: int = Field(default=20, ge=0, le=1_000)
    max_read_mebibytes: int = Field(default=50, ge=1, le=1_024)
    tool_output_limits: dict[str, Limit] = {}
    tool_line_limits: dict[str, Limit] = {}
    loop_detection: LoopDetectionSettings = LoopDetectionSettings.model_construct()
    subagents: SubagentSettings = SubagentSettings.model_construct()
    retry: RetrySettings = RetrySettings.model_construct()
    skills: SkillSettings = SkillSettings.model_construct()
    hooks: HookSettings = HookSettings.model_construct()
    checks: list[str] = []
    terminal: Literal["relay", "own", "pipes"] = "relay"
    save: Literal["auto", "agent", "ask", "never"] = "agent"
    notify: Literal["off", "away", "unseen", "system"] = "unseen"
    user_instructions: str = ""
    edits: EditSettings = EditSettings.model_construct()
    sessions: SessionSettings = SessionSettings.model_construct()
    limits: LimitSettings = LimitSettings.model_construct()
    context: ContextSettings = ContextSettings.model_construct()
    command_environment: CommandEnvironmentSettings = CommandEnvironmentSettings.model_construct()
    sandbox: SandboxSettings = SandboxSettings.model_construct()
    paths: PathSettings = PathSettings.model_construct()
    unconfined_commands: Literal["ask", "trust"] = "ask"
    place: PlaceSettings | None = None
    providers: dict[str, ProviderSettings] = {}
    mcp: McpSettings = McpSettings.model_construct()
    record: bool = False
    log_level: Literal["error", "warning", "info", "debug"] = "info"
    native_tool_names: bool = False
    think_tool: bool = False
    submit_tool: bool = False
    web_fetch: bool = False
    web_search: bool = False
    suggestions: bool = False
    panel: bool = True
    tool_packs: ToolPackSettings = ToolPackSettings.model_construct()
    approval_timeout_ms: int = Field(default=0, ge=0)
    diagnostics_wait_ms: int = Field(default=1_500, ge=0, le=60_000)
    walkthrough_pause_ms: int = Field(default=25, ge=0, le=1000)


_GIVEN_CHARS = 40
_NOT_SHOWN = ("providers", "mcp", "userInstructions")
"""Settings whose values are not displayed: they may contain a key, a URL with a key, or long text."""

_SHOWN_LEVELS = 6
"""Maximum depth of a name in messages. Deeper names belong to provider-specific options."""

_TYPE_WORDS = {
    "model_type": "input should be an object",
    "dict_type": "input should be an object",
    "bool_type": "input should be true or false",
}


def parse_settings(raw: Mapping[str, Any], current: Settings | None = None) -> tuple[Settings, list[str]]:
    """Parse settings. Return the settings, and one sentence for each unknown or invalid entry.

    A sentence has the entry's name, its value, and the allowed values. An invalid entry is replaced by its
    value in `current` (the last valid settings). If `current` is None, it is replaced by its default.
    """
    good = current.model_dump(by_alias=True) if current else {}
    entries = _as_json(raw)
    problems: list[str] = []
    left_out: set[_Place] = set()
    while True:
        try:
            return Settings.model_validate(entries, strict=True), problems
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False)
            problems += [f"agentLs.{_problem(error)}; it is ignored" for error in errors]
            for place in dict.fromkeys(_find_deepest(entries, error["loc"]) for error in errors):
                again = place in left_out
                entries = _without(entries, place[:1] if again else place, None if again else good)
                left_out.add(place)


def setting_problems(raw: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each unknown or invalid entry: its name, its value, and the allowed values."""
    try:
        Settings.model_validate(_as_json(raw), strict=True)
    except ValidationError as invalid:
        return [_problem(error) for error in invalid.errors(include_url=False)]
    return []


def _as_json(value: Any) -> Any:
    """Return settings as the types of JSON Schema count them: `1e3` is an integer, and a tuple of a program a list.

    Other values of a wrong type, such as "3" or 1 for true, are invalid: nothing else is converted.
    """
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            # `options` of a provider reach the provider as they are.
            return {name: it if name == "options" else _as_json(it) for name, it in value.items()}
        case list() | tuple():
            return [_as_json(it) for it in value]
        case _:
            return value


def _problem(error: ErrorDetails) -> str:
    place = error["loc"]
    shown = ".".join(map(str, place[:_SHOWN_LEVELS]))
    if error["type"] == "extra_forbidden":
        return f"{shown}: there is no such setting{_suggest_name([str(step) for step in place])}"
    message = _TYPE_WORDS.get(error["type"], error["msg"])
    return f"{shown}: {message[:1].lower()}{message[1:]}{_not_that(error)}"


def _not_that(error: ErrorDetails) -> str:
    """Return the end of an error message, with the invalid value: `, not VALUE`.

    Returns "" for long values, and for values of sections that may contain keys.
    """
    given = error["input"]
    if error["loc"][0] in _NOT_SHOWN or not isinstance(given, str | int | float | None):
        return ""
    shown = json.dumps(given, ensure_ascii=False)
    return f", not {shown}" if len(shown) <= _GIVEN_CHARS else ""


def _suggest_name(place: Sequence[str]) -> str:
    """Return a suggestion for the unknown setting at the path `place`.

    If no name is similar, these are the names of its section, "" for an unknown one. Prefers the same name in another
    section, then the most similar name in this section, then the most similar name of all sections.
    """
    *above, name = place
    known = {".".join((*section, field)): field for section, field in _names(Settings)}
    here = [field for section, field in _names(Settings) if _is_place(section, above)]
    other = name if name in known.values() else nearest(name, known.values())
    near = "" if name == other else nearest(name, here)
    if not near and other:
        near = next(dotted for dotted, field in known.items() if field == other)
    if near:
        return f" (did you mean {near}?)"
    return f" ({'.'.join(above)} has {', '.join(here)})" if above and here else ""


def _names(model: type[_Section], above: _Place = ()) -> Iterator[tuple[_Place, str]]:
    """Yield the path of the section and the name of each setting in `model` and its sections."""
    for field, info in model.model_fields.items():
        name = to_camel(field)
        yield above, name
        if name == "providers":
            yield from _names(ProviderSettings, (*above, name, _ANY_NAME))
        elif isinstance(info.annotation, type) and issubclass(info.annotation, _Section):
            yield from _names(info.annotation, (*above, name))


def _is_place(section: Sequence[str], above: Sequence[str]) -> bool:
    return len(section) == len(above) and all(
        known in (_ANY_NAME, given, to_camel(given)) for known, given in zip(section, above, strict=True)
    )


def _find_deepest(entries: Mapping[str, Any], place: Sequence[int | str]) -> _Place:
    """Return the longest prefix of the path `place` that names an entry in `entries`.

    The prefix does not lead into a list, because a list without its invalid elements might permit more.
    """
    found: list[str] = []
    inner: Any = entries
    for name in place:
        if not isinstance(inner, Mapping) or (key := _key(inner, str(name))) not in inner:
            break
        found.append(key)
        inner = inner[key]
    return tuple(found)


def _without(entries: Mapping[str, Any], place: _Place, good: Any) -> dict[str, Any]:
    """Return a copy whose entry at `place` is replaced by the entry in `good`, or removed if `good` has none.

    Other entries are kept, so that an invalid header does not discard the base URL.
    """
    name, *deeper = place
    kept = {key: value for key, value in entries.items() if key != name}
    stands = good.get(to_camel(name), good.get(name, _NOTHING)) if isinstance(good, Mapping) else _NOTHING
    if deeper:
        return {**kept, name: _without(entries[name], tuple(deeper), stands)}
    return kept if stands is _NOTHING else {**kept, name: stands}


def _key(entries: Mapping[str, Any], name: str) -> str:
    """Return the key in `entries` for a setting: `name` itself or its snake_case form."""
    return next((key for key in (name, _snake(name)) if key in entries), name)


_Place: TypeAlias = tuple[str, ...]
_NOTHING = object()
_ANY_NAME = "NAME"


def _snake(name: str) -> str:
    return "".join("_" + char.lower() if char.isupper() else char for char in name)
