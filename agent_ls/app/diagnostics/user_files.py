"""Check the files of skills, commands, kinds of subagents and hooks for `agent-ls doctor`. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agent_ls.app.clock import SystemClock
from agent_ls.app.diagnostics.findings import Finding
from agent_ls.app.hooks.config import Hook, load_hooks
from agent_ls.app.permissions.ignore_file import IgnoreFile
from agent_ls.app.permissions.trust import WorkspaceTrust
from agent_ls.app.settings.model import Settings
from agent_ls.app.settings.state_folder import state_folder
from agent_ls.app.skills.agents import load_agent_kinds
from agent_ls.app.skills.loader import load_user_commands
from agent_ls.store.trust import TrustStore
from agent_ls.tools.foreign_names import CLAUDE_NAMES

_OF_CALLS = frozenset(("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"))
_OTHER_TOOLS = (
    "processes", "ask_user", "use_skill", "read_many_files", "send_input", "wait", "close_agent", "submit", "think",
)  # fmt: skip


def user_file_findings(settings: Settings) -> Iterator[Finding]:
    """Return the findings; empty if there are no such files. Blocks: run in a thread."""
    folder, state = str(Path().resolve()), str(state_folder())
    is_trusted = WorkspaceTrust(TrustStore(state_folder()), SystemClock()).standing(folder) == "trusted"
    project = folder if is_trusted else None
    ignored = IgnoreFile((folder,))
    commands = load_user_commands(settings.skills, state, project, is_ignored=ignored)
    kinds = load_agent_kinds(settings.skills, state, project, is_ignored=ignored)
    for problem in (*commands.problems, *kinds.problems):
        yield Finding("skills", "note", problem, "`agent-ls skills` lists what is used, see docs/skills.md")
    hooks = load_hooks(settings.hooks, state, project)
    for problem in hooks.problems:
        yield Finding("hooks", "bad", problem, "mend the entry, see docs/hooks.md")
    for hook in hooks.hooks:
        if hook.event in _OF_CALLS and not _can_match(hook):
            yield Finding(
                "hooks", "note", f"{hook.path}: the matcher {_pattern(hook)} fits no tool of agent-ls",
                "use a name of docs/hooks.md, or SERVER__TOOL for a tool of an MCP server",
            )  # fmt: skip


def _pattern(hook: Hook) -> str:
    return repr(hook.matcher.pattern) if hook.matcher else "*"


def _can_match(hook: Hook) -> bool:
    """Return whether a matcher can match a built-in tool. True if it names a tool of an MCP server, which is unknown
    here.
    """
    names = {name for kind, others in CLAUDE_NAMES.items() for name in (kind, *others)}
    return hook.matcher is None or "__" in hook.matcher.pattern or hook.matches((*names, *_OTHER_TOOLS))
