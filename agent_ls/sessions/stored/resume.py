"""Options of a resumed session: from its log if recorded there, else from the current settings."""

from __future__ import annotations

from typing import get_args

from agent_ls.policy.situation import Mode
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.new_session import SessionChoice
from agent_ls.sessions.optional_tools import OptionalTools
from agent_ls.store.reader import StoredSession


def last_model(stored: StoredSession) -> tuple[str, str]:
    """Return the provider and model that the session used last."""
    known, state, header = stored.state.config, stored.state, stored.header
    return (
        str(known.get("provider") or state.provider or header.provider),
        str(known.get("model") or state.model or header.model),
    )


def resumed_choice(
    stored: StoredSession, settings: Settings, model: tuple[str, str], tools: OptionalTools
) -> SessionChoice:
    """Return the options of a resumed session. `model` is the provider and model of the next model call."""
    known = stored.state.config
    effort = known.get("effort", settings.effort)
    return SessionChoice(
        *model,
        str(effort) if effort else None,
        next((mode for mode in get_args(Mode) if mode == known.get("mode")), settings.mode),
        "before" if known.get("review", settings.review) == "before" else "after",
        tools,
    )
