"""Map our tool names to the names that files written for other agents use."""

from __future__ import annotations

from collections.abc import Mapping

FOREIGN_NAMES: Mapping[str, tuple[str, ...]] = {
    "shell": (
        "Bash", "run_shell_command", "execute_bash", "local_shell", "run_terminal_cmd", "execute_command",
        "run_command", "run_in_terminal", "terminal", "powershell",
    ),
    "read_file": ("Read", "fs_read", "view", "view_file", "ReadFile"),
    "write_file": ("Write", "create", "fs_write", "write_to_file", "WriteFile", "create_file"),
    "edit_file": ("Edit", "MultiEdit", "replace", "str_replace", "fs_write", "replace_in_file", "apply_diff"),
    "apply_patch": (
        "Edit", "MultiEdit", "Write", "replace", "write_file", "fs_write", "write_to_file", "replace_in_file",
        "apply_diff",
    ),
    "edit_notebook": ("NotebookEdit",),
    "grep": ("Grep", "search_files", "grep_search", "search_file_content", "SearchText"),
    "glob": ("Glob", "find_path", "file_search", "find_files", "FindFiles"),
    "list_dir": ("LS", "list_files", "list_directory", "ReadFolder"),
    "web_fetch": ("WebFetch", "fetch"),
    "web_search": ("WebSearch", "google_web_search"),
    "plan": ("TodoWrite", "write_todos"),
    "spawn_agent": ("Task", "Agent"),
    "use_skill": ("Skill", "activate_skill"),
}  # fmt: skip
"""Names of tools in other agents, by our name. The first name of each entry is Claude Code's usual name."""

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "execute": ("shell", "processes"),
    "read": ("read_file", "read_many_files"),
    "edit": ("edit_file", "write_file", "apply_patch", "edit_notebook"),
    "search": ("grep", "glob", "list_dir"),
    "web": ("web_fetch", "web_search"),
    "agent": ("spawn_agent", "send_input", "wait", "close_agent"),
    "todo": ("plan",),
    # Names of VS Code, in files of before the groups above.
    "codebase": ("grep", "glob", "list_dir"),
    "editFiles": ("edit_file", "write_file", "apply_patch", "edit_notebook"),
    "runCommands": ("shell", "processes"),
    "fetch": ("web_fetch",),
    # Names of VS Code, each behind its group.
    **dict.fromkeys(("search/codebase", "search/searchSubagent"), ("grep", "glob", "list_dir")),
    "search/textSearch": ("grep",),
    "search/fileSearch": ("glob",),
    "search/listDirectory": ("list_dir",),
    "read/readFile": ("read_file", "read_many_files"),
    "edit/editFiles": ("edit_file", "write_file", "apply_patch"),
    "edit/createFile": ("write_file", "apply_patch"),
    "edit/editNotebook": ("edit_notebook",),
    **dict.fromkeys(("execute/runInTerminal", "runCommands/runInTerminal"), ("shell", "processes")),
    "execute/getTerminalOutput": ("processes",),
    "web/fetch": ("web_fetch",),
    **dict.fromkeys(
        ("agent/runSubagent", "runSubagent"), ("spawn_agent", "send_input", "wait", "close_agent")
    ),
    # Claude Code's names. An agent that may start commands or agents must also be able to follow them.
    "Bash": ("processes",),
    "Read": ("read_many_files",),
    "Task": ("send_input", "wait", "close_agent"),
}
"""Our tool names, by Copilot's name for a group of tools, or by the name of a tool of Claude Code. The
entries of Claude Code's tools have only names that FOREIGN_NAMES lacks.
"""


def names_of_tool(kind: str, name: str) -> tuple[str, ...]:
    """Return all names that a file may use for a tool. `kind` is our name of the tool, `name` the name that
    the model knows.
    """
    groups = (group for group, kinds in _GROUPS.items() if kind in kinds)
    return (kind, name, *FOREIGN_NAMES.get(kind, ()), *groups)
