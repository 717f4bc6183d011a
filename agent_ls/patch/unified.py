"""Render the difference of two texts as a unified diff.

This module also re-exports functions on lines, so that other packages import `line_hunks` or `rebase` from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from agent_ls.patch.hunks import LineHunk, PlannedChange
from agent_ls.patch.line_diff import apply_hunks, explicit_endings, line_hunks
from agent_ls.patch.rebase import Conflicted, MergedText, rebase
from agent_ls.patch.splice import text_hunks
from agent_ls.patterns import regex
from agent_ls.text import BOM, DecodedText, TextLines, decode, is_encodable, looks_binary

__all__ = [
    "Conflicted",
    "Content",
    "FileDiff",
    "MergedText",
    "apply_hunks",
    "change_diff",
    "file_diff",
    "is_text",
    "line_hunks",
    "rebase",
    "unified_diff",
]

Content: TypeAlias = bytes | str | None
"""One side of a diff; None means that the file does not exist."""

CONTEXT_LINES = 3

_SURROGATE = regex("[\ud800-\udfff]")
_CONTROL = regex("[\x00-\x1f\x7f]")
_LONE_CR = regex("\r(?!\n)")


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A rendered diff. `shown[i]` are the indices of the atomic hunks in displayed hunk i.

    `added` and `removed` count the added and removed lines of `text`. `shown` is () if the displayed lines differ
    from the lines of the hunks (because of a lone CR, or a byte order mark that was added or removed).
    """

    text: str
    added: int = 0
    removed: int = 0
    shown: tuple[tuple[int, ...], ...] = ()


def unified_diff(before: Content, after: Content, path: str, *, moved_from: str = "") -> str:
    """Return the diff of one file, "" if nothing differs. Undecodable bytes are displayed as `\\xNN`."""
    return file_diff(before, after, path, moved_from=moved_from).text


def change_diff(change: PlannedChange) -> FileDiff:
    """Return the diff of a planned change. Its displayed hunks are linked to the change's atomic hunks."""
    return file_diff(
        change.before,
        change.after,
        change.path,
        moved_from=change.moved_from,
        hunks=change.hunks,
    )


def file_diff(
    before: Content,
    after: Content,
    path: str,
    *,
    moved_from: str = "",
    hunks: Sequence[LineHunk] | None = None,
) -> FileDiff:
    """Return the diff with its line counts. `hunks` are the atomic hunks from `before` to `after`, if known."""
    old_name = "/dev/null" if before is None else f"a/{_format_path(moved_from or path)}"
    new_name = "/dev/null" if after is None else f"b/{_format_path(path)}"
    if before == after and not moved_from:
        return FileDiff("")
    if before == after:
        return FileDiff(_rename_header(old_name, new_name))
    if not (is_text(before) and is_text(after)):
        return FileDiff(f"Binary files {old_name} and {new_name} differ\n")
    old_lines, hunks, own_lines = _lines_to_display(before, after, hunks)
    spelled = explicit_endings(old_lines, hunks)
    groups = _groups(spelled, CONTEXT_LINES)
    growth = [0, *accumulate(len(hunk.added) - len(hunk.removed) for hunk in spelled)]
    body = [_display_hunk(old_lines, spelled, group, growth, CONTEXT_LINES) for group in groups]
    return FileDiff(
        "".join([f"--- {_format_name(old_name)}\n", f"+++ {_format_name(new_name)}\n", *body]),
        added=sum(len(hunk.added) for hunk in spelled),
        removed=sum(len(hunk.removed) for hunk in spelled),
        shown=() if own_lines else tuple(tuple(group) for group in groups),
    )


def is_text(content: Content) -> bool:
    """Return whether the lines of the content can be displayed and edited: it is text or valid UTF-8.

    True for None, a file that does not exist.
    """
    return not isinstance(content, bytes) or not looks_binary(content) or _is_utf_8(content)


def _is_utf_8(content: bytes) -> bool:
    found = decode(content)
    return found.is_valid and found.encoding == "utf-8"


