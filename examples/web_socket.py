"""A back end for a web page: one session for each web socket. uvicorn --app-dir examples web_socket:app

The page sends {"text": …} to start a turn, and {"approve": ID, "allow": true} to answer a request. It gets events.
"""

from __future__ import annotations

import os

import anyio
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

import agent_ls


async def serve(socket: WebSocket) -> None:
    await socket.accept()
    async with (
        agent_ls.open_session(
            os.environ.get("PROJECT", "."),
            provider=os.environ.get("PROVIDER", ""),
            trusted=True,
            answers_later=True,
        ) as session,
        anyio.create_task_group() as tasks,
    ):

        async def send_events() -> None:
            async for event in session.events():
                await socket.send_json(event.as_json())

        tasks.start_soon(send_events)
        async for message in socket.iter_json():
            if text := message.get("text"):
                session.follow_up(text)
            elif request := message.get("approve"):
                session.approve(request, bool(message.get("allow")))
        tasks.cancel_scope.cancel()  # the page is gone


app = Starlette(routes=[WebSocketRoute("/agent", serve)])
