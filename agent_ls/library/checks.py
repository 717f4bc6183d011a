"""Check the arguments that a program passes to a session, because type hints are not enforced at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_ls.argument_types import checked
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import parse_settings, setting_problems

typed = checked(BadChoiceError)
"""Decorate a function of the library: an argument of a wrong type raises BadChoiceError."""


def check_message(text: str, images: Sequence[object]) -> None:
    """Raise BadChoiceError if a user message is empty."""
    if not text.strip() and not images:
        raise BadChoiceError("the input is empty", "pass a text that says what to do")


def check_texts(**given: str) -> None:
    """Raise BadChoiceError if a text is empty."""
    for name, value in given.items():
        if not value.strip():
            raise BadChoiceError(f"{name} is empty", "pass a text")


def rename_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the given settings under the names of docs/configuration.md.

    Raises:
        BadChoiceError: a setting is unknown or invalid.
    """
    if problems := setting_problems(settings):
        raise BadChoiceError(
            f"settings: {'; '.join(problems)}", "`agent-ls docs configuration` lists the settings"
        )
    parsed, _ = parse_settings(settings)
    return parsed.model_dump(by_alias=True, exclude_unset=True)
