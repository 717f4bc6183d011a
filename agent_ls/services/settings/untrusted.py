"""Pure: in an untrusted workspace, ignore settings that allow more than the current settings.

Many editors merge the project's settings into the settings that they send, and no editor marks the origin of a
setting. So a setting from an editor may make a session stricter at any time, but looser only in a trusted folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from agent_ls.services.settings.model import (
    LimitSettings,
    LoopDetectionSettings,
    PathSettings,
    Settings,
    SubagentSettings,
    parse_settings,
)

Looser: TypeAlias = Callable[[Any, Any], bool]
"""Returns whether the second value allows more than the first; for some settings, whether it differs."""


def _is_other(now: object, then: object) -> bool:
    return now != then


def _is_longer(now: float, then: float) -> bool:
    return then > now


def _higher(now: float, then: float) -> bool:
    """Return whether the limit `then` allows more than the limit `now`; 0 means no limit."""
    return now != 0 and (then == 0 or then > now)


def _on(now: bool, then: bool) -> bool:
    return then and not now


def _make_comparison(*order: str) -> Looser:
    """Return a function that returns whether its second value allows more than its first.

    `order` lists the values of the setting from strict to loose.
    """
    return lambda now, then: order.index(then) > order.index(now)


def _less_detection(now: LoopDetectionSettings, then: LoopDetectionSettings) -> bool:
    return (now.enabled and not then.enabled) or then.window > now.window


def _any_longer(now: BaseModel, then: BaseModel) -> bool:
    return any(getattr(then, name) > getattr(now, name) for name in type(now).model_fields)


def _more_subagents(now: SubagentSettings, then: SubagentSettings) -> bool:
    is_more = then.max_depth > now.max_depth or then.max_running > now.max_running
    limits = ("max_turns", "max_cost_usd")
    return is_more or any(_higher(getattr(now, name), getattr(then, name)) for name in limits)


def _any_limit(now: LimitSettings, then: LimitSettings) -> bool:
    return any(_higher(getattr(now, name), getattr(then, name)) for name in LimitSettings.model_fields)


def _is_wider(now: PathSettings, then: PathSettings) -> bool:
    is_other_folder = then.temporary not in (now.temporary, "off")
    return is_other_folder or not ({*then.roots} <= {*now.roots} and {*now.denied} <= {*then.denied})


LOOSER: Mapping[str, Looser] = {
    # These settings choose where prompts and keys are sent, or give instructions in the user's name.
    "provider": _is_other,
    "model": _is_other,
    "models": _is_other,
    "providers": _is_other,
    "mcp": _is_other,
    "user_instructions": _is_other,
    # These commands count as checks of the project.
    "checks": _is_other,
    # These settings decide what may happen without asking the user.
    "mode": _make_comparison("plan", "ask", "edits", "full"),
    "review": _make_comparison("before", "after"),
    "edits": _is_other,
    "save": _make_comparison("never", "ask", "agent", "auto"),
    "sandbox": _is_other,
    "paths": _is_wider,
    "place": _is_other,
    "unconfined_commands": _make_comparison("ask", "trust"),
    "command_environment": _is_other,
    "skills": _is_other,
    "hooks": _is_other,
    "web_fetch": _on,
    "web_search": _on,
    "tool_packs": _is_other,
    # This setting decides whether the panel, a separate program, can answer approvals and questions of sessions.
    "panel": _on,
    # These settings affect costs and the load of this machine.
    "suggestions": _on,
    "max_turns": _higher,
    "max_tool_rounds_per_input": _higher,
    "max_command_timeout_ms": _is_longer,
    "default_command_timeout_ms": _is_longer,
    "limits": _any_limit,
    "max_background_processes": _is_longer,
    "max_read_mebibytes": _is_longer,
    "tool_output_limits": _is_other,
    "tool_line_limits": _is_other,
    "loop_detection": _less_detection,
    "subagents": _more_subagents,
    "retry": _any_longer,
    # These settings decide what is stored, and for how long.
    "sessions": _is_other,
    "record": _on,
}
"""Comparisons by field of Settings. Fields that are not listed only affect the display."""


def of_client(options: Mapping[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
    """Remove settings that are only allowed in the user's own file. Return the others, and a sentence for each
    removed setting.

    `place` is removed, because it names a host and the command that connects to it. Files of a project must not choose
    a host, even in a trusted folder. Editors do not tell the server which settings come from files of a project.
    """
    kept = {name: value for name, value in options.items() if name != "place"}
    if options.get("place") is None:
        return kept, ()
    return kept, [
        "agentLs.place: this setting is ignored in the editor's settings; set it in your own settings file of agent-ls"
    ]


def client_settings(options: Mapping[str, Any], before: Settings) -> tuple[Settings, list[str]]:
    """Parse settings that a client sent after the server was started.

    Returns the new settings, and a sentence for each ignored entry. Settings that only the user's own file may contain
    keep their value in `before`.
    """
    kept, ignored = of_client(options)
    settings, problems = parse_settings(kept, before)
    return settings.model_copy(update={"place": before.place}), [*problems, *ignored]


def restrict_settings(standing: Settings, wanted: Settings) -> tuple[Settings, Sequence[str]]:
    """Return the settings that apply in an untrusted workspace, and a sentence for each setting that is not
    applied.

    A setting of `wanted` that allows more than the current settings (`standing`) keeps its current value.
    """
    waiting = [
        name
        for name, is_looser in LOOSER.items()
        if is_looser(getattr(standing, name), getattr(wanted, name))
    ]
    kept = wanted.model_copy(update={name: getattr(standing, name) for name in waiting})
    words = (
        "this value is less strict than the current one and may come from a file of the workspace, so it applies only "
        "after you trust the folder"
    )
    return kept, [f"agentLs.{to_camel(name)}: {words}" for name in waiting]
