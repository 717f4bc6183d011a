"""Handlers for stored sessions: rename, fork, take over, revert, close, delete, export, output."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.features.review import file_path
from agent_ls.server.rpc import to_wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import BadInputError
from agent_ls.text import to_display_line


async def rename(context: Context, params: wire.Rename) -> wire.SessionResult:
    title = to_display_line(params.title)
    if not title:
        raise BadInputError("the title is empty", "give the session a name with at least one letter")
    summary = await context.manager.rename(params.session_id, title)
    live = context.manager.find_live(params.session_id)
    return wire.SessionResult(session=to_wire.session_info(summary, live.session if live else None))


async def fork(context: Context, params: wire.Fork) -> wire.SessionResult:
    live = await context.manager.fork(params.session_id, params.at_turn_id or "")
    return wire.SessionResult(session=context.session_info(live))


async def take_over(context: Context, params: wire.TakeOver) -> wire.SessionResult:
    live = await context.manager.take_over(params.session_id, force=params.force)
    return wire.SessionResult(session=context.session_info(live))


async def revert(context: Context, params: wire.Revert) -> wire.RevertResult:
    # imported here because it is rarely used and not needed at the start
    from agent_ls.sessions.rollback import RollbackRequest

    paths = None if params.uris is None else frozenset(file_path(uri, params.method) for uri in params.uris)
    wanted = RollbackRequest(params.at_turn_id, params.conversation, params.files, paths, params.force)
    live, done = await context.manager.revert(params.session_id, wanted)
    files = tuple(map(to_wire.revert_file, done.files))
    return wire.RevertResult.of(done, session=context.session_info(live), files=files)


async def close_session(context: Context, params: wire.CloseSession) -> wire.Empty:
    if context.manager.owners.find_follower(params.session_id):
        context.senders.unsubscribe(
            params.session_id
        )  # closing ends only this client's subscription; the session stays open in the process that owns it
        return wire.Empty()
    await context.manager.close_session(params.session_id)
    return wire.Empty()


async def delete_session(context: Context, params: wire.DeleteSession) -> wire.Empty:
    await context.manager.delete_session(params.session_id, force=params.force)
    return wire.Empty()


async def export(context: Context, params: wire.Export) -> wire.ExportResult:
    text = await context.manager.archive.export(params.session_id, params.format, params.redact)
    return wire.ExportResult(text=text)


async def output(context: Context, params: wire.Output) -> wire.OutputResult:
    read = context.manager.archive.output
    part = await read(params.session_id, params.output_ref, params.offset, params.limit)
    return wire.OutputResult.of(part)


ROUTES = (
    route(wire.Rename, rename),
    route(wire.Fork, fork),
    route(wire.TakeOver, take_over),
    route(wire.Revert, revert),
    route(wire.CloseSession, close_session),
    route(wire.DeleteSession, delete_session),
    route(wire.Export, export),
    route(wire.Output, output),
)
