"""Sessions that another process owns: what may be asked about them here, and how clients are told whose they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent_ls.app.errors import SessionBusyError
from agent_ls.server import protocol as wire, to_wire

if TYPE_CHECKING:
    from agent_ls.app.owners import AccessChange
    from agent_ls.app.reading_along import ReadAlong
    from agent_ls.server.context import Context
    from agent_ls.server.event_sender import EventSenders
    from agent_ls.store.locks import Owner

READING: frozenset[type[wire.Params]] = frozenset(
    (
        wire.Subscribe,
        wire.Unsubscribe,
        wire.History,
        wire.Output,
        wire.Export,
        wire.Hunks,
        wire.Terminals,
        wire.Draft,
        wire.Fork,
        wire.CloseSession,
        wire.TakeOver,
        wire.ClientAnswer,  # of what the client does; the session is the one that it listens to
        wire.Commands,
    )
)
"""These change nothing of a session. Each other message that names one is refused unless it is ours."""


def demand_access(context: Context, params: wire.Params) -> None:
    """
    Raises:
        SessionBusyError: it would change a session that another process owns.
    """
    owners = context.bench.owners
    if isinstance(params, wire.Review) and params.session_id is None:
        _demand_hunks(context, params)
    session_id = getattr(params, "session_id", None)
    if type(params) in READING or not isinstance(session_id, str):
        return
    if owners.elsewhere(session_id):
        raise SessionBusyError(session_id)
    if live := context.bench.live(session_id):
        owners.demand(live)


def _demand_hunks(context: Context, params: wire.Review) -> None:
    """A review may name hunks without their session. Of several sessions, those that are ours may be decided about."""
    from agent_ls.server.from_lsp import maybe_path

    owners, desk = context.bench.owners, context.bench.review
    owners.demand_all()
    ids, path = params.hunk_ids, maybe_path(params.uri) if params.uri else None
    found = desk.open_hunks(path=path, turn_id=params.turn_id).values()
    chosen = [it for hunks in found for it in hunks if ids is None or it.id in ids]
    foreign = [it.session_id for it in chosen if owners.elsewhere(it.session_id)]  # one that is just given up
    if foreign and len(foreign) == len(chosen):
        raise SessionBusyError(foreign[0])
    if not chosen and (session := owners.with_hunks(ids, path, params.turn_id)):
        raise SessionBusyError(session.id)


def read_info(session: ReadAlong) -> wire.SessionInfo:
    """A session of another process, as clients see it."""
    info = to_wire.session_info(session.summary(), None)
    return info.model_copy(
        update={
            "access": "readOnly",
            "owner": to_wire.owner(session.owner),
            "queue": to_wire.queue(session.queue),
            "steering": to_wire.steering(session.steering),
        }
    )


def access_event(session_id: str, access: wire.Access, owner: Owner | None) -> bytes:
    """Not recorded, for it is another for each process: what this client may do with the session from now on."""
    told = to_wire.owner(owner)
    return json.dumps(
        {
            "sessionId": session_id,
            "kind": "access",
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "data": {"access": access} | ({"owner": told.model_dump(by_alias=True)} if told else {}),
        }
    ).encode()


def follow_access(senders: EventSenders) -> Callable[[AccessChange], None]:
    """For `Owners.watch`: the client that follows a session goes on with it, and is told in between."""
    from agent_ls.app.owners import Came, OwnerChanged, Went

    def changed(change: AccessChange) -> None:
        match change:
            case Came(live):
                senders.go_on(live.session, lambda: access_event(live.id, "owner", None), cut=False)
            case Went(session):
                senders.go_on(session, lambda: _read_only(session), cut=True)
            case OwnerChanged(session):
                senders.say(session.id, _read_only(session))

    return changed


def _read_only(session: ReadAlong) -> bytes:
    return access_event(session.id, "readOnly", session.owner)