def _lines_to_display(
    before: Content, after: Content, hunks: Sequence[LineHunk] | None
) -> tuple[Sequence[str], Sequence[LineHunk], bool]:
    """Return the old lines to display, the hunks, and whether the displayed lines differ from the file's lines."""
    sides = (_decode_side(before), _decode_side(after))
    texts = [_escape_surrogates(side.text) for side in sides]
    changes_bom = before is not None and after is not None and sides[0].bom != sides[1].bom
    if changes_bom:
        texts = [BOM + text if side.bom else text for text, side in zip(texts, sides, strict=True)]
    # In a unified diff, a lone CR does not end a line. So files with a lone CR are split at LF only.
    if any("\r" in text and _LONE_CR.search(text) for text in texts):
        old_lines, new_lines = map(_split_at_lf, texts)
        return old_lines, line_hunks(old_lines, new_lines), True
    if hunks is None or changes_bom:
        hunks = text_hunks(*texts)
    return TextLines(texts[0]), hunks, changes_bom


def _decode_side(content: Content) -> DecodedText:
    if isinstance(content, bytes):
        return decode(content)
    return DecodedText(content or "")


def _escape_surrogates(text: str) -> str:
    """Escape undecodable bytes as `\\xNN`, because lone surrogates cannot be encoded as UTF-8."""
    if is_encodable(text):
        return text
    return _SURROGATE.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _split_at_lf(text: str) -> list[str]:
    return re.findall("[^\n]*\n|[^\n]+\\Z", text)


def _groups(hunks: Sequence[LineHunk], context_lines: int) -> list[list[int]]:
    """Group hunks if their context lines touch or overlap. Each group is displayed as one hunk."""
    groups: list[list[int]] = []
    for at, hunk in enumerate(hunks):
        if groups and hunk.base_start - hunks[at - 1].base_end <= 2 * context_lines:
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _display_hunk(
    old_lines: Sequence[str],
    hunks: Sequence[LineHunk],
    group: Sequence[int],
    growth: Sequence[int],
    context_lines: int,
) -> str:
    """Render one group of hunks, given as indexes in `hunks`, as one hunk of a diff.

    `growth[i]` is the number of lines that the hunks before hunk i add to the file.
    """
    first, last = hunks[group[0]], hunks[group[-1]]
    start = max(first.base_start - context_lines, 0)
    lines = old_lines[start : last.base_end + context_lines]
    grown = growth[group[-1] + 1] - growth[group[0]]
    old_range = _range(start, len(lines))
    new_range = _range(start + growth[group[0]], len(lines) + grown)
    chosen = [hunks[at] for at in group]
    return "".join([f"@@ -{old_range} +{new_range} @@\n", *_body(lines, chosen, start)])


def _body(lines: Sequence[str], hunks: Sequence[LineHunk], start: int) -> Iterator[str]:
    """Yield the rendered lines. `lines` are the old lines from number `start` on."""
    at = start
    for hunk in hunks:
        yield from (_render_line(" ", line) for line in lines[at - start : hunk.base_start - start])
        yield from (_render_line("-", line) for line in hunk.removed)
        yield from (_render_line("+", line) for line in hunk.added)
        at = hunk.base_end
    yield from (_render_line(" ", line) for line in lines[at - start :])


def _render_line(sign: str, line: str) -> str:
    line = _escape_surrogates(line)
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _range(start: int, length: int) -> str:
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _rename_header(old_name: str, new_name: str) -> str:
    return (
        f"diff --git {old_name} {new_name}\nsimilarity index 100%\n"
        f"rename from {old_name[2:]}\nrename to {new_name[2:]}\n"
    )


def _format_path(path: str) -> str:
    """Return a path for a header. An absolute path begins with one slash after `a`, as git writes it."""
    return _CONTROL.sub("?", _escape_surrogates(path.lstrip("/")))


def _format_name(name: str) -> str:
    """Return a file name for a header line. A tab marks the end of a name that contains blanks."""
    return f"{name}\t" if " " in name else name
