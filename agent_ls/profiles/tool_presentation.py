"""Present our tools to a model with the tool names, parameters and descriptions that its model family knows.

Arguments are converted before a tool gets them, so policy, events, summaries and clients always get our names. The
model may also use our names of tools and parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import new_class
from typing import Annotated, Any, TypeAlias, cast

from pydantic import AliasChoices, ConfigDict, Field
from pydantic.fields import FieldInfo

from agent_ls.package_files import read_package_file
from agent_ls.patterns import regex
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import Arguments, Tool
from agent_ls.tools.schemas import derive_key

_SECTION = regex(r"^# (\w+)\n(.*?)(?=^# \w+\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as presented to a model family. `ours` is our name, `name` the family's name of the parameter.

    `description` "" keeps our description.
    """

    ours: str
    name: str = ""
    description: str = ""

    def __str__(self) -> str:
        name = f"{self.ours} as {self.name}" if self.name else self.ours
        return f"{name}: {self.description}" if self.description else name


@dataclass(frozen=True, slots=True)
class ToolPresentation:
    """The presentation of one of our tools to a model family.

    `native` is the name of the corresponding tool of the family's own agent, "" for none. `parameters` are sent to
    the model in this order; () sends all parameters. Names that our tool does not have are ignored. If the family's
    tool differs in more than names, `variant` returns the tool to use instead.
    """

    native: str = ""
    parameters: tuple[Parameter | str, ...] = ()
    variant: Callable[[Tool[Any]], Tool[Any]] | None = None


NativePresentations: TypeAlias = Mapping[str, Sequence[ToolPresentation]]


@dataclass(frozen=True, slots=True)
class FamilyPresentation:
    """The presentations of all tools to a model family, by our tool names.

    `native` are presentations that are used only with native names: one of our tools corresponds to several tools of
    the family, or works differently. `added` are tools of the family that correspond to no tool of ours. `folder`
    contains `tools.md` with the descriptions.
    """

    folder: str
    shapes: Mapping[str, ToolPresentation]
    native: NativePresentations
    added: tuple[Tool[Any], ...] = ()

    def presentations_of(self, kind: str, *, native: bool) -> Sequence[ToolPresentation]:
        if native and kind in self.native:
            return self.native[kind]
        return (self.shapes.get(kind, ToolPresentation()),)

    def present(self, tool: Tool[Any], *, native: bool) -> Iterator[Tool[Any]]:
        """Yield the tool in the form that the family knows. One tool may correspond to several tools of the family."""
        for shape in self.presentations_of(tool.kind, native=native):
            made = shape.variant(tool) if shape.variant else tool
            name = shape.native if native and shape.native else tool.kind
            written = load_descriptions(self.folder)
            described = written.get(name) or written.get(tool.kind)
            text = self.translate_names(described or made.description, native=native)
            arguments: type[Arguments] = made.arguments
            if shape.parameters:
                arguments = present_arguments(arguments, shape.parameters)
            known_as = tool.kind if name != tool.kind else ""
            yield replace(made, name=name, known_as=known_as, description=text, arguments=arguments)

    def translate_names(self, text: str, *, native: bool) -> str:
        """Replace our tool names in backticks by the family's tool names."""
        if not native:
            return text
        for ours, theirs in self.name_mapping().items():
            text = text.replace(f"`{ours}`", f"`{theirs}`")
        return text

    def native_names(self) -> Iterator[str]:
        """Yield all tool names of the family."""
        shapes = (*self.shapes.values(), *(shape for several in self.native.values() for shape in several))
        yield from (shape.native for shape in shapes if shape.native)
        yield from (tool.name for tool in self.added)

    def name_mapping(self) -> Mapping[str, str]:
        """Return the family's tool names by our tool names. Equal names are left out."""
        known = {kind: shape.native for kind, shape in self.shapes.items()}
        known |= {kind: shapes[0].native for kind, shapes in self.native.items()}
        return {ours: theirs for ours, theirs in known.items() if theirs and theirs != ours}


def present_tools(profile: ProviderProfile, family: FamilyPresentation, *, native: bool) -> ProviderProfile:
    """Return the profile with its tools presented for the family. The profile's registry is changed in place."""
    registry = profile.registry
    tools = [tool for name in registry.names() if (tool := registry.lookup(name))]
    for tool in tools:
        registry.unregister(tool.name)
    for tool in tools:
        for made in family.present(tool, native=native):
            registry.register(made)
    if not native:
        return profile
    for tool in family.added:
        registry.register(tool)
    named = [f"{ours} is {theirs}" for ours, theirs in family.name_mapping().items() if registry.lookup(ours)]
    note = f"\n\nMessages use other names for some of your tools: {', '.join(named)}.\n" if named else ""
    prompt = family.translate_names(profile.base_prompt.rstrip(), native=True)
    return replace(profile, base_prompt=f"{prompt}{note}")


@lru_cache(maxsize=8)
def load_descriptions(folder: str) -> Mapping[str, str]:
    """Return the sections of `<folder>/tools.md`, by tool name."""
    text = read_package_file(f"agent_ls.profiles.{folder}", "tools.md")
    return {found[1]: found[2].strip() for found in _SECTION.finditer(text)}


@lru_cache(maxsize=256)  # cached, so that the schema of a class is generated once
def present_arguments(arguments: type[Arguments], parameters: tuple[Parameter | str, ...]) -> type[Arguments]:
    """Return a subclass of `arguments` whose schema has only `parameters`.

    Calls may still use the other parameters and our own names.
    """
    named = [Parameter(one) if isinstance(one, str) else one for one in parameters]
    wanted = [one for one in named if one.ours in arguments.model_fields]
    shown = tuple(one.name or arguments.parameter(one.ours) for one in wanted)
    fields = {
        one.ours: _field(one, arguments.model_fields[one.ours])
        for one in wanted
        if one.name or one.description
    }
    body: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {name: annotation for name, (annotation, _) in fields.items()},
        "model_config": ConfigDict(json_schema_extra=partial(_keep, shown)),
        "derived_key": derive_key(arguments, "; ".join(map(str, wanted))),
        **{name: field for name, (_, field) in fields.items()},
    }
    # pydantic's `create_model` accepts a base class or a configuration, but not both, so it would need a second class.
    # Creating a class takes half a millisecond at start.
    return cast(
        "type[Arguments]", new_class(arguments.__name__, (arguments,), exec_body=lambda it: it.update(body))
    )


def _keep(shown: tuple[str, ...], schema: dict[str, Any]) -> None:
    schema["properties"] = {name: schema["properties"][name] for name in shown}
    schema["required"] = [name for name in shown if name in schema.get("required", ())]
    if not schema["required"]:
        del schema["required"]


def _field(parameter: Parameter, field: FieldInfo) -> tuple[Any, FieldInfo]:
    known = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else ()
    names = dict.fromkeys((parameter.name or parameter.ours, parameter.ours, *map(str, known)))
    given: dict[str, Any] = {
        "validation_alias": AliasChoices(*names),
        "description": parameter.description or field.description,
    }
    if field.default_factory is not None:
        given["default_factory"] = field.default_factory
    elif not field.is_required():
        given["default"] = field.default
    annotation: Any = field.annotation
    for constraint in field.metadata:
        annotation = Annotated[annotation, constraint]
    return annotation, Field(**given)
