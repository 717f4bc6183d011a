"""Build the response to `initialize`, which lists the capabilities of this agent. Imports nothing large.

A client displays nothing until it has received this response. So the response is built as plain JSON, before a
session exists.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_ls._version import __version__
from agent_ls.acp.client import META, ClientFacts
from agent_ls.llm.credentials import VARIABLES

PROTOCOL_VERSION = 1
"""The only supported version. A client that asks for another version gets this one, and decides whether to
continue.
"""

KEYS_METHOD = "keys"
EXTENSIONS = ("hunks", "review", "queue", "unsteer", "rules", "takeOver")
"""Names of the requests `_agent-ls/NAME` (extensions.py)."""


def initialize_result(client: ClientFacts) -> dict[str, Any]:
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "agent-ls", "title": "agent-ls", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": importlib.util.find_spec("mcp") is not None, "sse": False},
            "sessionCapabilities": {
                "list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {},
            },
            "auth": {},
            "_meta": {META: {"version": PROTOCOL_VERSION, "extensions": [f"_agent-ls/{it}" for it in EXTENSIONS]}},
        },
        "authMethods": [] if has_usable_provider() else [auth_method(client)],
        "_meta": {"steering": {"supported": True}},
    }  # fmt: skip


def auth_method(client: ClientFacts) -> dict[str, Any]:
    """Return how the user enters a key: in a terminal of the client if it can open one, otherwise by an
    environment variable.
    """
    if client.opens_terminals:
        words = "Choose a provider and enter its API key. agent-ls stores the key."
        return {
            "id": KEYS_METHOD, "type": "terminal", "name": "Set an API key", "description": words,
            "args": ["--login"],
        }  # fmt: skip
    words = "Run `agent-ls keys set PROVIDER`, or set the provider's variable (ANTHROPIC_API_KEY, …), and try again."
    return {"id": KEYS_METHOD, "name": "Keys from the environment", "description": words}


def has_usable_provider() -> bool:
    """Return whether a provider can probably be used now: it has a key, or the user has chosen one that needs
    none.

    Only the environment and the user's own files are checked. The first model call shows whether the provider
    works.
    """
    for row in VARIABLES.values():
        if any(os.environ.get(key, "").strip() for key in row.keys):
            return True
        if not row.needs_key and os.environ.get(row.base_url, "").strip():
            return True
    state = _state_folder()
    kept = _json(state / "keys.json")
    chosen = _json(state / "choice.json").get("provider")
    return bool(kept.get("keys") or kept.get("keyring") or chosen or _has_settings_for_a_provider())


def _has_settings_for_a_provider() -> bool:
    named = os.environ.get("AGENT_LS_SETTINGS")
    if named is None:
        from platformdirs import user_config_path

        path = user_config_path("agent-ls", appauthor=False) / "settings.json"
    elif named.strip():
        path = Path(named).expanduser()
    else:
        return False
    found = _json(path)
    found = section if isinstance(section := found.get("agentLs"), dict) else found
    return bool(found.get("provider") or found.get("providers"))


def _state_folder() -> Path:
    if chosen := os.environ.get("AGENT_LS_STATE_DIR"):
        return Path(chosen)
    # imported here because it is seldom needed: most users have a key in the environment
    from platformdirs import user_state_path

    return user_state_path("agent-ls", appauthor=False)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
