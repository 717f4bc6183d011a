"""Pass the messages of one page to the servers that own its sessions, and the events of these servers to the page.

A message of the page is a JSON-RPC request with a member `session`, the id of the session that the message is about.
The page gets the events of a session from the server that owns the session. If the owner has no channel, the page
gets the events from the panel's own server, which follows the session's log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio.to_thread
from anyio.abc import TaskGroup

from agent_ls.panel.home import HomeServer
from agent_ls.panel.link import GONE, Link, Message, open_link
from agent_ls.server.channel.paths import socket_path
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.store.layout import Layout, lock_path
from agent_ls.store.locks import owner_of

log = logging.getLogger(__name__)

LISTED = 100
"""Maximum number of sessions in the list, newest first."""

NOT_OPEN: Message = {
    "error": {
        "code": -32000,
        "message": "No program has this session open any more.",
        "data": {
            "kind": "not_open",
            "retryable": False,
            "hint": "Choose the session in the list to open it in the panel.",
        },
    }
}


class PageRouter:
    """The connections of one page to servers. `send` queues a message for the page.

    `home` is the panel's own server, which also runs the sessions that are started in the page.
    """

    def __init__(self, send: Callable[[Message], None], home: HomeServer, tasks: TaskGroup) -> None:
        self._send = send
        self._home = home.socket
        self._folder = home.folder
        self._tasks = tasks
        self._links: dict[Path, Link] = {}
        self._opening = anyio.Lock()
        self._at: dict[str, Path] = {}

    async def take(self, body: bytes) -> None:
        """Answer one message of the page. A message that is not a request is ignored."""
        try:
            message = json.loads(body)
            message_id, method = message["id"], str(message["method"])
        except (ValueError, KeyError, TypeError, RecursionError):
            log.warning("the page sent a message that is not a request")
            return
        session = message.get("session")
        answer = await self._answer(
            method, message.get("params"), session if isinstance(session, str) else ""
        )
        name = "error" if "error" in answer else "result"
        self._send({"id": message_id, name: answer[name]})

    async def _answer(self, method: str, params: Any, session: str) -> Message:
        if method == "agent/subscribe":
            return await self._subscribe(params, session)
        if method == "panel/sessions":
            return await self._list()
        socket = self._home if method == "agent/takeOver" else self._at.get(session, self._home)
        link = await self._maybe_link(socket)
        answer = await link.request(method, params) if link else GONE
        if method == "agent/unsubscribe":
            self._at.pop(session, None)
        return answer

    async def _list(self) -> Message:
        """List all sessions. If a server has a session open, use that server's entry for it."""
        home = await self._maybe_link(self._home)
        answer = await home.request("agent/sessions", {"limit": LISTED}) if home else GONE
        if "error" in answer:
            return answer
        found: list[Message] = answer["result"]["sessions"]
        owned = [session["id"] for session in found if session.get("owner")]
        sockets = await anyio.to_thread.run_sync(lambda: {_socket_of_owner(session) for session in owned})
        live: dict[str, Message] = {}
        for socket in sockets - {None}:
            if socket and (link := await self._maybe_link(socket)):
                theirs = await link.request("agent/sessions", {"limit": LISTED})
                listed = theirs.get("result", {}).get("sessions", ())
                live |= {session["id"]: session for session in listed if session["live"]}
        sessions = [{**live.get(it["id"], it), **_require_member(it, "owner")} for it in found]
        return {"result": {"sessions": sessions, "folder": self._folder}}

    async def _subscribe(self, params: Any, session: str) -> Message:
        socket = await anyio.to_thread.run_sync(_socket_of_owner, session)
        # No process owns the session. Subscribing would open the session in the panel's server, although the user
        # has not requested it.
        if socket is None:
            return NOT_OPEN
        link = await self._maybe_link(socket)
        if link is None and socket != self._home:
            if await anyio.to_thread.run_sync(socket.exists):
                # the owner is ending: it closes its channel before it releases the session's lock
                return NOT_OPEN
            # the owner has no channel, for example because it runs another version of agent-ls
            socket, link = self._home, await self._maybe_link(self._home)
        if link is None:
            return GONE
        before = self._at.get(session)
        if before not in (None, socket) and before in self._links:
            await self._links[before].request("agent/unsubscribe", {"sessionId": session})
        self._at[session] = socket
        answer = await link.request("agent/subscribe", params)
        return NOT_OPEN if answer is GONE and socket != self._home else answer

    async def _maybe_link(self, socket: Path) -> Link | None:
        """Return the connection to the server at `socket`. Connect if necessary.

        Returns None if the server is gone or has no channel.
        """
        async with self._opening:
            if link := self._links.get(socket):
                return link
            try:
                link = await open_link(socket, self._tasks, self._pass_on, lambda: self._handle_end(socket))
            except OSError:
                return None
            self._links[socket] = link
            return link

    def _pass_on(self, message: Message) -> None:
        self._send({"method": message["method"], "params": message.get("params")})

    def _handle_end(self, socket: Path) -> None:
        """Make the sessions of a server that has ended read-only in the page. These sessions are reopened only
        on the user's request.
        """
        self._links.pop(socket, None)
        for session in [session for session, at in self._at.items() if at == socket]:
            del self._at[session]
            self._send({"method": "agent/event", "params": _nobody_owns(session)})


def _require_member(session: Message, name: str) -> Message:
    return {name: session[name]} if name in session else {}


def _nobody_owns(session_id: str) -> Message:
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "sessionId": session_id,
        "kind": "access",
        "timestamp": moment,
        "data": {"access": "readOnly"},
    }


def _socket_of_owner(session_id: str) -> Path | None:
    """Return the socket of the process that owns the session; None if no process does. Blocks."""
    folder = Layout(state_folder()).find(session_id)
    owner = owner_of(lock_path(folder)) if folder else None
    return socket_path(owner) if owner else None
