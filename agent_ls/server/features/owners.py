"""Handler for taking over a session from another process. Subscriptions to sessions of other processes are in
sessions.py.
"""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route


async def take_over(context: Context, params: wire.TakeOver) -> wire.SessionResult:
    live = await context.manager.take_over(params.session_id, force=params.force)
    return wire.SessionResult(session=context.session_info(live))


ROUTES = (route(wire.TakeOver, take_over),)
