"""Finding `old_string` in a text, exactly and then more and more loosely (SEMANTICS 12.3). Knows no bytes, no file.

Each rung answers with all places that fit it; it is the caller who insists on exactly one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeAlias

from agent_ls.patch.indent import evidence, shifted_or_none
from agent_ls.patch.lines import line_hunks
from agent_ls.patch.matching import FileLines
from agent_ls.patch.typography import COMPOSED_LEVEL, is_blank, keep_spelling
from agent_ls.text import line_ending, split_lines, strip_ending

MatchedWith: TypeAlias = Literal[
    "exact",
    "line endings",
    "trailing blanks",
    "typography",
    "indentation",
    "unescaped",
    "line numbers",
]

_NUMBERED = re.compile(r"[ ]*(?P<number>\d+) \|(?: (?P<text>.*))?")  # as agent_ls.text.numbered shows lines
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r'\\[nt"\\]')
_ANY_ENDING = re.compile("\r\n|\r")
_LINE_ENDING = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of the text give way to `new`, whose endings are those of the place already."""

    start: int
    end: int
    new: str


class Haystack:
    """A file's text; its lines are made when a rung needs them, once. The first rung, mostly enough, needs none."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @cached_property
    def file(self) -> FileLines:
        return FileLines.of(self.lines)

    @cached_property
    def starts(self) -> list[int]:
        return [0, *accumulate(len(line) for line in self.lines)]

    def line_at(self, offset: int) -> int:
        """The line, from 0, that the character at `offset` is in."""
        return min(bisect_right(self.starts, offset) - 1, max(len(self.lines) - 1, 0))

    def ending_at(self, offset: int) -> str:
        """The ending of the line there; of the first line where that one has none. `offset` is not in a CRLF."""
        found = _LINE_ENDING.search(self.text, offset) or _LINE_ENDING.search(self.text)
        return found[0] if found else "\n"

    def in_its_endings(self, new: str, offset: int) -> str:
        return _lf(new).replace("\n", self.ending_at(offset))


def climb(haystack: Haystack, old: str, new: str) -> Iterator[tuple[MatchedWith, list[Span]]]:
    """The rungs in order, each with all its places, left to right and not overlapping."""
    yield "exact", _exact(haystack, old, new)
    yield "line endings", _by_endings(haystack, old, new)
    yield "trailing blanks", _whole_lines(haystack, old, new, 2, _as_sent)
    yield "typography", _whole_lines(haystack, old, new, COMPOSED_LEVEL, _in_its_spelling)
    yield "indentation", _whole_lines(haystack, old, new, 3, _in_its_indentation)
    unescaped = _unescaped(old), _unescaped(new)
    if unescaped[0] != old:
        yield "unescaped", _exact(haystack, *unescaped) or _by_endings(haystack, *unescaped)
    if _is_numbered(old):
        bare = _without_numbers(old), _without_numbers(new)
        yield "line numbers", _exact(haystack, *bare) or _by_endings(haystack, *bare)


def _exact(haystack: Haystack, old: str, new: str) -> list[Span]:
    spans = []
    text = haystack.text
    for start in _occurrences(text, old):
        # Never split a CRLF: "\nfoo" is found inside "\r\nfoo", and its line break is all of "\r\n".
        begin = start - 1 if text[start - 1 : start + 1] == "\r\n" else start
        placed = new if "\r" in new else haystack.in_its_endings(new, begin)
        spans.append(Span(begin, start + len(old), placed))
    return spans


def _by_endings(haystack: Haystack, old: str, new: str) -> list[Span]:
    if "\r" not in haystack.text and "\r" not in old:
        return []
    lengths = [len(strip_ending(line)) + bool(line_ending(line)) for line in haystack.lines]
    lf_starts = [0, *accumulate(lengths)]

    def offset(lf_offset: int) -> int:
        line = bisect_right(lf_starts, lf_offset) - 1
        return haystack.starts[line] + lf_offset - lf_starts[line]

    lf_old = _lf(old)
    found = [(offset(at), offset(at + len(lf_old))) for at in _occurrences(_lf(haystack.text), lf_old)]
    return [Span(start, end, haystack.in_its_endings(new, start)) for start, end in found]


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


Pair: TypeAlias = tuple[str, str]
"""A line of old_string, and the line of the file that it matched."""
Adapt: TypeAlias = Callable[[Sequence[Pair], Sequence[str], Sequence[Pair]], list[str] | None]
"""(pairs removed here, lines added for them, all pairs) -> the added lines as the file wants them, or None."""


def _whole_lines(haystack: Haystack, old: str, new: str, level: int, adapt: Adapt) -> list[Span]:
    wanted, ends_line = _in_lines(old)
    if all(map(is_blank, wanted)):
        return []
    spans: list[Span] = []
    for at in haystack.file.occurrences(wanted, level):
        start, end = haystack.starts[at], haystack.starts[at + len(wanted)]
        matched = haystack.lines[at : at + len(wanted)]
        if spans and start < spans[-1].end:
            continue
        replacement = _adapted(matched, wanted, new, haystack.ending_at(start), adapt)
        if replacement is None:
            continue
        ending = line_ending(matched[-1])
        if ends_line and not ending:  # the file's last line has no ending, and is to get none
            replacement = strip_ending(replacement)
        spans.append(Span(start, end if ends_line else end - len(ending), replacement))
    return spans


def _adapted(
    matched: Sequence[str], wanted: Sequence[str], new: str, ending: str, adapt: Adapt
) -> str | None:
    """The new text. Lines that old_string and new_string have in common stay exactly as the file has them."""
    new_lines, ends_line = _in_lines(new)
    pairs = [(theirs, strip_ending(ours)) for theirs, ours in zip(wanted, matched, strict=True)]
    result: list[str] = []
    kept = 0
    for hunk in line_hunks(wanted, new_lines):
        added = adapt(pairs[hunk.base_start : hunk.base_end], hunk.added, pairs)
        if added is None:
            return None
        result += matched[kept : hunk.base_start]
        result += [line + ending for line in added]
        kept = hunk.base_end
    result += matched[kept:]
    if result and not ends_line:
        result[-1] = strip_ending(result[-1])
    return "".join(result)


def _as_sent(removed: Sequence[Pair], added: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    return list(added)


def _in_its_spelling(removed: Sequence[Pair], added: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    if len(removed) != len(added):
        return list(added)
    return [keep_spelling(*pair, line) for pair, line in zip(removed, added, strict=True)]


def _in_its_indentation(
    removed: Sequence[Pair], added: Sequence[str], pairs: Sequence[Pair]
) -> list[str] | None:
    return shifted_or_none(added, evidence(pairs))


def _in_lines(text: str) -> tuple[list[str], bool]:
    """Lines without endings, and whether the last one is ended."""
    text = _lf(text)
    if not text:
        return [], True
    return text.removesuffix("\n").split("\n"), text.endswith("\n")


def _lf(text: str) -> str:
    return _ANY_ENDING.sub("\n", text) if "\r" in text else text


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)


def _is_numbered(text: str) -> bool:
    """Every line bears the prefix of our read tool, and the numbers count upwards."""
    found = [_NUMBERED.fullmatch(line) for line in _in_lines(text)[0]]
    numbers = [int(match["number"]) for match in found if match]
    consecutive = range(numbers[0], numbers[0] + len(found)) if numbers else range(0)
    return bool(numbers) and numbers == list(consecutive)


def _without_numbers(text: str) -> str:
    lines, ends_line = _in_lines(text)
    found = [(_NUMBERED.fullmatch(line), line) for line in lines]
    bare = [(match["text"] or "") if match else line for match, line in found]
    return "\n".join(bare) + ("\n" if lines and ends_line else "")
