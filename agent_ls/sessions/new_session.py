"""Options of a session that is to be created or resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from agent_ls.loop.restored import RestoredSession
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.optional_tools import OptionalTools
from agent_ls.store.reader import StoredSession

if TYPE_CHECKING:
    from agent_ls.features.worktrees.worktree import Start


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpec:
    """Parameters of a session to create.

    If the provider, model, effort, mode or review is None, the settings apply. If the settings name no
    provider, the user's stored choice is used, else the first provider that has a key. `worktree` says which
    files the session's new git worktree contains at first. None: the session works in the workspace folder
    itself.
    """

    workspace_folder: str
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    mode: Mode | None = None
    review: ReviewSetting | None = None
    title: str | None = None
    worktree: Start | None = None

    @property
    def unchosen(self) -> set[str]:
        """The options for which the settings apply."""
        chosen = {
            "model": self.provider or self.model,
            "effort": self.effort,
            "mode": self.mode,
            "review": self.review,
        }
        return {name for name, value in chosen.items() if value is None}


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """Options of one session. `effort` None: the model's default. `tools`: the session's optional tools."""

    provider: str
    model: str
    effort: str | None
    mode: Mode
    review: ReviewSetting
    tools: OptionalTools


def last_model(stored: StoredSession, provider: str = "") -> tuple[str, str]:
    """Return the provider and model that the session used last, or another `provider` with its default model, ""."""
    known, state, header = stored.state.config, stored.state, stored.header
    last = str(known.get("provider") or state.provider or header.provider)
    if provider not in ("", last):
        return provider, ""
    return last, str(known.get("model") or state.model or header.model)


def with_provider(restored: RestoredSession, provider: str, model: str) -> RestoredSession:
    """Return the session with a suspended turn that goes on with `provider`, as its own one may not exist any more."""
    suspended = restored.suspended
    answer = suspended.answer if suspended else None
    if suspended is None or answer is None or answer.provider == provider:
        return restored
    answer = replace(answer, provider=provider, model=model)
    return replace(restored, suspended=replace(suspended, answer=answer))


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
