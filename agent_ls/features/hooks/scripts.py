"""Find the hooks of Cline, which are files named after an event, and build the input that they read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from agent_ls.features.hooks.forms import find_event

FOLDERS_OF_A_PROJECT = (".clinerules/hooks", ".cline/hooks")
FOLDERS_OF_THE_USER = (".cline/hooks", "Documents/Cline/Hooks", "Documents/Cline/Rules/Hooks")

_PROGRAMS: Mapping[str, str] = {
    ".sh": "bash", ".bash": "bash", ".zsh": "zsh", ".py": "python3", ".js": "node", ".mjs": "node", ".cjs": "node",
}  # fmt: skip
_NOT_RUN = (".ts", ".mts", ".cts")
_WITHOUT_EVENT = ("taskcancel",)
"""Events of Cline that agent-ls does not have."""

_TOOLS: Mapping[str, str] = {
    "shell": "execute_command",
    "read_file": "read_file",
    "write_file": "write_to_file",
    "edit_file": "replace_in_file",
    "apply_patch": "replace_in_file",
    "grep": "search_files",
    "list_dir": "list_files",
}
"""Cline's names of our tools."""


def find_scripts(folder: str) -> Iterator[tuple[str, str, str]]:
    """Yield the hooks of a folder: the path, the name that is the event, and the command, "" if it cannot be run.

    Blocks. A file without an ending that is not executable is one that the user has switched off.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        event, ending = os.path.splitext(name)
        if not os.path.isfile(path) or not (find_event(event)[0] or event.lower() in _WITHOUT_EVENT):
            continue
        if not find_event(event)[0]:
            if ending.lower() in (*_PROGRAMS, *_NOT_RUN) or os.access(path, os.X_OK):
                yield path, event, ""
        elif ending.lower() in _PROGRAMS:
            yield path, event, f"{_PROGRAMS[ending.lower()]} {shlex.quote(path)}"
        elif ending.lower() in _NOT_RUN:
            yield path, event, ""
        elif not ending and os.access(path, os.X_OK):
            yield path, event, shlex.quote(path)


def script_rows(event: str, rows: Mapping[str, Any], session_id: str, folder: str) -> dict[str, Any]:
    """Return the fields of an event, and the same in Cline's form: an object whose name is the event."""
    about: dict[str, Any] = {"taskMetadata": {"taskId": session_id}}
    if "tool_input" in rows:
        given = dict(rows["tool_input"])
        if isinstance(path := rows.get("file_path"), str):
            inside = os.path.relpath(path, folder)
            given["path"] = path if inside.startswith("..") else inside
        about = {"toolName": _TOOLS.get(rows.get("tool", ""), rows["tool_name"]), "parameters": given}
    if isinstance(done := rows.get("tool_response"), Mapping):
        about |= {"result": done.get("output", ""), "success": not done.get("is_error")}
    if "prompt" in rows:
        about = {"prompt": rows["prompt"], "attachments": []}
    name = {"SessionStart": "TaskStart", "Stop": "TaskComplete", "PostToolUseFailure": "PostToolUse"}.get(
        event, event
    )
    name = "TaskResume" if rows.get("source") == "resume" else name
    cline = {
        "hookName": name,
        "taskId": session_id,
        "workspaceRoots": [folder],
        name[0].lower() + name[1:]: about,
    }
    return {**rows, **cline}
