"""Refuse arguments of the wrong type in the functions that programs call, because Python ignores type hints.

`checked(error)` decorates such a function: the first argument that does not fit its annotation raises
`error(message, hint)`. The message names the argument and what it is, the hint what to pass.
"""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import inspect
from collections.abc import Callable
from functools import cache, wraps
from pathlib import PurePath
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    ParamSpecArgs,
    ParamSpecKwargs,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)

from agent_ls.method_forms import find_wrong_form, is_surely_sync
from agent_ls.text import join_sentences

F = TypeVar("F", bound=Callable[..., Any])
MakeError = Callable[[str, str], Exception]
Misuse = tuple[str, str]
"""What is wrong, and what to do."""

HINTS: dict[str, str] = {
    "Tool": "create the tool from a function with @agent_ls.tool, and pass the method of an object",
    "ExecutionEnvironment": "derive it from agent_ls.BasicEnvironment, which has a default for each method",
    "ProviderAdapter": "an adapter has the methods of agent_ls.ProviderAdapter",
    "ImagePart": "pass agent_ls.ImagePart(url=...) or ImagePart(data)",
    "ToolDefinition": "pass ToolDefinition values, such as the `definition` of a CallableTool",
    "Message": "pass Message values, such as agent_ls.llm.user(text)",
    "Request": "make the request with agent_ls.build_request(model, prompt)",
}
NAMED = 'pass it as adapters={"NAME": ...}, and provider="NAME"'
"""What to do with an adapter that is given in place of its name."""
SHOWN_CHARS = 60
UNKNOWN = (TypeVar, ParamSpecArgs, ParamSpecKwargs, ForwardRef, str)
"""Types that depend on the call, and names of types."""


def checked(error: MakeError) -> Callable[[F], F]:
    """Decorate a function or an async function, which then checks its arguments before it does anything."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)

        def check(args: Any, kwargs: Any) -> None:
            if misuse := _find_in_call(function, signature, args, kwargs):
                raise error(*misuse)

        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def checked_coroutine(*args: Any, **kwargs: Any) -> Any:
                check(args, kwargs)
                return await function(*args, **kwargs)

            return cast("F", checked_coroutine)

        @wraps(function)
        def checked_function(*args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            return function(*args, **kwargs)

        return cast("F", checked_function)

    return decorate


def _type_error(message: str, hint: str) -> TypeError:
    return TypeError(join_sentences(message, hint))


typed = checked(_type_error)
"""Decorate a function whose package has no errors with hints."""


@cache
def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function, or of the fields of a class. Names inside of aliases stay names."""
    owners = reversed(function.__mro__) if isinstance(function, type) else (function,)
    return {
        name: hint for owner in owners for name, hint in inspect.get_annotations(owner, eval_str=True).items()
    }


