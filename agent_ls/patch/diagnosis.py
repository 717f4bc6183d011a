"""Explain to a model why the lines that it sent were not found in a file, or were found several times.

Similarity is used only to describe the closest lines, never to choose where a change is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent_ls.patch.line_search import FileLines, find_all
from agent_ls.patch.typography import COMPARED_AS, is_blank, right_trimmed, strip_blanks
from agent_ls.patterns import regex

CLOSEST_MIN_RATIO = 0.6
# Texts above this size are compared by line instead of by character, because the comparison takes quadratic
# time.
COMPARED_MAX_CHARS = 2000
# A word that occurs on more lines than this is ignored: it does not identify a position, and comparing all of its
# lines is slow.
WORD_MAX_LINES = 2000
TRIED_WINDOWS = 12
SHOWN_MAX_CHARS = 160
LISTED_PLACES = 20
UNIQUE_LINE_DISTANCE = 100

_WORD = regex(r"\w+")
_VISIBLE = str.maketrans({" ": "·", "\t": "→", "\r": "␍", "\u00a0": "⍽"})


@dataclass(frozen=True, slots=True)
class Wording:
    """Words for the messages. `theirs` is the name of the text that the model sent, for example "patch".

    `unique_advice` advises the model how to make an ambiguous match unique. `unique_mark` precedes each line that the
    message suggests for that purpose.
    """

    theirs: str = "patch"
    unique_advice: str = "put an @@ line with one of these lines above the change"
    unique_mark: str = "@@ "


class Diagnosis:
    """Explains failed matches in one file. The index of the file's words is built when it is first needed."""

    def __init__(self, file: FileLines, wording: Wording | None = None) -> None:
        self._file = file
        self._wording = wording or Wording()
        self._words: dict[str, list[int]] | None = None

    def explain_missing(self, old: Sequence[str], new: Sequence[str]) -> str:
        """Explain why the old lines were not found: the change is already applied, or the closest lines differ."""
        return self._describe_applied(new) or self._describe_closest(old)

    def ambiguous(self, starts: Sequence[int]) -> str:
        """Describe all matches: the line number of each, and a line above it that is unique in the file."""
        listed = starts[:LISTED_PLACES]
        more = f" and {len(starts) - len(listed)} more" if len(starts) > len(listed) else ""
        numbers = ", ".join(str(at + 1) for at in listed)
        unique_lines = [(at, self._unique_line(at)) for at in listed]
        shown = [f"  line {at + 1}: {self._wording.unique_mark}{line}" for at, line in unique_lines if line]
        advice = f"To choose one, {self._wording.unique_advice}{':' if shown else ', or add context lines.'}"
        return "\n".join([f"The lines match at {len(starts)} places: lines {numbers}{more}.", advice, *shown])

    def _describe_applied(self, new: Sequence[str]) -> str:
        if not has_substance(new):
            return ""
        _, found = find_all(self._file, new)
        if len(found) != 1:
            return ""
        return f"Already applied: the file has the new lines from line {found[0] + 1} on. There is nothing to do."

    def _describe_closest(self, old: Sequence[str]) -> str:
        start = self._closest_start(old)
        if start is None:
            return "The file has no similar lines. Read it again before you send the change again."
        window = self._file.texts[start : start + len(old)]
        place = f"The closest match is lines {start + 1}-{start + len(window)}."
        for offset, line in enumerate(old):
            ours = window[offset] if offset < len(window) else None
            if ours != line:
                break
        else:
            return place
        if ours is None:
            return f"{place} The file ends after line {start + len(window)}."
        label = self._wording.theirs
        return "\n".join(
            [
                f"{place} First difference at line {start + offset + 1} ({kind_of_difference(line, ours)}):",
                f"  {label}: {visible(line)}",
                f"  {'file':<{len(label)}}: {visible(ours)}",
                "Copy the lines exactly as they are in the file.",
            ]
        )

    def _closest_start(self, old: Sequence[str]) -> int | None:
        votes: Counter[int] = Counter()
        index = self._word_index()
        for offset, line in enumerate(old):
            for word in set(_WORD.findall(line)):
                lines = index.get(word, ())
                if len(lines) <= WORD_MAX_LINES:
                    votes.update(at - offset for at in lines if at >= offset)
        rated = [
            (similarity(old, self._file.texts[start : start + len(old)]), -start)
            for start, _ in votes.most_common(TRIED_WINDOWS)
        ]
        best, start = max(rated, default=(0.0, 0))
        return -start if best >= CLOSEST_MIN_RATIO else None

    def _word_index(self) -> dict[str, list[int]]:
        if self._words is None:
            self._words = {}
            for at, line in enumerate(self._file.texts):
                for word in set(_WORD.findall(line)):
                    self._words.setdefault(word, []).append(at)
        return self._words

    def _unique_line(self, start: int) -> str:
        for at in range(start - 1, max(start - UNIQUE_LINE_DISTANCE, 0) - 1, -1):
            text = self._file.texts[at]
            if has_substance([text]) and len(find_all(self._file, [text], levels=(1,))[1]) == 1:
                return text[:SHOWN_MAX_CHARS]
        return ""


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the similarity of the joined lines, from 0 to 1.

    For short texts, the result is 0 if it is certainly below CLOSEST_MIN_RATIO.
    """
    joined = "\n".join(one), "\n".join(other)
    if max(map(len, joined)) <= COMPARED_MAX_CHARS:
        matcher: SequenceMatcher[str] = SequenceMatcher(None, *joined, autojunk=False)
        return matcher.ratio() if matcher.quick_ratio() >= CLOSEST_MIN_RATIO else 0.0
    return SequenceMatcher(
        None, [*map(strip_blanks, one)], [*map(strip_blanks, other)], autojunk=False
    ).ratio()


def kind_of_difference(theirs: str, ours: str) -> str:
    """Name the difference between two lines, for example "letter case" or "trailing blanks"."""
    if theirs.strip("\r") == ours.strip("\r"):
        return "line ending"
    if right_trimmed(theirs) == right_trimmed(ours):
        return "trailing blanks"
    if strip_blanks(theirs) == strip_blanks(ours):
        return "tabs against spaces" if ("\t" in theirs) != ("\t" in ours) else "leading blanks"
    if COMPARED_AS[6](theirs) == COMPARED_AS[6](ours):
        return "punctuation or blanks"
    if strip_blanks(theirs).casefold() == strip_blanks(ours).casefold():
        return "letter case"
    return "text"


def visible(line: str) -> str:
    """Return the line with visible white space: `·` space, `→` tab, `␍` carriage return, `⍽` no-break space."""
    shown = line.translate(_VISIBLE)
    return shown if len(shown) <= SHOWN_MAX_CHARS else shown[: SHOWN_MAX_CHARS - 1] + "…"


def has_substance(lines: Sequence[str]) -> bool:
    """Return False if the lines have only punctuation. Such lines match at many positions by chance."""
    return any(_WORD.search(line) for line in lines)


def is_present_at(file: FileLines, at: int, added: Sequence[str]) -> bool:
    """Return whether the added lines are already in the file, directly before or after line index `at`.

    Blanks at the ends of lines do not count. False if no line contains words.
    """
    wanted = [strip_blanks(line) for line in added]
    if not has_substance(added) or all(map(is_blank, added)):
        return False
    around = (file.texts[at : at + len(wanted)], file.texts[max(at - len(wanted), 0) : at])
    return any([*map(strip_blanks, side)] == wanted for side in around)
