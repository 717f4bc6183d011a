"""The user's own tools from YAML files (T10, 004 section 6.3), checked before a model sees them.

`tools.yaml` and `tools/*.yaml` in the user's own folder, and in `.agent-ls` of a project that the user trusts. What is
wrong in one definition leaves out that one, and is told with its file and line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import SchemaError

from agent_ls.loop.history_search import SEARCH_HISTORY
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import Category, Tool
from agent_ls.tools.cli_tool import (
    MAX_OUTPUT_BYTES,
    PLACE,
    TIMEOUT_MS,
    CliParameter,
    CliTool,
    ParameterType,
    Scalar,
    cli_tool,
)

if TYPE_CHECKING:
    from agent_ls.app.yaml_lines import Lined

FILE = "tools.yaml"
FOLDER = "tools"
PROJECT_FOLDER = ".agent-ls"
MAX_BYTES = 256 * 1024
MAX_FILES = 50
MAX_TIMEOUT_S = 3600

SHELLS = frozenset("sh bash dash zsh ksh ash fish csh tcsh cmd cmd.exe powershell pwsh".split())

ProfileFor: TypeAlias = Callable[[str, str], ProviderProfile]


@dataclass(frozen=True, slots=True)
class CliTools:
    """Those that are in order, and a sentence for each thing that is not, which begins with FILE:LINE.

    `notebooks`: the session's folder has some, so that the tool for them is offered besides.
    """

    tools: tuple[CliTool, ...] = ()
    problems: tuple[str, ...] = ()
    notebooks: bool = False

    @property
    def warning(self) -> str:
        """For the user of a session, "" for nothing."""
        if not self.problems:
            return ""
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"A tool of yours is left out: {self.problems[0]}{more}. `agent-ls tools` shows them all."


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Parameter(_Part):
    type: ParameterType = "string"
    description: str = ""
    enum: list[Scalar] = Field(default_factory=list)
    pattern: str = ""
    minLength: int | None = Field(None, ge=0)
    maxLength: int | None = Field(None, ge=0)
    minimum: int | float | None = None
    maximum: int | float | None = None
    optional: bool = False


class _Definition(_Part):
    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    description: str = Field(min_length=1)
    category: Category
    cmd: str = Field(min_length=1)
    args: list[str] = Field(default_factory=list)
    optional_args: dict[str, list[str]] = Field(default_factory=dict)
    parameters: dict[str, _Parameter] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    timeout_seconds: int = Field(TIMEOUT_MS // 1000, ge=1, le=MAX_TIMEOUT_S)
    max_output_bytes: int = Field(MAX_OUTPUT_BYTES, ge=1024)


def load_cli_tools(user_folder: Path, workspace: Path | None, *, trusted: bool) -> CliTools:
    """Those of the user, then those of the project if it is `trusted`; the first of a name stands. Blocks."""
    folders = [user_folder]
    if workspace is not None and trusted:
        folders.append(workspace / PROJECT_FOLDER)
    tools: dict[str, CliTool] = {}
    problems: list[str] = []
    for path in (path for folder in folders for path in _files(folder)):
        for found in _read(path):
            if isinstance(found, str):
                problems.append(found)
            elif known := tools.get(found.name):
                problems.append(f"{found.source}: {found.name} is defined already, in {known.source}")
            else:
                tools[found.name] = found
    return CliTools(tuple(tools.values()), tuple(problems))


def has_project_tools(workspace: Path) -> bool:
    """Whether the project brings tools, trusted or not. Blocks."""
    return any(True for _ in _files(workspace / PROJECT_FOLDER))


def with_cli_tools(
    profiles: ProfileFor, tools: Sequence[CliTool], variables: Mapping[str, str]
) -> ProfileFor:
    """Profiles that offer these tools too. None takes the place of one that is there already."""
    made: Sequence[Tool[Any]] = [cli_tool(definition, variables.get) for definition in tools]
    if not made:
        return profiles

    def profile(provider: str, model: str) -> ProviderProfile:
        found = profiles(provider, model)
        for tool in made:
            if found.registry.lookup(tool.name) is None:
                found.registry.register(tool)
        return found

    return profile


def _files(folder: Path) -> Iterator[Path]:
    try:
        more = sorted(path for path in (folder / FOLDER).iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        more = []
    yield from (path for path in (folder / FILE, *more[:MAX_FILES]) if path.is_file())


def _read(path: Path) -> Iterator[CliTool | str]:
    from agent_ls.app.yaml_lines import YamlError, read_yaml  # few have a file of tools

    try:
        data = path.read_bytes()
        if len(data) > MAX_BYTES:
            yield f"{path}:1: it is larger than {MAX_BYTES // 1024} KiB"
            return
        read = read_yaml(data.decode("utf-8"))
    except OSError as error:
        yield f"{path}:1: it cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        yield f"{path}:1: it is not UTF-8 (byte {error.start})"
    except YamlError as error:
        yield f"{path}:{error.line}: {error}"
    else:
        yield from _definitions(path, read)


def _definitions(path: Path, read: Lined) -> Iterator[CliTool | str]:
    if read.value is None:
        return
    known = isinstance(read.value, dict) and set(read.value) == {"tools"}
    if not known or not isinstance(read.value["tools"], list):
        yield f"{path}:1: it has to be one list by the name `tools:`, each with a name, a description, …"
        return
    for number, raw in enumerate(read.value["tools"]):
        place = ("tools", number)
        try:
            parsed = _Definition.model_validate(raw)
        except ValidationError as error:
            yield from (f"{path}:{read.line((*place, *loc))}: {words}" for loc, words in _wrong(error))
            continue
        source = f"{path}:{read.line(place)}"
        if wrong := list(_misfits(parsed)):
            yield from (f"{path}:{read.line((*place, *loc))}: {parsed.name}: {words}" for loc, words in wrong)
        else:
            yield replace(_definition(parsed), source=source)


def _wrong(error: ValidationError) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for problem in error.errors(include_url=False):
        loc = problem["loc"]
        name = ".".join(map(str, loc)) or "this"
        match problem["type"]:
            case "missing":
                yield loc[:-1], f"{name} is missing"
            case "extra_forbidden":
                yield loc, f"{name} is not known here"
            case "string_type":
                yield loc, f"{name} has to be a text: put it in quotes"
            case _:
                words = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
                yield loc, f"{name}: {words[:1].lower()}{words[1:]}"


def _misfits(found: _Definition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What each entry for itself does not show."""
    if found.name in own_names():
        yield ("name",), "a tool of this name is built in: choose another"
    if "__" in found.name:
        yield ("name",), "two underscores are kept for tools of servers: choose another name"
    if found.cmd.startswith("-") or PLACE.search(found.cmd):
        yield ("cmd",), "cmd has to be the name or the path of a program"
    elif " " in found.cmd and "/" not in found.cmd:
        yield ("cmd",), f"cmd is one program: put its words under args ({found.cmd.split()[0]} alone here)"
    if "\0" in "".join((found.cmd, *found.args, *found.env.values())):
        yield (), "a NUL character can stand in no command"
    yield from _places(found)
    yield from _parameters(found)
    for name, text in found.env.items():
        if not name.replace("_", "a").isalnum() or name[0].isdigit():
            yield ("env", name), "this is no name of a variable"
        if PLACE.search(text):
            yield ("env", name), "arguments of a call are not put into variables"
    try:
        cli_tool(_definition(found), lambda name: None)
    except (SchemaError, ValueError, TypeError) as error:
        yield ("parameters",), f"a pattern or a limit cannot be used: {str(error).splitlines()[0]}"


