"""Handlers for the editor's reports of its state, and for its answers to `client_request` events."""

from __future__ import annotations

import os.path

import anyio.to_thread

from agent_ls.features.memory import MEMORY_FILE
from agent_ls.server import protocol as wire
from agent_ls.server.lsp import to_lsp
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route


async def editor_state(context: Context, params: wire.EditorState) -> wire.Empty:
    context.host.editor_state(params.unsynced)
    context.host.view.update(params.active_uri, params.selection, params.visible_uris)
    return wire.Empty()


async def diagnostics(context: Context, params: wire.Diagnostics) -> wire.Empty:
    context.host.diagnostics.publish(params.uri, params.version, params.items, settled=params.settled)
    return wire.Empty()


async def client_answer(context: Context, params: wire.ClientAnswer) -> wire.Empty:
    context.requests.answer(params.request_id, params.result, params.error)
    return wire.Empty()


async def memory(context: Context, params: wire.Memory) -> wire.MemoryResult:
    project = os.path.join(context.folder(params.workspace_folder), *MEMORY_FILE.split("/"))
    user = await anyio.to_thread.run_sync(lambda: context.manager.user_memory)
    return wire.MemoryResult(project=to_lsp.uri(project), user=to_lsp.uri(user))


ROUTES = (
    route(wire.Memory, memory),
    route(wire.EditorState, editor_state),
    route(wire.Diagnostics, diagnostics),
    route(wire.ClientAnswer, client_answer),
)
