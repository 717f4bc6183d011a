"""The user's own tools, read from YAML files and checked before a model sees them.

Files are `tools.yaml` and `tools/*.yaml` in the user's own folder, and in `.agent-ls` of a trusted project.
An invalid definition is left out and reported with its file and line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import SchemaError

from agent_ls.environments.instruction_files import (
    LOCAL_FILES,
    InstructionFiles,
    ReadBudget,
    UnreadableFileError,
)
from agent_ls.environments.local.environ import EnvRules, is_declared_secret
from agent_ls.features.base import SessionFeature
from agent_ls.llm.requests import PARAMETER_NAME, TOOL_NAME, TOOL_NAME_RULE
from agent_ls.loop.context.history_search import SEARCH_HISTORY
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import Category, Tool
from agent_ls.tools.cli_tool import (
    MAX_OUTPUT_BYTES,
    PLACE,
    TIMEOUT_MS,
    VARIABLE,
    CliParameter,
    CliTool,
    ParameterType,
    Scalar,
    cli_tool,
)
from agent_ls.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from agent_ls.features.tools.yaml_lines import ParsedYaml

FILE = "tools.yaml"
FOLDER = "tools"
PROJECT_FOLDER = ".agent-ls"
MAX_BYTES = 256 * 1024
MAX_FILES = 50
MAX_TIMEOUT_S = 3600

SHELLS = frozenset("sh bash dash zsh ksh ash fish csh tcsh cmd cmd.exe powershell pwsh".split())


@dataclass(frozen=True, slots=True)
class YamlTools:
    """The user's valid tools. `problems` are sentences about invalid definitions; each begins with FILE:LINE."""

    tools: tuple[CliTool, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def warning(self) -> str:
        """Warning for the user of a session; "" if there is no problem."""
        if not self.problems:
            return ""
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"A tool of yours is left out: {self.problems[0]}{more}. `agent-ls tools` lists all such problems."


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class _Parameter(_Part):
    type: ParameterType = "string"
    description: str = ""
    enum: list[Scalar] = []
    pattern: str = ""
    minLength: int | None = Field(None, ge=0)
    maxLength: int | None = Field(None, ge=0)
    minimum: int | float | None = None
    maximum: int | float | None = None
    optional: bool = False


class _Definition(_Part):
    name: str
    description: str = Field(min_length=1)
    category: Category
    cmd: str = Field(min_length=1)
    args: list[str] = []
    optional_args: dict[str, list[str]] = {}
    parameters: dict[str, _Parameter] = {}
    env: dict[str, str] = {}
    timeout_seconds: int = Field(TIMEOUT_MS // 1000, ge=1, le=MAX_TIMEOUT_S)
    max_output_bytes: int = Field(MAX_OUTPUT_BYTES, ge=1024)


def load_cli_tools(
    user_folder: Path | None, workspace: Path | None, *, trusted: bool, files: InstructionFiles = LOCAL_FILES
) -> YamlTools:
    """Load the user's tools, and the project's tools if the project is `trusted`. Blocks.

    If two tools have the same name, the first one is used. `user_folder` None leaves out the user's tools. `files`
    accesses the machine that has the workspace.
    """
    tools: dict[str, CliTool] = {}
    problems: list[str] = []
    definitions = [
        found for path in (_files(user_folder) if user_folder else ()) for found in read_tool_file(path)
    ]
    if workspace is not None and trusted:
        definitions += _project_tools(workspace, files)
    for found in definitions:
        if isinstance(found, str):
            problems.append(found)
        elif known := tools.get(found.name):
            problems.append(f"{found.source}: {found.name} is defined already, in {known.source}")
        else:
            tools[found.name] = found
    return YamlTools(tuple(tools.values()), tuple(problems))


def _project_tools(workspace: Path, files: InstructionFiles) -> Iterator[CliTool | str]:
    if files is LOCAL_FILES:
        for path in _files(workspace / PROJECT_FOLDER):
            yield from read_tool_file(path)
        return
    folder = workspace / PROJECT_FOLDER
    files.levels(str(workspace))  # lists the project's files again
    names = files.walk(str(folder), "", ReadBudget(), lambda path: False)
    for path in sorted(map(Path, names), key=lambda path: (path.parent != folder, path.name)):
        if path == folder / FILE or (path.parent == folder / FOLDER and path.suffix in (".yaml", ".yml")):
            try:
                text, _ = files.read(str(path), str(folder))
            except UnreadableFileError as error:
                yield f"{path}:1: {error}"
                continue
            yield from map(_without_variables, _parse_file(path, text))


def _without_variables(found: CliTool | str) -> CliTool | str:
    """Return `found`, or an error message if the tool `found` uses environment variables of this machine.

    These variables are not sent to the machine that has the project.
    """
    if isinstance(found, str) or not any(map(VARIABLE.search, found.env.values())):
        return found
    return (
        f"{found.source}: {found.name} uses an environment variable of your machine, which is not sent to "
        "another machine"
    )


def has_project_tools(workspace: Path) -> bool:
    """Return whether the project defines tools, trusted or not. Blocks."""
    return any(True for _ in _files(workspace / PROJECT_FOLDER))


class OwnTools(SessionFeature):
    """Adds the user's tools to profiles. The user's tools never replace a tool of that name.

    `variables` are the environment variables that the definitions may use. `hide` gets the values to redact.
    """

    def __init__(
        self,
        tools: Sequence[CliTool],
        variables: Mapping[str, str],
        hide: Callable[[Sequence[str]], None],
    ) -> None:
        hide([value for definition in tools for value in _secret_values(definition, variables)])
        self._made: Sequence[Tool[Any]] = [cli_tool(definition, variables.get) for definition in tools]

    def add_tools(self, profile: ProviderProfile) -> None:
        for tool in self._made:
            if profile.registry.lookup(tool.name) is None:
                profile.registry.register(tool)


def _secret_values(definition: CliTool, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of the variables that a definition names, and values that it contains under a secret name."""
    for name, text in definition.env.items():
        if not EnvRules().passes(name):
            yield from VARIABLE.sub("\0", text).split("\0")  # the names of variables are no secrets
        for found in VARIABLE.finditer(text):
            value = variables.get(found[1], "")
            if is_declared_secret(found[1], value):
                yield value


def _files(folder: Path) -> Iterator[Path]:
    try:
        more = sorted(path for path in (folder / FOLDER).iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        more = []
    yield from (path for path in (folder / FILE, *more[:MAX_FILES]) if path.is_file())


def read_tool_file(path: Path) -> Iterator[CliTool | str]:
    """Yield the tools of a file, and a sentence for each invalid definition. Blocks."""
    try:
        data = path.read_bytes()
        if len(data) > MAX_BYTES:
            yield f"{path}:1: the file is larger than {MAX_BYTES // 1024} KiB"
            return
        text = data.decode("utf-8")
    except OSError as error:
        yield f"{path}:1: the file cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        yield f"{path}:1: the file is not UTF-8 (byte {error.start})"
    else:
        yield from _parse_file(path, text)


def _parse_file(path: Path, text: str) -> Iterator[CliTool | str]:
    from agent_ls.features.tools.yaml_lines import (  # imported late: few users have tool files
        YamlError,
        read_yaml,
    )

    try:
        read = read_yaml(text)
    except YamlError as error:
        yield f"{path}:{error.line}: {error}"
    else:
        yield from _definitions(path, read)


@lru_cache(maxsize=64)
def read_packaged_tools(path: Path) -> tuple[CliTool, ...]:
    """Return the tools of a YAML file that is part of agent-ls. Blocks.

    This is twenty times as fast as `read_tool_file`: it keeps no line numbers, and uses the C
    parser if it is installed. Tests check these definitions as `read_tool_file` does.
    """
    import yaml  # imported late: few users choose tool packs

    raw = yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return tuple(_definition(_Definition.model_validate(each)) for each in raw["tools"])


def _definitions(path: Path, read: ParsedYaml) -> Iterator[CliTool | str]:
    if read.value is None:
        return
    known = isinstance(read.value, dict) and set(read.value) == {"tools"}
    if not known or not isinstance(read.value["tools"], list):
        yield f"{path}:1: the file must contain one list named `tools:`, whose entries have a name, a description, …"
        return
    for number, raw in enumerate(read.value["tools"]):
        place = ("tools", number)
        try:
            parsed = _Definition.model_validate(raw)
        except ValidationError as error:
            yield from (f"{path}:{read.line((*place, *loc))}: {words}" for loc, words in _list_invalid(error))
            continue
        source = f"{path}:{read.line(place)}"
        if wrong := list(_misfits(parsed)):
            yield from (f"{path}:{read.line((*place, *loc))}: {parsed.name}: {words}" for loc, words in wrong)
        else:
            yield replace(_definition(parsed), source=source)


def _list_invalid(error: ValidationError) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path of each invalid value of a definition, and a message for the user."""
    for problem in error.errors(include_url=False):
        loc = problem["loc"]
        name = ".".join(map(str, loc)) or "this"
        match problem["type"]:
            case "missing":
                yield loc[:-1], f"{name} is missing"
            case "extra_forbidden":
                yield loc, f"the key {name} is unknown"
            case "string_type":
                yield loc, f"{name} must be a string: put the value in quotes"
            case _:
                words = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
                yield loc, f"{name}: {words[:1].lower()}{words[1:]}"


def _misfits(found: _Definition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield problems that the types of _Definition cannot detect, each as the path of the value and a message."""
    if not TOOL_NAME.fullmatch(found.name):
        yield ("name",), f"{found.name!r} is not a valid tool name: use {TOOL_NAME_RULE}"
    if found.name in own_names():
        yield ("name",), "a tool of this name is built in: choose another"
    if "__" in found.name:
        yield (
            ("name",),
            "names with two underscores are reserved for tools of MCP servers: choose another name",
        )
    if found.cmd.startswith("-") or PLACE.search(found.cmd):
        yield ("cmd",), "cmd has to be the name or the path of a program"
    elif " " in found.cmd and "/" not in found.cmd:
        yield (
            ("cmd",),
            f"cmd must be one program: write {found.cmd.split()[0]} here, and put its arguments under args",
        )
    if "\0" in "".join((found.cmd, *found.args, *found.env.values())):
        yield (), "a command cannot contain a NUL character"
    yield from _places(found)
    yield from _parameters(found)
    for name, text in found.env.items():
        if not name.replace("_", "a").isalnum() or name[0].isdigit():
            yield ("env", name), f"{name!r} is not a variable name"
        if PLACE.search(text):
            yield (
                ("env", name),
                "env cannot contain placeholders of parameters: use them in args or optional_args",
            )
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
                yield ("args", number), f"{{{{{name}}}}} is not the name of a parameter"
            elif found.parameters[name].optional:
                yield ("args", number), f"{name} is optional: put this word under optional_args.{name}"
    for name, words in found.optional_args.items():
        used.add(name)
        if name not in found.parameters or not found.parameters[name].optional:
            yield ("optional_args", name), f"{name} has to be a parameter with `optional: true`"
        for other in {each for word in words for each in PLACE.findall(word)} - {name}:
            used.add(other)
            if other not in found.parameters or found.parameters[other].optional:
                yield (
                    ("optional_args", name),
                    f"{{{{{other}}}}} must be the name of a parameter that is not optional",
                )
    for name in found.parameters.keys() - used:
        yield ("parameters", name), f"{name} is not used in args or optional_args"
    is_shell = os.path.basename(found.cmd) in SHELLS
    if is_shell and any(PLACE.search(word) for word in found.args):
        yield (
            ("cmd",),
            f"{found.cmd} would run its arguments as commands: name the program itself, or a script that takes them",
        )


def _parameters(found: _Definition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    kinds: Mapping[ParameterType, tuple[type, ...]] = {
        "string": (str,), "integer": (int,), "number": (int, float), "boolean": (),
    }  # fmt: skip
    for name, parameter in found.parameters.items():
        place = ("parameters", name)
        if not (name.isidentifier() and PARAMETER_NAME.fullmatch(name)):
            yield place, f"{name!r} cannot be the name of a parameter: use letters, digits and underscores"
        if any(
            isinstance(each, bool) or not isinstance(each, kinds[parameter.type]) for each in parameter.enum
        ):
            yield (
                (*place, "enum"),
                f"each value of enum must be of type {parameter.type} (in quotes, if it is a string)",
            )
        texts = parameter.pattern or parameter.minLength is not None or parameter.maxLength is not None
        numbers = parameter.minimum is not None or parameter.maximum is not None
        if texts and parameter.type != "string":
            yield place, "pattern, minLength and maxLength are for strings only"
        if numbers and parameter.type not in ("integer", "number"):
            yield place, "minimum and maximum are for numbers only"


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


SOMETIMES_OFFERED = frozenset(
    "definition references symbols rename_symbol diagnostics hover implementations call_hierarchy code_actions "
    "apply_code_action edit_notebook use_skill web_fetch web_search "
    "find_tools call_tool read_resource remember report_finding abort append_file copy_file create_file delete_file "
    "head move_file read_lines reflect summarize tail".split()
)
"""Built-in tools that only some sessions have: they depend on the editor, the folder, servers, a
pack or a setting.
"""


@lru_cache(maxsize=1)
def own_names() -> frozenset[str]:
    """Return all names that built-in tools can have.

    These are the names in agent-ls, and the names in the model vendors' own coding agents.
    """
    from agent_ls.profiles.create import family_presentation

    native = (name for family, _ in _FAMILIES for name in family_presentation(family).native_names())
    return own_kinds().union(native)


@lru_cache(maxsize=1)
def own_kinds() -> frozenset[str]:
    """Return the names of all built-in tools in agent-ls (`Tool.kind`), which are the same for all model families."""
    from agent_ls.profiles.create import create_profile
    from agent_ls.profiles.options import ProfileOptions

    every = ProfileOptions(plan=True, ask_user=True, think=True, submit=True, subagents=True)
    registries = [create_profile(name, model, options=every).registry for name, model in _FAMILIES]
    return SOMETIMES_OFFERED.union({SEARCH_HISTORY}, *map(kinds_of, registries))


@lru_cache(maxsize=1)
def own_kinds_by_native_name() -> Mapping[str, str]:
    """Map the names of built-in tools in the model vendors' own coding agents to their names in agent-ls."""
    from agent_ls.profiles.create import family_presentation

    mappings = [family_presentation(family).name_mapping() for family, _ in _FAMILIES]
    return {native: kind for mapping in mappings for kind, native in mapping.items()}


def kinds_of(registry: ToolRegistry) -> frozenset[str]:
    """Return the names in agent-ls (`Tool.kind`) of the tools in a registry."""
    return frozenset(tool.kind for name in registry.names() if (tool := registry.lookup(name)))


_FAMILIES = (("anthropic", ""), ("openai", ""), ("gemini", ""), ("compatible", "any"))
