"""Settings that a workspace might have written (engine): what would allow more waits until the workspace is trusted.

Many editors mix what a project says into what they answer when asked for settings, and none says which is which. So
what comes that way may make a session stricter at any time, and looser only where the user trusts the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic.alias_generators import to_camel

from agent_ls.app.settings import LimitSettings, Settings

Looser: TypeAlias = Callable[[Any, Any], bool]
"""Whether the second allows more than the first, or something else."""


def _other(now: object, then: object) -> bool:
    return now != then


def _longer(now: float, then: float) -> bool:
    return then > now


def _higher(now: float, then: float) -> bool:
    """Of a limit, where 0 is none."""
    return now != 0 and (then == 0 or then > now)


def _on(now: bool, then: bool) -> bool:
    return then and not now


def _further(*order: str) -> Looser:
    return lambda now, then: order.index(then) > order.index(now)


def _any_limit(now: LimitSettings, then: LimitSettings) -> bool:
    return any(_higher(getattr(now, name), getattr(then, name)) for name in LimitSettings.model_fields)


LOOSER: Mapping[str, Looser] = {
    # Where prompts and keys go, and what is said in the user's name.
    "provider": _other,
    "model": _other,
    "providers": _other,
    "user_instructions": _other,
    # What happens without asking.
    "mode": _further("plan", "ask", "edits", "full"),
    "review": _further("before", "after"),
    "edits": _other,
    "save": _further("never", "ask", "agent", "auto"),
    "sandbox": _other,
    "command_environment": _other,
    "web_fetch": _on,
    "web_search": _on,
    # What it may cost.
    "max_turns": _higher,
    "max_tool_rounds_per_input": _higher,
    "max_command_timeout_ms": _longer,
    "default_command_timeout_ms": _longer,
    "limits": _any_limit,
    # What is kept, and for how long.
    "sessions": _other,
    "record": _on,
}
"""By field of Settings. What is not here changes how things look or are told, and no more."""


def held_back(standing: Settings, wanted: Settings) -> tuple[Settings, Sequence[str]]:
    """What holds of `wanted` in a workspace that is not trusted, and a sentence for each setting that has to wait."""
    waiting = [
        name
        for name, is_looser in LOOSER.items()
        if is_looser(getattr(standing, name), getattr(wanted, name))
    ]
    kept = wanted.model_copy(update={name: getattr(standing, name) for name in waiting})
    words = "may come from the files of this workspace and allows more: it holds once you trust the folder"
    return kept, [f"agentLs.{to_camel(name)}: {words}" for name in waiting]
