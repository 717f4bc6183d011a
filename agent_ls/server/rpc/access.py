"""Sessions that another process owns: check which requests this process may serve, and report the owner to
clients.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from agent_ls.server import protocol as wire
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc import to_wire
from agent_ls.services.errors import SessionOwnedError

if TYPE_CHECKING:
    from agent_ls.server.rpc.context import Context
    from agent_ls.server.rpc.event_sender import EventSenders
    from agent_ls.sessions.live import LiveSession
    from agent_ls.sessions.ownership.follower import SessionFollower
    from agent_ls.sessions.ownership.session_ownership import AccessChange
    from agent_ls.store.locks import Owner

log = logging.getLogger(__name__)

READ_ONLY_METHODS: frozenset[str] = frozenset(
    (
        "agent/subscribe",
        "agent/unsubscribe",
        "agent/history",
        "agent/output",
        "agent/export",
        "agent/hunks",
        "agent/terminals",
        "agent/draft",
        "agent/fork",
        "agent/closeSession",
        "agent/takeOver",
        # A client answer reports an action of the client and changes no session; its session id is that of any
        # session that the client is subscribed to.
        "agent/clientAnswer",
        "agent/commands",
    )
)
"""Methods that change nothing in a session. Every other message that names a session is refused if another
process owns the session.
"""


def check_access(context: Context, params: wire.Params) -> None:
    """Check that this process may serve a message.

    Raises:
        SessionOwnedError: the message would change a session that another process owns.
    """
    owners = context.manager.owners
    if isinstance(params, wire.Review) and params.session_id is None:
        _check_hunks(context, params)
    session_id = getattr(params, "session_id", None)
    if params.method in READ_ONLY_METHODS or not isinstance(session_id, str):
        return
    if owners.find_follower(session_id):
        raise SessionOwnedError(session_id)
    if live := context.manager.find_live(session_id):
        owners.check_owned(live)


def _check_hunks(context: Context, params: wire.Review) -> None:
    """Check a review request that names no session. Hunks of several sessions may be reviewed if this process
    owns at least one of the sessions.

    Raises:
        SessionOwnedError: all hunks belong to sessions that another process owns.
    """
    owners, review = context.manager.owners, context.manager.review
    owners.check_all_owned()
    ids, path = params.hunk_ids, maybe_path(params.uri) if params.uri else None
    found = review.open_hunks(path=path, turn_id=params.turn_id).values()
    chosen = [it for hunks in found for it in hunks if ids is None or it.id in ids]
    # a hunk that is still in this process's ledger may belong to a session that has just been handed over
    foreign = [it.session_id for it in chosen if owners.find_follower(it.session_id)]
    if foreign and len(foreign) == len(chosen):
        raise SessionOwnedError(foreign[0])
    if not chosen and (session := owners.with_hunks(ids, path, params.turn_id)):
        raise SessionOwnedError(session.id)


def read_info(session: SessionFollower) -> wire.SessionInfo:
    """Describe for clients a session that another process owns."""
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
    """Encode an `access` event, which says what the client may do with the session from now on.

    The event is not recorded in the log, because it differs for each process.
    """
    wire_owner = to_wire.owner(owner)
    return json.dumps(
        {
            "sessionId": session_id,
            "kind": "access",
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "data": {"access": access}
            | ({"owner": wire_owner.model_dump(by_alias=True)} if wire_owner else {}),
        }
    ).encode()


def follow_access(senders: EventSenders) -> Callable[[AccessChange], None]:
    """Return a listener for changes of a session's owner. The listener continues the client's subscription
    after a change.

    The client gets an `access` event between the events of the old and of the new owner.
    """
    from agent_ls.sessions.ownership.session_ownership import Acquired, OwnerChanged, Released, Reopened

    def changed(change: AccessChange) -> None:
        match change:
            case Acquired(live):
                senders.continue_with(live.session, lambda: access_event(live.id, "owner", None), cut=False)
            case Reopened(live):
                senders.reopened(live.session, partial(_recorded, live))
            case Released(session):
                senders.continue_with(session, lambda: _read_only(session), cut=True)
            case OwnerChanged(session):
                senders.say(session.id, _read_only(session))

    return changed


async def _recorded(live: LiveSession, after: int, last: int) -> Sequence[bytes]:
    try:
        return await anyio.to_thread.run_sync(live.events_since, after, last)
    except OSError as error:  # the client notices the gap in the sequence numbers and asks for the events
        log.warning("the log of session %s cannot be read: %s", live.id, error)
        return ()


def _read_only(session: SessionFollower) -> bytes:
    return access_event(session.id, "readOnly", session.owner)
