"""Pure: the words in which agents write events, matchers and commands of hooks."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_ls.features.hooks.conditions import Condition, Subject, read_command_limit, read_limits
from agent_ls.patterns import regex
from agent_ls.services.permissions.command_files import VARIABLES

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
    "postcascaderesponse": ("Stop", ""),
    # Cline
    "taskstart": ("SessionStart", "startup"),
    "taskresume": ("SessionStart", "resume"),
    "taskcomplete": ("Stop", ""),
    "sessionshutdown": ("SessionEnd", ""),
}
"""Events of other agents, in small letters without underscores: our event, and the tools that they are about."""

COMMANDS = ("command", "bash", "powershell")

_PLAIN = regex(r"(?!.*\.\*)[\w\-*?\s,|./:()]+")
_VARIABLE = f"(?:{'|'.join(VARIABLES)})"
_PROJECT = regex(
    rf"(?P<kept>'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.)|\$(?:{_VARIABLE}\b|\{{{_VARIABLE}(?::-[^}}]*)?\}})",
    re.DOTALL,
)


def find_event(name: str) -> tuple[str, str]:
    """Return our event of this name, and the matcher that the name implies ("" for all tools); ("", "") if there is
    none. Agents differ in capitals and underscores.
    """
    plain = name.replace("_", "").replace("-", "").lower()
    own = next((event for event in EVENTS if event.lower() == plain), "")
    return (own, "") if own else _OF_OTHER_AGENTS.get(plain, ("", ""))


ON_COMMANDS = ("beforeshellexecution", "aftershellexecution")
"""Events whose matcher is a regular expression for the whole command, and no name of a tool."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """A matcher as it is written in the file, and its meaning: the names of tools, the conditions of some of them, and
    the limit in the field `if`.
    """

    pattern: str
    meaning: re.Pattern[str]
    conditions: tuple[Condition, ...] = ()
    limit: Matcher | None = None

    def matches(self, names: Sequence[str], subject: Subject | None = None) -> bool:
        if not any(map(self.meaning.fullmatch, names)):
            return False
        if self.limit and not self.limit.matches(names, subject):
            return False
        mine = [it for it in self.conditions if any(map(it.names.fullmatch, names))]
        return subject is None or not mine or any(it.holds(subject) for it in mine)


def read_matcher(event: str, matcher: object, tools: str, limit: object) -> Matcher | None:
    """Return the matcher of a hook; None for all tools.

    `event` is the event as it is written, `tools` the matcher that it implies, `limit` the value of the field `if`.

    Raises:
        re.error, TypeError
    """
    if event.replace("_", "").lower() in ON_COMMANDS and isinstance(matcher, str):
        found = compile_matcher(tools)
        if found and matcher.strip() not in ("", "*", ".*") and not found.matches([matcher]):
            found = replace(found, pattern=matcher, conditions=(read_command_limit(matcher),))
    else:
        found = compile_matcher(matcher or tools)
    if not isinstance(limit, str) or (limited := compile_matcher(limit)) is None:
        return found
    if found is None:
        return limited
    return replace(found, pattern=f"{found.pattern}, if {limit}", limit=limited)


_CONDITION = regex(r"\btool(_name|_input\S*)? *(==|matches\b)|&&")


def compile_matcher(matcher: object) -> Matcher | None:
    """Compile a matcher; None for all tools.

    A matcher without the signs of a regular expression is a list of names with wildcards: `mcp__db__*`, `Edit, Write`.
    The name of a server (`mcp__db`) covers its tools, and `Bash(git *)` is `Bash` for these commands.

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
    if limits := read_limits(matcher):
        return Matcher(matcher, _names(limits.names), limits.conditions)
    if _CONDITION.search(matcher):
        raise TypeError(
            "it is a condition, but is compared with names of tools: write names such as Write|Edit, and let the "
            "command check the rest"
        )
    if not _PLAIN.fullmatch(matcher) or re.search(r"(?<!\w)\(|\)\w|\(\?|\(\w+(\|\w+)+\)", matcher):
        return Matcher(matcher, re.compile(matcher, re.IGNORECASE))
    names = re.sub(r"\([^()]*\)", "", matcher)
    if "(" in names or ")" in names:
        # As a name it would fit no tool, and a guard would never run.
        raise re.error("a round bracket is missing")
    return Matcher(matcher, _names(re.split(r"[,|]", names)))


def _names(names: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for names with wildcards. The name of an MCP server covers its tools."""
    names = [name.strip() for name in names if name.strip()]
    names += [f"{name}__*" for name in names if name.startswith("mcp__") and "__" not in name[5:]]
    return re.compile("|".join(map(fnmatch.translate, names)), re.IGNORECASE)


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
