"""Check the files of skills, commands, kinds of subagents and hooks for `agent-ls doctor`. Runs nothing.

Each finding names the file, the entry in the file, and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_ls.doctor.findings import DoctorFinding
from agent_ls.environments.instruction_files import MAX_FILES
from agent_ls.features.hooks.config import MAX_BYTES, Hook, load_hooks, read_regular
from agent_ls.features.hooks.confirmed import ConfirmedHooks, state_of
from agent_ls.features.skills.agents import load_agent_kinds
from agent_ls.features.skills.loader import load_user_commands
from agent_ls.features.skills.places import PROJECT_FOLDERS, find_agent_places, find_places
from agent_ls.features.tools.yaml_tools import own_names
from agent_ls.jsonc import parse_jsonc
from agent_ls.services.permissions.ignore_file import IgnoreFile
from agent_ls.services.permissions.trust import read_trust
from agent_ls.services.settings.model import Settings
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.tools.foreign_names import FOREIGN_NAMES

_OF_CALLS = frozenset(("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"))
_CLAUDE_SETTINGS = ("settings.json", "settings.local.json")
_PLUGIN_PARTS = ("skills", "commands", "agents", "hooks")
_PLUGIN_HINT = (
    "add its folder `skills` to the setting skills.folders; copy hooks, commands and agents that you need"
)
_FOREIGN_HOOKS = (".cursor/hooks.json", ".codex/hooks.json", ".gemini/settings.json")


def user_file_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Return findings about the files that the user writes, such as tools and skills. Blocks: run in a thread."""
    folder, state = str(Path().resolve()), str(state_folder())
    is_trusted = read_trust(folder) == "trusted"
    project = folder if is_trusted else None
    ignored = IgnoreFile((folder,))
    commands = load_user_commands(settings.skills, state, project, is_ignored=ignored)
    kinds = load_agent_kinds(settings.skills, state, project, is_ignored=ignored)
    for problem in (*commands.problems, *kinds.problems):
        yield DoctorFinding(
            "skills", "note", problem, "`agent-ls skills` lists the skills in use; see `agent-ls docs skills`"
        )
    if settings.skills.enabled:
        yield from _links(settings, state, project)
    hooks = load_hooks(settings.hooks, state, project, folder=folder)
    for problem in hooks.problems:
        yield DoctorFinding("hooks", "bad", problem, "correct the entry, see `agent-ls docs hooks`")
    confirmed = ConfirmedHooks(Path(state)).read()
    states = [(hook, state_of(hook, folder, confirmed)) for hook in hooks.hooks]
    if waiting := [it for it, its in states if its == "changed" or (its == "new" and it.is_of_project)]:
        text = f"{waiting[0].path}: {len(waiting)} hooks do not run, because their present version is not confirmed"
        yield DoctorFinding(
            "hooks",
            "note",
            text,
            "`agent-ls hooks` lists these hooks; `agent-ls hooks --confirm` lets them run",
        )
    if settings.hooks.enabled:
        yield from _foreign_hooks(settings, folder if is_trusted else None)
    yield from _unread_settings((os.path.expanduser("~"), *((folder,) if is_trusted else ())))
    yield from _unread_plugin(folder)
    if not is_trusted:
        yield from _unread(folder)
    for hook in hooks.hooks:
        if hook.event in _OF_CALLS and not _can_match(hook):
            yield DoctorFinding(
                "hooks", "note", f"{hook.path}: the matcher {_pattern(hook)} matches no tool of agent-ls",
                "use a tool name listed in `agent-ls docs hooks`, or SERVER__TOOL for a tool of an MCP server",
            )  # fmt: skip


def _links(settings: Settings, state: str, project: str | None) -> Iterator[DoctorFinding]:
    """Report symbolic links that leave a folder of skills, commands or subagents, because they are not followed."""
    places = {
        place.folder: None
        for find in (find_places, find_agent_places)
        for place in find(settings.skills, state, project)
        if settings.skills.foreign or not place.is_foreign
    }
    read = {os.path.realpath(place) for place in places}
    of_project = [os.path.join(project, folder) for folder, _ in PROJECT_FOLDERS] if project else []
    for path in sorted({*of_project} - {*places}):
        if os.path.isdir(path) and os.path.realpath(path) not in read:
            yield _link(path)
    for place in places:
        for entry in _entries(place):
            inner = [entry, os.path.join(entry, "SKILL.md")]
            if link := next((it for it in inner if os.path.exists(it) and _is_outside(it, place)), ""):
                yield _link(link)


