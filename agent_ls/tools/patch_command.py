"""A patch that was sent as a command: `apply_patch <<'EOF' … EOF`, as models write it that know such a program.

It goes the way of the tool apply_patch, whatever else the model's tools are: no shell sees any of it, so nothing in
it is expanded. Only a command that is one patch and nothing else is taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.tools.base import ToolError

_BEGIN = re.compile(r"\*{2,}\s*begin\s+patch", re.IGNORECASE)
_NAME = r"(?:apply_patch|applypatch)"
_HEREDOC = r"<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)"
_SINGLE = r"'(?:[^']|'\\''|'\"'\"')*'"
_DOUBLE = r'"(?:[^"\\]|\\.)*"'
_WRAPPED = re.compile(rf"\s*(?:/\S*/)?(?:ba|z|da)?sh\s+-l?c\s+(?P<script>{_SINGLE}|{_DOUBLE})\s*", re.DOTALL)
_CD = re.compile(r"\s*cd\s+(?P<folder>'[^'\n]+'|\"[^\"$`\\\n]+\"|[^\s;&|<>()'\"$`\\~*?]+)\s*&&\s*")
_CALLED = re.compile(rf"\s*(?:cd\s[^\n]*?&&\s*)?(?:cat\s[^\n]*\|\s*)?{_NAME}(?=\s|$)")
_FROM_HEREDOC = (
    re.compile(rf"\s*{_NAME}\s*{_HEREDOC}[ \t]*\r?\n"),
    re.compile(rf"\s*cat\s*{_HEREDOC}[ \t]*\|[ \t]*{_NAME}[ \t]*\r?\n"),
)
_FROM_ARGUMENT = re.compile(rf"\s*{_NAME}\s+(?P<argument>{_SINGLE}|{_DOUBLE})\s*", re.DOTALL)
_ESCAPED = re.compile(r'\\([$`"\\]|\n)')

ALONE = (
    "This calls apply_patch, which is no program here but is understood where it is the whole command. "
    "Nothing was run. Send the patch alone, as apply_patch <<'EOF', the patch, and EOF as the last line; "
    "send other commands in a call of their own."
)


@dataclass(frozen=True, slots=True)
class PatchCommand:
    """`folder` is where a `cd` before the patch leads, "" for none."""

    patch: str
    folder: str = ""


def patch_command(command: str) -> PatchCommand | None:
    """The patch that a command is; None for a command that is for the shell.

    Raises:
        ToolError: it calls apply_patch with a patch, but is not that alone.
    """
    if not _BEGIN.search(command):
        return None
    wrapped = _WRAPPED.fullmatch(command)
    script = _unquoted(wrapped["script"]) if wrapped else command
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
    return _unquoted(argument["argument"]) if argument else None


def _maybe_body(lines: Sequence[str], word: str, *, tabs: bool) -> str | None:
    """Up to the end word, or all where it is missing, as a shell does; None when commands follow.

    `tabs`: they are stripped from the start of each line (`<<-`).
    """
    body = [line.lstrip("\t") for line in lines] if tabs else list(lines)
    end = next((at for at, line in enumerate(body) if line.rstrip("\r") == word), len(body))
    return None if any(line.strip() for line in body[end + 1 :]) else "\n".join(body[:end])


def _unquoted(quoted: str) -> str:
    """What a shell makes of one quoted word, but for what it would expand."""
    inner = quoted[1:-1]
    if quoted.startswith("'"):
        return inner.replace("'\\''", "'").replace("'\"'\"'", "'")
    return _ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], inner)
