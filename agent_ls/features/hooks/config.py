"""Read hooks from JSON files, in the format that several agents share."""

from __future__ import annotations

import glob
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agent_ls.features.hooks.conditions import Subject
from agent_ls.features.hooks.forms import (
    COMMANDS,
    EVENTS,
    Matcher,
    compile_matcher,
    find_event,
    read_command,
    read_matcher,
)
from agent_ls.features.hooks.scripts import FOLDERS_OF_A_PROJECT, FOLDERS_OF_THE_USER, find_scripts
from agent_ls.jsonc import parse_jsonc
from agent_ls.services.permissions.command_files import Coverage, cover
from agent_ls.services.settings.model import HookSettings

MAX_BYTES = 256 * 1024
MAX_HOOKS = 100
DEFAULT_TIMEOUT_S = 30
PROMPT_TIMEOUT_S = 5
MAX_TIMEOUT_S = 600

_FOREIGN = (
    ".claude/settings.json", ".cursor/hooks.json", ".codex/hooks.json", ".gemini/settings.json", ".qwen/settings.json",
    ".continue/settings.json", ".windsurf/hooks.json",
)  # fmt: skip
"""Files of other agents that may have hooks, relative to the user's home folder or to a project."""

_SWITCHES = ("disabled", "enabled", "notifications")
"""Keys of Gemini CLI among the events: names of hooks that do not run, and settings."""

_OF_THE_USER = (".codeium/windsurf/hooks.json",)
_OF_A_PROJECT = (".claude/settings.local.json",)

Origin: TypeAlias = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Hook:
    """A command that runs at one event.

    `matcher` must match the whole name of a tool; None matches all tools. `folder` is the folder in which the command
    runs. A hook runs only as long as `coverage` is the same as when it was confirmed. Nobody waits for the answer of a
    hook that `is_async`. A hook that `is_script` is a file named after the event, which reads the input of Cline.
    """

    event: str
    matcher: Matcher | None
    command: str
    timeout_s: int
    origin: Origin
    path: str
    folder: str
    coverage: Coverage
    is_async: bool = False
    is_script: bool = False

    @property
    def is_of_project(self) -> bool:
        """Whether the hook is the project's, or is the user's but runs a file of the project."""
        return (
            self.origin == "project"
            or bool(self.coverage.doubt)
            or self.coverage.names_file_below(self.folder)
        )

    def covered_now(self) -> Coverage:
        """Return the files that decide what the hook runs, as they are now. Blocks."""
        return cover(self.command, self.folder, is_users=self.origin == "user")

    def matches(self, names: Sequence[str], subject: Subject | None = None) -> bool:
        """Return whether the hook runs for a tool with these names. `subject`: what the call is about, if known."""
        return self.matcher is None or self.matcher.matches(names, subject)


@dataclass(frozen=True, slots=True)
class FoundHooks:
    """All hooks of a session's folder.

    `problems` are sentences for the user; most begin with a file's path.
    """

    hooks: Sequence[Hook] = ()
    problems: Sequence[str] = ()


def load_hooks(settings: HookSettings, state: str, workspace: str | None, *, folder: str = "") -> FoundHooks:
    """Return the user's hooks, and all hooks of the trusted `workspace` (None: no workspace).

    Blocks. Hooks of the workspace are returned even if the user has not confirmed them. `state` is
    the state folder. `folder` is the folder in which the hooks run, "" for `workspace`. If there is no trusted
    workspace, hooks of the user that would run a file of the folder are left out.
    """
    if not settings.enabled:
        return FoundHooks()
    hooks: list[Hook] = []
    problems: list[str] = []
    for path, origin in _files(settings, state, workspace):
        for found in _read(path, origin, folder or workspace or state):
            if isinstance(found, str):
                problems.append(f"{path}: {found}")
            elif workspace or not found.is_of_project:
                hooks.append(found)
    for place, origin in _script_folders(settings, workspace):
        for found in _scripts(place, origin, folder or workspace or state):
            if isinstance(found, str):
                problems.append(found)
            elif workspace or not found.is_of_project:
                hooks.append(found)
    hooks = _once(hooks)
    if len(hooks) > MAX_HOOKS:
        problems.append(f"There are {len(hooks)} hooks; only the first {MAX_HOOKS} run.")
    return FoundHooks(hooks[:MAX_HOOKS], problems)


