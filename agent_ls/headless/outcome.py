"""The exit code of `agent-ls exec`, computed from the events of a run. The codes are part of its interface."""

from __future__ import annotations

from agent_ls.environments.errors import EnvironmentLostError
from agent_ls.loop.events.types import Envelope, Error, ProcessingEnd, ToolCallEnd, TurnFacts, TurnLimit
from agent_ls.system import INTERRUPTED

DONE, FAILED, USAGE, REFUSED, LIMIT = 0, 1, 2, 3, 4
LOST = 5
"""Exit code if `ends_at_loss` is set and the connection to the remote machine failed or was lost."""

LIMIT_OPTIONS = {
    "tokens": " --max-tokens NUMBER",
    "cost": " --max-cost NUMBER",
    "time": " --max-seconds NUMBER",
    "rounds": " --max-rounds NUMBER",
    "turns": " --set maxTurns=NUMBER",
}
"""The option of `exec` that sets a limit, by the name of the limit in an event."""


class RunOutcome:
    """Computes the exit code from the events of a run.

    With `requires_evidence`, a run that changed files fails unless a check passed after the last change.
    """

    def __init__(self, *, ends_at_loss: bool = False, requires_evidence: bool = False) -> None:
        self._ends_at_loss = ends_at_loss
        self._requires_evidence = requires_evidence
        self.lacks_evidence = False
        self.is_lost = False
        self.failed = False
        self.limit = self.option = ""
        self.refused = False
        self.interrupted = False

    def see(self, envelope: Envelope) -> bool:
        """Process an event. Returns True when the turn has ended."""
        match envelope.event:
            case Error():
                self.failed = True
            # Every refusal counts, even if the user was not asked (for example because the folder contains
            # credentials).
            case ToolCallEnd(error_kind="permission_denied"):
                self.refused = True
            case ToolCallEnd(error_kind=EnvironmentLostError.kind) if self._ends_at_loss:
                self.is_lost = True
                return True
            case TurnLimit(limit=limit, message=message):
                self.limit, self.option = message, LIMIT_OPTIONS.get(limit, "")
            case TurnFacts() as facts:
                self.lacks_evidence = self._requires_evidence and not facts.is_checked
            case ProcessingEnd(reason=reason):
                self.interrupted |= reason == "interrupted"
                self.failed |= reason in ("error", "aborted")
                self.refused |= reason == "refused"  # also a turn that a hook ended
                self.limit = (self.limit or "a limit was reached") if reason == "limit" else ""
                return True
        return False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if self.is_lost:
            return LOST
        if self.failed or self.lacks_evidence:
            return FAILED
        return LIMIT if self.limit else REFUSED if self.refused else DONE
