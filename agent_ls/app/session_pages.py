"""Where a session stands in the list, by which a page of it goes on."""

from __future__ import annotations

from agent_ls.app.errors import BadChoiceError
from agent_ls.store.layout import SessionSummary


def place(stored: SessionSummary) -> tuple[str, str]:
    """By time, then by id."""
    return stored.updated, stored.header.session_id


def place_of(cursor: str | None) -> tuple[str, str] | None:
    """
    Raises:
        BadChoiceError: a cursor that no page ended with.
    """
    if cursor is None:
        return None
    updated, slash, session_id = cursor.partition("/")
    if not slash:
        raise BadChoiceError(f"no list of sessions goes on at {cursor!r}", "ask without a cursor")
    return updated, session_id
