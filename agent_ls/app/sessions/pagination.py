"""Cursors of the session list: the position of a session, after which the next page begins."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.app.errors import BadChoiceError
from agent_ls.store.layout import StoredSummary


def place(stored: StoredSummary) -> tuple[str, str]:
    """Return the sort key of a session: its time, then its id."""
    return stored.updated, stored.header.session_id


def place_of(cursor: str | None) -> tuple[str, str] | None:
    """Parse a cursor; None for the first page.

    Raises:
        BadChoiceError: a cursor that no page returned.
    """
    if cursor is None:
        return None
    updated, slash, session_id = cursor.partition("/")
    if not slash:
        raise BadChoiceError(
            f"the session list cannot be continued at {cursor!r}",
            "list the sessions again from the beginning",
        )
    return updated, session_id


def page_after(
    stored: Sequence[StoredSummary], cursor: str | None, limit: int
) -> tuple[Sequence[StoredSummary], str | None]:
    """Return the sessions after a cursor, at most `limit`, and the cursor of the next page. `stored`: newest first.

    Raises:
        BadChoiceError: an invalid cursor.
    """
    last = place_of(cursor)
    rest = [item for item in stored if last is None or place(item) < last]
    page = rest[: max(limit, 1)]
    return page, "/".join(place(page[-1])) if len(rest) > len(page) else None
