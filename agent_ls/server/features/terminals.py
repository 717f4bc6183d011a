"""Background processes of a session: listed, and ended only when asked."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.context import Context
from agent_ls.server.rpc import route


async def terminals(context: Context, params: wire.Terminals) -> wire.TerminalsResult:
    processes = await context.live(params.session_id).environment.list_processes()
    return wire.TerminalsResult(
        terminals=tuple(
            wire.TerminalInfo(
                terminal_id=process.id,
                command=process.command,
                pid=process.pid,
                exit_code=process.exit_code,
                started_ms=process.started_ms,
            )
            for process in processes
        )
    )


async def terminal_kill(context: Context, params: wire.TerminalKill) -> wire.Empty:
    await context.live(params.session_id).environment.kill_process(params.terminal_id)
    return wire.Empty()


ROUTES = (route(wire.Terminals, terminals), route(wire.TerminalKill, terminal_kill))
