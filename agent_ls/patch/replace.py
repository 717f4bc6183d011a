"""Replace old_string by new_string in a file's bytes. Pure.

Bytes outside the replaced text stay as they are: line endings, byte order mark, encoding, undecodable bytes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.patch.diagnosis import Diagnosis, Wording, has_substance
from agent_ls.patch.errors import ENCODING_ADVICE, PatchError
from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.match_strategies import MatchedWith, SearchableText, Substitution, find_by_strategies
from agent_ls.patch.splice import text_hunks
from agent_ls.patch.unified import is_text
from agent_ls.patterns import regex
from agent_ls.text import DecodedText, NotEncodableError, decode, encode_changed

__all__ = ["EditResult", "MatchedWith", "Occurrence", "replace"]

Occurrence: TypeAlias = Literal["only", "first", "last", "all"]
# If one of these strategies finds several matches, the caller may choose the first, the last or all of them.
_CHOOSABLE: tuple[MatchedWith, ...] = ("exact", "line endings")
# Of these, only all: the matches differ in characters that the model does not see. Other matches must be unique.
_ALL_AT_ONCE: tuple[MatchedWith, ...] = (*_CHOOSABLE, "trailing blanks", "typography")

_SURROGATE = regex("[\ud800-\udfff]")
_WORDING = Wording(
    theirs="old_string",
    unique_advice="extend old_string by a line that makes it unique, or set replace_all",
    unique_mark="above it is ",
)
_IN_ALL = dataclasses.replace(
    _WORDING, unique_advice="copy old_string with the indentation that it has there"
)


@dataclass(frozen=True, slots=True)
class StringEdit:
    """One replacement of `old` by `new`. `occurrence` "only" refuses the edit if `old` occurs several times."""

    old: str
    new: str
    occurrence: Occurrence = "only"


@dataclass(frozen=True, slots=True)
class EditResult:
    """The new content of a file, which is not written yet.

    `count` replacements were made; `matched_with` names the strategy that matched. `first_line` to
    `last_line` are the changed lines of the new content, from 1; if lines were only removed, both are the
    line that is now at their position. `hunks` convert the old lines to the new ones.
    """

    content: bytes
    count: int
    matched_with: MatchedWith
    first_line: int
    last_line: int
    hunks: tuple[LineHunk, ...]


def replace(
    data: bytes | None, old: str, new: str, *, replace_all: bool = False, occurrence: Occurrence = "only"
) -> EditResult:
    """Make one edit of a file. `data` is None if the file does not exist; an empty `old` then creates the file.

    Raises:
        PatchError: NO_CHANGE, FILE_MISSING, FILE_EXISTS, NOT_TEXT, ENCODING, OMISSION, AMBIGUOUS,
            CONTEXT_NOT_FOUND, PARSE (lone surrogates).
    """
    content, count, strategy = _apply(data, StringEdit(old, new, "all" if replace_all else occurrence))
    if content == data:
        raise PatchError.of("NO_CHANGE", "The edit changes nothing: the file already has this content.")
    hunks = text_hunks(decode(data or b"").text, decode(content).text)
    first, last = _changed_lines(hunks)
    return EditResult(content, count, strategy, first, last, hunks)


def _apply(data: bytes | None, edit: StringEdit) -> tuple[bytes, int, MatchedWith]:
    if edit.old == edit.new:
        raise PatchError.of(
            "NO_CHANGE", "old_string and new_string are the same: there is nothing to change."
        )
    _check_arguments(edit)
    if data is None and edit.old:
        raise PatchError.of(
            "FILE_MISSING", "The file does not exist. Use an empty old_string to create the file."
        )
    form = decode(data or b"")
    if not edit.old:
        if form.text:
            detail = "Give the text to replace in old_string, or write the whole file with write_file."
            raise PatchError.of("FILE_EXISTS", "old_string is empty, but the file is not.", detail=detail)
        return _encode(form, edit.new), 1, "exact"
    if not is_text(data):
        raise PatchError.of("NOT_TEXT", "The file is binary, so it cannot be edited as text.")
    spans, strategy = _spans(form, edit)
    return _encode(form, _splice(form.text, spans)), len(spans), strategy


def _encode(form: DecodedText, text: str) -> bytes:
    try:
        return encode_changed(form, text)
    except NotEncodableError as error:
        raise PatchError.of("ENCODING", f"Nothing was written: {error}.", detail=ENCODING_ADVICE) from None


def _check_arguments(edit: StringEdit) -> None:
    if _SURROGATE.search(edit.old + edit.new):
        raise PatchError.of(
            "PARSE", "old_string or new_string contains a lone surrogate, which cannot be written to a file."
        )
    marker = omission_marker(edit.new.split("\n"), edit.old.split("\n"))
    if marker:
        raise PatchError.of(
            "OMISSION",
            f"new_string has a placeholder instead of code: {marker.strip()}",
            detail="Write the complete code, because new_string is written to the file exactly as it is.",
        )


def _spans(form: DecodedText, edit: StringEdit) -> tuple[list[Substitution], MatchedWith]:
    haystack = SearchableText(form.text)
    for strategy, spans in find_by_strategies(haystack, edit.old, edit.new):
        if not spans:
            continue
        if len(spans) == 1:
            return spans, strategy
        choosable = {"only": (), "all": _ALL_AT_ONCE}.get(edit.occurrence, _CHOOSABLE)
        if strategy not in choosable:
            raise _ambiguous(haystack, spans, _IN_ALL if edit.occurrence == "all" else _WORDING)
        chosen = {"first": spans[:1], "last": spans[-1:], "all": _without_overlaps(spans)}
        return chosen[edit.occurrence], strategy
    raise _not_found(haystack, edit)


def _without_overlaps(spans: Sequence[Substitution]) -> list[Substitution]:
    kept: list[Substitution] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _splice(text: str, spans: Sequence[Substitution]) -> str:
    parts = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], span.new]
        at = span.end + (0 if span.new else _line_break_left(text, span))
    return "".join([*parts, text[at:]])


def _line_break_left(text: str, span: Substitution) -> int:
    """Return the length of the line ending to delete after `span`; 0 unless `span` deletes whole lines.

    Deleting that line ending prevents a blank line.
    """
    begins_line = span.start == 0 or text[span.start - 1] in "\r\n"
    if not begins_line or span.start == span.end or text[span.end - 1] in "\r\n":
        return 0
    rest = text[span.end : span.end + 2]
    return 2 if rest == "\r\n" else 1 if rest[:1] in ("\r", "\n") else 0


def _ambiguous(haystack: SearchableText, spans: Sequence[Substitution], wording: Wording) -> PatchError:
    lines = [haystack.line_at(span.start) for span in spans]
    return PatchError.of(
        "AMBIGUOUS",
        f"old_string was found {len(spans)} times.",
        detail=Diagnosis(haystack.file, wording).ambiguous(lines),
    )


def _not_found(haystack: SearchableText, edit: StringEdit) -> PatchError:
    message = "old_string was not found in the file."
    if has_substance([edit.new]) and haystack.text.count(edit.new) == 1:
        line = haystack.line_at(haystack.text.index(edit.new)) + 1
        detail = f"Already applied: new_string is in the file at line {line}. Nothing to do."
    else:
        lines = [line.removesuffix("\r") for line in edit.old.removesuffix("\n").split("\n")]
        detail = Diagnosis(haystack.file, _WORDING).explain_missing(lines, [])
    return PatchError.of("CONTEXT_NOT_FOUND", message, detail=detail)


def _changed_lines(hunks: Sequence[LineHunk]) -> tuple[int, int]:
    if not hunks:
        return 1, 1
    growth = sum(len(hunk.added) - len(hunk.removed) for hunk in hunks[:-1])
    first = hunks[0].base_start + 1
    last = hunks[-1].base_start + growth + len(hunks[-1].added)
    return first, max(first, last)


_COMMENT = regex(r"(?://+|#+|/\*+|<!--|--+|;+|%+|\{/\*+)\s*(?P<body>.*?)\s*(?:\*+/\}?|-->)?")
_DOTS = regex(
    r"(?P<before>\.{3,}|…)?[\s(\[]*(?P<words>[\w][\w\s',/-]*?)?[\s)\]]*(?P<after>\.{3,}|…)?[\s)\]]*"
)
_SAYS_LEFT_OUT = regex(
    r"\b(?:rest|remaining|remainder|existing|unchanged|previous|omitted|other|same|keep|as before)\b", re.I
)
_NAMES_THE_REST = regex(
    r"(?:the\s+)?(?:rest|remainder)\s+of\s+(?:(?:the|this|your)\s+)?"
    r"(?:code|file|class|function|method|module|component|implementation|body|imports|logic)"
    r"(?:\s+(?:remains?|stays?|is|are|goes|follows?|here|unchanged|omitted|the|same|as|before))*",
    re.I,
)


def omission_marker(new_lines: Sequence[str], old_lines: Sequence[str]) -> str:
    """Return the first line of the new text that is a placeholder for omitted code, "" for none.

    A line that also occurs in the old text is part of the file and does not count.
    """
    kept = {line.strip() for line in old_lines}
    return next((line for line in new_lines if is_marker(line) and line.strip() not in kept), "")


def is_marker(line: str) -> bool:
    """Return True for `// ... existing code ...` and `# rest of the file unchanged`; not for a bare `...`,
    which is code.
    """
    comment = _COMMENT.fullmatch(line.strip())
    body = comment["body"] if comment else line.strip()
    found = _DOTS.fullmatch(body)
    words = found["words"] if found else None
    if not found or not words:
        return False
    if not (found["before"] or found["after"]):
        return comment is not None and _NAMES_THE_REST.fullmatch(words) is not None
    # Without a comment sign, one word after dots is a spread (`...rest,`); several words are prose.
    if not comment and len(words.replace(",", " ").split()) < 2:
        return False
    return _SAYS_LEFT_OUT.search(words) is not None
