"""Create the session manager behind the server from the settings that the editor sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent_ls.server.editor.host import LspEditorHost
from agent_ls.services.logs import start_log
from agent_ls.services.models.key_store import load_credentials
from agent_ls.services.settings.model import Settings, parse_settings
from agent_ls.sessions.host import ClientState, EditorServices
from agent_ls.sessions.manager import SessionManager


def create_session_manager(
    host: LspEditorHost, options: dict[str, Any], client_state: ClientState
) -> tuple[SessionManager, Sequence[str]]:
    """Return the session manager and the problems found in the settings."""
    settings, problems = parse_settings(options)
    _tell(host, settings)

    def settings_changed(settings: Settings) -> None:
        _tell(host, settings)
        client_state.on_settings(settings)

    credentials = load_credentials()
    start_log(settings.log_level, credentials.known_secrets)
    manager = SessionManager(
        settings=settings,
        credentials=credentials,
        editor=EditorServices(
            host=host,
            status=host,
            watch=host,
            terminals=host,
            language=host.language if host.language.supported_queries() else None,
        ),
        client=replace(client_state, on_settings=settings_changed),
    )
    return manager, problems


def _tell(host: LspEditorHost, settings: Settings) -> None:
    host.wait_for_problems(settings.diagnostics_wait_ms)
    host.save_by(settings.save)
