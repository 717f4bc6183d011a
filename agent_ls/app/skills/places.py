"""The folders where users and projects keep skills and commands, the least important first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent_ls.app.settings.model import SkillSettings
from agent_ls.app.skills.files import Budget, walk_files
from agent_ls.app.skills.values import Origin

MAX_LEVELS = 30


@dataclass(frozen=True, slots=True)
class Place:
    """One folder to look through. `suffix` is the end of the names of its files."""

    folder: str
    kind: Literal["skill", "command", "agent"]
    origin: Origin
    suffix: str
    is_foreign: bool = False
    """The folder is named after another agent."""


_USER = (
    ("~/.agents/skills", "skill", "SKILL.md", False),
    ("~/.claude/skills", "skill", "SKILL.md", True),
    ("~/.claude/commands", "command", ".md", True),
    ("~/.codex/prompts", "command", ".md", True),
)
_STATE = (("skills", "skill", "SKILL.md", False), ("commands", "command", ".md", False))
_PROJECT = (
    (".claude/skills", "skill", "SKILL.md", True),
    (".github/skills", "skill", "SKILL.md", True),
    (".agents/skills", "skill", "SKILL.md", False),
    (".agent-ls/skills", "skill", "SKILL.md", False),
    (".gemini/commands", "command", ".toml", True),
    (".github/prompts", "command", ".prompt.md", True),
    (".cursor/commands", "command", ".md", True),
    (".claude/commands", "command", ".md", True),
    (".agent-ls/commands", "command", ".md", False),
)


_USER_AGENTS = (("~/.agents/agents", ".md", False), ("~/.claude/agents", ".md", True))
_PROJECT_AGENTS = (
    (".github/agents", ".agent.md", True),
    (".claude/agents", ".md", True),
    (".agents/agents", ".md", False),
    (".agent-ls/agents", ".md", False),
)


def find_agent_places(settings: SkillSettings, state: str, workspace: str | None) -> Iterator[Place]:
    """Yield the folders with kinds of subagents; of one name the later wins. Blocks. `workspace` as in find_places."""
    for folder, suffix, is_foreign in _USER_AGENTS:
        if settings.foreign or not is_foreign:
            yield Place(os.path.expanduser(folder), "agent", "user", suffix, is_foreign)
    yield Place(os.path.join(state, "agents"), "agent", "user", ".md")
    for level in _levels(workspace) if workspace else ():
        for folder, suffix, is_foreign in _PROJECT_AGENTS:
            path = os.path.join(level, folder)
            own = os.path.realpath(path) == os.path.join(os.path.realpath(level), folder)
            if own and (settings.foreign or not is_foreign):
                yield Place(path, "agent", "project", suffix, is_foreign)


def has_agent_kinds(settings: SkillSettings, state: str, workspace: str | None) -> bool:
    """Return whether the user or `workspace`, trusted or not, has any file of this sort. Blocks."""
    places = find_agent_places(settings, state, workspace) if settings.enabled else ()
    return any(
        True for place in places for _ in walk_files(place.folder, place.suffix, Budget(), lambda path: False)
    )


def find_places(settings: SkillSettings, state: str, workspace: str | None) -> Iterator[Place]:
    """Yield the folders to look through; of one name the later wins. Blocks.

    `workspace` None leaves out those of the project: it has no folder here, or the user does not trust it.
    """
    for folder, kind, suffix, is_foreign in _USER:
        yield _place(os.path.expanduser(folder), kind, "user", suffix, is_foreign)
    for folder, kind, suffix, is_foreign in _STATE:
        yield _place(os.path.join(state, folder), kind, "user", suffix, is_foreign)
    for folder in settings.folders:
        if os.path.isabs(expanded := os.path.expanduser(folder)):
            yield _place(expanded, "skill", "user", "SKILL.md", False)
    for level in _levels(workspace) if workspace else ():
        for folder, kind, suffix, is_foreign in _PROJECT:
            path = os.path.join(level, folder)
            # A project may not point at folders of the user by a link.
            if os.path.realpath(path) == os.path.join(os.path.realpath(level), folder):
                yield _place(path, kind, "project", suffix, is_foreign)


def _place(folder: str, kind: str, origin: Origin, suffix: str, is_foreign: bool) -> Place:
    return Place(folder, "skill" if kind == "skill" else "command", origin, suffix, is_foreign)


def _levels(workspace: str) -> list[str]:
    """The folders from the repository's root to the workspace folder; only the latter outside of a repository."""
    levels, level = [workspace], workspace
    for _ in range(MAX_LEVELS):
        if os.path.lexists(os.path.join(level, ".git")):
            return levels[::-1]
        level, below = os.path.dirname(level), level
        if level == below:
            break
        levels.append(level)
    return [workspace]
