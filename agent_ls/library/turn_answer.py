"""Read the events of one turn to its answer, or to the reason why there is none."""

from __future__ import annotations

from agent_ls.library.errors import TurnFailedError
from agent_ls.library.streams import EventStream
from agent_ls.loop.events.types import AssistantTextEnd, Error, ProcessingEnd, TurnLimit

HINT_OF_LIMIT = (
    "set another limit by configure(limits={...}), or pass extend_limit to open_session, and ask again"
)
HINTS_OF_LIMITS = {
    "rounds": (
        'ask again to continue, or set another limit by configure(settings={"maxToolRoundsPerInput": ...}); '
        "extend_limit is not called"
    ),
    "turns": (
        'set another limit by configure(settings={"maxTurns": ...}), and ask again; extend_limit is not called'
    ),
}
"""By the `limit` of a TurnLimit: the settings that are not in `limits`, and end a turn without a question."""


async def read_answer(events: EventStream) -> tuple[str, TurnFailedError | None]:
    """Read a turn to its end. Return the last text of the main agent, and why the turn failed, None if it did not.

    Blank texts are passed over: for an empty answer, some providers send one, and others none.
    """
    said, failure = "", None
    limit = TurnFailedError("a limit was reached", reason="limit", hint=HINT_OF_LIMIT)
    async for event in events:
        match event:
            case AssistantTextEnd(agent_id="", text=words) if words.strip():
                said = words
            case Error(agent_id="", message=message, hint=hint, error_kind=kind, retryable=retryable):
                failure = TurnFailedError(message, reason="error", kind=kind, hint=hint, retryable=retryable)
            case TurnLimit(agent_id="", message=message, limit=name):
                hint = HINTS_OF_LIMITS.get(name, HINT_OF_LIMIT)
                limit = TurnFailedError(message, reason="limit", kind=name, hint=hint)
            case ProcessingEnd(reason="limit"):
                failure = failure or limit
            case _:
                pass
    return said, failure
