"""Read the kinds of subagents that are defined in files.

Files of a project are read only if the user trusts its folder. No file can grant permissions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from agent_ls.environments.instruction_files import (
    LOCAL_FILES,
    InstructionFiles,
    ReadBudget,
    UnreadableFileError,
)
from agent_ls.features.skills.places import SkillFolder, find_agent_places
from agent_ls.features.skills.values import Origin
from agent_ls.front_matter import FrontMatterError, MarkdownPage, parse_page
from agent_ls.patterns import regex
from agent_ls.services.settings.model import SkillSettings
from agent_ls.tools.foreign_names import names_of_tool

MAX_DESCRIPTION = 1024
MAX_TURNS = 1_000
_NAME = regex(r"[\w.-]{1,64}")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ALLOWED = ("tools", "allowed-tools", "allowedTools", "allowed_tools")
_DENIED = ("disallowedTools", "disallowed-tools", "disallowed_tools")
"""Fields with tools, as authors spell them."""
_LOOSER_MODES = frozenset(("acceptEdits", "bypassPermissions", "dontAsk", "auto", "delegate"))


@dataclass(frozen=True, slots=True)
class AgentKind:
    """A kind of subagent, defined in the file `path`; `instructions` is the text of that file.

    `tools` and `denied` are patterns for tool names: the subagent gets the parent's tools that match `tools`
    (None: all) but not `denied`. `models` are in order of preference. `only_reads`: the subagent gets only
    tools that change nothing. `max_turns` limits its model calls; 0 sets no limit.
    """

    name: str
    description: str
    origin: Origin
    path: str
    instructions: str
    tools: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    only_reads: bool = False
    max_turns: int = 0

    def keeps(self, tool: Any) -> bool:
        """Return whether this kind of subagent may use `tool`, a tool of its parent agent."""
        names = [name.lower() for name in names_of_tool(tool.kind, tool.name)]
        if "__" in tool.name:  # OpenCode and Gemini CLI join the server and the tool with one line
            joined = tool.name.lower().replace("__", "_", 1)
            names += (joined, f"mcp_{joined}", re.sub(r"\W", "_", tool.name.lower()))

        def matches(patterns: Sequence[str]) -> bool:
            return any(fnmatchcase(name, pattern.lower()) for pattern in patterns for name in names)

        if self.only_reads and tool.category != "read":
            return False
        return (self.tools is None or matches(self.tools)) and not matches(self.denied)


@dataclass(frozen=True, slots=True)
class AgentKinds:
    """All kinds of subagents, by name.

    `problems` are sentences for the user; each begins with a file's path.
    """

    found: Mapping[str, AgentKind] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def find(self, name: str) -> AgentKind | None:
        """Return a kind by its name, or by the name of its file. Capitals and spaces make no difference."""
        if found := self.found.get(name):
            return found
        wanted = _plain(name)
        files = ((kind, os.path.basename(kind.path).partition(".")[0]) for kind in self.found.values())
        return next((kind for kind, file in files if wanted in (_plain(kind.name), _plain(file))), None)


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip()).lower()


def load_agent_kinds(
    settings: SkillSettings,
    state: str,
    workspace: str | None,
    *,
    is_ignored: Callable[[str], bool] = lambda path: False,
    files: InstructionFiles = LOCAL_FILES,
) -> AgentKinds:
    """Return the kinds of subagents of the user, and those of `workspace` if it is given. Blocks.

    Pass None for a folder that the user does not trust: no file of this folder is read. `state` is
    the state folder. `files` accesses the machine that has the workspace.
    """
    found: dict[str, AgentKind] = {}
    problems: list[str] = []
    budget = ReadBudget()
    for place in find_agent_places(settings, state, workspace, files) if settings.enabled else ():
        for path in place.files.walk(place.folder, place.suffix, budget, is_ignored):
            if os.path.basename(path).lower() == "readme.md":
                continue
            try:
                kind, warnings = _read(path, place)
            except (UnreadableFileError, FrontMatterError) as error:
                problems.append(f"{path}: {error}.")
                continue
            problems += [f"{path}: {warning}." for warning in warnings]
            if other := found.get(kind.name):
                problems.append(f"{other.path}: not used, because {path} has the same name.")
            found[kind.name] = kind
    return AgentKinds({name: found[name] for name in sorted(found)}, tuple(problems))


def _read(path: str, place: SkillFolder) -> tuple[AgentKind, list[str]]:
    """Return the kind of subagent that a file defines, and the problems in it.

    Raises:
        UnreadableFileError, FrontMatterError
    """
    text, _ = place.files.read(path, place.folder)
    page = _toml_page(text) if place.suffix == ".toml" else parse_page(text)
    if not page.text and page.string("prompt"):
        page = replace(page, text=str(page.rows["prompt"]).strip())
    name = page.string("name") or os.path.basename(path).removesuffix(place.suffix).removesuffix(".agent")
    name = name.strip().replace(" ", "-")
    if not _NAME.fullmatch(name):
        raise UnreadableFileError(f"{name[:64]!r} cannot be a name: use letters, digits and hyphens")
    description = _CONTROL.sub(" ", page.string("description"))[:MAX_DESCRIPTION]
    if not description:
        raise UnreadableFileError("it has no description, which the model needs to choose this kind of agent")
    mode = page.string("permissionMode")
    turns = page.rows.get("maxTurns")
    kind = AgentKind(
        name=name,
        description=description,
        origin=place.origin,
        path=path,
        instructions=page.text,
        tools=_tools(page, next((row for row in _ALLOWED if row in page.rows), "tools")),
        denied=(*(it for row in _DENIED for it in _patterns(page, row) or ()), *_switched_off(page)),
        models=tuple(it for it in page.names("model") if it != "inherit"),
        only_reads=mode == "plan",
        max_turns=turns if type(turns) is int and 0 < turns <= MAX_TURNS else 0,
    )
    warnings = []
    if mode in _LOOSER_MODES:
        warnings.append(
            f"its permissionMode {mode} is ignored, because a file cannot allow actions that need your approval"
        )
    if isinstance(page.rows.get("tools"), str) and page.switches("tools"):
        warnings.append("its tools need a blank behind each colon, and are read as if they had it")
    unused = (row for row in ("mcpServers", "mcp-servers", "hooks") if row in page.rows)
    warnings += [
        f"its {row} are ignored: configure MCP servers and hooks in your own mcp.json and hooks.json instead"
        for row in unused
    ]
    return kind, warnings


def _toml_page(text: str) -> MarkdownPage:
    """Parse a kind of subagent in the form of Codex, with its instructions in `developer_instructions`.

    Raises:
        FrontMatterError
    """
    import tomllib  # imported here, because few users have such files

    try:
        rows = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise FrontMatterError(f"it is not valid TOML: {error}") from error
    return MarkdownPage(rows, str(rows.get("developer_instructions", "")).strip())


def _tools(page: MarkdownPage, row: str) -> tuple[str, ...] | None:
    """Return the patterns for the tools that a subagent gets; None for all tools.

    A file of OpenCode may turn all tools off and some of them on: `tools: {"*": false, read: true}`.
    """
    switches = _switches(page)
    if any(name == "*" and _is_off(value) for name, value in switches):
        return tuple(_pattern(name) for name, value in switches if name != "*" and not _is_off(value))
    names = _patterns(page, row)
    return None if names and "*" in names else names


def _patterns(page: MarkdownPage, row: str) -> tuple[str, ...] | None:
    """Return the tool name patterns in a field; None if the field is absent."""
    if row not in page.rows or page.rows[row] is None or page.switches(row):
        return None
    names = page.names(row)
    # A name with a slash is a tool of a server, or one of VS Code behind its group.
    return (*map(_pattern, names), *(name for name in names if "/" in name))


def _switched_off(page: MarkdownPage) -> tuple[str, ...]:
    """Return the tools that a file of OpenCode takes away: `tools: {write: false}`, `permission: {edit: deny}`."""
    return tuple(_pattern(name) for name, value in _switches(page) if name != "*" and _is_off(value))


def _switches(page: MarkdownPage) -> Sequence[tuple[str, object]]:
    return (*page.switches("tools").items(), *page.switches("permission").items())


def _is_off(value: object) -> bool:
    """Return whether a tool is turned off: itself, or each pattern of its calls (`skill: {"*": deny}`)."""
    if isinstance(value, dict):
        return bool(value) and all(map(_is_off, value.values()))
    return value in (False, "false", "deny")


def _pattern(name: str) -> str:
    """Convert a tool name in the form of other agents to the form of agent-ls.

    `Bash(git:*)` becomes `Bash`; `mcp__db__query`, `db/query` and `@db/query`, tools of an MCP server, become
    `db__query`; a server without a tool (`mcp__db`) means all its tools.
    """
    name = name.partition("(")[0].strip()
    plain = name.removeprefix("mcp__").removeprefix("@").replace("/", "__")
    if name != plain:  # a tool of a server, whose name the model gets with `_` for other signs
        plain = re.sub(r"[^\w*?\[\]!]", "_", plain)
    return f"{plain}__*" if name.startswith(("mcp__", "@")) and "__" not in plain else plain
