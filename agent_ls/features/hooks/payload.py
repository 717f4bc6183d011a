"""Pure: build the JSON that a hook gets on standard input, with the field names that other coding agents use."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from agent_ls.environments.effects import CallEffect
from agent_ls.features.hooks.conditions import subject_of
from agent_ls.loop.calls.hooks import HookedCall
from agent_ls.patterns import regex
from agent_ls.tools.foreign_names import FOREIGN_NAMES

MAX_TEXT = 16 * 1024

_MODES = {"plan": "plan", "ask": "default", "edits": "acceptEdits", "full": "bypassPermissions"}


def tool_names(call: HookedCall) -> Sequence[str]:
    """Return all names of a call's tool that a matcher can match."""
    effect = call.effect
    of_server = (
        (f"mcp__{effect.server}__{effect.title}",) if isinstance(effect, CallEffect) and effect.server else ()
    )
    return (call.kind, call.name, *FOREIGN_NAMES.get(call.kind, ()), *of_server)


def payload(
    event: str, *, session_id: str, transcript: str, folder: str, mode: str, rows: Mapping[str, Any]
) -> str:
    """Return the JSON of one event. `rows` are the fields of this event.

    Each field is written twice: in snake_case and in camelCase. Hooks of Copilot read the arguments as a text with
    JSON.
    """
    common = {
        "session_id": session_id,
        "transcript_path": transcript,
        "cwd": folder,
        "permission_mode": _MODES.get(mode, mode),
        "hook_event_name": event,
    }
    camel = {_camel(name): value for name, value in {**common, **rows}.items()}
    if "tool_input" in rows:
        camel["toolArgs"] = json.dumps(rows["tool_input"], ensure_ascii=False)
    return json.dumps({**camel, **common, **rows}, ensure_ascii=False)


def call_rows(call: HookedCall, folder: str) -> dict[str, Any]:
    """Return the fields of an event about a tool call. A path is repeated as `file_path`, which most hooks read, and
    compare as an absolute path: a path is relative to `folder`.

    Hooks of Cursor read the command and the path at the top of the object.
    """
    given = dict(call.arguments)
    path = given.get("file_path", given.get("path", given.get("absolute_path")))
    more: dict[str, Any] = {}
    if isinstance(path, str):
        more = {"file_path": os.path.normpath(os.path.join(folder, os.path.expanduser(path)))}
    elif paths := subject_of(call.effect, folder).paths:  # a patch names its files in its text
        more = {"file_path": paths[0], "file_paths": list(paths)}
    name, *_ = (*FOREIGN_NAMES.get(call.kind, ()), call.name)
    agent = {"agent_id": call.agent_id} if call.agent_id else {}
    return {
        "tool_name": name,
        "tool": call.kind,
        "tool_input": {**given, **more},
        "tool_use_id": call.call_id,
        **{key: given[key] for key in ("command",) if isinstance(given.get(key), str)},
        **more,
        **agent,
    }


_GEMINI = {
    "shell": "run_shell_command", "read_file": "read_file", "write_file": "write_file", "edit_file": "replace",
    "apply_patch": "replace", "grep": "search_file_content", "glob": "glob", "list_dir": "list_directory",
    "web_fetch": "web_fetch", "web_search": "google_web_search",
}  # fmt: skip
_NAMES_IN: Mapping[str, Mapping[str, str]] = {
    ".codex": {"apply_patch": "apply_patch"},
    ".cursor": {"shell": "Shell", "edit_file": "Write", "apply_patch": "Write"},
    ".gemini": _GEMINI,
    ".qwen": {**_GEMINI, "edit_file": "edit", "apply_patch": "edit", "grep": "grep_search"},
}
"""The names of tools for the hooks in a folder of another agent, where they differ from those of Claude Code."""


def named_as_in(path: str, rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an event with the name of the tool that hooks of the file `path` know.

    Hooks of Codex read a patch as `tool_input.command`.
    """
    if "tool_input" not in rows:
        return rows
    folder = os.path.basename(os.path.dirname(path))
    name = _NAMES_IN.get(folder, {}).get(rows.get("tool", ""), rows["tool_name"])
    given = rows["tool_input"]
    if name == "apply_patch" and isinstance(given.get("patch"), str):
        given = {**given, "command": given["patch"]}
    return {**rows, "tool_name": name, "tool_input": given}


_ONE_WORD = regex(r"(?!-)[^\s'\"\\]*")


def odd_path(value: Any, key: str = "") -> str:
    """Return the first path in an event that a shell may read as several words, or a program as an option."""
    if isinstance(value, Mapping):
        return next((found for name, it in value.items() if (found := odd_path(it, name))), "")
    if isinstance(value, list):
        return next((found for it in value if (found := odd_path(it, key))), "")
    is_path = isinstance(value, str) and key.lower().endswith(("path", "paths"))
    return "" if not is_path or _ONE_WORD.fullmatch(value) else value


def cut(text: str) -> str:
    """Return at most MAX_TEXT characters of a text, with an ellipsis if it is longer."""
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
