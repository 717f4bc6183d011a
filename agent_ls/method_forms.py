"""Find functions of a program that cannot be called as agreed: not async, or with other parameters.

What may be right is not refused: a function that is wrapped, or whose annotation says that it returns an awaitable.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, get_origin

_STREAMS = (AsyncGenerator, AsyncIterator, Iterator)


def is_surely_sync(function: object) -> bool:
    """Return whether awaiting the result of a function must fail."""
    if not inspect.isroutine(function) or hasattr(function, "__wrapped__") or inspect.isbuiltin(function):
        return False
    if inspect.iscoroutinefunction(function) or getattr(function, "__name__", "") == "<lambda>":
        return False
    return not _may_return_awaitable(function)


def _may_return_awaitable(function: Any) -> bool:
    try:
        returned = inspect.get_annotations(inspect.unwrap(function), eval_str=True).get("return")
    except Exception:  # an annotation of the program that cannot be evaluated
        return True
    kind = get_origin(returned) or returned
    return kind is Any or (isinstance(kind, type) and issubclass(kind, Awaitable))


def find_wrong_form(method: Callable[..., object], wanted: Callable[..., object]) -> tuple[str, str] | None:
    """Return what is wrong with a method in comparison with that of an interface, and what to do; None if it fits."""
    name = wanted.__name__
    if inspect.iscoroutinefunction(wanted) and is_surely_sync(method):
        return f"{name} is no async function", f"write it as `async def {name}`"
    returned = inspect.get_annotations(wanted, eval_str=True).get("return")
    if get_origin(returned) in _STREAMS and inspect.iscoroutinefunction(method):
        return f"{name} is no async generator", "write it as `async def` with `yield`"
    return _find_wrong_parameters(method, wanted)


def _find_wrong_parameters(
    method: Callable[..., object], wanted: Callable[..., object]
) -> tuple[str, str] | None:
    own = [it for it in inspect.signature(wanted).parameters.values() if it.name != "self"]
    named = {it.name: None for it in own if it.kind is inspect.Parameter.KEYWORD_ONLY}
    placed = [it.name for it in own if it.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # some functions in C have none
        return None
    try:
        signature.bind(*placed, **named)
    except TypeError as error:
        parameters = ", ".join([*placed, *(f"{it}=..." for it in named)])
        problem = f"{wanted.__name__} cannot be called with ({parameters}): {error}"
        return problem, "give it the parameters of the interface"
    return None
