"""Sessions: made, listed, followed, ended."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server import to_wire
from agent_ls.server.context import Context
from agent_ls.server.errors import NotNegotiatedError, UnsupportedSettingError
from agent_ls.server.features.review import pending_hunks
from agent_ls.server.jsonrpc import RawJson
from agent_ls.server.rpc import route
from agent_ls.server.seams import Live


async def new_session(context: Context, params: wire.NewSession) -> wire.SessionResult:
    _demand_review_after(params.review)
    live = await context.bench.new_session(
        workspace_folder=context.folder(params.workspace_folder),
        provider=params.provider,
        model=params.model,
        effort=params.effort,
        mode=params.mode,
        title=params.title,
    )
    return wire.SessionResult(session=context.session_info(live))


def _demand_review_after(review: wire.ReviewSetting | None) -> None:
    if review == "before":
        raise UnsupportedSettingError(
            "review before an edit is applied", 'use "after": edits can be undone one by one'
        )


async def sessions(context: Context, params: wire.Sessions) -> wire.SessionsResult:
    folder = context.folder(params.workspace_folder) if params.workspace_folder else None
    found, cursor = await context.bench.list_sessions(folder, params.cursor, params.limit)
    infos = []
    for summary in found:
        live = context.bench.live(summary.id)
        infos.append(to_wire.session_info(summary, live.session if live else None))
    return wire.SessionsResult(sessions=tuple(infos), next_cursor=cursor)


async def subscribe(context: Context, params: wire.Subscribe) -> RawJson:
    if not context.client.events:
        raise NotNegotiatedError("events")
    live = await context.bench.open_session(params.session_id)
    # No await from here on: what is in the answer and what follows as events meet without a gap.
    start_sending = context.senders.subscribe(live.session)
    events = b",".join(to_wire.event(encoded) for encoded in live.events_since(params.since))
    rest = to_wire.encoded(_subscribed(context, live), without="events")
    return RawJson(b'%b,"events":[%b]}' % (rest.removesuffix(b"}"), events), start_sending)


def _subscribed(context: Context, live: Live) -> wire.SubscribeResult:
    session = live.session
    return wire.SubscribeResult(
        client_id=context.client_id,
        session=context.session_info(live),
        events=(),
        last_seq=session.last_seq,
        open_parts=tuple(to_wire.open_part(part) for part in session.open_parts()),
        pending=wire.Pending(
            approvals=tuple(to_wire.approval(requested) for requested in live.desk.pending()),
            hunks=pending_hunks(context, session_id=session.id),
        ),
    )


async def unsubscribe(context: Context, params: wire.Unsubscribe) -> wire.Empty:
    context.senders.unsubscribe(params.session_id)
    return wire.Empty()


async def configure(context: Context, params: wire.Configure) -> wire.ConfigureResult:
    _demand_review_after(params.review)
    live = context.live(params.session_id)
    applies_from = await live.configure(
        provider=params.provider, model=params.model, effort=params.effort, mode=params.mode
    )
    return wire.ConfigureResult(session=context.session_info(live), applies_from=applies_from)


async def abort(context: Context, params: wire.Abort) -> wire.Empty:
    if live := context.bench.live(params.session_id):
        live.session.abort()
    return wire.Empty()


ROUTES = (
    route(wire.NewSession, new_session),
    route(wire.Sessions, sessions),
    route(wire.Subscribe, subscribe),
    route(wire.Unsubscribe, unsubscribe),
    route(wire.Configure, configure),
    route(wire.Abort, abort),
)
