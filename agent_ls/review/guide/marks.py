"""Mark hunks that deserve a second look, by facts alone."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.review.guide.code import can_tell_public, definitions, enclosing, is_code, is_mark_up, is_test
from agent_ls.review.guide.values import (
    Definition,
    FileFacts,
    GuidedHunk,
    Mark,
    MarkKind,
    Marks,
    ProjectFacts,
)

NEAR_LINES = 3
"""The user's text is near if at most this many lines are between it and the hunk."""

_AROUND = 40
"""A signature is searched in this many lines around a hunk."""


def marks_of(hunk: GuidedHunk, facts: ProjectFacts) -> Marks:
    """Return the marks of a hunk, and what could not be decided about it."""
    file = facts.of(hunk.path)
    found: list[Mark] = []
    unknown: list[MarkKind] = []
    known: dict[MarkKind, str | None] = {
        "sensitive": _sensitive(file),
        "newProblem": _problems(hunk),
        "signature": _signature(hunk, file),
        "untested": _untested(hunk, file, facts),
        "yourText": _your_text(hunk, file),
    }
    for kind, fact in known.items():
        if fact is None:
            unknown.append(kind)
        elif fact:
            found.append(Mark(kind, fact))
    return Marks(tuple(found), tuple(unknown))


def merge_marks(all_marks: Sequence[Marks]) -> Marks:
    """Return the marks of a group: of each kind the first one, with `+N` for N more."""
    texts: dict[MarkKind, list[str]] = {}
    for mark in (mark for marks in all_marks for mark in marks.found):
        texts.setdefault(mark.kind, []).append(mark.text)
    found = [
        Mark(kind, different[0] if len(different) == 1 else f"{different[0]} +{len(different) - 1}")
        for kind, said in texts.items()
        if (different := list(dict.fromkeys(said)))
    ]
    unknown = dict.fromkeys(kind for marks in all_marks for kind in marks.unknown if kind not in texts)
    return Marks(tuple(found), tuple(unknown))


def _sensitive(file: FileFacts) -> str | None:
    return None if file.is_sensitive is None else "others run it" * file.is_sensitive


def _problems(hunk: GuidedHunk) -> str | None:
    if hunk.problems is None:
        return None
    return f"{hunk.problems} new problem{'s' * (hunk.problems > 1)}" if hunk.problems else ""


def _signature(hunk: GuidedHunk, file: FileFacts) -> str | None:
    if is_mark_up(hunk.path) or is_test(hunk.path):
        return ""
    if not can_tell_public(hunk.path):
        return None
    before, after = _both_versions(hunk, file)
    now = {(it.name, it.signature) for it in after}
    lost = [it for it in before if it.is_public and (it.name, it.signature) not in now]
    if lost and file.lines is not None:  # it may have moved further away
        everywhere = {(it.name, it.signature) for it in definitions(hunk.path, file.lines)}
        lost = [it for it in lost if (it.name, it.signature) not in everywhere]
    if not lost:
        return ""
    name = lost[0].name
    return f"signature of `{name}`" if any(it.name == name for it in after) else f"`{name}` is gone"


def _both_versions(hunk: GuidedHunk, file: FileFacts) -> tuple[list[Definition], list[Definition]]:
    """Return the definitions around a hunk without and with it."""
    if file.lines is None or tuple(file.lines[hunk.start : hunk.end]) != hunk.new:
        above, below = hunk.old[:0], hunk.old[:0]
    else:
        above = tuple(file.lines[max(hunk.start - _AROUND, 0) : hunk.start])
        below = tuple(file.lines[hunk.end : hunk.end + _AROUND])
    return (
        definitions(hunk.path, (*above, *hunk.old, *below)),
        definitions(hunk.path, (*above, *hunk.new, *below)),
    )


def _untested(hunk: GuidedHunk, file: FileFacts, facts: ProjectFacts) -> str | None:
    if is_test(hunk.path) or is_mark_up(hunk.path):
        return ""
    if facts.test_words is None or not is_code(hunk.path):
        return None
    if not hunk.new and definitions(hunk.path, hunk.old):
        return ""  # what was removed needs no test
    names = _names(hunk, file)
    if not names:
        return None
    return "" if any(name in facts.test_words for name in names) else f"no test names `{names[0]}`"


def _names(hunk: GuidedHunk, file: FileFacts) -> list[str]:
    """Return the names of what a hunk defines; if it defines nothing, of what is around it."""
    own = [it.name for it in definitions(hunk.path, hunk.new or hunk.old)]
    if own or file.lines is None:
        return own
    around = enclosing(hunk.path, file.lines, hunk.start)
    return [around.name] if around else []


def _your_text(hunk: GuidedHunk, file: FileFacts) -> str | None:
    if hunk.is_typed_in:
        return "you typed in it"
    if file.typed is None:
        return None
    is_near = any(
        start < hunk.end + NEAR_LINES and hunk.start - NEAR_LINES < end for start, end in file.typed
    )
    return "near your text" * is_near