def _find_in_call(
    function: Callable[..., Any], signature: inspect.Signature, args: Any, kwargs: Any
) -> Misuse | None:
    """Names that the function does not have are left to Python, whose TypeError names them."""
    hints = hints_of(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    for name, value in given.items():
        kind = signature.parameters[name].kind
        if name not in hints or kind is inspect.Parameter.VAR_KEYWORD:
            continue
        values = enumerate(value, 1) if kind is inspect.Parameter.VAR_POSITIONAL else [(0, value)]
        for number, one in values:
            if misuse := find_misuse(f"{name} {number}" if number else name, one, hints[name]):
                return misuse
    return None


def find_misuse(name: str, value: Any, hint: Any) -> Misuse | None:
    """Return what is wrong with the value `name`, which should have the type `hint`; None if it fits."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in (Any, object) or isinstance(hint, UNKNOWN) or is_typeddict(hint):
        return None
    if origin is Annotated:
        return find_misuse(name, value, args[0])
    if origin in (Union, UnionType):
        return _find_in_union(name, value, hint)
    if origin is Literal:
        return None if _is_one_of(value, args) else _no_choice(name, value, hint)
    if hint is Callable or origin is abc.Callable:
        return _find_wrong_function(name, value, hint)
    if origin:
        return _find_in_items(name, value, hint)
    if getattr(hint, "_is_protocol", False):
        return _find_missing_method(name, value, hint)
    if _is_instance(value, hint):
        return _find_in_fields(name, value, hint)
    return _other(name, value, hint)


def _find_in_union(name: str, value: Any, hint: Any) -> Misuse | None:
    if value is None and NoneType in get_args(hint):
        return None  # the most frequent case, so that no message is made for the other types
    found = [find_misuse(name, value, one) for one in get_args(hint)]
    if None in found:
        return None
    if all(getattr(it, "_is_protocol", False) for it in get_args(hint)):
        return found[0]  # they are forms of one interface, the usual one first
    choices = [it for it in get_args(hint) if get_origin(it) is Literal]
    if choices and isinstance(value, str):
        return _no_choice(name, value, choices[0])
    inner = [it for it in found if it and not it[0].startswith(f"{name}:")]
    return inner[0] if inner else _other(name, value, hint)


def _is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    return any(type(value) is type(choice) and value == choice for choice in choices)


def _find_in_items(name: str, value: Any, hint: Any) -> Misuse | None:
    origin, args = get_origin(hint), get_args(hint)
    if not isinstance(value, origin) or (isinstance(value, str | bytes) and origin is not type):
        return _other(name, value, hint)
    if isinstance(value, abc.Mapping) and len(args) == 2:
        for key, one in value.items():
            if misuse := find_misuse(f"a key of {name}", key, args[0]) or find_misuse(
                f"{name}[{key!r}]", one, args[1]
            ):
                return misuse
    elif isinstance(value, list | tuple) and (not issubclass(origin, tuple) or args[1:] == (...,)):
        for place, one in enumerate(value):
            if misuse := find_misuse(f"{name}[{place}]", one, args[0]):
                return misuse
    return None


def _find_wrong_function(name: str, value: Any, hint: Any) -> Misuse | None:
    if not callable(value):
        return _other(name, value, hint)
    returned = get_origin(get_args(hint)[-1]) if get_args(hint) else None
    if returned in (abc.Awaitable, abc.Coroutine) and is_surely_sync(value):
        return f"{name}() is no async function", f"write it as `async def {value.__name__}`"
    return None


def _find_missing_method(name: str, value: Any, hint: Any) -> Misuse | None:
    if isinstance(value, type):
        return _other(name, value, hint)
    kinds = [kind for kind in hint.__mro__ if getattr(kind, "_is_protocol", False)]
    wanted = [
        it for kind in kinds for it, own in vars(kind).items() if callable(own) and not it.startswith("_")
    ]
    missing = [it for it in dict.fromkeys(wanted) if not callable(getattr(value, it, None))]
    if missing:
        return f"{name}: {_shown(value)} has no method {', '.join(missing)}", _advice(hint)
    for it in dict.fromkeys(wanted):
        if wrong := find_wrong_form(getattr(value, it), getattr(hint, it)):
            return f"{name}.{wrong[0]}", wrong[1]
    return None


def _is_instance(value: Any, hint: Any) -> bool:
    if hint is None or hint is NoneType:
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, float) if hint is float else int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _find_in_fields(name: str, value: Any, hint: Any) -> Misuse | None:
    """The values of a program are frozen dataclasses, whose constructors check nothing."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return None
    hints = hints_of(type(value))
    for field in (it.name for it in dataclasses.fields(value) if it.init):
        if misuse := find_misuse(f"{name}.{field}", getattr(value, field), hints[field]):
            return misuse
    return None


def _other(name: str, value: Any, hint: Any) -> Misuse:
    if isinstance(value, type):
        return f"{name}: the class {value.__name__} is no object", f"pass {value.__name__}(...)"
    attribute = _find_id(name, value) if hint is str else ""
    if str in (hint, *get_args(hint)) and callable(getattr(type(value), "stream", None)):
        advice = NAMED
    else:
        advice = f"pass its `{attribute}`" if attribute else _advice(hint)
    return f"{name}: {_shown(value)} is not {_words(hint)}", advice


def _find_id(name: str, value: Any) -> str:
    """Return the attribute that an argument for an id wants, if the program passed the object itself; else ""."""
    own = name.rpartition(".")[2].partition("[")[0]
    try:
        return next((it for it in (own, "id") if isinstance(getattr(value, it, None), str)), "")
    except Exception:  # a property of the program's own object
        return ""


def _no_choice(name: str, value: Any, hint: Any) -> Misuse:
    return f"{name}: {_shown(value)} does not exist", f"choose one of {', '.join(map(str, get_args(hint)))}"


def _advice(hint: Any) -> str:
    known = (HINTS.get(getattr(it, "__name__", "")) for it in (hint, *get_args(hint)))
    return next((it for it in known if it), f"pass {_words(hint)}")


def _shown(value: Any) -> str:
    """The type, and of a short plain value the value: a program's own objects may print secrets."""
    kind = type(value).__name__
    if (
        isinstance(value, bool | int | float | str | bytes | PurePath | None)
        and len(repr(value)) <= SHOWN_CHARS
    ):
        return repr(value)
    return f"a value of the type {kind}"


def _words(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if hint is None or hint is NoneType:
        return "None"
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_words(it) for it in args))
    if origin is Literal:
        return " or ".join(map(repr, args))
    if origin is abc.Callable:
        return "a function"
    if origin and issubclass(origin, abc.Mapping):
        return f"a dict of {_words(args[0])} to {_words(args[1])}"
    if origin is tuple and args[1:] != (...,):
        return f"a tuple of {' and '.join(_words(it) for it in args)}"
    if origin and args:
        return f"a list of {_words(args[0])}" if issubclass(origin, abc.Iterable) else _words(origin)
    if hint in (Any, object) or isinstance(hint, UNKNOWN):
        return "any value"
    return str(getattr(hint, "__name__", hint))
