"""Recognise a patch that a model sends as a shell command: `apply_patch <<'EOF' … EOF`.

Some models know a program with this name. The tool apply_patch handles the patch, even if the model has no tool of that
name. No shell expands variables in the patch. Only a command that consists of exactly one patch is recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.patterns import regex
from agent_ls.tools.base import ToolError

_BEGIN = regex(r"\*{2,}\s*begin\s+patch", re.IGNORECASE)
_NAME = r"(?:apply_patch|applypatch)"
_HEREDOC = r"<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)"
_SINGLE = r"'(?:[^']|'\\''|'\"'\"')*'"
_DOUBLE = r'"(?:[^"\\]|\\.)*"'
_WRAPPED = regex(rf"\s*(?:/\S*/)?(?:ba|z|da)?sh\s+-l?c\s+(?P<script>{_SINGLE}|{_DOUBLE})\s*", re.DOTALL)
_CD = regex(r"\s*cd\s+(?P<folder>'[^'\n]+'|\"[^\"$`\\\n]+\"|[^\s;&|<>()'\"$`\\~*?]+)\s*&&\s*")
_CALLED = regex(rf"\s*(?:cd\s[^\n]*?&&\s*)?(?:cat\s[^\n]*\|\s*)?{_NAME}(?=\s|$)")
_FROM_HEREDOC = (
    regex(rf"\s*{_NAME}\s*{_HEREDOC}[ \t]*\r?\n"),
    regex(rf"\s*cat\s*{_HEREDOC}[ \t]*\|[ \t]*{_NAME}[ \t]*\r?\n"),
)
_FROM_ARGUMENT = regex(rf"\s*{_NAME}\s+(?P<argument>{_SINGLE}|{_DOUBLE})\s*", re.DOTALL)
_ESCAPED = regex(r'\\([$`"\\]|\n)')

ALONE = (
    "Nothing was run: apply_patch is not a program on this machine and only works as the whole command. "
    "Send the patch alone, as apply_patch <<'EOF', the patch, and EOF as the last line. Send other commands in "
    "a separate call."
)


@dataclass(frozen=True, slots=True)
class PatchCommand:
    """A patch in a shell command. `folder` is the target of a `cd` before the patch, "" for none."""

    patch: str
    folder: str = ""


def parse_patch_command(command: str) -> PatchCommand | None:
    """Return the patch in a command, None for a command without a patch.

    Raises:
        ToolError: the command calls apply_patch with a patch, but has further commands.
    """
    if not _BEGIN.search(command):
        return None
    wrapped = _WRAPPED.fullmatch(command)
    script = _unquote(wrapped["script"]) if wrapped else command
    if not _CALLED.match(script):
        return None
    cd = _CD.match(script)
    called = script[cd.end() :] if cd else script
    patch = _maybe_patch(called)
    if patch is None:
        raise ToolError(ALONE, kind="validation")
    return PatchCommand(patch, cd["folder"].strip("'\"") if cd else "")


def _maybe_patch(called: str) -> str | None:
    for heredoc in _FROM_HEREDOC:
        if match := heredoc.match(called):
            return _maybe_body(called[match.end() :].split("\n"), match["word"], tabs=bool(match["dash"]))
    argument = _FROM_ARGUMENT.fullmatch(called)
    return _unquote(argument["argument"]) if argument else None


def _maybe_body(lines: Sequence[str], word: str, *, tabs: bool) -> str | None:
    """Return the lines of a heredoc up to the delimiter `word`; None if commands follow the delimiter.

    Without the delimiter, return all lines, as a shell does. `tabs`: remove leading tabs from each line
    (`<<-`).
    """
    body = [line.lstrip("\t") for line in lines] if tabs else list(lines)
    end = next((at for at, line in enumerate(body) if line.rstrip("\r") == word), len(body))
    return None if any(line.strip() for line in body[end + 1 :]) else "\n".join(body[:end])


def _unquote(quoted: str) -> str:
    """Remove the quotes of one word as a shell does, without expanding anything."""
    inner = quoted[1:-1]
    if quoted.startswith("'"):
        return inner.replace("'\\''", "'").replace("'\"'\"'", "'")
    return _ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], inner)
