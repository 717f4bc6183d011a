"""Pure: texts of prompts and chat documents: one line of any text, a question about an approval, the user's choices."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.display.requests import describe_request
from agent_ls.loop.events.types import ApprovalRequested, QuestionAsked
from agent_ls.text import bare_words, diff_lines, format_code_block, reveal_controls, strip_controls

PROMPT_CHARS = 2_000
"""Maximum length of a prompt's text in characters. For a longer text no prompt is shown, because users could
not read the whole action in it.
"""
PROMPT_DIFF_LINES = 6
DENY, ALLOW = "Deny", "Allow once"
DISTRUST, TRUST = "Do not trust it", "Trust this folder"


def one_line(text: str, limit: int = 120) -> str:
    words = " ".join(strip_controls(text).split())
    return words if len(words) <= limit else words[: limit - 1] + "\u2026"


def question(request: ApprovalRequested) -> str:
    """Return the text of a prompt: the command, or the change if it is small enough to read. The chat shows
    the whole action.
    """
    what, details = describe_request(request)
    shown = details or _small_change(request)
    reason = f"\n({strip_controls(request.reason)})" if request.reason else ""
    return f"agent-ls wants to {what}" + (f":\n{shown}" if shown else "") + reason


def _small_change(request: ApprovalRequested) -> str:
    """Return the changed lines; "" if there are many, because some editors show few lines of a prompt."""
    lines = [line for diff in _diffs(request) for line in diff_lines(diff) if line.startswith(("+", "-"))]
    text = "\n".join(lines)
    return text if len(lines) <= PROMPT_DIFF_LINES and len(text) <= PROMPT_CHARS // 2 else ""


def _diffs(request: ApprovalRequested) -> list[str]:
    files = request.effect.get("files", ()) if request.effect.get("type") == "WriteEffect" else ()
    return [reveal_controls(str(file.get("diff", "")).replace("\r\n", "\n")) for file in files]


def diffs(request: ApprovalRequested) -> str:
    """Return the changes that a write would make as a fenced block; "" for other effects."""
    text = "".join(_diffs(request))
    return f"{format_code_block(text.rstrip(), 'diff')}\n" if text.strip() else ""


def match_choices(words: str, choices: Sequence[str], *, multiple: bool = False) -> tuple[str, ...]:
    """Return the choices that the user named by text or by number. With `multiple`, `words` may name several,
    separated by commas or lines.

    If a part of `words` matches no choice, return `words` unchanged, as the user's own answer.
    """
    known = {bare_words(choice): choice for choice in choices}
    known |= {str(number): choice for number, choice in enumerate(choices, start=1)}
    said = [bare_words(part) for part in (re.split(r"[,\n]", words) if multiple else [words])]
    found = [known.get(part, "") for part in said if part]
    return tuple(dict.fromkeys(found)) if found and all(found) else (words,)


def may_answer(asked: QuestionAsked, words: str) -> bool:
    """Return whether a message answers a question: at a limit, only a choice does."""
    return asked.purpose != "limit" or match_choices(words, asked.choices)[0] in asked.choices