def _entries(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))[:MAX_FILES]]
    except OSError:
        return []


def _is_outside(path: str, folder: str) -> bool:
    return not os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def _link(path: str) -> DoctorFinding:
    text = f"{path}: this symbolic link to {os.path.realpath(path)} is not followed, because it leaves its folder"
    return DoctorFinding(
        "skills",
        "note",
        text,
        "copy the file into the folder, or add the target's folder to the setting skills.folders",
    )


def _foreign_hooks(settings: Settings, project: str | None) -> Iterator[DoctorFinding]:
    """Report hook files of other agents that agent-ls does not read."""
    paths = [os.path.join(project, path) for path in _FOREIGN_HOOKS] if project else []
    paths += sorted(map(str, Path(project, ".github", "hooks").glob("*.json"))) if project else []
    if not settings.hooks.foreign:
        paths.append(os.path.expanduser("~/.claude/settings.json"))
        paths += [os.path.join(project, ".claude", name) for name in _CLAUDE_SETTINGS] if project else []
    for path in paths:
        try:
            data = read_regular(path, MAX_BYTES) or b""
        except OSError:
            continue
        if b'"hooks"' in data:
            is_shared = os.path.basename(path) in _CLAUDE_SETTINGS and ".claude" in path
            hint = (
                "set hooks.foreign to let agent-ls read these hooks"
                if is_shared
                else "copy the hooks that you need; see `agent-ls docs hooks`"
            )
            yield DoctorFinding(
                "hooks",
                "note",
                f"{path}: agent-ls does not read the hooks of another agent in this file",
                hint,
            )


def _unread_settings(folders: Sequence[str]) -> Iterator[DoctorFinding]:
    """Report what the settings of Claude Code have and agent-ls does not read."""
    for path in (os.path.join(folder, ".claude", name) for folder in folders for name in _CLAUDE_SETTINGS):
        try:
            read = parse_jsonc((read_regular(path, MAX_BYTES) or b"").decode("utf-8-sig"))
        except (OSError, ValueError):
            continue
        rows = read if isinstance(read, dict) else {}
        given = rows.get("permissions")
        rules = [it for kind in ("deny", "ask") for it in _list(given, kind) if not it.startswith("Read(")]
        if rules:
            text = f"{path}: agent-ls does not read these rules of permissions: {', '.join(rules[:5])}"
            yield DoctorFinding(
                "hooks", "note", text, "rules for `Read` hide files; use a hook for the others"
            )
        plugins = rows.get("enabledPlugins")
        names = [name for name, on in plugins.items() if on] if isinstance(plugins, dict) else []
        if names:
            text = f"{path}: agent-ls does not read plugins, here {', '.join(names[:5])}"
            yield DoctorFinding("hooks", "note", text, _PLUGIN_HINT)


def _unread_plugin(folder: str) -> Iterator[DoctorFinding]:
    """Report the parts of a plugin that `folder` is, because only its `.mcp.json` is read."""
    if os.path.exists(path := os.path.join(folder, ".claude-plugin", "plugin.json")):
        parts = [it for it in _PLUGIN_PARTS if os.path.isdir(os.path.join(folder, it))]
        text = f"{path}: agent-ls does not read this plugin's {', '.join(parts) or 'settings'}"
        yield DoctorFinding("skills", "note", text, _PLUGIN_HINT)


def _list(rows: object, key: str) -> list[str]:
    found = rows.get(key) if isinstance(rows, dict) else None
    return [it for it in found if isinstance(it, str)] if isinstance(found, list) else []


def _unread(folder: str) -> Iterator[DoctorFinding]:
    """Report hooks, skills, commands and subagents that are not read, because the user has not trusted `folder`."""
    names = (os.path.join(".agent-ls", "hooks.json"), *(path for path, _ in PROJECT_FOLDERS))
    if found := [name for name in names if os.path.exists(os.path.join(folder, name))]:
        text = f"{', '.join(dict.fromkeys(found))}: not read, because you have not trusted {folder}"
        yield DoctorFinding(
            "skills", "note", text, "`agent-ls trust add` in the folder, if you know its contents"
        )


def _pattern(hook: Hook) -> str:
    return repr(hook.matcher.pattern) if hook.matcher else "*"


def _can_match(hook: Hook) -> bool:
    """Return whether a hook's matcher can match a built-in tool.

    True if the matcher names a tool of an MCP server, because these tools are unknown here.
    """
    if hook.matcher is None or "__" in hook.matcher.pattern:
        return True
    return hook.matches((*own_names(), *(name for names in FOREIGN_NAMES.values() for name in names)))
