"""What a model, a file or a command says, made safe for a document or a prompt (pure), and an approval in words."""

from __future__ import annotations

import re

from agent_ls.loop.events import ApprovalRequested
from agent_ls.text import without_escapes

PROMPT_CHARS = 2_000
"""A longer action is not asked about in a prompt: nobody could read what he allows."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Without escape sequences and control characters, but for newline and tab; no character turns the text around."""
    return _TURNING.sub("\ufffd", _CONTROL.sub("", without_escapes(text)))


def one_line(text: str, limit: int = 120) -> str:
    words = " ".join(plain(text).split())
    return words if len(words) <= limit else words[: limit - 1] + "\u2026"


def action(request: ApprovalRequested) -> tuple[str, str]:
    """The exact action, whole: what it is, and a command's words ("" for others)."""
    effect = request.effect
    if effect.get("type") == "CommandEffect":
        added = "".join(f"{name}={value} " for name, value in effect.get("envVars", ()))
        if process := effect.get("inputOf"):
            return f"type into the background process {plain(str(process))}", plain(
                str(effect.get("command"))
            )
        behind = " in the background" if effect.get("background") else ""
        return f"run{behind} in {plain(str(effect.get('workingDir')))}", plain(
            added + str(effect.get("command"))
        )
    if effect.get("type") == "CallEffect":
        added = "".join(f"{name}={value} " for name, value in effect.get("envVars", ()))
        return f"call the tool {plain(str(effect.get('tool')))}", plain(added + str(effect.get("text")))
    if effect.get("type") == "WriteEffect":
        files = effect.get("files", ())
        return ", ".join(f"{file.get('action')} {plain(str(file.get('path')))}" for file in files), ""
    if folder := effect.get("folder"):
        return f"be told whether you trust {plain(str(folder))}", ""
    if url := effect.get("url"):
        return f"fetch {plain(str(url))}", ""
    if paths := effect.get("paths"):
        return "read " + ", ".join(plain(str(path)) for path in paths), ""
    return plain(request.summary), ""


def question(request: ApprovalRequested) -> str:
    """What a prompt says."""
    what, command = action(request)
    reason = f"\n({plain(request.reason)})" if request.reason else ""
    return f"agent-ls wants to {what}" + (f":\n{command}" if command else "") + reason


def diffs(request: ApprovalRequested) -> str:
    """The changes that a write would make, as a fenced block; "" when it is something else."""
    files = request.effect.get("files", ()) if request.effect.get("type") == "WriteEffect" else ()
    text = "".join(plain(str(file.get("diff", ""))) for file in files)
    return fenced(text, "diff") if text.strip() else ""


def fenced(text: str, kind: str = "") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n"
