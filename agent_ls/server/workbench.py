"""The real workbench behind the server, made from the settings as the editor sent them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from agent_ls.app.keys import load_credentials
from agent_ls.app.logs import start_log
from agent_ls.app.settings import Settings, parse_settings
from agent_ls.app.workbench import Workbench
from agent_ls.server.editor_host import LspEditorHost
from agent_ls.server.seams import Bench


def open_workbench(host: LspEditorHost, options: dict[str, Any]) -> tuple[Bench, Sequence[str]]:
    """The workbench, and what was wrong with the settings."""
    settings, problems = parse_settings(options)
    _tell(host, settings)
    credentials = load_credentials()
    start_log(settings.log_level, credentials.known_secrets)
    bench = Workbench(
        settings=settings,
        credentials=credentials,
        editor_host=host,
        eyes=host,
        watch=host,
        terminals=host,
        language=host.language if host.language.answers() else None,
    )
    bench.on_settings = partial(_tell, host)
    return bench, problems


def _tell(host: LspEditorHost, settings: Settings) -> None:
    host.wait_for_problems(settings.diagnostics_wait_ms)
    host.save_by(settings.save)
