"""Handlers for completions in a message: files, folders, symbols, git, problems, the selection, commands."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

import anyio

from agent_ls.features.mcp.prompt_commands import PromptCommand, prompt_commands
from agent_ls.features.mcp.resource_mentions import resource_mentions
from agent_ls.features.skills.values import UserCommand
from agent_ls.features.slash_commands import SlashCommand, slash_commands
from agent_ls.server import protocol as wire
from agent_ls.server.features.mentions import offered_first, symbols
from agent_ls.server.lsp import to_lsp
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import InvalidParamsError
from agent_ls.services.context.fuzzy import find_best_matches
from agent_ls.system import relative_to_folder
from agent_ls.text import plural

MAX_RESOURCES = 10


async def commands(context: Context, params: wire.Commands) -> wire.CommandsResult:
    folder = context.require_live(params.session_id).summary().workspace_folder if params.session_id else ""
    return wire.CommandsResult(commands=await _all_commands(context, folder, params.session_id))


async def complete(context: Context, params: wire.Complete) -> wire.CompleteResult:
    is_command = params.trigger == "/" and not params.session_id and not context.folders()
    folder = "" if is_command else _folder(context, params)
    return wire.CompleteResult(items=await in_folder(context, folder, params))


async def in_folder(context: Context, folder: str, params: wire.Complete) -> tuple[wire.Completion, ...]:
    """Return the completions for a message of a session in this folder."""
    if params.trigger == "/":
        return tuple(_commands(params.query, await _all_commands(context, folder, params.session_id)))[
            : params.limit
        ]
    opened = _list_opened(context, folder)
    named: Sequence[wire.Completion] = ()

    async def find_symbols() -> None:
        nonlocal named
        named = await symbols(context, folder, params.query)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(find_symbols)
        paths = await context.manager.mentions.find(folder, params.query, params.limit, opened)
        first = await offered_first(context, folder, params)
    known = [*_complete_known(context, folder, params.query), *first, *_resources(context, params)]
    files = [_mention(folder, path, is_open=path in opened) for path in paths]
    for other in context.folders() if params.query else ():
        if len(files) < params.limit and not _overlap(folder, other):
            files += await _of_other(context, other, params)
    # Without a query, list open files first, then problems, selection and git, then other files.
    at = sum(path in opened for path in paths) if not params.query else 0
    before = (*files[:at], *known, *files[at:])[: max(params.limit - len(named), 0)]
    return (*before, *named)[: params.limit]


def _folder(context: Context, params: wire.Complete) -> str:
    """Return the folder of the session, or an open workspace folder. Names of files in other folders are not
    disclosed.

    Raises:
        InvalidParamsError: the folder is not open in the editor.
    """
    live = context.manager.find_live(params.session_id) if params.session_id else None
    if live or (params.session_id and not params.workspace_folder):
        return (live or context.require_live(params.session_id or "")).summary().workspace_folder
    folder = context.folder(params.workspace_folder)
    if folder not in context.folders():
        raise InvalidParamsError(params.method, f"workspaceFolder: {folder} is not open in the editor")
    return folder


async def _of_other(context: Context, folder: str, params: wire.Complete) -> Sequence[wire.Completion]:
    """Return completions from another workspace folder, prefixed with its name."""
    found = await context.manager.mentions.find(
        folder, params.query, params.limit, _list_opened(context, folder)
    )
    items = [_mention(folder, path, is_open=False) for path in found]
    return [item.model_copy(update={"label": f"{os.path.basename(folder)}/{item.label}"}) for item in items]


def _overlap(folder: str, other: str) -> bool:
    """Return whether the folders are equal or one contains the other. Completion would list some of their files
    twice.
    """
    return folder == other or bool(relative_to_folder(folder, other) or relative_to_folder(other, folder))


def _list_opened(context: Context, folder: str) -> Sequence[str]:
    paths = (relative_to_folder(document.path, folder) for document in context.host.open_documents())
    return tuple(path for path in paths if path)


async def _all_commands(
    context: Context, folder: str, session_id: str | None
) -> tuple[wire.CommandInfo, ...]:
    """Return the built-in commands, commands in files, and prompts of the session's MCP servers. Without a
    folder, the editor's first folder is used.
    """
    folder = folder or next(iter(context.folders()), "")
    own = (await context.manager.skills(folder).read_current()).for_user if folder else ()
    live = context.manager.find_live(session_id) if session_id else None
    return (
        *map(_info, slash_commands()),
        *map(_info, own),
        *map(_info, prompt_commands(live.servers) if live else ()),
    )


def _info(command: SlashCommand | UserCommand | PromptCommand) -> wire.CommandInfo:
    return wire.CommandInfo.of(command)


def _commands(query: str, commands: Sequence[wire.CommandInfo]) -> Iterator[wire.Completion]:
    found = {command.name: command for command in commands}
    for name in find_best_matches(query, found, len(found)) if query else found:
        part = wire.CommandInput(name=name)
        yield wire.Completion(kind="command", label=f"/{name}", detail=found[name].description, part=part)


def _complete_known(context: Context, folder: str, query: str) -> Iterator[wire.Completion]:
    word = query.lower()
    count, files = context.host.diagnostics.counts
    if count and "problems".startswith(word):
        detail = f"{count} in {plural(files, 'file')}"
        yield wire.Completion(kind="problems", label="problems", detail=detail, part=wire.DiagnosticsInput())
    selected = context.host.view.read_selection()
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


def _resources(context: Context, params: wire.Complete) -> Iterator[wire.Completion]:
    """Yield resources of the session's MCP servers."""
    live = context.manager.find_live(params.session_id) if params.session_id else None
    found = {it.label: it for it in resource_mentions(live.servers)} if live else {}
    for label in (
        find_best_matches(params.query, found, MAX_RESOURCES) if params.query else [*found][:MAX_RESOURCES]
    ):
        part = wire.ResourceInput(server=found[label].server, uri=found[label].uri)
        yield wire.Completion(
            kind="resource", label=label, detail=found[label].description or None, part=part
        )


def _mention(folder: str, path: str, *, is_open: bool) -> wire.Completion:
    uri = to_lsp.uri(os.path.join(folder, path.rstrip("/")))
    if path.endswith("/"):
        return wire.Completion(kind="folder", label=path, part=wire.FolderInput(uri=uri))
    detail = "open" if is_open else None
    return wire.Completion(kind="file", label=path, detail=detail, part=wire.FileInput(uri=uri))


ROUTES = (route(wire.Commands, commands), route(wire.Complete, complete))
