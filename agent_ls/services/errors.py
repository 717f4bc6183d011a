"""Errors of requests that cannot be fulfilled, with messages for the user.

AppError
    UnknownSessionError       the session is neither open nor stored
      UnreadableSessionError  it is stored, but its log is damaged, missing, or of a newer version
    SessionOwnedError         another process owns the session
      SessionOpenHereError    this process owns it, and the program opens it once more
    OwnerSilentError          the process that owns the session does not answer the request to release it
    BadChoiceError            a provider, model, mode or folder that does not exist
      UnknownProviderChoiceError  a provider that does not exist, and no name is similar
    SessionHasHunksError      the session is not deleted, because the user has not reviewed its changes
    UnappliedChangesError     the session is not deleted, because its worktree may have changes of its own
    NotRunningError           agent-ls is stopping or has not started
"""

from __future__ import annotations


class AppError(Exception):
    """An error with a message for the user. `hint` says what to do next.

    `is_usage`: the input was wrong and nothing was attempted.
    """

    kind = "app"
    is_usage = False

    def __init__(self, message: str, hint: str = "") -> None:
        # Undecodable bytes of a path are lone surrogates, which a program could not print.
        super().__init__(message.encode("utf-8", "backslashreplace").decode("utf-8"))
        self.hint = hint
        if hint:
            self.add_note(hint)  # the traceback of a program shows it


class UnknownSessionError(AppError):
    kind = "unknown_session"
    is_usage = True

    def __init__(self, session_id: str, reason: str = "") -> None:
        super().__init__(
            reason or f"unknown session: {session_id}",
            "`agent-ls sessions --all` lists what is stored. For sessions of a program, set AGENT_LS_STATE_DIR to "
            "its state_dir",
        )


class UnreadableSessionError(UnknownSessionError):
    """`is_newer`: a newer version of agent-ls wrote the log."""

    def __init__(self, reason: str, *, is_newer: bool = False) -> None:
        hint = (
            "open it with the version that wrote it, or a later one"
            if is_newer
            else "restore its log from a backup, or delete the session"
        )
        AppError.__init__(self, reason, hint)


class SessionOwnedError(AppError):
    kind = "session_busy"

    def __init__(self, session_id: str, owner: str = "") -> None:
        who = f" ({owner})" if owner else ""
        super().__init__(
            f"session {session_id} is open in another process{who}",
            "continue in that process, or take the session over in an editor. Here you can only read it",
        )


class SessionOpenHereError(SessionOwnedError):
    def __init__(self, session_id: str) -> None:
        AppError.__init__(
            self,
            f"session {session_id} is open in this program already",
            "use that session, or close it first",
        )


class OwnerSilentError(AppError):
    kind = "owner_silent"

    def __init__(self, session_id: str, owner: str) -> None:
        super().__init__(
            f"the process that owns session {session_id} ({owner}) does not answer the request to hand the "
            "session over",
            "check whether that editor still responds. If you take the session over by force, you lose what "
            "that editor does until then",
        )


class BadChoiceError(AppError):
    kind = "bad_choice"
    is_usage = True


class UnknownProviderChoiceError(BadChoiceError):
    pass


class SessionHasHunksError(AppError):
    kind = "session_has_hunks"

    def __init__(self, session_id: str, count: int) -> None:
        super().__init__(
            f"{count} changes of session {session_id} wait for your decision",
            "keep or undo these changes first, or delete the session with force, which leaves the files as they are",
        )


class UnappliedChangesError(SessionHasHunksError):
    """A session is not deleted, because its worktree may have changes that the user's folder does not have."""

    def __init__(self, session_id: str) -> None:
        AppError.__init__(
            self,
            f"the worktree of session {session_id} may have changes that your folder does not have",
            "bring these changes into your folder first; if you delete the session with force, they are lost",
        )


class NotRunningError(AppError):
    def __init__(self) -> None:
        super().__init__(
            "agent-ls is shutting down or has not started yet",
            "start agent-ls again, then repeat your action",
        )
