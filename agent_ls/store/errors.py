"""What the store cannot do.

StoreError
    BadSessionError        no readable header: this is no log of ours
    NewerFormatError       written by a newer version
    SessionLockedError     another process owns the session
    OwnershipLostError     another process has put this one out of its right
    UnknownOutputError     no output of this name is kept
    UnknownTurnError       no such turn, or it has not ended
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of all. `str()` is one sentence for the user."""


class BadSessionError(StoreError):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"Not a session of agent-ls: {path}: {reason}")


class NewerFormatError(StoreError):
    def __init__(self, path: str, found: object) -> None:
        super().__init__(f"{path} has format {found}, which this version cannot read. Update agent-ls.")


class SessionLockedError(StoreError):
    """`owner` names the process that has it, "" when that is not known."""

    def __init__(self, session_id: str, owner: str) -> None:
        super().__init__(f"Session {session_id} is open in another process ({owner or 'unknown'}).")
        self.owner = owner


class OwnershipLostError(StoreError):
    """What was to be written is not in the log. Nothing of the session may be done here any more."""

    def __init__(self) -> None:
        super().__init__("Another process has taken this session over.")


class UnknownOutputError(StoreError):
    hint = "the `outputRef` of a tool_call_end or of an item names one"

    def __init__(self, output_ref: str) -> None:
        super().__init__(f"No output {output_ref!r} is kept in this session.")


class UnknownTurnError(StoreError):
    def __init__(self, turn_id: str) -> None:
        which = f"turn {turn_id} of this session" if turn_id else "turn in this session yet"
        super().__init__(f"There is no whole {which}.")
