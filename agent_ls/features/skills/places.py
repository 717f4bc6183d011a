"""The folders of users and projects with skills and commands, in ascending precedence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent_ls.environments.instruction_files import LOCAL_FILES, USER_FILES, InstructionFiles, ReadBudget
from agent_ls.features.skills.values import Origin
from agent_ls.services.settings.model import SkillSettings


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A folder to search for skills, commands or kinds of subagents.

    Only files whose names end with `suffix` are read. `files` accesses the machine that has the folder.
    """

    folder: str
    kind: Literal["skill", "command", "agent"]
    origin: Origin
    suffix: str
    is_foreign: bool = False
    """Whether the folder belongs to another coding agent, such as `.claude`."""

    files: InstructionFiles = LOCAL_FILES


_USER = (
    ("~/.config/opencode/skill", "skill", "SKILL.md", True),
    ("~/.config/opencode/skills", "skill", "SKILL.md", True),
    ("~/.gemini/skills", "skill", "SKILL.md", True),
    ("~/.copilot/skills", "skill", "SKILL.md", True),
    ("~/.codex/skills", "skill", "SKILL.md", True),
    ("~/.cursor/skills", "skill", "SKILL.md", True),
    ("~/.qwen/skills", "skill", "SKILL.md", True),
    ("~/.config/crush/skills", "skill", "SKILL.md", True),
    ("~/.config/agents/skills", "skill", "SKILL.md", False),
    ("~/.agents/skills", "skill", "SKILL.md", False),
    ("~/.claude/skills", "skill", "SKILL.md", True),
    ("~/.config/opencode/command", "command", ".md", True),
    ("~/.config/opencode/commands", "command", ".md", True),
    ("~/.gemini/commands", "command", ".toml", True),
    ("~/.cursor/commands", "command", ".md", True),
    ("~/.claude/commands", "command", ".md", True),
    ("~/.codex/prompts", "command", ".md", True),
    ("~/.aws/amazonq/prompts", "command", ".md", True),
    ("~/.continue/prompts", "command", ".md", True),
)
_STATE = (("skills", "skill", "SKILL.md", False), ("commands", "command", ".md", False))
_SKILLS = (
    ".continue/skills", ".crush/skills",
    ".opencode/skill", ".opencode/skills", ".cline/skills", ".kilocode/skills", ".roo/skills", ".windsurf/skills",
    ".kiro/skills", ".qwen/skills", ".factory/skills", ".gemini/skills", ".codex/skills", ".cursor/skills",
    ".claude/skills", ".github/skills",
)  # fmt: skip
_COMMANDS = (
    (".amazonq/prompts", ".md"), (".continue/prompts", ".md"), (".codex/prompts", ".md"),
    (".gemini/commands", ".toml"), (".qwen/commands", ".toml"), (".qwen/commands", ".md"),
    (".github/prompts", ".prompt.md"), (".windsurf/workflows", ".md"), (".clinerules/workflows", ".md"),
    (".kilocode/workflows", ".md"), (".kilocode/commands", ".md"), (".roo/commands", ".md"),
    (".factory/commands", ".md"), (".augment/commands", ".md"), (".opencode/command", ".md"),
    (".opencode/commands", ".md"), (".cursor/commands", ".md"), (".claude/commands", ".md"),
)  # fmt: skip
_PROJECT = (
    *((folder, "skill", "SKILL.md", True) for folder in _SKILLS),
    (".agents/skills", "skill", "SKILL.md", False),
    (".agent-ls/skills", "skill", "SKILL.md", False),
    *((folder, "command", suffix, True) for folder, suffix in _COMMANDS),
    (".agents/commands", "command", ".md", False),
    (".agent-ls/commands", "command", ".md", False),
)


