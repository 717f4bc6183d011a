"""The reasons why changes stayed, for a program: each names the file, the line and the id of its change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_ls.services.review.change_events import relative_name
from agent_ls.services.review.decisions import NO_SUCH_HUNK
from agent_ls.services.review.reviewed_file import ReviewedFile

NOT_LISTED = "there is no such change: hunks() lists the changes that are not reviewed yet"


def describe_refused(
    refused: Iterable[tuple[str, str]], files: Sequence[ReviewedFile], folder: str
) -> list[str]:
    """Return a sentence for each refused hunk id and its reason. Paths in `folder` become relative."""
    return [_describe(hunk_id, reason, files, folder) for hunk_id, reason in refused]


def _describe(hunk_id: str, reason: str, files: Sequence[ReviewedFile], folder: str) -> str:
    if reason == NO_SUCH_HUNK:
        reason = NOT_LISTED
    for file in files:
        if (line := _find_line(file, hunk_id)) is not None:
            place = relative_name(file.path, folder) + (f":{line}" if line else "")
            return f"{place} ({hunk_id}): {reason}"
    return f"{hunk_id}: {reason}"


def _find_line(file: ReviewedFile, hunk_id: str) -> int | None:
    """Return the first line of a hunk, from 1, 0 for one without a position. None: the hunk is of another file."""
    proposed = (hunk for proposal in file.proposals for hunk in proposal.hunks)
    for hunk in (*file.ledger.open_hunks, *proposed):
        if hunk.id == hunk_id:
            return hunk.start + 1
    return 0 if hunk_id in file.decided or file.ledger.find(hunk_id) else None
