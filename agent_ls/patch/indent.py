"""Adapt the indentation of added lines to the file, if the patch was written with other leading blanks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.patch.typography import is_blank


@dataclass(frozen=True, slots=True)
class Blanks:
    """Leading spaces and tabs of one line: `written` in the patch or edit, `in_file` in the file."""

    written: str
    in_file: str


def leading_blanks(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def indent_pairs(pairs: Sequence[tuple[str, str]]) -> tuple[Blanks, ...]:
    """Return the leading blanks of each pair (line of the patch, line of the file), except pairs of blank
    lines.
    """
    return tuple(Blanks(leading_blanks(p), leading_blanks(f)) for p, f in pairs if not is_blank(p))


def shift_indentation(added: Sequence[str], seen: Sequence[Blanks], *, from_context: bool) -> list[str]:
    """Return the added lines with the file's indentation. Lines that no rule covers stay as they are.

    `seen` lists the leading blanks of the matched lines. `from_context`: the matched lines are context lines,
    not removed lines.
    """
    keep = (
        _needs_no_shift(seen)
        or (from_context and not _context_suffices(added, seen))
        or is_contradictory(seen)
    )
    if keep:
        return list(added)
    return [line if is_blank(line) else _shift_line(line, seen) or line for line in added]


def try_shift_indentation(added: Sequence[str], seen: Sequence[Blanks]) -> list[str] | None:
    """Return the added lines with the file's indentation, or None if no rule covers one of the lines.

    `seen` lists the leading blanks of the matched lines. Used by edit_file.
    """
    if _needs_no_shift(seen):
        return list(added)
    if is_contradictory(seen):
        return None
    lines = [line if is_blank(line) else _shift_line(line, seen) for line in added]
    covered = [line for line in lines if line is not None]
    return covered if len(covered) == len(lines) else None


def is_contradictory(seen: Sequence[Blanks]) -> bool:
    """Return whether equal leading blanks in the patch match different blanks in the file."""
    return len({blanks.written for blanks in seen}) != len(set(seen))


def _needs_no_shift(seen: Sequence[Blanks]) -> bool:
    """Return whether the patch and the file have the same leading blanks.

    The file may have one space more in some lines, because models mistake it for the sign column of the
    patch.
    """
    return all(b.in_file == b.written for b in seen) or all(
        b.in_file in (b.written, b.written + " ") for b in seen
    )


def _context_suffices(added: Sequence[str], seen: Sequence[Blanks]) -> bool:
    """Return whether the context lines show how to shift all added lines.

    This needs at least two lines in `seen`, and each added line must have the same indentation as one of them.
    """
    known = {blanks.written for blanks in seen}
    return len(seen) >= 2 and all(leading_blanks(line) in known for line in added if not is_blank(line))


def _shift_line(line: str, seen: Sequence[Blanks]) -> str | None:
    blanks = leading_blanks(line)
    for rule in (_seen_blanks, _convert_tabs, _with_prefix, _without_prefix):
        new = rule(blanks, seen)
        if new is not None:
            return new + line[len(blanks) :]
    return None


def _seen_blanks(blanks: str, seen: Sequence[Blanks]) -> str | None:
    return next((b.in_file for b in seen if b.written == blanks), None)


def _convert_tabs(blanks: str, seen: Sequence[Blanks]) -> str | None:
    """Convert spaces to tabs or tabs to spaces by the ratio common to all lines in `seen`; None if there is
    none.
    """
    indented = [b for b in seen if b.written or b.in_file]
    for written, in_file in ((" ", "\t"), ("\t", " ")):
        if not all(_has_only(b.written, written) and _has_only(b.in_file, in_file) for b in indented):
            continue
        if not indented or (blanks and not _has_only(blanks, written)):
            return None
        spaces = [len(b.written if written == " " else b.in_file) for b in indented]
        tabs = [len(b.in_file if written == " " else b.written) for b in indented]
        width, rest = divmod(spaces[0], tabs[0])
        if rest or any(s != width * t for s, t in zip(spaces, tabs, strict=True)):
            return None
        if written == "\t":
            return " " * (len(blanks) * width)
        return "\t" * (len(blanks) // width) if len(blanks) % width == 0 else None
    return None


def _has_only(blanks: str, kind: str) -> bool:
    return bool(blanks) and not blanks.strip(kind)


def _with_prefix(blanks: str, seen: Sequence[Blanks]) -> str | None:
    prefixes = {b.in_file.removesuffix(b.written) for b in seen if b.in_file.endswith(b.written)}
    if len(prefixes) == 1 and all(b.in_file.endswith(b.written) for b in seen):
        return prefixes.pop() + blanks
    return None


def _without_prefix(blanks: str, seen: Sequence[Blanks]) -> str | None:
    prefixes = {b.written.removesuffix(b.in_file) for b in seen if b.written.endswith(b.in_file)}
    if len(prefixes) == 1 and all(b.written.endswith(b.in_file) for b in seen):
        prefix = prefixes.pop()
        return blanks.removeprefix(prefix) if blanks.startswith(prefix) else None
    return None
