"""The plan of a session in mode `plan`: the last answer of the model, which the user edits and accepts."""

from __future__ import annotations

from typing import Literal, TypeAlias

from agent_ls.loop.errors import SessionBusyError
from agent_ls.loop.ids import TurnId
from agent_ls.loop.turns import AssistantTurn
from agent_ls.services.errors import AppError
from agent_ls.sessions.live import LiveSession

ModeAfterPlan: TypeAlias = Literal["ask", "edits"]

ACCEPTED = "I accept this plan, as I have edited it. Carry it out:"
"""The words before the plan in the message to the model."""


class NoPlanError(AppError):
    """There is no plan to accept."""

    kind = "nothing_pending"


def plan_of(live: LiveSession) -> str:
    """Return the plan that the user can accept now; "" while a turn runs, or if the mode is not `plan`."""
    turns = live.session.history.turns
    last = turns[-1] if turns else None
    if live.approver.mode != "plan" or live.session.is_busy or not isinstance(last, AssistantTurn):
        return ""
    return last.content.strip()


async def accept_plan(live: LiveSession, text: str, mode: ModeAfterPlan, client_key: str) -> TurnId:
    """Send the plan to the model as the user's message, change the mode, and return the id of the new turn.

    Raises:
        NoPlanError: `text` is empty, or the session is not in mode `plan`.
        SessionBusyError: a turn is running.
        SessionClosedError: the session is closed.
    """
    if live.session.is_busy:
        raise SessionBusyError(live.id)
    if not text.strip():
        raise NoPlanError("the plan is empty", "write what the agent should do, then accept the plan")
    if live.approver.mode != "plan":
        raise NoPlanError(
            f"the session is in mode {live.approver.mode}, so there is no plan to accept",
            "to get a plan, change the session's mode to plan, then send a message that asks for one",
        )
    submitted = live.session.submit(
        f"{ACCEPTED}\n\n{text.strip()}", when_busy="refuse", client_key=client_key
    )
    await live.configure(mode=mode)
    return TurnId(submitted.turn_id)