def _once(hooks: Sequence[Hook]) -> list[Hook]:
    """Return the hooks without those that the user or the project has in several files."""
    known: dict[tuple[str, str, str], Hook] = {}
    for hook in hooks:
        known.setdefault((hook.event, hook.matcher.pattern if hook.matcher else "", hook.command), hook)
    return [*known.values()]


def hook_files(settings: HookSettings, state: str, workspace: str | None) -> Iterator[str]:
    """Yield the files and folders at which `load_hooks` looks."""
    if settings.enabled:
        for path, _ in (*_files(settings, state, workspace), *_script_folders(settings, workspace)):
            yield path


def _files(settings: HookSettings, state: str, workspace: str | None) -> Iterator[tuple[str, Origin]]:
    yield os.path.join(state, "hooks.json"), "user"
    if settings.foreign:
        for name in (*_FOREIGN, *_OF_THE_USER):
            yield os.path.expanduser(os.path.join("~", *name.split("/"))), "user"
    if workspace:
        yield os.path.join(workspace, ".agent-ls", "hooks.json"), "project"
        if settings.foreign:
            for name in (*_FOREIGN, *_OF_A_PROJECT):
                yield os.path.join(workspace, *name.split("/")), "project"
            for path in sorted(
                glob.glob(
                    os.path.join(glob.escape(workspace), ".github", "hooks", "**", "*.json"), recursive=True
                )
            ):
                yield path, "project"


def _script_folders(settings: HookSettings, workspace: str | None) -> Iterator[tuple[str, Origin]]:
    if settings.foreign:
        for name in FOLDERS_OF_THE_USER:
            yield os.path.expanduser(os.path.join("~", *name.split("/"))), "user"
        for name in FOLDERS_OF_A_PROJECT if workspace else ():
            yield os.path.join(workspace or "", *name.split("/")), "project"


def _scripts(place: str, origin: Origin, folder: str) -> Iterator[Hook | str]:
    """Yield the hooks of a folder of Cline, or what is wrong with them."""
    for path, name, command in find_scripts(place):
        if not command:
            yield f"{path}: hooks in TypeScript, and hooks of the event TaskCancel, are not run."
            continue
        event, tools = find_event(name)
        covered = cover(command, folder, is_users=origin == "user")
        limit = _timeout_s({}, event)
        yield Hook(
            event, compile_matcher(tools), command, limit, origin, path, folder, covered, is_script=True
        )


