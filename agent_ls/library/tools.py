"""Make a tool from a function of your program.

The parameters of the function become the tool's schema, and its docstring becomes the tool's description.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias, cast, get_type_hints, overload

from pydantic import Field, create_model

from agent_ls.environments.effects import CallEffect, NoEffect
from agent_ls.llm.requests import check_tool_name
from agent_ls.tools.base import Arguments, Category, Prepared, Tool, ToolContext, ToolOutput

Function: TypeAlias = Callable[..., Awaitable[object]]

SUMMARY_CHARS = 100


@overload
def tool(function: Function) -> Tool[Any]: ...


@overload
def tool(*, category: Category = "read", name: str = "") -> Callable[[Function], Tool[Any]]: ...


def tool(
    function: Function | None = None, *, category: Category = "read", name: str = ""
) -> Tool[Any] | Callable[[Function], Tool[Any]]:
    """Make a Tool from an async function: `@tool`, or `@tool(category="admin")`.

    Each parameter of the function needs a type and becomes a parameter of the tool. `Annotated[int, "its meaning"]`
    adds a description. The return value is sent to the model as text, an exception as an error. `category` "read": the
    function has no effects, so it needs no approval and may run in parallel with other calls. "write": mode and rules
    determine whether a call needs approval, like for commands. "admin": a call needs approval in every mode.

    Raises:
        TypeError: the function is not async, or a parameter has no type.
        ConfigurationError: at least one provider refuses the function's name.
    """
    if function is None:
        return lambda function: _tool(function, category, name or function.__name__)
    return _tool(function, category, name or function.__name__)


def _tool(function: Function, category: Category, name: str) -> Tool[Any]:
    check_tool_name(name)
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"the tool {name} has to be an async function")
    description = inspect.getdoc(function) or ""
    if not description:
        raise TypeError(
            f"the tool {name} has no docstring, so the model would not know the purpose of the tool"
        )
    return Tool(
        name=name,
        description=description,
        category=category,
        arguments=_arguments(function, name),
        prepare=partial(_prepare, function, category, name),
        summarize=lambda arguments: _format_arguments(arguments)[:SUMMARY_CHARS],
    )


def _arguments(function: Function, name: str) -> type[Arguments]:
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in hints or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"parameter {parameter.name} of the tool {name} needs a type annotation, and cannot be * or **"
            )
        hint = hints[parameter.name]
        said = [it for it in getattr(hint, "__metadata__", ()) if isinstance(it, str)]
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hint, Field(default, description=said[0] if said else None))
    made = create_model(f"{name}_arguments", __base__=Arguments, **fields)
    made.model_rebuild()  # a type without a schema raises now, instead of when the tool is called
    return cast("type[Arguments]", made)


async def _prepare(
    function: Function, category: Category, name: str, arguments: Arguments, context: ToolContext
) -> Prepared:
    given = {field: getattr(arguments, field) for field in type(arguments).model_fields}

    async def run() -> ToolOutput:
        answer = await function(**given)
        return ToolOutput(answer if isinstance(answer, str) else json.dumps(answer, default=str))

    if category == "read":
        return Prepared(NoEffect(), run)
    return Prepared(CallEffect(name, _format_arguments(arguments), category), run)


def _format_arguments(arguments: Arguments) -> str:
    return json.dumps(arguments.model_dump(mode="json"), ensure_ascii=False)
