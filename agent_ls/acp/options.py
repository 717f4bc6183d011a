"""A session's permission mode, model, effort and review setting as ACP's modes and config options. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agent_ls.acp.errors import RpcError, invalid
from agent_ls.policy import modes
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.services.models.service import ModelChoice, ProviderChoice, provider_title
from agent_ls.sessions.live import SessionSummary

T = TypeVar("T", bound=str)

MODES: Mapping[Mode, tuple[str, str]] = {mode: (it.title, it.meaning) for mode, it in modes.MODES.items()}
REVIEWS: Mapping[ReviewSetting, tuple[str, str]] = {
    "after": ("After", "Changes are made at once; you keep or undo them afterwards"),
    "before": ("Before", "You see each change before it is made"),
}
DEFAULT_EFFORT = "default"


@dataclass(frozen=True, slots=True)
class Choices:
    """The models and providers that sessions may use now."""

    models: Sequence[ModelChoice]
    providers: Sequence[ProviderChoice]


@dataclass(frozen=True, slots=True)
class OptionChange:
    """Settings of a session to change, as arguments of `LiveSession.configure`. None: leave the setting unchanged."""

    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    mode: Mode | None = None
    review: ReviewSetting | None = None


def mode_state(current: str) -> dict[str, Any]:
    listed = [{"id": id_, "name": name, "description": words} for id_, (name, words) in MODES.items()]
    return {"currentModeId": current, "availableModes": listed}


def config_options(session: SessionSummary, choices: Choices) -> list[dict[str, Any]]:
    """Return the complete list of options, because each response and each update must contain all of them."""
    efforts = efforts_of(session, choices)
    found = [
        _select("mode", "Mode", session.mode, _values(MODES), "mode", "Which actions need no approval"),
        _select(
            "model",
            "Model",
            model_value(session.provider, session.model),
            _model_groups(session, choices),
            "model",
        ),
    ]
    if efforts:
        values = [
            {"value": DEFAULT_EFFORT, "name": "Default"},
            *({"value": it, "name": it} for it in efforts),
        ]
        found.append(_select("effort", "Effort", session.effort or DEFAULT_EFFORT, values, "thought_level"))
    words = "Whether you see changes before or after they are made"
    found.append(_select("review", "Review", session.review, _values(REVIEWS), None, words))
    return found


def efforts_of(session: SessionSummary, choices: Choices) -> tuple[str, ...]:
    """Return the reasoning efforts that the session's model accepts, and the current effort."""
    known = next(
        (it for it in choices.models if (it.provider, it.id) == (session.provider, session.model)), None
    )
    efforts = known.efforts if known else ()
    return efforts if session.effort is None or session.effort in efforts else (*efforts, session.effort)


def model_value(provider: str, model: str) -> str:
    return f"{provider}/{model}"


def read_change(config_id: object, value: object, session: SessionSummary, choices: Choices) -> OptionChange:
    """Return the session settings to change for an option that the client has changed.

    Raises:
        RpcError: unknown option, or a value that was not offered.
    """
    if not isinstance(config_id, str) or not isinstance(value, str):
        raise invalid("To change a setting of the session, send its name and its value, both as text")
    match config_id:
        case "mode":
            return OptionChange(mode=_find_option(value, MODES, "mode"))
        case "review":
            return OptionChange(review=_find_option(value, REVIEWS, "review setting"))
        case "effort":
            known = {DEFAULT_EFFORT: "", **{it: it for it in efforts_of(session, choices)}}
            return OptionChange(effort=known[_find_option(value, known, "effort")])
        case "model":
            named = {model_value(it.provider, it.id): it for it in choices.models}
            if value == model_value(session.provider, session.model):
                return OptionChange()
            chosen = named[_find_option(value, named, "model")]
            return OptionChange(provider=chosen.provider, model=chosen.id)
    raise invalid(f"There is no session setting {config_id[:40]!r}")


def _find_option(value: str, known: Iterable[T], what: str) -> T:
    """Return the element of `known` that the client's `value` names.

    Raises:
        RpcError: the name is not in `known`.
    """
    for offered in known:
        if offered == value:
            return offered
    some = ", ".join(list(known)[:8])
    raise RpcError(
        -32602, f"There is no {what} {value[:60]!r}", f"There is no {what} {value[:60]!r}. Known: {some}"
    )


def _values(table: Mapping[T, tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"value": id_, "name": name, "description": words} for id_, (name, words) in table.items()]


def _model_groups(session: SessionSummary, choices: Choices) -> list[dict[str, Any]]:
    """Return the models by provider: those that can be used now, and the session's model."""
    usable = {it.id for it in choices.providers if not it.problem}
    groups: dict[str, dict[str, str]] = {session.provider: {}}
    for model in choices.models:
        if model.provider in usable or model.provider == session.provider:
            groups.setdefault(model.provider, {})[model.id] = model.name
    groups[session.provider].setdefault(session.model, session.model)
    return [
        {
            "group": provider, "name": provider_title(provider),
            "options": [{"value": model_value(provider, id_), "name": name} for id_, name in models.items()],
        }
        for provider, models in groups.items()
    ]  # fmt: skip


def _select(
    id_: str, name: str, current: str, options: list[dict[str, Any]], category: str | None, words: str = ""
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "select",
        "id": id_,
        "name": name,
        "currentValue": current,
        "options": options,
    }
    if category:
        found["category"] = category
    if words:
        found["description"] = words
    return found
