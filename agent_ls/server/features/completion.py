"""What a user may mention or command while he writes: files, folders, problems, the selection, commands."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

from agent_ls.app.fuzzy import best
from agent_ls.app.slash_commands import slash_commands
from agent_ls.server import protocol as wire, to_lsp
from agent_ls.server.context import Context
from agent_ls.server.errors import InvalidParamsError
from agent_ls.server.rpc import route
from agent_ls.system import below


async def commands(context: Context, params: wire.Commands) -> wire.CommandsResult:
    return wire.CommandsResult(
        commands=tuple(
            wire.CommandInfo(
                name=command.name, description=command.description, argument_hint=command.argument_hint
            )
            for command in slash_commands()
        )
    )


async def complete(context: Context, params: wire.Complete) -> wire.CompleteResult:
    folder = "" if params.trigger == "/" else _folder(context, params)
    return wire.CompleteResult(items=await in_folder(context, folder, params))


async def in_folder(context: Context, folder: str, params: wire.Complete) -> tuple[wire.Completion, ...]:
    """What may be written where a session works in this folder."""
    if params.trigger == "/":
        return tuple(_commands(params.query))[: params.limit]
    opened = _opened(context, folder)
    paths = await context.bench.mentions.find(folder, params.query, params.limit, opened)
    known = list(_known(context, folder, params.query))
    files = [_mention(folder, path, is_open=path in opened) for path in paths]
    for other in context.folders() if params.query else ():
        if len(files) < params.limit and not _overlap(folder, other):
            files += await _of_other(context, other, params)
    # Who has typed nothing yet sees what is open first, then what else there is to mention.
    at = sum(path in opened for path in paths) if not params.query else 0
    return (*files[:at], *known, *files[at:])[: params.limit]


def _folder(context: Context, params: wire.Complete) -> str:
    """A folder of the editor's, or that of a session: of no other place are names told."""
    if params.session_id:
        return context.live(params.session_id).summary().workspace_folder
    folder = context.folder(params.workspace_folder)
    if folder not in context.folders():
        raise InvalidParamsError(params.method, f"workspaceFolder: {folder} is not open in the editor")
    return folder


async def _of_other(context: Context, folder: str, params: wire.Complete) -> Sequence[wire.Completion]:
    """Of a folder beside the one that is asked about: its name stands before what lies in it."""
    found = await context.bench.mentions.find(folder, params.query, params.limit, _opened(context, folder))
    items = [_mention(folder, path, is_open=False) for path in found]
    return [item.model_copy(update={"label": f"{os.path.basename(folder)}/{item.label}"}) for item in items]


def _overlap(folder: str, other: str) -> bool:
    """One lies in the other: its files would be offered twice."""
    return folder == other or bool(below(folder, other) or below(other, folder))


def _opened(context: Context, folder: str) -> Sequence[str]:
    paths = (below(document.path, folder) for document in context.host.open_documents())
    return tuple(path for path in paths if path)


def _commands(query: str) -> Iterator[wire.Completion]:
    found = {command.name: command for command in slash_commands()}
    for name in best(query, found, len(found)) if query else found:
        part = wire.CommandInput(name=name)
        yield wire.Completion(kind="command", label=f"/{name}", detail=found[name].description, part=part)


def _known(context: Context, folder: str, query: str) -> Iterator[wire.Completion]:
    word = query.lower()
    count, files = context.host.diagnostics.counts
    if count and "problems".startswith(word):
        detail = f"{count} in {files} {'file' if files == 1 else 'files'}"
        yield wire.Completion(kind="problems", label="problems", detail=detail, part=wire.DiagnosticsInput())
    selected = context.host.view.selected()
    if selected and "selection".startswith(word):
        name = os.path.relpath(selected.path, folder)
        yield wire.Completion(
            kind="selection",
            label="selection",
            detail=f"{name}, lines {selected.first + 1} to {selected.end}",
            part=wire.SelectionInput(
                uri=to_lsp.uri(selected.path),
                start_line=selected.first,
                end_line=selected.end,
                text=selected.text,
            ),
        )


def _mention(folder: str, path: str, *, is_open: bool) -> wire.Completion:
    uri = to_lsp.uri(os.path.join(folder, path.rstrip("/")))
    if path.endswith("/"):
        return wire.Completion(kind="folder", label=path, part=wire.FolderInput(uri=uri))
    detail = "open" if is_open else None
    return wire.Completion(kind="file", label=path, detail=detail, part=wire.FileInput(uri=uri))


ROUTES = (route(wire.Commands, commands), route(wire.Complete, complete))
