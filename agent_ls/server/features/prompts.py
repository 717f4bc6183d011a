"""What the user says to a session: submit, steer, follow up, interrupt, compact."""

from __future__ import annotations

from agent_ls.loop.inbox import Edit, Move, QueueChange, Remove, StartNow
from agent_ls.server import protocol as wire
from agent_ls.server.context import Context
from agent_ls.server.errors import InvalidParamsError, NothingPendingError
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
    turn_id = session.turn_id
    session.interrupt()
    if turn_id and not params.keep_processes:
        session.terminals.end_turn(turn_id)
    if message:
        text, images = message
        session.submit(text, images=images, when_busy="queue", client_key=params.client_key)
    return wire.Empty()


async def compact(context: Context, params: wire.Compact) -> wire.CompactResult:
    session = context.live(params.session_id).session
    wanted = session.compact(params.instructions, client_key=params.client_key)
    return wire.CompactResult(compaction_id=wanted)


async def queue(context: Context, params: wire.Queue) -> wire.Empty:
    change = _queue_change(context, params)
    if not context.live(params.session_id).session.change_queue(change):
        raise NothingPendingError(
            f"message {change.queued_id} waits no longer, or what it was to stand before does not",
            "the event `queue` has what waits now; what has begun can be steered or interrupted",
        )
    return wire.Empty()


def _queue_change(context: Context, params: wire.Queue) -> QueueChange:
    """
    Raises:
        InvalidParamsError: none of the four, or more than one.
    """
    changes: list[QueueChange] = []
    if params.edit:
        text, images = context.told(params.edit.input)
        changes.append(Edit(params.edit.queued_id, text, images, params.edit.keep_images))
    if params.move:
        changes.append(Move(params.move.queued_id, params.move.before or ""))
    if params.remove is not None:
        changes.append(Remove(params.remove))
    if params.start_now is not None:
        changes.append(StartNow(params.start_now))
    if len(changes) != 1:
        raise InvalidParamsError(params.method, f"{len(changes)} changes; give exactly one")
    return changes[0]


ROUTES = (
    route(wire.Submit, submit),
    route(wire.Steer, steer),
    route(wire.Unsteer, unsteer),
    route(wire.FollowUp, follow_up),
    route(wire.Interrupt, interrupt),
    route(wire.Queue, queue),
    route(wire.Compact, compact),
)
