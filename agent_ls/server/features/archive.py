"""Sessions as things that are kept: named, copied, exported, closed, deleted."""

from __future__ import annotations

from agent_ls.loop.titles import plain
from agent_ls.server import protocol as wire, to_wire
from agent_ls.server.context import Context
from agent_ls.server.errors import InvalidParamsError
from agent_ls.server.features.review import file_path
from agent_ls.server.rpc import route


async def rename(context: Context, params: wire.Rename) -> wire.SessionResult:
    title = plain(params.title)
    if not title:
        raise InvalidParamsError(params.method, "title: there is nothing in it that could be read")
    summary = await context.bench.rename(params.session_id, title)
    live = context.bench.live(params.session_id)
    return wire.SessionResult(session=to_wire.session_info(summary, live.session if live else None))


async def fork(context: Context, params: wire.Fork) -> wire.SessionResult:
    live = await context.bench.fork(params.session_id, params.at_turn_id or "")
    return wire.SessionResult(session=context.session_info(live))


async def revert(context: Context, params: wire.Revert) -> wire.RevertResult:
    from agent_ls.app.rolling_back import Wanted  # used seldom, and not by start-up

    paths = None if params.uris is None else frozenset(file_path(uri, params.method) for uri in params.uris)
    wanted = Wanted(params.at_turn_id, params.conversation, params.files, paths, params.force)
    live, done = await context.bench.revert(params.session_id, wanted)
    return wire.RevertResult(
        session=context.session_info(live),
        revert_id=done.revert_id,
        input_text=done.input_text,
        turns=done.turns,
        restored_turns=done.restored_turns,
        files=tuple(to_wire.revert_file(file) for file in done.files),
    )


async def close_session(context: Context, params: wire.CloseSession) -> wire.Empty:
    if context.bench.owners.elsewhere(params.session_id):
        context.senders.unsubscribe(
            params.session_id
        )  # it ends here for who reads along, and for nobody else
        return wire.Empty()
    await context.bench.close_session(params.session_id)
    return wire.Empty()


async def delete_session(context: Context, params: wire.DeleteSession) -> wire.Empty:
    await context.bench.delete_session(params.session_id, force=params.force)
    return wire.Empty()


async def export(context: Context, params: wire.Export) -> wire.ExportResult:
    return wire.ExportResult(text=await context.bench.archive.export(params.session_id, params.format))


async def output(context: Context, params: wire.Output) -> wire.OutputResult:
    read = context.bench.archive.output
    part = await read(params.session_id, params.output_ref, params.offset, params.limit)
    return wire.OutputResult(text=part.text, total_chars=part.total_chars, next_offset=part.next_offset)


ROUTES = (
    route(wire.Rename, rename),
    route(wire.Fork, fork),
    route(wire.Revert, revert),
    route(wire.CloseSession, close_session),
    route(wire.DeleteSession, delete_session),
    route(wire.Export, export),
    route(wire.Output, output),
)
