"""Profiles of a program: what their code raises becomes the error of the model call, which names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

from agent_ls.argument_types import find_misuse
from agent_ls.llm.errors import LlmError
from agent_ls.llm.requests import Usage, is_amount
from agent_ls.own_code import FailureLog, WrongValueError, describe_failure, error_words
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.models.service import OwnProfile
from agent_ls.text import to_display_line

HINT = "Correct this code of the program, then send the message again."


def guarded_profile(name: str, own: OwnProfile) -> OwnProfile:
    """Return the profile, or the function that makes it, with its functions guarded."""
    if isinstance(own, ProviderProfile):
        return _guard(own, f"profiles[{name!r}]")
    return partial(_make, name, own)


def _make(name: str, make: Callable[[str], ProviderProfile], model: str) -> ProviderProfile:
    where = f"profiles[{name!r}]"
    try:
        made = make(model)
    except Exception as error:
        raise BadChoiceError(f"{where} raised {error_words(error)}", "correct the function") from error
    if misuse := find_misuse(f"the result of {where}", made, ProviderProfile):
        raise BadChoiceError(*misuse)
    return _guard(made, where)


def _guard(profile: ProviderProfile, where: str) -> ProviderProfile:
    failures, cost, build = FailureLog(), profile.cost_usd, profile.prompt_builder

    def cost_usd(usage: Usage) -> float | None:
        try:
            price = cost(usage)
            if problem := _find_wrong_price(price):
                raise WrongValueError(problem)
        except Exception as error:  # the price is then unknown
            failures.write("cost_usd", describe_failure(profile, "cost_usd", error), error)
            return None
        return price

    def prompt_builder(*args: Any, **kwargs: Any) -> str:
        try:
            return build(*args, **kwargs)
        except Exception as error:
            message = describe_failure(profile, "prompt_builder", error)
            failures.write("prompt_builder", message, error)
            raise LlmError(message, provider=profile.id, hint=HINT) from error

    if not _is_ours(cost):
        _check_price(cost, where)
    return replace(
        profile,
        cost_usd=cost if _is_ours(cost) else cost_usd,
        prompt_builder=build if _is_ours(build) else prompt_builder,
    )


def _check_price(cost: Callable[[Usage], object], where: str) -> None:
    """Raise a BadChoiceError if `cost` returns no price for a small call. What it raises is logged at a real call."""
    try:
        problem = _find_wrong_price(cost(Usage(1000, 1000)))
    except Exception:
        return
    if problem:
        hint = "return US dollars as a number of 0 or more, or None for an unknown price"
        raise BadChoiceError(f"{where}: cost_usd {problem}", hint)


def _find_wrong_price(price: object) -> str:
    """Return what is wrong with a price, "" for nothing."""
    is_number = isinstance(price, int | float) and not isinstance(price, bool)
    if price is None or (is_number and is_amount(cast(float, price))):
        return ""
    return f"returned {to_display_line(repr(price), 80)}, which is no amount of US dollars"


def _is_ours(function: Callable[..., object]) -> bool:
    """Return whether a function is that of a profile of agent-ls, which knows it by its identity."""
    place = getattr(function, "__module__", None) or type(function).__module__
    return place.split(".")[0] == "agent_ls"