def _places(found: _Definition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    used: set[str] = set()
    for number, word in enumerate(found.args):
        for name in PLACE.findall(word):
            used.add(name)
            if name not in found.parameters:
                yield ("args", number), f"{{{{{name}}}}} names no parameter"
            elif found.parameters[name].optional:
                yield ("args", number), f"{name} is optional: put this word under optional_args.{name}"
    for name, words in found.optional_args.items():
        used.add(name)
        if name not in found.parameters or not found.parameters[name].optional:
            yield ("optional_args", name), f"{name} has to be a parameter with `optional: true`"
        for other in {each for word in words for each in PLACE.findall(word)} - {name}:
            used.add(other)
            if other not in found.parameters or found.parameters[other].optional:
                yield ("optional_args", name), f"{{{{{other}}}}} can be missing here, or names no parameter"
    for name in found.parameters.keys() - used:
        yield ("parameters", name), f"{name} is used by no word of args or optional_args"
    is_shell = os.path.basename(found.cmd) in SHELLS
    if is_shell and any(PLACE.search(word) for word in found.args):
        yield (
            ("cmd",),
            f"{found.cmd} would read arguments as commands: name the program itself, or a script that takes them",
        )


def _parameters(found: _Definition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    kinds: Mapping[ParameterType, tuple[type, ...]] = {
        "string": (str,), "integer": (int,), "number": (int, float), "boolean": (),
    }  # fmt: skip
    for name, parameter in found.parameters.items():
        place = ("parameters", name)
        if not name.isidentifier() or not name.isascii():
            yield place, f"{name!r} cannot be the name of a parameter: use letters, digits and underscores"
        if any(
            isinstance(each, bool) or not isinstance(each, kinds[parameter.type]) for each in parameter.enum
        ):
            yield (*place, "enum"), f"each has to be of type {parameter.type} (in quotes, if it is a text)"
        texts = parameter.pattern or parameter.minLength is not None or parameter.maxLength is not None
        numbers = parameter.minimum is not None or parameter.maximum is not None
        if texts and parameter.type != "string":
            yield place, "pattern, minLength and maxLength are for texts"
        if numbers and parameter.type not in ("integer", "number"):
            yield place, "minimum and maximum are for numbers"


def _definition(found: _Definition) -> CliTool:
    return CliTool(
        name=found.name,
        description=found.description,
        category=found.category,
        cmd=found.cmd,
        args=tuple(found.args),
        optional_args={name: tuple(words) for name, words in found.optional_args.items()},
        parameters={name: _parameter(parameter) for name, parameter in found.parameters.items()},
        env=found.env,
        timeout_ms=found.timeout_seconds * 1000,
        max_output_bytes=found.max_output_bytes,
    )


def _parameter(found: _Parameter) -> CliParameter:
    kind: Literal["string", "integer", "number", "boolean"] = found.type
    return CliParameter(
        type=kind,
        description=found.description,
        enum=tuple(found.enum),
        pattern=found.pattern,
        min_length=found.minLength,
        max_length=found.maxLength,
        minimum=found.minimum,
        maximum=found.maximum,
        optional=found.optional,
    )


@lru_cache(maxsize=1)
def own_names() -> frozenset[str]:
    """Of all tools that come with agent-ls, by whatever name a model family knows them."""
    from agent_ls.profiles.create import create_profile
    from agent_ls.profiles.family import ProfileOptions
    from agent_ls.profiles.native import NATIVE

    every = ProfileOptions(plan=True, ask_user=True, think=True, submit=True, subagents=True)
    families = (("anthropic", ""), ("openai", ""), ("gemini", ""), ("compatible", "any"))
    registries = [create_profile(name, model, options=every).registry for name, model in families]
    native = (tool.name for family in NATIVE.values() for tool in family.values())
    named = (name for registry in registries for name in registry.names())
    return frozenset((SEARCH_HISTORY, "web_fetch", "web_search", *native, *named))
