"""Errors of the store.

StoreError
  MissingLogError        the session has no log, or it cannot be read
  BadSessionError        no readable header: not a log of agent-ls
  NewerFormatError       written by a newer version
  SessionLockedError     another process owns the session
  OwnershipLostError     another process has taken the session over
  UnknownOutputError     no output with this reference is stored
  UnknownTurnError       unknown turn, or it has not ended
"""

from __future__ import annotations

from collections.abc import Iterable


class StoreError(Exception):
    """Base class of the store's errors. `str()` is one sentence for the user."""


class MissingLogError(StoreError):
    def __init__(self, session_id: str) -> None:
        super().__init__(f"Session {session_id} has no log that can be read.")


class BadSessionError(StoreError):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is not a session of agent-ls: {reason}")


class NewerFormatError(StoreError):
    def __init__(self, path: str, found: object) -> None:
        super().__init__(f"{path} has format {found}, which this version cannot read. Update agent-ls.")


class SessionLockedError(StoreError):
    """Another process owns the session. `owner` describes that process, "" if unknown."""

    def __init__(self, session_id: str, owner: str) -> None:
        super().__init__(f"Session {session_id} is open in another process ({owner or 'unknown'}).")
        self.owner = owner


class OwnershipLostError(StoreError):
    """Another process has taken the session over, so lines of this process do not reach the log.

    This process must stop using the session.
    """

    def __init__(self) -> None:
        super().__init__("Another process has taken this session over.")


class UnknownOutputError(StoreError):
    hint = "open the session again; the output may have been deleted together with old files"

    def __init__(self, output_ref: str) -> None:
        super().__init__(f"This session has no stored output {output_ref!r}.")


class UnknownTurnError(StoreError):
    """`known` are the ids that could be given, oldest first."""

    def __init__(self, turn_id: str, known: Iterable[str] = ()) -> None:
        self.known = tuple(known)
        which = f"turn {turn_id} of this session" if turn_id else "turn in this session yet"
        super().__init__(f"There is no complete {which}.")
