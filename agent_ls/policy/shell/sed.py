"""Pure: decide whether a sed script only writes to stdout, without a command that reads, writes or runs a file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.patterns import regex

_BRACKETS = r"\[(?!\^?\])(?:\[:\w+:\]|\\[^\]\n]|(?!{0})[^\]\\\[\n])+\]"
"""Matches a set of characters that does not begin with `]` and is without the delimiter of the expression.

Whether these end the set or the expression depends on the version of sed.
"""
_REGEX = rf"(?:{_BRACKETS}|\\[^\n]|(?!{{0}})[^\\\n\[])*"
_TO_SLASH, _TO_DELIMITER = _REGEX.format("/"), _REGEX.format(r"\1")
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_TO_SLASH}/I?|\\([|#,:%@]){_TO_DELIMITER}\1I?)"
_STEP = regex(r"[+~]\d+")
_ONE_ADDRESS = regex(_ADDRESS)
_COMMAND = regex(
    r"[pdDnNgGhHxPz=]|l\d*|[qQ]\d*"
    rf"|s([/|#,:%@!_~;+]){_TO_DELIMITER}\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpiIm0-9]*"
    r"|y([/|#,:])(?:(?!\2)[^\\\n]|\\[^\n])*\2(?:(?!\2)[^\\\n]|\\[^\n])*\2"
)
_JUMP = regex(r"(?:[btT](?:[ \t]*\w+)?|:[ \t]*\w+)[ \t]*(?:(?=[;}])(?![^\n]*\\\n)|(?=\n)|\Z)")
"""Matches a label or a jump. busybox reads `#` after it as a label, and BSD everything up to the end of the line."""
_TEXT = regex(r"[aic](?:\\\n|\\?[ \t]*)[^\\\n}]*(?=\n|\Z)")
_END = regex(r"[ \t]*(?:#[^\n]*)?(?:[;\n]|(?=\})|\Z)")
_FLAGS = regex(
    r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--separate|--unbuffered|--null-data|--posix|--sandbox"
)
MAX_SCRIPT = 2_000


def only_prints(arguments: Sequence[str], patterns: Sequence[int] = ()) -> bool:
    """Return whether sed with these arguments writes only to stdout.

    `patterns` are the indexes of arguments that are patterns for file names.
    """
    scripts: list[str] = []
    operands: list[int] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            operands += range(at + 1, len(arguments))
            break
        if re.fullmatch(r"-[nErsuz]*e", word) or word == "--expression":
            if at + 1 >= len(arguments) or at + 1 in patterns:
                return False
            scripts.append(arguments[at + 1])
            at += 1
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word.startswith("-") and word != "-":
            if not _FLAGS.fullmatch(word) or at in patterns:
                return False
        else:
            operands.append(at)
        at += 1
    if not scripts:
        if not operands or operands[0] in patterns:
            return False
        scripts.append(arguments[operands.pop(0)])
    return all(map(is_harmless, scripts))


def is_harmless(script: str) -> bool:
    """Return whether a script has only harmless commands. The parser follows GNU sed."""
    if len(script) > MAX_SCRIPT:
        return False
    at, depth = 0, 0
    while at < len(script):
        if script[at] in " \t;\n":
            at += 1
            continue
        if script[at] == "#":
            at = (script.find("\n", at) + 1) or len(script)
            continue
        if script[at] == "}":
            depth -= 1
            end = _END.match(script, at + 1)
            if depth < 0 or end is None:
                return False
            at = max(end.end(), at + 1)
            continue
        at = _after_addresses(script, at)
        if script[at : at + 1] == "{":
            depth += 1
            at += 1
            continue
        if text := _TEXT.match(script, at):
            at = text.end()
            continue
        found = _JUMP.match(script, at) or _COMMAND.match(script, at)
        end = _END.match(script, found.end()) if found else None
        if end is None:
            return False
        at = end.end()
    return depth == 0


def _after_addresses(script: str, at: int) -> int:
    if first := _ONE_ADDRESS.match(script, at):
        at = first.end()
        blank = re.compile(r"[ \t]*,[ \t]*").match(script, at)
        if blank:
            second = _STEP.match(script, blank.end()) or _ONE_ADDRESS.match(script, blank.end())
            if second:
                at = second.end()
    found = re.compile(r"[ \t]*!?[ \t]*").match(script, at)
    return found.end() if found else at
