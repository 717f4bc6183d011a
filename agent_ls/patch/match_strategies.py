"""Find `old_string` in a text: first exactly, then by looser strategies.

Each strategy returns all its matches; the caller decides whether several are acceptable. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeAlias

from agent_ls.patch.indent import indent_pairs, try_shift_indentation
from agent_ls.patch.line_diff import line_hunks
from agent_ls.patch.line_search import FileLines
from agent_ls.patch.typography import COMPOSED_LEVEL, is_blank, keep_spelling, to_ascii_punctuation
from agent_ls.patterns import regex
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

_NUMBERED = regex(
    r"[ ]*(?P<number>\d+) \|(?: (?P<text>.*))?"
)  # matches the line format of agent_ls.text.number_lines
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}
_ESCAPE = regex(r'\\[nt"\\]')
_ANY_ENDING = regex("\r\n|\r")
_LINE_ENDING = regex("\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Substitution:
    """A replacement of characters [start, end) of the text by `new`. `new` already has the text's line endings."""

    start: int
    end: int
    new: str


class SearchableText:
    """A file's text. Its lines are computed at the first use.

    The exact strategy, which usually succeeds, needs no lines.
    """

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
        """Return the line, from 0, that contains the character at `offset`."""
        return min(bisect_right(self.starts, offset) - 1, max(len(self.lines) - 1, 0))

    def ending_at(self, offset: int) -> str:
        """Return the ending of the line at `offset`; if that line has none, the file's first line ending.

        `offset` must not be inside a CRLF.
        """
        found = _LINE_ENDING.search(self.text, offset) or _LINE_ENDING.search(self.text)
        return found[0] if found else "\n"

    def in_its_endings(self, new: str, offset: int) -> str:
        return _lf(new).replace("\n", self.ending_at(offset))


def find_by_strategies(
    haystack: SearchableText, old: str, new: str
) -> Iterator[tuple[MatchedWith, list[Substitution]]]:
    """Try the strategies in order. Yield each strategy with its matches, from left to right. Matches may overlap."""
    exact, by_endings = _match_exactly(haystack, old, new), _by_endings(haystack, old, new)
    # The model does not see the line endings, so it cannot mean one of two places that differ only in them.
    is_unclear = "\n" in old and "\r" not in old and len(by_endings) > len(exact)
    yield "exact", [] if is_unclear else exact
    yield "line endings", by_endings
    yield "trailing blanks", _whole_lines(haystack, old, new, 2, _as_sent)
    yield "typography", _whole_lines(haystack, old, new, COMPOSED_LEVEL, _in_its_spelling)
    yield "typography", _match_plainly(haystack, old, new)
    yield "indentation", _whole_lines(haystack, old, new, 3, _in_its_indentation)
    unescaped = _unescape(old), _unescape(new)
    if unescaped[0] != old:
        yield "unescaped", _match_exactly(haystack, *unescaped) or _by_endings(haystack, *unescaped)
    if _is_numbered(old):
        bare = _without_numbers(old), _without_numbers(new)
        yield "line numbers", _match_exactly(haystack, *bare) or _by_endings(haystack, *bare)


def _match_exactly(haystack: SearchableText, old: str, new: str) -> list[Substitution]:
    spans = []
    text = haystack.text
    for start in _occurrences(text, old):
        # Never split a CRLF: `old` = "\nfoo" is also found inside "\r\nfoo". In that case the match must include
        # the "\r".
        begin = start - 1 if text[start - 1 : start + 1] == "\r\n" else start
        placed = new if "\r" in new else haystack.in_its_endings(new, begin)
        spans.append(Substitution(begin, start + len(old), placed))
    return spans


def _by_endings(haystack: SearchableText, old: str, new: str) -> list[Substitution]:
    if "\r" not in haystack.text and "\r" not in old:
        return []
    lengths = [len(strip_ending(line)) + bool(line_ending(line)) for line in haystack.lines]
    lf_starts = [0, *accumulate(lengths)]

    def offset(lf_offset: int) -> int:
        line = bisect_right(lf_starts, lf_offset) - 1
        return haystack.starts[line] + lf_offset - lf_starts[line]

    lf_old = _lf(old)
    found = [(offset(at), offset(at + len(lf_old))) for at in _occurrences(_lf(haystack.text), lf_old)]
    return [Substitution(start, end, haystack.in_its_endings(new, start)) for start, end in found]