_USER_AGENTS = (
    ("~/.codex/agents", ".toml", True),
    ("~/.config/opencode/agent", ".md", True),
    ("~/.config/opencode/agents", ".md", True),
    ("~/.copilot/agents", ".md", True),
    ("~/.gemini/agents", ".md", True),
    ("~/.cursor/agents", ".md", True),
    ("~/.agents/agents", ".md", False),
    ("~/.claude/agents", ".md", True),
)
_PROJECT_AGENTS = (
    (".codex/agents", ".toml", True),
    (".opencode/agent", ".md", True),
    (".opencode/agents", ".md", True),
    (".gemini/agents", ".md", True),
    (".qwen/agents", ".md", True),
    (".cursor/agents", ".md", True),
    (".factory/droids", ".md", True),
    (".github/agents", ".md", True),
    (".claude/agents", ".md", True),
    (".agents/agents", ".md", False),
    (".agent-ls/agents", ".md", False),
)


PROJECT_FOLDERS = (
    *((folder, suffix) for folder, _, suffix, _ in _PROJECT),
    *((folder, suffix) for folder, suffix, _ in _PROJECT_AGENTS),
)
"""All folders of a project that are searched, each with the suffix of its file names."""


def find_agent_places(
    settings: SkillSettings, state: str, workspace: str | None, files: InstructionFiles = LOCAL_FILES
) -> Iterator[SkillFolder]:
    """Yield the folders with kinds of subagents, in ascending precedence. Blocks.

    The parameters are the same as those of `find_places`.
    """
    for folder, suffix, is_foreign in _USER_AGENTS if state else ():
        if settings.foreign or not is_foreign:
            yield SkillFolder(os.path.expanduser(folder), "agent", "user", suffix, is_foreign, USER_FILES)
    if state:
        yield SkillFolder(os.path.join(state, "agents"), "agent", "user", ".md", files=USER_FILES)
    for level in files.levels(workspace) if workspace else ():
        for folder, suffix, is_foreign in _PROJECT_AGENTS:
            if files.has_own_folder(level, folder) and (settings.foreign or not is_foreign):
                yield SkillFolder(os.path.join(level, folder), "agent", "project", suffix, is_foreign, files)


def has_agent_kinds(
    settings: SkillSettings, state: str, workspace: str | None, files: InstructionFiles = LOCAL_FILES
) -> bool:
    """Return whether the user or `workspace`, trusted or not, has any kind of subagent. Blocks."""
    places = find_agent_places(settings, state, workspace, files) if settings.enabled else ()
    return any(
        True
        for place in places
        for _ in place.files.walk(place.folder, place.suffix, ReadBudget(), lambda path: False)
    )


def find_places(
    settings: SkillSettings, state: str, workspace: str | None, files: InstructionFiles = LOCAL_FILES
) -> Iterator[SkillFolder]:
    """Yield the folders with skills and commands, in ascending precedence. Blocks.

    If two folders contain the same file name, the later folder is used. `state` is the state folder, "" leaves out
    the user's own folders.
    `workspace` is None if the user does not trust the project; in this case, its folders are left out. `files`
    accesses the machine that has the workspace; the user's own folders are on this machine.
    """
    for folder, kind, suffix, is_foreign in _USER if state else ():
        yield _place(os.path.expanduser(folder), kind, "user", suffix, is_foreign, USER_FILES)
    for folder, kind, suffix, is_foreign in _STATE if state else ():
        yield _place(os.path.join(state, folder), kind, "user", suffix, is_foreign, USER_FILES)
    for folder in settings.folders:
        if os.path.isabs(expanded := os.path.expanduser(folder)):
            yield _place(expanded, "skill", "user", "SKILL.md", False, USER_FILES)
    for level in files.levels(workspace) if workspace else ():
        for folder, kind, suffix, is_foreign in _PROJECT:
            # Leave out folders that are links, because a link in the project could lead to a folder of the user.
            if files.has_own_folder(level, folder):
                yield _place(os.path.join(level, folder), kind, "project", suffix, is_foreign, files)


def _place(
    folder: str,
    kind: str,
    origin: Origin,
    suffix: str,
    is_foreign: bool,
    files: InstructionFiles = LOCAL_FILES,
) -> SkillFolder:
    return SkillFolder(folder, "skill" if kind == "skill" else "command", origin, suffix, is_foreign, files)
