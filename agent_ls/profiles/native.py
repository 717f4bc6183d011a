"""A family's tools under the names, and with the parameters, that its models know from their maker's own agent (P7).

What a tool does stays the same. Tools that such an agent has not, or has in another shape, keep our names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from pydantic import AliasChoices, create_model

from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import Arguments, Tool


@dataclass(frozen=True, slots=True)
class Native:
    """A tool's name there; `parameters` are those that are called otherwise: ours, and theirs."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)


NATIVE: Mapping[str, Mapping[str, Native]] = {
    "anthropic": {
        "read_file": Native("Read"),
        "write_file": Native("Write"),
        "edit_file": Native("Edit"),
        "shell": Native("Bash", {"timeout_ms": "timeout", "background": "run_in_background"}),
        "grep": Native(
            "Grep",
            {
                "glob_filter": "glob",
                "case_insensitive": "-i",
                "context_lines": "-C",
                "max_results": "head_limit",
            },
        ),
        "glob": Native("Glob"),
        "web_fetch": Native("WebFetch"),
        "web_search": Native("WebSearch"),
    },
    "openai": {
        "apply_patch": Native("apply_patch", {"patch": "input"}),
        "shell": Native("shell_command", {"working_dir": "workdir"}),
        "grep": Native("grep_files", {"glob_filter": "include", "max_results": "limit"}),
    },
    "gemini": {
        "read_many_files": Native("read_many_files", {"paths": "include"}),
        "edit_file": Native("replace"),
        "shell": Native("run_shell_command", {"working_dir": "dir_path", "background": "is_background"}),
        "grep": Native("search_file_content", {"path": "dir_path", "glob_filter": "include"}),
        "glob": Native("glob", {"path": "dir_path"}),
        "list_dir": Native("list_directory", {"path": "dir_path"}),
        "web_search": Native("google_web_search"),
    },
}


def with_native_names(profile: ProviderProfile) -> ProviderProfile:
    """The same profile where the family has no names of its own. Its registry is changed in place."""
    family = NATIVE.get(profile.id, {})
    registry = profile.registry
    tools = [tool for name in registry.names() if (tool := registry.lookup(name))]
    for tool in tools:
        registry.unregister(tool.name)
    for tool in tools:
        registry.register(native_tool(tool, profile.id))
    named = {ours: native.name for ours, native in family.items() if ours != native.name}
    if not named:
        return profile
    note = "\n\nSome of your tools go by other names in messages: " + ", ".join(
        f"{ours} is {theirs}" for ours, theirs in named.items() if registry.lookup(ours)
    )
    return replace(profile, base_prompt=f"{_renamed(profile.base_prompt.rstrip(), profile.id)}{note}.\n")


def native_tool(tool: Tool[Any], family: str) -> Tool[Any]:
    """The tool as the family's models know it; as it is where they do not."""
    native = NATIVE.get(family, {}).get(tool.kind)
    described = replace(tool, description=_renamed(tool.description, family))
    if native is None:
        return described
    arguments: type[Arguments] = tool.arguments
    here = tuple(
        (ours, theirs) for ours, theirs in native.parameters.items() if ours in arguments.model_fields
    )
    return replace(
        described,
        name=native.name,
        known_as=tool.kind if native.name != tool.kind else "",
        arguments=_with_names(arguments, here) if here else arguments,
    )


def _renamed(text: str, family: str) -> str:
    """Only names that are no words of the language: what else is meant, the note tells."""
    for ours, native in NATIVE.get(family, {}).items():
        if "_" in ours:
            text = re.sub(rf"\b{ours}\b", native.name, text)
    return text


@lru_cache(maxsize=64)  # the schema of a class is made once
def _with_names(arguments: type[Arguments], names: tuple[tuple[str, str], ...]) -> type[Arguments]:
    """A subclass whose JSON has these names; ours are understood as well."""

    fields: dict[str, Any] = {}
    for ours, theirs in names:
        named = copy(arguments.model_fields[ours])
        named.alias = named.serialization_alias = theirs
        named.validation_alias = AliasChoices(theirs, ours)
        named.alias_priority = 2  # given, not made
        fields[ours] = (named.annotation, named)
    return cast("type[Arguments]", create_model(arguments.__name__, __base__=arguments, **fields))
