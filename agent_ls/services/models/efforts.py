"""Check the reasoning effort that a user or a program chooses for a session."""

from __future__ import annotations

from agent_ls.llm.catalog import known_efforts
from agent_ls.services.errors import BadChoiceError


def check_effort(provider: str, model: str, effort: str | None) -> None:
    """Refuse an effort that the model does not accept. None and "" mean the model's default.

    A model of an unknown server accepts every effort, because only the server knows.

    Raises:
        BadChoiceError: the hint names the model's efforts.
    """
    known = known_efforts(provider, model)
    if effort and not effort.strip():
        raise BadChoiceError(
            "the reasoning effort is blank", 'choose a level, or "" for the default of the model'
        )
    if effort and known and effort not in known:
        raise BadChoiceError(
            f"{model} has no reasoning effort {effort!r}", f"choose one of {', '.join(known)}"
        )
