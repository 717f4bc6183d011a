"""Carrying an indentation over: how lines must be shifted that were written for other leading blanks (SEMANTICS 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.patch.typography import is_blank


@dataclass(frozen=True, slots=True)
class Blanks:
    """Leading spaces and tabs of one line, as `written` in the request and as they are `in_file`."""

    written: str
    in_file: str


def leading_blanks(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def evidence(pairs: Sequence[tuple[str, str]]) -> tuple[Blanks, ...]:
    """The blanks of pairs (line as written, line of the file) that are not blank lines."""
    return tuple(Blanks(leading_blanks(p), leading_blanks(f)) for p, f in pairs if not is_blank(p))


def shifted(added: Sequence[str], seen: Sequence[Blanks], *, from_context: bool) -> list[str]:
    """The added lines in the file's indentation; lines that no rule covers stay (deviation D4)."""
    keep = _needs_no_shift(seen) or (from_context and not _context_suffices(added, seen)) or contradicts(seen)
    if keep:
        return list(added)
    return [line if is_blank(line) else _shift_line(line, seen) or line for line in added]


def shifted_or_none(added: Sequence[str], seen: Sequence[Blanks]) -> list[str] | None:
    """The same for edit_file, where every line must be covered by a rule: None when one is not."""
    if _needs_no_shift(seen):
        return list(added)
    if contradicts(seen):
        return None
    lines = [line if is_blank(line) else _shift_line(line, seen) for line in added]
    covered = [line for line in lines if line is not None]
    return covered if len(covered) == len(lines) else None


def contradicts(seen: Sequence[Blanks]) -> bool:
    """The same written blanks stand for two different ones of the file: no rule can tell which."""
    return len({blanks.written for blanks in seen}) != len(set(seen))


def _needs_no_shift(seen: Sequence[Blanks]) -> bool:
    """Nothing differs, or only by the one space that a lost or doubled sign column makes."""
    return all(b.in_file == b.written for b in seen) or all(
        b.in_file in (b.written, b.written + " ") for b in seen
    )


def _context_suffices(added: Sequence[str], seen: Sequence[Blanks]) -> bool:
    """Context is weak evidence: the added lines may be in the file's own indentation already."""
    known = {blanks.written for blanks in seen}
    return len(seen) >= 2 and all(leading_blanks(line) in known for line in added if not is_blank(line))


def _shift_line(line: str, seen: Sequence[Blanks]) -> str | None:
    blanks = leading_blanks(line)
    for rule in (_as_seen, _converted, _with_prefix, _without_prefix):
        new = rule(blanks, seen)
        if new is not None:
            return new + line[len(blanks) :]
    return None


def _as_seen(blanks: str, seen: Sequence[Blanks]) -> str | None:
    return next((b.in_file for b in seen if b.written == blanks), None)


def _converted(blanks: str, seen: Sequence[Blanks]) -> str | None:
    """Spaces for tabs or tabs for spaces, at one fixed ratio."""
    indented = [b for b in seen if b.written or b.in_file]
    for written, in_file in ((" ", "\t"), ("\t", " ")):
        if not all(_only(b.written, written) and _only(b.in_file, in_file) for b in indented):
            continue
        if not indented or (blanks and not _only(blanks, written)):
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


def _only(blanks: str, kind: str) -> bool:
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
