"""Handlers for the user's messages to a session: submit, steer, follow up, interrupt, queue, compact."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.llm.messages import ImagePart
from agent_ls.loop.inbox import QueueChange, QueueEdit, QueueMove, QueueRemoval, StartNow
from agent_ls.server import protocol as wire
from agent_ls.server.features.mentions import MENTIONS, with_mentions
from agent_ls.server.features.server_prompts import with_server_prompts
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import InvalidParamsError, NothingPendingError
from agent_ls.sessions.live import LiveSession


async def _read_input(
    context: Context, parts: Sequence[wire.InputPart], session_id: str
) -> tuple[LiveSession, str, tuple[ImagePart, ...]]:
    """Return the session of a message, and the message's text and images. A closed session is opened.

    Errors in a message that has only text are raised before a session is opened.
    """
    if not any(map(_is_expanded, parts)):
        text, images = context.convert_input(parts)
        live = await context.require_open(session_id)
    else:
        live = await context.require_open(session_id)
        text, images = context.convert_input(await _expand(context, parts, live))
    for part in parts:
        if isinstance(part, wire.TextInput):
            await live.warn_of_missing_files(part.text)
    return live, text, images


def _is_expanded(part: wire.InputPart) -> bool:
    is_typed = isinstance(part, wire.TextInput) and part.text.startswith(("$", "/"))
    return is_typed or isinstance(part, (wire.CommandInput, wire.ResourceInput, *MENTIONS))


async def _expand(
    context: Context, parts: Sequence[wire.InputPart], live: LiveSession
) -> Sequence[wire.InputPart]:
    """Return the parts with names replaced by the texts that they stand for: mentions, prompts of MCP
    servers, commands in files, and skills.

    Commands are expanded before mentions, because the text of a mention must not be taken for a command.
    """
    expanded = await context.expand_parts(await with_server_prompts(context, live, parts), live)
    return await with_mentions(live, expanded)


async def submit(context: Context, params: wire.Submit) -> wire.SubmitResult:
    live, text, images = await _read_input(context, params.input, params.session_id)
    answer = live.session.submit(
        text, images=images, when_busy=params.when_busy, client_key=params.client_key
    )
    return wire.SubmitResult(
        turn_id=answer.turn_id or None, queued_id=answer.queued_id or None, steer_id=answer.steer_id or None
    )


async def steer(context: Context, params: wire.Steer) -> wire.SteerResult:
    live, text, images = await _read_input(context, params.input, params.session_id)
    session = live.session
    if params.expected_turn_id not in (None, session.turn_id):
        raise NothingPendingError(
            "the turn that this message belongs to has ended", "send the text as a new message"
        )
    if params.agent_id:
        if steer_id := session.agents.steer_running(params.agent_id, text):
            return wire.SteerResult(steer_id=steer_id)
        raise _no_agent(params.agent_id)
    return wire.SteerResult(steer_id=session.steer(text, images=images, client_key=params.client_key))


def _no_agent(agent_id: str) -> NothingPendingError:
    return NothingPendingError(f"the subagent {agent_id} does not run", "send the text to the main agent")


async def unsteer(context: Context, params: wire.Unsteer) -> wire.Empty:
    if not context.require_live(params.session_id).session.unsteer(params.steer_id):
        raise NothingPendingError(
            "the model has read this message already", "send another message to correct it"
        )
    return wire.Empty()


async def follow_up(context: Context, params: wire.FollowUp) -> wire.FollowUpResult:
    live, text, images = await _read_input(context, params.input, params.session_id)
    session = live.session
    return wire.FollowUpResult(queued_id=session.follow_up(text, images=images, client_key=params.client_key))


async def interrupt(context: Context, params: wire.Interrupt) -> wire.Empty:
    live = context.require_live(params.session_id)
    parts = await _expand(context, params.then_submit, live) if params.then_submit else ()
    message = context.convert_input(parts) if params.then_submit else None
    session = live.session
    if params.agent_id:
        if not session.agents.stop_running(params.agent_id):
            raise _no_agent(params.agent_id)
        return wire.Empty()
    turn_id = session.turn_id
    session.interrupt()
    if turn_id and not params.keep_processes:
        session.terminals.end_turn(turn_id)
    if message:
        text, images = message
        session.submit(text, images=images, when_busy="queue", client_key=params.client_key)
    return wire.Empty()


async def compact(context: Context, params: wire.Compact) -> wire.CompactResult:
    session = context.require_live(params.session_id).session
    wanted = session.compact(params.instructions, client_key=params.client_key)
    return wire.CompactResult(compaction_id=wanted)


async def queue(context: Context, params: wire.Queue) -> wire.Empty:
    live = context.require_live(params.session_id)
    change = await _queue_change(context, params, live)
    if not live.session.change_queue(change):
        raise NothingPendingError(
            "this message, or the message before which it was moved, is no longer in the queue",
            "look at the queue again; if the agent already works on the message, you can stop its turn",
        )
    return wire.Empty()


async def _queue_change(context: Context, params: wire.Queue, live: LiveSession) -> QueueChange:
    """Return the requested queue change.

    Raises:
        InvalidParamsError: none of the four kinds of change, or more than one.
    """
    changes: list[QueueChange] = []
    if params.edit:
        text, images = context.convert_input(await _expand(context, params.edit.input, live))
        changes.append(QueueEdit(params.edit.queued_id, text, images, params.edit.keep_images))
    if params.move:
        changes.append(QueueMove(params.move.queued_id, params.move.before or ""))
    if params.remove is not None:
        changes.append(QueueRemoval(params.remove))
    if params.start_now is not None:
        changes.append(StartNow(params.start_now))
    if len(changes) != 1:
        raise InvalidParamsError(
            params.method,
            f"the request has {len(changes)} of the fields that change the queue of messages; give exactly one of them",
        )
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
