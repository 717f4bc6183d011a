"""Two texts -> a unified diff for people, and the line tools that go with it. Knows no patch format but this one.

Rules: SEMANTICS 10.8. `line_hunks`, `apply_hunks` and `rebase` are offered here too: this is the module to import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from agent_ls.patch.hunks import FileChange, LineHunk
from agent_ls.patch.lines import apply_hunks, explicit_endings, line_hunks
from agent_ls.patch.rebase import Conflicted, Merged, rebase
from agent_ls.patch.splice import text_hunks
from agent_ls.text import BOM, DecodedText, TextLines, decode, is_encodable, looks_binary

__all__ = [
    "Conflicted",
    "Content",
    "FileDiff",
    "Merged",
    "apply_hunks",
    "change_diff",
    "file_diff",
    "is_text",
    "line_hunks",
    "rebase",
    "unified_diff",
]

Content: TypeAlias = bytes | str | None
"""A side of a diff; None: there is no file."""

CONTEXT_LINES = 3

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_LONE_CR = re.compile("\r(?!\n)")


@dataclass(frozen=True, slots=True)
class FileDiff:
    """`shown[i]` are the indices of the atomic hunks that displayed hunk i holds.

    `added` and `removed` count lines of `text`. `shown` is () where the diff had to be made anew, because what can
    be displayed is not what the hunks hold (a lone CR, a BOM that comes or goes).
    """

    text: str
    added: int = 0
    removed: int = 0
    shown: tuple[tuple[int, ...], ...] = ()


def unified_diff(
    before: Content, after: Content, path: str, *, moved_from: str = "", context_lines: int = CONTEXT_LINES
) -> str:
    """The diff of one file, "" when nothing differs. Bytes that are no text show as `\\xNN`."""
    return file_diff(before, after, path, moved_from=moved_from, context_lines=context_lines).text


def change_diff(change: FileChange, context_lines: int = CONTEXT_LINES) -> FileDiff:
    """The diff of a planned change, displayed hunks tied to its atomic hunks."""
    return file_diff(
        change.before,
        change.after,
        change.path,
        moved_from=change.moved_from,
        hunks=change.hunks,
        context_lines=context_lines,
    )


def file_diff(
    before: Content,
    after: Content,
    path: str,
    *,
    moved_from: str = "",
    hunks: Sequence[LineHunk] | None = None,
    context_lines: int = CONTEXT_LINES,
) -> FileDiff:
    """The diff with its counts. `hunks` are the atomic hunks from before to after where they are known."""
    old_name = "/dev/null" if before is None else f"a/{_shown_path(moved_from or path)}"
    new_name = "/dev/null" if after is None else f"b/{_shown_path(path)}"
    if before == after and not moved_from:
        return FileDiff("")
    if before == after:
        return FileDiff(_rename_header(old_name, new_name))
    if not (is_text(before) and is_text(after)):
        return FileDiff(f"Binary files {old_name} and {new_name} differ\n")
    old_lines, hunks, own_lines = _displayed(before, after, hunks)
    spelled = explicit_endings(old_lines, hunks)
    groups = _groups(spelled, context_lines)
    growth = [0, *accumulate(len(hunk.added) - len(hunk.removed) for hunk in spelled)]
    body = [_display_hunk(old_lines, spelled, group, growth, context_lines) for group in groups]
    return FileDiff(
        "".join([f"--- {_timestamped(old_name)}\n", f"+++ {_timestamped(new_name)}\n", *body]),
        added=sum(len(hunk.added) for hunk in spelled),
        removed=sum(len(hunk.removed) for hunk in spelled),
        shown=() if own_lines else tuple(tuple(group) for group in groups),
    )


def is_text(content: Content) -> bool:
    """False for bytes that hold NUL and cannot be decoded: nothing of them can be shown or edited by lines."""
    return not isinstance(content, bytes) or not looks_binary(content) or decode(content).is_valid


def _displayed(
    before: Content, after: Content, hunks: Sequence[LineHunk] | None
) -> tuple[Sequence[str], Sequence[LineHunk], bool]:
    """Lines of the old side, the hunks that lead from them, and whether these are not those of the files themselves."""
    sides = (_decoded(before), _decoded(after))
    texts = [_escaped(side.text) for side in sides]
    changes_bom = before is not None and after is not None and sides[0].bom != sides[1].bom
    if changes_bom:
        texts = [BOM + text if side.bom else text for text, side in zip(texts, sides, strict=True)]
    # A lone CR is no line end in this format: such files are shown as one would see them with LF alone.
    if any("\r" in text and _LONE_CR.search(text) for text in texts):
        old_lines, new_lines = map(_at_lf, texts)
        return old_lines, line_hunks(old_lines, new_lines), True
    if hunks is None or changes_bom:
        hunks = text_hunks(*texts)
    return TextLines(texts[0]), hunks, changes_bom


def _decoded(content: Content) -> DecodedText:
    if isinstance(content, bytes):
        return decode(content)
    return DecodedText(content or "")


def _escaped(text: str) -> str:
    """Lone surrogates cannot travel as UTF-8: undecodable bytes show as `\\xNN`."""
    if is_encodable(text):
        return text
    return _SURROGATE.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _at_lf(text: str) -> list[str]:
    return re.findall("[^\n]*\n|[^\n]+\\Z", text)


def _groups(hunks: Sequence[LineHunk], context_lines: int) -> list[list[int]]:
    """Hunks whose contexts meet are displayed as one."""
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
    """`growth[i]` is by how many lines the hunks before number i lengthen the file."""
    first, last = hunks[group[0]], hunks[group[-1]]
    start = max(first.base_start - context_lines, 0)
    lines = old_lines[start : last.base_end + context_lines]
    grown = growth[group[-1] + 1] - growth[group[0]]
    old_range = _range(start, len(lines))
    new_range = _range(start + growth[group[0]], len(lines) + grown)
    chosen = [hunks[at] for at in group]
    return "".join([f"@@ -{old_range} +{new_range} @@\n", *_body(lines, chosen, start)])


def _body(lines: Sequence[str], hunks: Sequence[LineHunk], start: int) -> Iterator[str]:
    """`lines` are those of the old side from number `start` on."""
    at = start
    for hunk in hunks:
        yield from (_shown(" ", line) for line in lines[at - start : hunk.base_start - start])
        yield from (_shown("-", line) for line in hunk.removed)
        yield from (_shown("+", line) for line in hunk.added)
        at = hunk.base_end
    yield from (_shown(" ", line) for line in lines[at - start :])


def _shown(sign: str, line: str) -> str:
    line = _escaped(line)
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


def _shown_path(path: str) -> str:
    return _CONTROL.sub("?", _escaped(path))


def _timestamped(name: str) -> str:
    """A path with blanks gets a tab after it, so that readers know where it ends."""
    return f"{name}\t" if " " in name else name
