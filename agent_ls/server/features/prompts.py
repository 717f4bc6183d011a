"""What the user says to a session: submit, steer, follow up, interrupt."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.context import Context
from agent_ls.server.errors import NothingPendingError
from agent_ls.server.rpc import route


async def submit(context: Context, params: wire.Submit) -> wire.SubmitResult:
    text, images = context.told(params.input)
    answer = context.live(params.session_id).session.submit(
        text, images=images, when_busy=params.when_busy, client_key=params.client_key
    )
    return wire.SubmitResult(
        turn_id=answer.turn_id or None, queued_id=answer.queued_id or None, steer_id=answer.steer_id or None
    )


async def steer(context: Context, params: wire.Steer) -> wire.SteerResult:
    text, images = context.told(params.input)
    session = context.live(params.session_id).session
    if params.expected_turn_id not in (None, session.turn_id):
        hint = "send it as a new message, or without expectedTurnId for whatever comes next"
        raise NothingPendingError(f"turn {params.expected_turn_id} is over", hint)
    return wire.SteerResult(steer_id=session.steer(text, images=images, client_key=params.client_key))


async def unsteer(context: Context, params: wire.Unsteer) -> wire.Empty:
    if not context.live(params.session_id).session.unsteer(params.steer_id):
        raise NothingPendingError("the model has been told already", "steer again to correct it")
    return wire.Empty()


async def follow_up(context: Context, params: wire.FollowUp) -> wire.FollowUpResult:
    text, images = context.told(params.input)
    session = context.live(params.session_id).session
    return wire.FollowUpResult(queued_id=session.follow_up(text, images=images, client_key=params.client_key))


async def interrupt(context: Context, params: wire.Interrupt) -> wire.Empty:
    message = context.told(params.then_submit) if params.then_submit else None
    session = context.live(params.session_id).session
    session.interrupt()
    if message:
        text, images = message
        session.submit(text, images=images, when_busy="queue", client_key=params.client_key)
    return wire.Empty()


ROUTES = (
    route(wire.Submit, submit),
    route(wire.Steer, steer),
    route(wire.Unsteer, unsteer),
    route(wire.FollowUp, follow_up),
    route(wire.Interrupt, interrupt),
)