def _read(path: str, origin: Origin, folder: str) -> Iterator[Hook | str]:
    try:
        data = read_regular(path, MAX_BYTES)
    except FileNotFoundError:
        return
    except OSError as error:
        yield f"the file cannot be read: {error.strerror or error}."
        return
    if data is None:
        yield f"this is not a regular file of at most {MAX_BYTES // 1024} KiB."
        return
    try:
        read = parse_jsonc(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        yield f"the file is not valid JSON: {error}."
        return
    events = read.get("hooks") if isinstance(read, dict) else None
    if isinstance(events, list) and all(
        isinstance(it, dict) and isinstance(it.get("event"), str) for it in events
    ):
        names = dict.fromkeys(it["event"] for it in events)
        events = {name: [it for it in events if it["event"] == name] for name in names}
    if events is None and isinstance(read, dict) and any(find_event(name)[0] for name in read):
        events = read
    if events is None and isinstance(read, dict) and os.path.basename(path) != "hooks.json":
        return  # another agent's settings file needs no hooks
    if not isinstance(events, dict):
        yield "`hooks` must be an object whose keys are names of events."
        return
    if read.get("disableAllHooks") is True:
        return
    left_out = events.get("disabled")
    names_left_out = left_out if isinstance(left_out, list) else []
    events = {name: it for name, it in events.items() if name not in _SWITCHES}
    for name, groups in events.items():
        event, tools = find_event(name)
        if isinstance(groups, str | Mapping):
            groups = _by_tool(groups) if isinstance(groups, Mapping) else [groups]
        if not event:
            yield f"{name!r} is not a known event; the events are {', '.join(EVENTS)}."
        elif groups is None:
            continue
        elif not isinstance(groups, list):
            yield f"the value of {event} must be a list."
        else:
            for number, group in enumerate(groups, 1):
                for one in _group(
                    (event, name), _without(group, names_left_out), tools, path, origin, folder
                ):
                    yield f"{event}, entry {number}: {one}" if isinstance(one, str) else one


def _without(group: Any, names: Sequence[Any]) -> Any:
    """Return an entry of an event without the hooks of these names."""
    if not names or not isinstance(group, Mapping) or not isinstance(group.get("hooks"), list):
        return group
    kept = [it for it in group["hooks"] if not isinstance(it, Mapping) or it.get("name") not in names]
    return {**group, "hooks": kept}


def _by_tool(groups: Mapping[str, Any]) -> list[Any]:
    """Return the entries of an event whose value is an object: one entry, or commands by the names of their tools."""
    known = {"hooks", "matcher", *COMMANDS} & groups.keys()
    if known or not groups or not all(isinstance(it, str | list) for it in groups.values()):
        return [groups]
    return [{"matcher": tool, "hooks": it if isinstance(it, list) else [it]} for tool, it in groups.items()]


def _group(
    names: tuple[str, str], group: Any, tools: str, path: str, origin: Origin, folder: str
) -> Iterator[Hook | str]:
    """Yield the hooks of an entry of an event, or what is wrong with them. `names` are our name of the event and the
    name in the file, `tools` is the matcher of an entry without one.
    """
    event, written = names
    group = {"command": group} if isinstance(group, str) else group
    if isinstance(group, Mapping) and "hooks" not in group and any(key in group for key in COMMANDS):
        group = {**group, "hooks": [group]}  # the form of agents whose entries are the hooks themselves
    if not isinstance(group, Mapping) or not isinstance(group.get("hooks"), list):
        yield "the entry needs a list named `hooks`."
        return
    for raw in group["hooks"]:
        raw = {"command": raw} if isinstance(raw, str) else raw
        limit = raw.get("if", group.get("if")) if isinstance(raw, Mapping) else None
        try:
            compiled = read_matcher(written, group.get("matcher"), tools, limit)
        except (re.error, TypeError) as error:
            yield f"the matcher {group.get('matcher')!r} is not a regular expression: {error}."
            return
        command = read_command(raw, folder) if isinstance(raw, Mapping) else ""
        kind = raw.get("type", "command" if command else None) if isinstance(raw, Mapping) else None
        if kind != "command":
            yield f"only hooks of type `command` are run, not {kind!r}: write the check as a command."
        elif not command.strip() or "\0" in command:
            yield "a hook needs a string named `command`."
        else:
            covered = cover(command, folder, is_users=origin == "user")
            is_async = raw.get("async") is True
            yield Hook(
                event, compiled, command, _timeout_s(raw, event), origin, path, folder, covered, is_async
            )


def _timeout_s(raw: Mapping[str, Any], event: str) -> int:
    """Return the time limit of a hook. Some agents count in milliseconds: no hook runs for a quarter of an hour."""
    given = _number(raw.get("timeout")) or _number(raw.get("timeoutSec"))
    given = given or _number(raw.get("timeoutMs", raw.get("timeout_ms"))) / 1000
    given = given / 1000 if given >= 1000 else given
    usual = PROMPT_TIMEOUT_S if event == "UserPromptSubmit" else DEFAULT_TIMEOUT_S
    return max(1, min(int(given), MAX_TIMEOUT_S)) if given > 0 else usual


def _number(value: object) -> float:
    try:
        found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except ValueError:
        return 0.0
    return found if math.isfinite(found) else 0.0


def read_regular(path: str, limit: int) -> bytes | None:
    """Return the bytes of a regular file; None if it is not a regular file or is longer than `limit`."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None
