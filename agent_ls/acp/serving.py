"""Run the process of `agent-ls acp`: event loop, connection, sessions, and an orderly shutdown."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from agent_ls.acp.client import ClientFacts, client_facts
from agent_ls.acp.extensions import Extensions
from agent_ls.acp.files import ClientFilesEnvironment
from agent_ls.acp.preview import stable_initialize
from agent_ls.acp.preview_wire import PreviewWire
from agent_ls.acp.sessions import OpenSessions
from agent_ls.acp.texts import WireTexts
from agent_ls.acp.wire import AcpWire, LineWriter, read_lines
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.calls.redaction import redact_line
from agent_ls.loop.ids import new_id
from agent_ls.services.logs import start_log
from agent_ls.services.models.key_store import load_credentials
from agent_ls.services.settings.layers import layered, user_layer
from agent_ls.services.settings.model import parse_settings
from agent_ls.sessions.host import ClientState, EditorServices
from agent_ls.sessions.manager import SessionManager
from agent_ls.system import handle_termination_signals, use_pidfd_watcher

log = logging.getLogger(__name__)

WARM_UP_AFTER_S = 0.3
"""Seconds to wait before preloading modules, so that the first request of the client is handled first."""


@dataclass(frozen=True, slots=True)
class AcpStreams:
    """The streams to a client as file descriptors. `first` is the first line, `rest` the bytes already read
    after it. `is_answered`: the first line was an `initialize` request that has been answered. `is_preview`: the
    client speaks the preview of version 2.
    """

    reader: int
    writer: int
    first: bytes
    rest: bytes = b""
    is_answered: bool = False
    is_preview: bool = False


def serve(connection: AcpStreams) -> int:
    """Serve the client until it disconnects, or a signal asks the process to end. Returns the exit code."""
    use_pidfd_watcher()
    anyio.run(_serve, connection)
    return 0


async def _serve(connection: AcpStreams) -> None:
    client = _client(connection.first, is_preview=connection.is_preview)
    of_user, wrong = user_layer()
    settings, found = parse_settings(of_user)
    credentials = load_credentials()
    start_log(settings.log_level, credentials.known_secrets)
    async with anyio.create_task_group() as everything:
        over = anyio.Event()
        writer = LineWriter(connection.writer, over.set)
        try:
            async with anyio.create_task_group() as tasks:
                texts: dict[str, WireTexts] = {}

                def files(session_id: str, disk: ExecutionEnvironment) -> ExecutionEnvironment:
                    known = texts.setdefault(session_id, WireTexts(wire, client, session_id))
                    return ClientFilesEnvironment(disk, known, lambda: sessions.folders_of(session_id))

                async def trust_changed() -> None:
                    await folder_settings.apply_again()
                    sessions.show_options(await manager.follow_settings())

                manager = SessionManager(
                    settings=settings,
                    credentials=credentials,
                    editor=EditorServices(client_files=files if client.reads_files else None),
                    client=ClientState(
                        session_folders=lambda session_id: sessions.folders_of(session_id),
                        session_servers=lambda session_id: sessions.servers_of(session_id).entries,
                        on_trust=trust_changed,
                        on_servers=lambda session_id: sessions.prompts_changed(session_id),
                    ),
                )
                manager.owners.set_program_name(client.title)
                wire = _create_wire(connection, writer, tasks, manager)
                folder_settings = FolderSettings(manager, of_user, client.settings, (*wrong, *found))
                sessions = OpenSessions(manager, wire, tasks, client, new_id("c"), folder_settings.apply)
                Extensions(sessions).register()
                wire.handle(sessions.request, sessions.notice)
                if isinstance(wire, PreviewWire):
                    wire.check_prompt = sessions.check_prompt
                    wire.cancel_command = sessions.cancel_command
                await everything.start(manager.run)
                if not connection.is_answered:
                    wire.handle_line(connection.first)
                read_lines(connection.reader, connection.rest, wire.handle_line, over.set)
                tasks.start_soon(_warm_up, manager)
                with handle_termination_signals(over.set):
                    await over.wait()
                wire.handle_disconnect()
                tasks.cancel_scope.cancel()
        finally:
            everything.cancel_scope.cancel()
            writer.close()


async def _warm_up(manager: SessionManager) -> None:
    await anyio.sleep(WARM_UP_AFTER_S)
    await manager.warm_up()
    # Keep the modules loaded so far out of garbage collection, which has been off since the start.
    gc.freeze()
    gc.enable()
    await manager.return_memory()


class FolderSettings:
    """Settings that the client sent. Some of them apply only if the user trusts all open folders."""

    def __init__(
        self,
        manager: SessionManager,
        of_user: Mapping[str, Any],
        of_client: Mapping[str, Any],
        problems: Sequence[str],
    ) -> None:
        self._manager = manager
        self._settings = layered(
            of_user, {name: value for name, value in of_client.items() if value is not None}
        )
        self._has_own = bool(of_client)
        self._folders: set[str] = set()
        self._reported: set[str] = set()
        self._problems = tuple(problems)

    async def apply(self, folder: str) -> Sequence[str]:
        """Apply the settings to a folder that is being opened. Returns one sentence for each new problem."""
        self._folders.add(folder)
        found = [*self._problems, *(await self.apply_again())]
        news = [words for words in dict.fromkeys(found) if words not in self._reported]
        self._reported.update(news)
        return news

    async def apply_again(self) -> Sequence[str]:
        if not self._has_own:
            return ()
        # A copy taken here: other requests add folders while the thread runs.
        is_trusted = await anyio.to_thread.run_sync(self._is_trusted, tuple(self._folders))
        return self._manager.change_settings(self._settings, is_trusted=is_trusted)

    def _is_trusted(self, folders: Sequence[str]) -> bool:
        """Return whether every open folder is trusted, because the settings apply to all of them. Blocks."""
        return all(self._manager.trust.get_trust(folder) == "trusted" for folder in folders)


def _create_wire(
    connection: AcpStreams, writer: LineWriter, tasks: TaskGroup, manager: SessionManager
) -> AcpWire:
    def clean(line: bytes) -> bytes:
        return redact_line(line, manager.secrets())

    return (PreviewWire if connection.is_preview else AcpWire)(writer, tasks, clean=clean)


def _client(line: bytes, *, is_preview: bool) -> ClientFacts:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return ClientFacts()
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return ClientFacts()
    return client_facts(stable_initialize(params) if is_preview else params)
