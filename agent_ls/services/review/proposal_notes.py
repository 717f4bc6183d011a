"""Pure: texts that report decisions about proposals to the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_ls.environments.base import FileWrite
from agent_ls.loop.events.types import Hunk
from agent_ls.patch.unified import unified_diff
from agent_ls.services.review.change_events import relative_name

MAX_DIFF_LINES = 200
MAX_LINES = 20  # of one hunk


@dataclass(frozen=True, slots=True)
class JudgedHunk:
    """A proposed hunk, as it was displayed, and the decision about it.

    The outcome `made` means that the user made the same change in the file themselves. `replacement` is the
    user's text that replaces the text of the hunk; None: the hunk's text is used.
    """

    path: str
    hunk: Hunk
    outcome: Literal["kept", "undone", "made"]
    replacement: str | None = None
    comment: str = ""

    @property
    def is_as_proposed(self) -> bool:
        return self.outcome != "undone" and self.replacement is None


def note_of_file(folder: str, write: FileWrite, after: bytes | None, judged: Sequence[JudgedHunk]) -> str:
    """Return the report about one file of a call; "" if all hunks were kept as proposed, without a comment."""
    name = relative_name(write.path, folder)
    if all(it.is_as_proposed and not it.comment for it in judged):
        return ""
    refused = [it for it in judged if it.outcome == "undone"]
    if refused == list(judged):
        head = (
            f"The user refused your change of {name}, so nothing was changed. Do not make this change again "
            "unless asked."
        )
    else:
        count = len(judged) - len(refused)
        head = (
            f"The user reviewed your change of {name} before it was made, and kept {count} of its "
            f"{len(judged)} parts."
        )
    parts = [head, *_details(judged)]
    if len(refused) < len(judged):
        parts += [
            f"Changes in {name} compared with the file before your call:",
            _diff(name, write.base, after),
        ]
    return "\n".join(parts)


def stopped_notice(judged: Sequence[JudgedHunk], folder: str) -> str:
    """Return the notice for a call that was stopped after the user had kept some of its hunks."""
    head = (
        "Review: your call was stopped. The user had already decided about these changes of the call; its "
        "other changes are dropped:"
    )
    return "\n".join([head, *_by_file(judged, folder)])


def orphan_notice(judged: Sequence[JudgedHunk], folder: str) -> str:
    """Return the notice about decisions on proposals of a call that has ended."""
    head = "Review: the user decided about changes that you proposed earlier:"
    return "\n".join([head, *_by_file(judged, folder)])


def _by_file(judged: Sequence[JudgedHunk], folder: str) -> Iterator[str]:
    for path in dict.fromkeys(it.path for it in judged):
        own = [it for it in judged if it.path == path]
        kept = sum(it.outcome != "undone" for it in own)
        yield f"{relative_name(path, folder)}: {kept} made, {len(own) - kept} refused."
        yield from _details(own)


def _details(judged: Sequence[JudgedHunk]) -> Iterator[str]:
    for it in judged:
        because = f" The user says: {it.comment}" if it.comment else ""
        near = f"near line {it.hunk.start + 1}"
        if it.outcome == "undone":
            yield f"Refused, {near}:{because}\n{_lines(it.hunk)}"
        elif it.replacement is not None:
            yield f"Kept with the user's own text, {near}:{because}\n{_lines(it.hunk)}\nInstead:\n{it.replacement}"
        elif because:
            yield f"Kept, {near}:{because}"


def _lines(hunk: Hunk) -> str:
    if hunk.what == "delete":
        return "(the deletion of the file)"
    removed = [f"-{line}" for line in hunk.base_lines[:MAX_LINES]]
    added = [f"+{line}" for line in hunk.lines[:MAX_LINES]]
    more = max(len(hunk.base_lines) - MAX_LINES, 0) + max(len(hunk.lines) - MAX_LINES, 0)
    shown = "\n".join(line.rstrip("\r\n") for line in (*removed, *added))
    return f"{shown}\n(and {more} more lines)" if more else shown or "(the whole file, which is not text)"


def _diff(name: str, before: bytes | None, after: bytes | None) -> str:
    if before == after:
        return "(nothing)"
    if after is None:
        return "(the file was deleted)"
    lines = unified_diff(before or b"", after, name).rstrip("\n").split("\n")
    if len(lines) <= MAX_DIFF_LINES:
        return "\n".join(lines)
    return "\n".join(
        [*lines[:MAX_DIFF_LINES], f"(and {len(lines) - MAX_DIFF_LINES} more lines; read the file)"]
    )
