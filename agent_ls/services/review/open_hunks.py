"""Pure: the undecided hunks of files, and the text of a file after all its proposals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agent_ls.loop.events.types import Hunk
from agent_ls.review.proposals import text_with_proposals
from agent_ls.services.review.change_events import build_hunk, build_proposed_hunk
from agent_ls.services.review.reviewed_file import ReviewedFile
from agent_ls.system import display_path


def open_hunks(
    files: Iterable[ReviewedFile],
    *,
    session_id: str | None = None,
    path: str | None = None,
    turn_id: str | None = None,
) -> dict[str, list[Hunk]]:
    """Return undecided hunks by absolute path, ordered by position. None means any session, file or turn."""
    found: dict[str, list[Hunk]] = {}
    for file in files:
        if path is not None and file.path != path:
            continue
        chosen = [
            hunk
            for hunk in sorted(_of_file(file), key=lambda hunk: (hunk.start, hunk.end))
            if session_id in (None, hunk.session_id) and turn_id in (None, hunk.turn_id, *hunk.later_turns)
        ]
        if chosen:
            found[file.path] = chosen
    return found


def _of_file(file: ReviewedFile) -> list[Hunk]:
    written = [build_hunk(file.ledger, hunk) for hunk in file.ledger.open_hunks]
    waiting = [hunk for proposal in file.proposals for hunk in proposal.pending_hunks]
    proposed = sorted(waiting, key=lambda hunk: (hunk.start, hunk.end))
    return [*written, *(build_proposed_hunk(file.ledger, hunk) for hunk in proposed)]


def proposed_text(file: ReviewedFile) -> str | None:
    """Return the text that the file would have if all its proposed hunks were kept."""
    groups = (group for proposal in file.proposals for group in proposal.groups)
    hunks = (hunk for group in groups if not group.is_opaque for hunk in group.hunks)
    return text_with_proposals(file.ledger.current_text, (hunk for hunk in hunks if hunk.state == "proposed"))


MAX_FILES = 40


def pinned_hunks(hunks: Mapping[str, Sequence[Hunk]], folder: str) -> tuple[str, ...]:
    """Return the list of undecided hunks, or () without hunks.

    `hunks` are the hunks of one session, by absolute path; paths in `folder` become relative.
    """
    rows = [
        f"- {display_path(path, folder)}: {_describe_hunks(there)}"
        for path, there in sorted(hunks.items())
        if there
    ]
    if not rows:
        return ()
    left_out = len(rows) - MAX_FILES
    more = [f"- and {left_out} more files"] if left_out > 0 else []
    heading = "# Your changes that wait for the user's decision"
    return ("\n".join([heading, *rows[:MAX_FILES], *more]),)


def _describe_hunks(hunks: Sequence[Hunk]) -> str:
    return ", ".join(dict.fromkeys(map(_describe_hunk, hunks)))


def _describe_hunk(hunk: Hunk) -> str:
    if hunk.what != "content":
        return "the file was created" if hunk.what == "create" else "the file was deleted"
    first, last = hunk.start + 1, max(hunk.end, hunk.start + 1)
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"{lines} ({hunk.state})"
