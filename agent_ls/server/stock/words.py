"""What a model, a file or a command says, made safe for a document or a prompt (pure), and an approval in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.environments.effects import TrustEffect
from agent_ls.loop.events import ApprovalRequested
from agent_ls.text import exact, without_escapes

PROMPT_CHARS = 2_000
"""A longer action is not asked about in a prompt: nobody could read what he allows."""
PROMPT_DIFF_LINES = 6
DENY, ALLOW = "Deny", "Allow once"
DISTRUST, TRUST = "Do not trust it", "Trust this folder"

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
            return f"type into the background process {exact(str(process))}", exact(
                str(effect.get("command"))
            )
        behind = " in the background" if effect.get("background") else ""
        return f"run{behind} in {exact(str(effect.get('workingDir')))}", exact(
            added + str(effect.get("command"))
        )
    if effect.get("type") == "CallEffect":
        added = "".join(f"{name}={value} " for name, value in effect.get("envVars", ()))
        return f"call the tool {exact(str(effect.get('tool')))}", exact(added + str(effect.get("text")))
    if effect.get("type") == "WriteEffect":
        files = effect.get("files", ())
        return ", ".join(f"{file.get('action')} {exact(str(file.get('path')))}" for file in files), ""
    if folder := effect.get("folder"):
        return f"be told whether you trust {exact(str(folder))}", ""
    if url := effect.get("url"):
        return f"fetch {exact(str(url))}", ""
    if paths := effect.get("paths"):
        return "read " + ", ".join(exact(str(path)) for path in paths), ""
    return exact(request.summary), ""


def is_trust(request: ApprovalRequested) -> bool:
    """Its answer holds from now on, and has words of its own."""
    return request.effect.get("type") == TrustEffect.__name__


def question(request: ApprovalRequested) -> str:
    """What a prompt says: a command, or a change that is small enough to be read there; the chat has all of it."""
    what, command = action(request)
    shown = command or _small_change(request)
    reason = f"\n({plain(request.reason)})" if request.reason else ""
    return f"agent-ls wants to {what}" + (f":\n{shown}" if shown else "") + reason


def _small_change(request: ApprovalRequested) -> str:
    """The lines that change; "" when they are many: some editors show few lines of a prompt."""
    lines = [line for diff in _diffs(request) for line in _changed_lines(diff.split("\n"))]
    text = "\n".join(lines)
    return text if len(lines) <= PROMPT_DIFF_LINES and len(text) <= PROMPT_CHARS // 2 else ""


def _changed_lines(diff: list[str]) -> list[str]:
    begin = 2 if diff[0].startswith("--- ") else 0  # the names
    return [line for line in diff[begin:] if line.startswith(("+", "-"))]


def _diffs(request: ApprovalRequested) -> list[str]:
    files = request.effect.get("files", ()) if request.effect.get("type") == "WriteEffect" else ()
    return [exact(str(file.get("diff", "")).replace("\r\n", "\n")) for file in files]


def diffs(request: ApprovalRequested) -> str:
    """The changes that a write would make, as a fenced block; "" when it is something else."""
    text = "".join(_diffs(request))
    return fenced(text, "diff") if text.strip() else ""


def fenced(text: str, kind: str = "") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n"


def chosen(words: str, choices: Sequence[str], *, multiple: bool = False) -> tuple[str, ...]:
    """The choices that a person means by these words, by the numbers or with commas between; else the words."""
    known = {_bare(choice): choice for choice in choices}
    known |= {str(number): choice for number, choice in enumerate(choices, start=1)}
    said = [_bare(part) for part in (re.split(r"[,\n]", words) if multiple else [words])]
    found = [known.get(part, "") for part in said if part]
    return tuple(dict.fromkeys(found)) if found and all(found) else (words,)


def _bare(words: str) -> str:
    return words.strip().rstrip(".!").casefold()
