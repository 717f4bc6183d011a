"""Cursors of the session list: a cursor is the position of the session after which the next page begins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile

from agent_ls.services.errors import BadChoiceError
from agent_ls.store.layout import ListedSession


def cursor_after(session: ListedSession) -> str:
    """Return the cursor of the page that begins after a session."""
    return "/".join(_position(session))


def sessions_after(listed: Sequence[ListedSession], cursor: str | None) -> Sequence[ListedSession]:
    """Return the sessions after a cursor. `listed`: newest first. No cursor: all sessions.

    Raises:
        BadChoiceError: the cursor is invalid.
    """
    if cursor is None:
        return listed
    updated, slash, session_id = cursor.partition("/")
    if not slash:
        raise BadChoiceError(
            f"the session list cannot be continued at {cursor!r}",
            "list the sessions again from the beginning",
        )
    return list(dropwhile(lambda session: _position(session) >= (updated, session_id), listed))


def _position(session: ListedSession) -> tuple[str, str]:
    """Return the sort key of a session: the time of its last use, then its id."""
    return session.updated, session.session_id