def _match_plainly(haystack: SearchableText, old: str, new: str) -> list[Substitution]:
    """Match also within lines, but compare dashes, quotes and spaces as ASCII."""
    if (haystack.text + old).isascii():
        return []
    plain, wanted = SearchableText(to_ascii_punctuation(haystack.text)), to_ascii_punctuation(old)
    if not wanted.strip():
        return []
    spans = _match_exactly(plain, wanted, new) or _by_endings(plain, wanted, new)
    return [_in_spelling_of(haystack, old, new, span) for span in spans]


def _in_spelling_of(haystack: SearchableText, old: str, new: str, span: Substitution) -> Substitution:
    ours = _lf(haystack.text[span.start : span.end])
    kept = keep_spelling(_lf(old), ours, _lf(new))
    return Substitution(span.start, span.end, haystack.in_its_endings(kept, span.start))


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


Pair: TypeAlias = tuple[str, str]
"""A line of old_string, and the line of the file that it matched."""
Adapt: TypeAlias = Callable[[Sequence[Pair], Sequence[str], Sequence[Pair]], list[str] | None]
"""A function that adapts lines of new_string to the spelling of the file.

Its arguments are the removed lines at one position (as pairs), the lines that replace them, and the pairs of
all matched lines. It returns the adapted lines, or None if it cannot adapt them.
"""


def _whole_lines(
    haystack: SearchableText, old: str, new: str, level: int, adapt: Adapt
) -> list[Substitution]:
    wanted, ends_line = _split(old)
    if all(map(is_blank, wanted)):
        return []
    spans: list[Substitution] = []
    for at in haystack.file.occurrences(wanted, level):
        start, end = haystack.starts[at], haystack.starts[at + len(wanted)]
        matched = haystack.lines[at : at + len(wanted)]
        replacement = _adapt_lines(matched, wanted, new, haystack.ending_at(start), adapt)
        if replacement is None:
            continue
        ending = line_ending(matched[-1])
        if ends_line and not ending:  # the file's last line has no ending and keeps none
            replacement = strip_ending(replacement)
        spans.append(Substitution(start, end if ends_line else end - len(ending), replacement))
    return spans


def _adapt_lines(
    matched: Sequence[str], wanted: Sequence[str], new: str, ending: str, adapt: Adapt
) -> str | None:
    """Return the text that replaces the lines `matched` of the file; None if `adapt` cannot adapt a line.

    Lines that are in old_string (`wanted`) and in new_string (`new`) stay exactly as they are in the file.
    """
    new_lines, ends_line = _split(new)
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
    # The last line of a file may have no ending; it needs one if lines follow it now.
    result[:-1] = [line if line_ending(line) else line + ending for line in result[:-1]]
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
    return try_shift_indentation(added, indent_pairs(pairs))


def _split(text: str) -> tuple[list[str], bool]:
    """Return the lines without endings, and whether the last one has an ending."""
    text = _lf(text)
    if not text:
        return [], True
    return text.removesuffix("\n").split("\n"), text.endswith("\n")


def _lf(text: str) -> str:
    return _ANY_ENDING.sub("\n", text) if "\r" in text else text


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)


def _is_numbered(text: str) -> bool:
    """Return whether every line has a line number as read_file prints it, and the numbers are consecutive."""
    found = [_NUMBERED.fullmatch(line) for line in _split(text)[0]]
    numbers = [int(match["number"]) for match in found if match]
    consecutive = range(numbers[0], numbers[0] + len(found)) if numbers else range(0)
    return bool(numbers) and numbers == list(consecutive)


def _without_numbers(text: str) -> str:
    lines, ends_line = _split(text)
    found = [(_NUMBERED.fullmatch(line), line) for line in lines]
    bare = [(match["text"] or "") if match else line for match, line in found]
    return "\n".join(bare) + ("\n" if lines and ends_line else "")
