"""Handlers for the commands of a session: list, read output, type, resize, kill."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route


async def terminals(context: Context, params: wire.Terminals) -> wire.TerminalsResult:
    if context.manager.owners.find_follower(params.session_id):
        # only the process that owns the session can list its commands
        return wire.TerminalsResult(terminals=())
    listed = await context.require_live(params.session_id).session.terminals.list_terminals()
    return wire.TerminalsResult(
        terminals=tuple(
            wire.TerminalInfo.of(terminal, terminal_id=terminal.id, call_id=terminal.id)
            for terminal in listed
        )
    )


async def terminal_kill(context: Context, params: wire.TerminalKill) -> wire.Empty:
    await context.require_live(params.session_id).session.terminals.kill(params.terminal_id)
    return wire.Empty()


async def terminal_input(context: Context, params: wire.TerminalInput) -> wire.Empty:
    await context.require_live(params.session_id).session.terminals.type(params.terminal_id, params.data)
    return wire.Empty()


async def terminal_resize(context: Context, params: wire.TerminalResize) -> wire.Empty:
    terminals = context.require_live(params.session_id).session.terminals
    await terminals.resize(params.terminal_id, params.columns, params.rows)
    return wire.Empty()


async def terminal_output(context: Context, params: wire.TerminalOutput) -> wire.TerminalOutputResult:
    read = await context.require_live(params.session_id).session.terminals.read(
        params.terminal_id, params.offset
    )
    return wire.TerminalOutputResult.of(read)


ROUTES = (
    route(wire.Terminals, terminals),
    route(wire.TerminalKill, terminal_kill),
    route(wire.TerminalInput, terminal_input),
    route(wire.TerminalResize, terminal_resize),
    route(wire.TerminalOutput, terminal_output),
)
