"""Handlers for sessions: create, list, subscribe, configure, abort."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
from pydantic import ValidationError

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.questions import UnknownQuestionError
from agent_ls.server import protocol as wire
from agent_ls.server.features.review import pending_hunks
from agent_ls.server.lsp import to_lsp
from agent_ls.server.rpc import to_wire
from agent_ls.server.rpc.access import read_info
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.event_sender import PausedSubscription
from agent_ls.server.rpc.idempotency import find_logged
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import NotNegotiatedError
from agent_ls.server.transport.jsonrpc import RawJson
from agent_ls.services.errors import SessionOwnedError
from agent_ls.sessions.new_session import SessionSpec
from agent_ls.sessions.plan import accept_plan

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession
    from agent_ls.sessions.ownership.follower import SessionFollower

SNAPSHOT_ITEMS = 200

log = logging.getLogger(__name__)


async def new_session(context: Context, params: wire.NewSession) -> wire.SessionResult:
    await context.wait_for_settings()
    live = await context.manager.new_session(
        SessionSpec(
            workspace_folder=context.folder(params.workspace_folder),
            provider=params.provider,
            model=params.model,
            effort=params.effort,
            mode=params.mode,
            review=params.review,
            title=params.title,
            worktree=params.worktree,
        )
    )
    return wire.SessionResult(session=context.session_info(live))


async def sessions(context: Context, params: wire.Sessions) -> wire.SessionsResult:
    folder = context.folder(params.workspace_folder) if params.workspace_folder else None
    found, cursor = await context.manager.list_sessions(
        folder, params.cursor, params.limit, params.query, running=params.running
    )
    infos = []
    for summary in found:
        live = context.manager.find_live(summary.id)
        infos.append(context.session_info(live) if live else to_wire.session_info(summary, None))
    return wire.SessionsResult(sessions=tuple(infos), next_cursor=cursor)


async def bring_changes(context: Context, params: wire.BringChanges) -> wire.BringChangesResult:
    live = await context.require_open(params.session_id)
    files = tuple(
        wire.BroughtFile(uri=to_lsp.uri(it.path), state=it.state, reason=it.reason)
        for it in await live.bring_changes()
    )
    return wire.BringChangesResult(files=files)


async def subscribe(context: Context, params: wire.Subscribe) -> RawJson:
    if not context.client.events:
        raise NotNegotiatedError("events")
    await context.wait_for_settings()
    owners, session_id = context.manager.owners, params.session_id
    context.senders.forget_ended(session_id)
    while True:  # check again, because the owner may change between two checks
        if not owners.find_follower(session_id) or not await owners.is_owned(session_id):
            with suppress(SessionOwnedError):
                return await _subscribe_live(context, params, await context.manager.open_session(session_id))
        if session := await owners.open_follower(session_id):
            return await _subscribe_read_only(context, params, session)


async def _subscribe_live(context: Context, params: wire.Subscribe, live: LiveSession) -> RawJson:
    # No await between these calls: new events are collected from exactly the point where the result ends, so that
    # no event is lost or sent twice, however long reading the log takes.
    sending = context.senders.subscribe(live.session)
    return await _encode_result(context, params, live, _make_result(context, live), sending)


async def _subscribe_read_only(context: Context, params: wire.Subscribe, session: SessionFollower) -> RawJson:
    """Subscribe to a session that another process owns: send the events in the log, then each event that is
    added to it.
    """
    sending = context.senders.subscribe(session)
    hunks = to_wire.file_hunks(session.open_hunks(), lambda path: "", lambda path: None)
    result = wire.SubscribeResult(
        client_id=context.client_id,
        session=read_info(session),
        events=(),
        last_seq=session.last_seq,
        open_parts=tuple(to_wire.open_part(part, agent_id) for part, agent_id in session.open_parts()),
        pending=wire.Pending(
            approvals=tuple(event_codec.payload(asked) for asked in session.approvals()),
            questions=tuple(event_codec.payload(asked) for asked in session.questions()),
            hunks=hunks,
        ),
    )
    return await _encode_result(context, params, session, result, sending)


async def _encode_result(
    context: Context,
    params: wire.Subscribe,
    source: LiveSession | SessionFollower,
    result: wire.SubscribeResult,
    sending: PausedSubscription,
) -> RawJson:
    latest = dict(source.latest)
    try:
        is_ours = result.session.access == "owner"
        draft = (
            await _draft(context, params.session_id) if is_ours else None
        )  # the draft of another process's session belongs to the user of that process
        rest = to_wire.encode_result(result.model_copy(update={"draft": draft}), without="events")
        recorded = await anyio.to_thread.run_sync(_recorded, source, params, result.last_seq, latest)
    except BaseException:  # the request failed, usually because it was cancelled
        sending.drop()
        raise
    return RawJson(b"%b,%b}" % (rest.removesuffix(b"}"), recorded), sending.start)


def _recorded(
    source: LiveSession | SessionFollower, params: wire.Subscribe, last: int, latest: Mapping[str, bytes]
) -> bytes:
    """Return the part of the subscribe result that comes from the log, as members of its JSON object. Blocks;
    call it in a thread.
    """
    if not 0 < params.max_events < last - params.since:
        events = b",".join(to_wire.event(encoded) for encoded in source.events_since(params.since, last))
        return b'"events":[%b]' % events
    page = source.snapshot(last, SNAPSHOT_ITEMS)
    newest = {kind: json.loads(encoded)["data"] for kind, encoded in latest.items()}
    snapshot = wire.Snapshot(items=(), more=page.more, usage=newest.get("usage"), plan=newest.get("plan"))
    rest = to_wire.encode_result(snapshot, without="items").removesuffix(b"}")
    return b'"events":[],"snapshot":%b,"items":%b}' % (rest, to_wire.items(page.items))


async def _draft(context: Context, session_id: str) -> wire.DraftInfo | None:
    kept = await context.manager.archive.draft(session_id)
    try:
        return wire.DraftInfo.model_validate(kept) if kept else None
    except ValidationError:
        log.warning("the draft of session %s has an unknown version and was ignored", session_id)
        return None


def _make_result(context: Context, live: LiveSession) -> wire.SubscribeResult:
    session = live.session
    return wire.SubscribeResult(
        client_id=context.client_id,
        session=context.session_info(live),
        events=(),
        last_seq=session.last_seq,
        open_parts=tuple(
            to_wire.open_part(part, session.agent_of_part(part.part_id)) for part in session.open_parts()
        ),
        pending=wire.Pending(
            approvals=tuple(event_codec.payload(asked) for asked in live.approver.pending()),
            questions=tuple(event_codec.payload(asked) for asked in session.questions.pending()),
            hunks=pending_hunks(context, session_id=session.id),
        ),
    )


async def answer(context: Context, params: wire.Answer) -> wire.AnswerResult:
    live = context.require_live(params.session_id)
    try:
        answered = live.session.questions.answer(
            params.question_id,
            params.answers,
            declined=params.declined,
            by=context.client_id,
            client_key=params.client_key,
        )
    except UnknownQuestionError:
        earlier = partial(find_logged, live, "question_answered", params.question_id)
        if logged := await anyio.to_thread.run_sync(earlier):
            return wire.AnswerResult(
                answers=tuple(logged["answers"]), declined=logged["declined"], decided_by=logged["decidedBy"]
            )
        raise
    return wire.AnswerResult.of(answered)


async def history(context: Context, params: wire.History) -> RawJson:
    page = await context.manager.archive.history(params.session_id, params.before, params.limit)
    items = await anyio.to_thread.run_sync(to_wire.items, page.items)
    return RawJson(b'{"items":%b,"more":%b}' % (items, b"true" if page.more else b"false"))


async def draft(context: Context, params: wire.Draft) -> wire.Empty:
    if context.manager.owners.find_follower(params.session_id):
        return wire.Empty()  # the stored draft is that of the user whose process owns the session
    plain = params.model_dump(mode="json", by_alias=True, exclude={"session_id"})
    await context.manager.archive.keep_draft(params.session_id, plain)
    return wire.Empty()


async def unsubscribe(context: Context, params: wire.Unsubscribe) -> wire.Empty:
    context.senders.unsubscribe(params.session_id)
    return wire.Empty()


async def configure(context: Context, params: wire.Configure) -> wire.ConfigureResult:
    live = await context.require_open(params.session_id)
    applies_from = await live.configure(
        provider=params.provider,
        model=params.model,
        effort=params.effort,
        mode=params.mode,
        review=params.review,
        limits=params.limits.model_dump(exclude_none=True) if params.limits else None,
    )
    session = context.session_info(live)
    if params.remember:
        # while a turn runs, `session` still has the model from before this change
        provider, model = params.provider or session.provider, params.model or session.model
        await anyio.to_thread.run_sync(context.manager.models.remember, provider, model)
    return wire.ConfigureResult(session=session, applies_from=applies_from)


async def accept(context: Context, params: wire.AcceptPlan) -> wire.AcceptPlanResult:
    live = await context.require_open(params.session_id)
    turn_id = await accept_plan(live, params.text, params.mode, params.client_key)
    return wire.AcceptPlanResult(session=context.session_info(live), turn_id=turn_id)


async def abort(context: Context, params: wire.Abort) -> wire.Empty:
    if live := context.manager.find_live(params.session_id):
        live.session.abort()
    return wire.Empty()


ROUTES = (
    route(wire.NewSession, new_session),
    route(wire.Sessions, sessions),
    route(wire.BringChanges, bring_changes),
    route(wire.Subscribe, subscribe, wire.SubscribeResult),
    route(wire.History, history, wire.HistoryResult),
    route(wire.Draft, draft),
    route(wire.Unsubscribe, unsubscribe),
    route(wire.Configure, configure),
    route(wire.AcceptPlan, accept),
    route(wire.Abort, abort),
    route(wire.Answer, answer),
)
