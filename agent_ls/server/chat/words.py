"""Pure: make text of models, files and commands safe for a document or a prompt, and describe an approval."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_ls.environments.effects import TrustEffect
from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.text import reveal_controls, strip_escapes

PROMPT_CHARS = 2_000
"""Maximum length of a prompt's text in characters. For a longer text no prompt is shown, because users could
not read the whole action in it.
"""
PROMPT_DIFF_LINES = 6
DENY, ALLOW = "Deny", "Allow once"
DISTRUST, TRUST = "Do not trust it", "Trust this folder"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def strip_controls(text: str) -> str:
    """Remove escape sequences, control characters (except newline and tab) and characters that change the text
    direction.
    """
    return _TURNING.sub("\ufffd", _CONTROL.sub("", strip_escapes(text)))


def one_line(text: str, limit: int = 120) -> str:
    words = " ".join(strip_controls(text).split())
    return words if len(words) <= limit else words[: limit - 1] + "\u2026"


def action(request: ApprovalRequested) -> tuple[str, str]:
    """Describe the requested action exactly and completely. Returns a phrase that continues "The agent wants
    to", and the command line or the arguments ("" for none).
    """
    effect = request.effect
    if effect.get("type") == "CommandEffect":
        added = "".join(f"{name}={value} " for name, value in effect.get("envVars", ()))
        if process := effect.get("inputOf"):
            return (
                f"type into the background process {reveal_controls(str(process))}",
                reveal_controls(str(effect.get("command"))),
            )
        behind = " in the background" if effect.get("background") else ""
        return (
            f"run{behind} in {reveal_controls(str(effect.get('workingDir')))}",
            reveal_controls(added + str(effect.get("command"))),
        )
    if effect.get("type") == "CallEffect" and effect.get("server"):
        return _server_call(effect)
    if effect.get("type") == "ServerEffect":
        return server_start(effect)
    if effect.get("type") == "CallEffect":
        added = "".join(f"{name}={value} " for name, value in effect.get("envVars", ()))
        return f"call the tool {reveal_controls(str(effect.get('tool')))}", reveal_controls(
            added + str(effect.get("text"))
        )
    if effect.get("type") == "WriteEffect":
        files = effect.get("files", ())
        return ", ".join(
            f"{file.get('action')} {reveal_controls(str(file.get('path')))}" for file in files
        ), ""
    if folder := effect.get("folder"):
        return f"know whether you trust {reveal_controls(str(folder))}", ""
    if url := effect.get("url"):
        return f"fetch {reveal_controls(str(url))}", ""
    if paths := effect.get("paths"):
        return "read " + ", ".join(reveal_controls(str(path)) for path in paths), ""
    return reveal_controls(request.summary), ""


def _server_call(effect: Mapping[str, Any]) -> tuple[str, str]:
    """Describe a call of an MCP server's tool. Returns a phrase like that of `action`, and the details: the
    arguments, the server's description of the tool, and how the server has changed since the user approved
    it.
    """
    parts = [
        reveal_controls(str(effect.get("text"))),
        f"The server's description of the tool:\n{reveal_controls(str(effect.get('about', '')))}",
    ]
    if change := effect.get("change"):
        parts.append(f"The server has changed since you approved it:\n{reveal_controls(str(change))}")
    name, server = reveal_controls(str(effect.get("title"))), reveal_controls(str(effect.get("server")))
    return f"call the tool {name} of the MCP server {server}", "\n\n".join(parts)


def server_start(effect: Mapping[str, Any]) -> tuple[str, str]:
    """Describe completely which MCP server would be started or connected. Returns a phrase like that of
    `action`, and the command or URL with its settings.
    """
    lines = [reveal_controls(str(effect.get("command") or effect.get("url")))]
    lines += [f"with {reveal_controls(str(it))}" for it in effect.get("variables", ())]
    if file := effect.get("file"):
        lines.append(f"configured in {reveal_controls(str(file))}")
    if effect.get("isFetched"):
        lines.append("The command downloads the program that it runs.")
    verb = "start" if effect.get("command") else "connect with"
    return f"{verb} the MCP server {reveal_controls(str(effect.get('name')))}", "\n".join(lines)


def is_trust(request: ApprovalRequested) -> bool:
    """Return whether the request asks to trust a folder. The answer is stored permanently, so the buttons have
    other titles.
    """
    return request.effect.get("type") == TrustEffect.__name__


def question(request: ApprovalRequested) -> str:
    """Return the text of a prompt: the command, or the change if it is small enough to read. The chat shows
    the whole action.
    """
    what, command = action(request)
    shown = command or _small_change(request)
    reason = f"\n({strip_controls(request.reason)})" if request.reason else ""
    return f"agent-ls wants to {what}" + (f":\n{shown}" if shown else "") + reason


def _small_change(request: ApprovalRequested) -> str:
    """Return the changed lines; "" if there are many, because some editors show few lines of a prompt."""
    lines = [line for diff in _diffs(request) for line in _changed_lines(diff.split("\n"))]
    text = "\n".join(lines)
    return text if len(lines) <= PROMPT_DIFF_LINES and len(text) <= PROMPT_CHARS // 2 else ""


def _changed_lines(diff: list[str]) -> list[str]:
    begin = 2 if diff[0].startswith("--- ") else 0  # skip the file names
    return [line for line in diff[begin:] if line.startswith(("+", "-"))]


def _diffs(request: ApprovalRequested) -> list[str]:
    files = request.effect.get("files", ()) if request.effect.get("type") == "WriteEffect" else ()
    return [reveal_controls(str(file.get("diff", "")).replace("\r\n", "\n")) for file in files]


def diffs(request: ApprovalRequested) -> str:
    """Return the changes that a write would make as a fenced block; "" for other effects."""
    text = "".join(_diffs(request))
    return format_code_block(text, "diff") if text.strip() else ""


def format_code_block(text: str, kind: str = "") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n"


def match_choices(words: str, choices: Sequence[str], *, multiple: bool = False) -> tuple[str, ...]:
    """Return the choices that the user named by text or by number. With `multiple`, `words` may name several,
    separated by commas or lines.

    If a part of `words` matches no choice, return `words` unchanged, as the user's own answer.
    """
    known = {_bare(choice): choice for choice in choices}
    known |= {str(number): choice for number, choice in enumerate(choices, start=1)}
    said = [_bare(part) for part in (re.split(r"[,\n]", words) if multiple else [words])]
    found = [known.get(part, "") for part in said if part]
    return tuple(dict.fromkeys(found)) if found and all(found) else (words,)


def _bare(words: str) -> str:
    return words.strip().rstrip(".!").casefold()
