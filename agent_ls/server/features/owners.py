"""A session that another process owns: taken over. How it is read along is beside the subscription (sessions.py)."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.context import Context
from agent_ls.server.rpc import route


async def take_over(context: Context, params: wire.TakeOver) -> wire.SessionResult:
    live = await context.bench.take_over(params.session_id, force=params.force)
    return wire.SessionResult(session=context.session_info(live))


ROUTES = (route(wire.TakeOver, take_over),)
