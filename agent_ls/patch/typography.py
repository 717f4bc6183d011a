"""Compare lines that differ in typography, and keep the file's own spelling of such characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from difflib import SequenceMatcher
from types import MappingProxyType

from agent_ls.patterns import regex
from agent_ls.text import WHITE_SPACE

CARRY_MIN_RATIO = 0.6
CARRY_MIN_BLOCK_CHARS = 3
CARRY_MAX_CHARS = 2000  # longer lines are not compared, because SequenceMatcher takes quadratic time

_MAPPED = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u00a0\u202f\u205f\u3000", " "),
        **{chr(code): " " for code in range(0x2002, 0x200B)},
    }
)
_ALSO_MAPPED = str.maketrans({"«": '"', "»": '"', **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad")})
_BLANKS = regex(f"[{re.escape(WHITE_SPACE)}]+")


def to_ascii_punctuation(text: str) -> str:
    """Replace typographic dashes, quotes and spaces by ASCII characters. The length does not change."""
    return text if text.isascii() else text.translate(_MAPPED)


def right_trimmed(text: str) -> str:
    return text.rstrip(WHITE_SPACE)


def strip_blanks(text: str) -> str:
    return text.strip(WHITE_SPACE)


def is_blank(text: str) -> bool:
    return not text.strip(WHITE_SPACE)


def _keep_text(text: str) -> str:
    return text


def _trimmed_plain(text: str) -> str:
    return to_ascii_punctuation(text.strip(WHITE_SPACE))


def _fold(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", to_ascii_punctuation(text)).translate(_ALSO_MAPPED)
    return _BLANKS.sub(" ", text).strip(WHITE_SPACE)


def _without_blanks(text: str) -> str:
    return _fold(text).replace(" ", "")


def _composed_plain(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", to_ascii_punctuation(text))


# A match level that only edit_file uses: it ignores typography, Unicode composition and trailing blanks, but
# not leading blanks.
COMPOSED_LEVEL = 7
COMPARED_AS: MappingProxyType[int, Callable[[str], str]] = MappingProxyType(
    {
        1: _keep_text,
        2: right_trimmed,
        3: strip_blanks,
        4: _trimmed_plain,
        5: _fold,
        6: _without_blanks,
        COMPOSED_LEVEL: lambda text: _composed_plain(right_trimmed(text)),
    }
)
"""The normalisation by match level. Two lines match at a level if their normalised forms are equal."""


def keep_spelling(patch_line: str, file_line: str, added: str) -> str:
    """Return `added` with the file's spelling of the characters that `added` and the removed line have in common.

    `patch_line` is the removed line as spelled in the patch, `file_line` the same line as spelled in the file.
    If these two differ in more than typography, return `added` unchanged.
    """
    theirs, ours = strip_blanks(patch_line), strip_blanks(file_line)
    if (
        theirs == ours
        or to_ascii_punctuation(theirs) != to_ascii_punctuation(ours)
        or max(len(added), len(theirs)) > CARRY_MAX_CHARS
    ):
        return added
    matcher = SequenceMatcher(None, theirs, added, autojunk=False)
    if matcher.ratio() < CARRY_MIN_RATIO:
        return added
    kept = list(added)
    for block in matcher.get_matching_blocks():
        ends_both = block.a + block.size == len(theirs) and block.b + block.size == len(added)
        if block.size >= CARRY_MIN_BLOCK_CHARS or ends_both:
            kept[block.b : block.b + block.size] = ours[block.a : block.a + block.size]
    return "".join(kept)
