"""Settings that change while the server runs (`workspace/didChangeConfiguration`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agent_ls.server.seams import Bench


async def settings_changed(bench: Bench, tell: Callable[[Sequence[str]], None], params: Any) -> None:
    """Clients send this with other servers' settings, or with none at all, too: then nothing has changed here."""
    settings = params.get("settings") if isinstance(params, dict) else None
    options = settings.get("agentLs") if isinstance(settings, dict) else None
    if isinstance(options, dict):
        tell(bench.change_settings({name: options[name] for name in options if name != "token"}))
