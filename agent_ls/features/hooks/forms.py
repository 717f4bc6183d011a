"""Pure: the words in which agents write events, matchers and commands of hooks."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EVENTS = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PostCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "Notification",
)

_SHELL, _EDITS, _READS, _SERVERS = "Bash", "Edit|MultiEdit|Write|NotebookEdit", "Read", "mcp__.*"
_OF_OTHER_AGENTS: Mapping[str, tuple[str, str]] = {
    # Cursor
    "beforeshellexecution": ("PreToolUse", _SHELL),
    "aftershellexecution": ("PostToolUse", _SHELL),
    "beforemcpexecution": ("PreToolUse", _SERVERS),
    "aftermcpexecution": ("PostToolUse", _SERVERS),
    "beforereadfile": ("PreToolUse", _READS),
    "afterfileedit": ("PostToolUse", _EDITS),
    "beforesubmitprompt": ("UserPromptSubmit", ""),
    # Gemini CLI and Qwen Code
    "beforetool": ("PreToolUse", ""),
    "aftertool": ("PostToolUse", ""),
    "beforeagent": ("UserPromptSubmit", ""),
    "afteragent": ("Stop", ""),
    "precompress": ("PreCompact", ""),
    # Copilot
    "userpromptsubmitted": ("UserPromptSubmit", ""),
    "agentstop": ("Stop", ""),
    # Windsurf
    "preruncommand": ("PreToolUse", _SHELL),
    "postruncommand": ("PostToolUse", _SHELL),
    "prewritecode": ("PreToolUse", _EDITS),
    "postwritecode": ("PostToolUse", _EDITS),
    "prereadcode": ("PreToolUse", _READS),
    "premcptooluse": ("PreToolUse", _SERVERS),
    "postmcptooluse": ("PostToolUse", _SERVERS),
    "preuserprompt": ("UserPromptSubmit", ""),
}
"""Events of other agents, in small letters without underscores: our event, and the tools that they are about."""

COMMANDS = ("command", "bash", "powershell")
_PLAIN = re.compile(r"(?!.*\.\*)[\w\-*?\s,|./:()]+")
_PROJECT = re.compile(
    r"(?P<kept>'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.)|\$(?:(?:CLAUDE|AGENT_LS)_PROJECT_DIR\b|\{(?:CLAUDE|AGENT_LS)_PROJECT_DIR(?::-[^}]*)?\})",
    re.DOTALL,
)


def find_event(name: str) -> tuple[str, str]:
    """Return our event of this name, and the matcher that the name implies ("" for all tools); ("", "") if there is
    none. Agents differ in capitals and underscores.
    """
    plain = name.replace("_", "").replace("-", "").lower()
    own = next((event for event in EVENTS if event.lower() == plain), "")
    return (own, "") if own else _OF_OTHER_AGENTS.get(plain, ("", ""))


@dataclass(frozen=True, slots=True)
class Matcher:
    """A matcher as it is written in the file, and its meaning."""

    pattern: str
    meaning: re.Pattern[str]

    def matches(self, names: Sequence[str]) -> bool:
        return any(map(self.meaning.fullmatch, names))


def compile_matcher(matcher: object) -> Matcher | None:
    """Compile a matcher; None for all tools.

    A matcher without the signs of a regular expression is a list of names with wildcards: `mcp__db__*`, `Edit, Write`.
    The name of a server (`mcp__db`) covers its tools, and `Bash(git *)` is `Bash`: a hook runs rather once more than
    never.

    Raises:
        re.error, TypeError
    """
    if isinstance(matcher, list) and all(isinstance(it, str) for it in matcher):
        matcher = "|".join(matcher)
    if isinstance(matcher, Mapping):
        matcher = matcher.get("tool_name", matcher.get("tools", ""))
    if not isinstance(matcher, str):
        raise TypeError("it is no text")
    if matcher.strip() in ("", "*", ".*"):
        return None
    if not _PLAIN.fullmatch(matcher) or not _is_balanced(matcher):
        return Matcher(matcher, re.compile(matcher, re.IGNORECASE))
    names = [name.strip() for name in re.split(r"[,|]", re.sub(r"\([^()]*\)", "", matcher)) if name.strip()]
    names += [f"{name}__*" for name in names if name.startswith("mcp__") and "__" not in name[5:]]
    return Matcher(matcher, re.compile("|".join(map(fnmatch.translate, names)), re.IGNORECASE))


def _is_balanced(matcher: str) -> bool:
    """Return whether each bracket opens behind a name, as in `Bash(git *)`. In `(Edit|Write)` it is a group."""
    return not re.search(r"(?<!\w)\(|\)\w|\(\?", matcher)


def read_command(raw: Mapping[str, Any], folder: str) -> str:
    """Return the command line of a hook, "" for none. `folder` is the folder in which it runs.

    The command may be a list, have its arguments in `args`, or run in the folder `cwd`. If the path of `folder` has
    spaces, the project's variable is put in quotes, which most authors forget.
    """
    wanted = ("command", "powershell", "bash") if os.name == "nt" else ("command", "bash", "powershell")
    command = next((raw[key] for key in wanted if raw.get(key)), "")
    words = raw.get("args")
    if isinstance(command, list) and all(isinstance(it, str) for it in command):
        command = shlex.join(command)
    if (
        isinstance(command, str)
        and isinstance(words, list)
        and all(isinstance(it, str) for it in words)
        and words
    ):
        command = f"{command if ' ' not in command else shlex.quote(command)} {shlex.join(words)}"
    if not isinstance(command, str):
        return ""
    if command and isinstance(inner := raw.get("cwd"), str) and inner.strip() not in ("", ".", "./"):
        command = f"cd {shlex.quote(inner)} && {command}"
    if re.search(r"\s", folder):
        command = _PROJECT.sub(lambda found: found["kept"] or f'"{found[0]}"', command)
    return command
