"""Make a tool from a function of your program.

The parameters of the function become the tool's schema, and its docstring becomes the tool's description.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, cast, overload

from agent_ls.argument_types import find_misuse
from agent_ls.environments.effects import CallEffect, NoEffect
from agent_ls.environments.errors import EnvError
from agent_ls.library.program_calls import call_program
from agent_ls.library.tool_arguments import call_arguments, make_arguments
from agent_ls.library.tool_results import make_output
from agent_ls.llm.requests import check_tool_name
from agent_ls.own_code import error_words
from agent_ls.tools.base import Arguments, Category, Prepared, Tool, ToolContext, ToolError, ToolOutput

Function: TypeAlias = Callable[..., object]

SUMMARY_CHARS = 100

log = logging.getLogger(__name__)


@overload
def tool(function: Function) -> Tool[Any]: ...


@overload
def tool(*, category: Category = "read", name: str = "") -> Callable[[Function], Tool[Any]]: ...


def tool(
    function: Function | None = None, *, category: Category = "read", name: str = ""
) -> Tool[Any] | Callable[[Function], Tool[Any]]:
    """Make a Tool from a function: `@tool`, or `@tool(category="admin")`.

    An async function runs on the event loop, a plain function in a thread. In a class, `@tool` marks a method;
    `tools=[thing.method]` then offers the method of that object. Each parameter of the function needs a type and
    becomes a parameter of the tool. `Annotated[int, "its meaning"]` adds a description. The model gets a returned text
    as it is, an ImagePart (also in a list with texts) as an image, a ToolOutput as it is, other values as JSON, and an
    exception or a value without a JSON form as an error. `category` "read": the function has no effects, so it
    needs no approval and may run in parallel with other calls. "write": mode and rules determine whether a call needs
    approval, like for commands. "admin": a call needs approval in every mode.

    Raises:
        TypeError: it is not a function, has no docstring, or a parameter has no type or one that models cannot give.
        ConfigurationError: at least one provider refuses the function's name.
    """
    if misuse := find_misuse("category", category, Category) or find_misuse("name", name, str):
        raise TypeError(": ".join(misuse))
    if function is None:
        return lambda function: _decorated(function, category, name)
    return _decorated(function, category, name)


class ToolMethod:
    """A method marked by `@tool` in a class. Read from an object, it is the tool of that object."""

    def __init__(self, function: Any, category: Category, name: str) -> None:
        self._function = function
        self._category = category
        self._name = name

    def __get__(self, instance: object, owner: type) -> Tool[Any] | ToolMethod:
        if instance is None and not isinstance(self._function, classmethod):
            return self
        return _tool(self._function.__get__(instance, owner), self._category, self._name)


def _decorated(function: Function, category: Category, name: str) -> Tool[Any]:
    if isinstance(function, staticmethod):
        return _tool(function.__func__, category, name)
    inner = function.__func__ if isinstance(function, classmethod) else function
    if not inspect.isroutine(inner):
        raise TypeError(f"{inner!r} is not a function; a tool is made from a function or a method")
    if isinstance(function, classmethod) or (inspect.isfunction(inner) and _first_parameter(inner) == "self"):
        method = ToolMethod(function, category, name)
        method.__get__(object(), object)  # raises here what is wrong with the method
        return cast("Tool[Any]", method)
    return _tool(inner, category, name)


def _tool(function: Function, category: Category, given_name: str) -> Tool[Any]:
    name = given_name or function.__name__
    check_tool_name(name)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"the tool {name} uses `yield`, but the model gets one value: return it")
    description = inspect.getdoc(function) or ""
    if not description:
        raise TypeError(
            f"the tool {name} has no docstring, so the model would not know the purpose of the tool"
        )
    return Tool(
        name=name,
        description=description,
        category=category,
        arguments=make_arguments(function, name),
        prepare=partial(_prepare, function, category, name),
        summarize=lambda arguments: _format_arguments(arguments)[:SUMMARY_CHARS],
    )


def _first_parameter(function: Function) -> str:
    return next(iter(inspect.signature(function).parameters), "")


async def _prepare(
    function: Function, category: Category, name: str, arguments: Arguments, context: ToolContext
) -> Prepared:
    positional, named = call_arguments(function, arguments)

    async def run() -> ToolOutput:
        try:
            return await make_output(await call_program(partial(function, *positional, **named)))
        except (ToolError, EnvError):
            raise
        except Exception as error:  # of the program's own code: the model gets it, the host's log stays quiet
            log.debug("the tool %s raised an exception", name, exc_info=True)
            raise ToolError(error_words(error), kind="internal") from error

    if category == "read":
        return Prepared(NoEffect(), run)
    return Prepared(CallEffect(name, _format_arguments(arguments), category), run)


def _format_arguments(arguments: Arguments) -> str:
    return json.dumps(arguments.model_dump(mode="json", by_alias=True), ensure_ascii=False)
