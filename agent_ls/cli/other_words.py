"""Pure: the words of other command lines, and what means the same in this one. They are for hints only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

OTHER_COMMANDS: Mapping[str, str] = {
    "ask": "exec",
    "auth": "keys set",
    "chat": "exec --ask",
    "continue": "exec --resume ID",
    "gui": "panel",
    "history": "sessions",
    "init": "docs first-session",
    "install": "docs installation",
    "list": "sessions",
    "login": "keys set",
    "logout": "keys remove",
    "ls": "sessions",
    "lsp": "serve",
    "patch": "sessions export ID --format patch",
    "permissions": "policy list",
    "providers": "models",
    "report": "sessions export ID --format report",
    "resume": "exec --resume ID",
    "run": "exec",
    "settings": "docs configuration",
    "setup": "docs installation",
    "status": "doctor",
    "transcript": "sessions export ID",
    "tui": "exec --ask",
    "ui": "panel",
    "uninstall": "docs installation",
    "update": "docs installation",
    "upgrade": "docs installation",
    "version": "--version",
    "web": "panel",
}
"""What other programs call a command, and the words after `agent-ls` that do it."""

OTHER_OPTIONS: Mapping[str, str] = {
    "-C": "--cd",
    "-V": "--version",
    "-c": "--resume ID",
    "-m": "--model",
    "-r": "--resume ID",
    "-v": "--version",
    "--allow-tool": "--allow",
    "--allowed-tools": "--allow",
    "--allowedTools": "--allow",
    "--auto-edit": "--mode edits",
    "--continue": "--resume ID",
    "--cwd": "--cd",
    "--dangerously-bypass-approvals-and-sandbox": "--mode full",
    "--dangerously-skip-permissions": "--mode full",
    "--dir": "--cd",
    "--directory": "--cd",
    "--format": "--json",
    "--full-auto": "--mode edits --sandbox on",
    "--interactive": "--ask",
    "--max-budget-usd": "--max-cost",
    "--max-turns": "--max-rounds",
    "--output-format": "--json",
    "--permission-mode": "--mode",
    "--session": "--resume ID",
    "--yolo": "--mode full",
}
"""What other programs call an option, and what to write instead where a command has that option."""

_SAME: Iterable[frozenset[str]] = (
    frozenset({"list", "ls", "status"}),
    frozenset({"remove", "delete", "rm", "del", "uninstall", "unset", "forget"}),
    frozenset({"add", "set", "new", "create", "install", "store"}),
    frozenset({"show", "view", "get", "cat", "info"}),
    frozenset({"restrict", "distrust", "deny"}),
)
"""Words that mean one action."""


def same_action(word: str, known: Iterable[str]) -> str:
    """Return the known action that means the same as `word`; "" if there is none."""
    alike = {it for group in _SAME if word in group for it in group}
    return next((it for it in known if it in alike), "")
