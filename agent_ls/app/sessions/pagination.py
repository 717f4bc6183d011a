"""Cursors of the session list: the position of a session, after which the next page begins."""

from __future__ import annotations

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
