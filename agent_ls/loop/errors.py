"""Errors of requests that a session refuses.

SessionError
  SessionClosedError    the session has ended; resume the session to continue
  SessionBusyError      a turn is running, and the request is possible only in an idle session
  RollBackStoppedError  the user has stopped the roll back
  UnknownTerminalError  no running command and no background command has this id
  NoInputError          the command does not run in a terminal, so nothing can be typed into it
  CompactionOffError    the settings disable compaction
  NothingToCompactError the conversation is not longer than the part that a compaction keeps

Those of questions and approvals stand beside them, in `loop/questions.py` and `loop/calls/approval.py`.
"""

from __future__ import annotations

from agent_ls.text import plural


class SessionError(Exception):
    """Base class. `str()` is one sentence for the user, `hint` what to do next if the sentence does not say it."""

    hint = ""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        if self.hint:
            self.add_note(self.hint)  # the traceback of a program shows it


class SessionClosedError(SessionError):
    """`is_stored` False: nothing is left of the session that could be resumed. `hint` says how to open one."""

    def __init__(self, session_id: str, hint: str = "", *, is_stored: bool = True) -> None:
        self.hint = hint
        again = "Open the session again to continue." if is_stored else "It was not stored."
        super().__init__(f"Session {session_id} is closed. {again}")


class SessionBusyError(SessionError):
    hint = "wait until the session is idle, or interrupt its turn"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"Session {session_id} is working. Wait, steer it, or queue the message.")


class RollBackStoppedError(SessionError):
    hint = "files that it had restored by then stay so: read them again, or roll back once more"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"The roll back of session {session_id} was interrupted.")


class UnknownTerminalError(SessionError):
    hint = "if the command has ended, its output is in the conversation"

    def __init__(self, terminal_id: str) -> None:
        super().__init__(f"No command {terminal_id!r} runs in this session.")


class NoInputError(SessionError):
    hint = "you can type into a command only if it runs in a terminal (setting agentLs.terminal)"

    def __init__(self, terminal_id: str) -> None:
        super().__init__(f"You cannot type into command {terminal_id!r}, because it runs without a terminal.")


class CompactionOffError(SessionError):
    hint = "set agentLs.context.compaction to auto or request, and agentLs.context.strategy to a value other than full"

    def __init__(self) -> None:
        super().__init__("Compaction is disabled: the settings keep the whole conversation.")


class NothingToCompactError(SessionError):
    hint = "continue; the context display shows how full the context window is"

    def __init__(self, messages: int) -> None:
        there = (
            f"the conversation has only {plural(messages, 'message')}"
            if messages
            else "the session has no message"
        )
        super().__init__(f"There is nothing to compact yet: {there}.")
