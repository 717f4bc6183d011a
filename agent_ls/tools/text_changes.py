"""Apply an editor's text changes to a text: all changes, or none if one of them is invalid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from agent_ls.environments.errors import NoAnswerError
from agent_ls.environments.language_host import TextChange, code_points
from agent_ls.patterns import regex
from agent_ls.text import is_encodable, preferred_ending, split_lines, strip_ending

_LINE_END = regex(r"\r\n|\n|\r")


def apply_text_changes(text: str, changes: Sequence[TextChange], expected: str = "") -> str:
    """Return `text` with all changes applied. New text gets the line endings of `text`.

    Each change must either only insert text, or replace text that contains `expected` (ignoring case).

    Raises:
        NoAnswerError: changes overlap, lie outside the text, or do not replace `expected`.
    """
    lines = split_lines(text)
    starts = [0, *accumulate(map(len, lines))]
    ending = preferred_ending(lines)

    def offset(line: int, character: int) -> int:
        if line >= len(lines):
            return len(text)
        return starts[line] + code_points(strip_ending(lines[line]), character)

    parts, done = [], 0
    for change in sorted(changes, key=_text_range):
        start = offset(change.start_line, change.start_character)
        end = offset(change.end_line, change.end_character)
        if change.start_line > len(lines) or end < start:
            raise NoAnswerError("The editor's answer points outside of the file.")
        if start < done:
            raise NoAnswerError("The editor's answer changes the same text twice.")
        if not is_encodable(change.text):
            raise NoAnswerError("The editor's answer contains a lone surrogate.")
        replaced = text[start:end]
        if replaced and expected.casefold() not in replaced.casefold():
            raise NoAnswerError(
                f"The editor's answer does not match the text of the file: line {change.start_line + 1} has "
                f"{replaced[:60]!r} where it expects {expected!r}."
            )
        parts += [text[done:start], _LINE_END.sub(ending, change.text)]
        done = end
    return "".join([*parts, text[done:]])


def _text_range(change: TextChange) -> tuple[int, int, int, int]:
    return change.start_line, change.start_character, change.end_line, change.end_character
