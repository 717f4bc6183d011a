"""Make the arguments of a tool from the parameters of a function, and check now whether a model can give them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, cast, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError, create_model
from pydantic_core import to_jsonable_python

from agent_ls.llm.requests import PARAMETER_NAME, PARAMETER_NAME_RULE
from agent_ls.own_code import error_words
from agent_ls.tools.base import Arguments
from agent_ls.tools.registry import generate_schema

HINT = "use plain types, Literal, enums, list, dict, dataclasses or pydantic models of the module"


def make_arguments(function: Callable[..., object], name: str) -> type[Arguments]:
    """Return the argument class of the tool `name`. A parameter that pydantic reserves gets another attribute.

    Raises:
        TypeError: a parameter has a name that some providers refuse, no type, a type that has no JSON Schema, or a
            default that is not of its type.
    """
    fields: dict[str, Any] = {}
    places: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # what pydantic warns of does not work later
        parameters = _parameters(function, name)
        for parameter in parameters:
            where = f"parameter {parameter.name} of the tool {name}"
            if not PARAMETER_NAME.fullmatch(parameter.name):
                raise TypeError(
                    f"{where}: some providers refuse this name. Use {PARAMETER_NAME_RULE}, and say what it means by "
                    '`Annotated[..., "its meaning"]`'
                )
            hint = _resolve(function, parameter, where)
            attribute = _attribute(parameter.name, {*fields, *(it.name for it in parameters)})
            given: dict[str, Any] = {} if attribute == parameter.name else {"alias": parameter.name}
            if said := [it for it in getattr(hint, "__metadata__", ()) if isinstance(it, str)]:
                given["description"] = said[0]
            fields[attribute] = (hint, Field(**_default(parameter, hint, where), **given))
            places[attribute] = where
        try:
            return _build(name, fields, f"the tool {name}")
        except TypeError:
            for attribute, where in places.items():  # to name the parameter
                _build(name, {attribute: fields[attribute]}, where)
            raise


def call_arguments(
    function: Callable[..., object], arguments: Arguments
) -> tuple[list[object], dict[str, object]]:
    """Return the arguments with which to call the function, those that are only positional in a list."""
    made = type(arguments)
    given = {made.parameter(it): getattr(arguments, it) for it in made.model_fields}
    parameters = inspect.signature(function).parameters.values()
    return [given.pop(it.name) for it in parameters if it.kind is it.POSITIONAL_ONLY], given


def _parameters(function: Callable[..., object], name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:  # some functions in C
        raise TypeError(
            f"the parameters of the tool {name} are unknown: write a function around it"
        ) from error


def _resolve(function: Callable[..., object], parameter: inspect.Parameter, where: str) -> Any:
    """Return the type of a parameter. The types of the others and of the result need not exist at run time."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise TypeError(f"{where} cannot be * or **: give each parameter a name and a type")
    annotations: Mapping[str, Any] = getattr(function, "__annotations__", {})
    if parameter.name not in annotations:
        raise TypeError(f"{where} needs a type annotation")

    def one() -> None: ...

    one.__annotations__ = {parameter.name: annotations[parameter.name]}
    namespace = getattr(inspect.unwrap(function), "__globals__", {})
    own = {it.__name__: it for it in getattr(function, "__type_params__", ())}
    try:
        return get_type_hints(one, namespace, own, include_extras=True)[parameter.name]
    except Exception as error:
        raise TypeError(
            f"{where}: its type cannot be found ({error_words(error)}); define or import it in the module"
        ) from error


def _attribute(name: str, taken: set[str]) -> str:
    """Return the name itself, or for a name that pydantic reserves another one, which the model never sees."""
    if not name.startswith(("_", "model_")) and not hasattr(Arguments, name):
        return name
    attribute = f"argument_{name.strip('_')}"
    while attribute in taken:
        attribute += "_"
    return attribute


def _default(parameter: inspect.Parameter, hint: Any, where: str) -> dict[str, Any]:
    """Return how to give pydantic the default. None marks an argument that may be absent, whatever its type."""
    default = parameter.default
    if default is parameter.empty:
        return {}
    if default is not None:
        try:
            TypeAdapter(hint).validate_python(default)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"]
            raise TypeError(f"{where}: its default does not have its type ({problem})") from error
    try:
        to_jsonable_python(default)
    except (
        ValueError
    ):  # such as an `object()` as the mark of an absent argument: the schema has no such default
        return {"default_factory": lambda: default}
    return {"default": default}


def _build(name: str, fields: Mapping[str, Any], where: str) -> type[Arguments]:
    try:
        made = cast("type[Arguments]", create_model(f"{name}_arguments", __base__=Arguments, **fields))
        generate_schema(made)
    except RecursionError as error:
        raise TypeError(f"{where}: a type that contains itself cannot be sent to models; {HINT}") from error
    except Exception as error:
        reason = error_words(error).partition(". ")[0]  # what follows is advice for the definition of models
        raise TypeError(f"{where}: its type cannot be sent to models ({reason}); {HINT}") from error
    return made
