"""A program as a tool, as its user defined it: a command and its words with places for arguments, no shell (T10).

What is put into a place becomes one word of the program, or a part of one: there is nobody on the way who would read
quotes, semicolons or dollars in it. Values are checked before they are put in.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, Field, create_model

from agent_ls.environments.base import CommandOptions, ExecResult
from agent_ls.environments.effects import CallEffect
from agent_ls.text import back_on_screen
from agent_ls.tools.base import Arguments, Category, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.summary import one_line

TIMEOUT_MS = 120_000  # 004 section 6.4
MAX_OUTPUT_BYTES = 200 * 1024  # 004 section 6.4

PLACE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

ParameterType: TypeAlias = Literal["string", "integer", "number", "boolean"]
Scalar: TypeAlias = str | int | float
Variables: TypeAlias = Callable[[str], str | None]
"""The value of a variable where agent-ls runs, None when it is not set or must not be handed on."""

_PYTHON: Mapping[ParameterType, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


@dataclass(frozen=True, slots=True)
class CliParameter:
    """`pattern` is to fit the whole of a value. Lengths are characters, None limits nothing."""

    type: ParameterType = "string"
    description: str = ""
    enum: tuple[Scalar, ...] = ()
    pattern: str = ""
    min_length: int | None = None
    max_length: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class CliTool:
    """A definition that is in order: each place names a parameter (004 section 6.3).

    `optional_args` are added when their parameter is given, in this order; those of a boolean when it is true. `env`
    maps names to texts in which `${NAME}` stands for a variable of agent-ls' own surroundings. `source` is where it was
    defined.
    """

    name: str
    description: str
    category: Category
    cmd: str
    args: tuple[str, ...] = ()
    optional_args: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: Mapping[str, CliParameter] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_ms: int = TIMEOUT_MS
    max_output_bytes: int = MAX_OUTPUT_BYTES
    source: str = ""

    @property
    def definition(self) -> str:
        """A digest of what it does: another one is another tool, whatever its name and its file."""
        told = {name: value for name, value in asdict(self).items() if name not in ("source", "description")}
        return hashlib.sha256(json.dumps(told, default=str).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def usage(self) -> str:
        """Its command in one line, for people."""
        optional = [f"[{shlex.join(words)}]" for words in self.optional_args.values()]
        return " ".join([self.cmd, *self.args, *optional])


def cli_tool(definition: CliTool, variables: Variables) -> Tool[Any]:
    return Tool(
        name=definition.name,
        description=definition.description,
        category=definition.category,
        arguments=_arguments(definition),
        prepare=partial(_prepare, definition, variables),
        summarize=lambda arguments: one_line(shlex.join(argv(definition, _given(arguments)))),
    )


def argv(definition: CliTool, given: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The program and its words. `given` has what the call gives, checked."""
    words = [definition.cmd, *(_filled(word, given) for word in definition.args)]
    for name, optional in definition.optional_args.items():
        if given.get(name) not in (None, False):
            words += [_filled(word, given) for word in optional]
    return tuple(words)


def _filled(template: str, given: Mapping[str, Scalar]) -> str:
    return PLACE.sub(lambda found: _written(given[found[1]]), template)


def _written(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def _prepare(
    definition: CliTool, variables: Variables, arguments: Arguments, context: ToolContext
) -> Prepared:
    given = _given(arguments)
    words = argv(definition, given)
    if taken := next(_taken_for_options(definition, given), ""):
        raise ToolError(
            f"{taken} begins with a dash: {definition.cmd} would take it for an option. Give another value.",
            kind="validation",
        )
    shown = shlex.join(words)
    working_dir = context.environment.working_directory()

    async def run() -> ToolOutput:
        options = CommandOptions(
            definition.timeout_ms,
            working_dir,
            _environment(definition, variables),
            context.attribution,
            terminal=context.terminal,
            argv=words,
            inherit="minimal",
        )
        return _told(await context.environment.exec_command(shown, options, context.on_output), definition)

    effect = CallEffect(
        tool=definition.name,
        text=shown,
        category=definition.category,
        definition=definition.definition,
        argv=words,
        working_dir=working_dir,
        env_vars=tuple(definition.env.items()),
    )
    return Prepared(effect, run)


def _taken_for_options(definition: CliTool, given: Mapping[str, Scalar]) -> Iterator[str]:
    """Arguments at the beginning of a word, where a program looks for options. What is enumerated is the user's own."""
    for template in definition.args:
        if template == "--":
            return
        yield from _dashed(template, definition, given)
    for name, optional in definition.optional_args.items():
        if name in given:
            for template in optional:
                yield from _dashed(template, definition, given)


def _dashed(template: str, definition: CliTool, given: Mapping[str, Scalar]) -> Iterator[str]:
    found = PLACE.match(template)
    if found and isinstance(given.get(found[1]), str) and not definition.parameters[found[1]].enum:
        if _written(given[found[1]]).startswith("-"):
            yield found[1]


def _environment(definition: CliTool, variables: Variables) -> dict[str, str]:
    """
    Raises:
        ToolError: a variable that is declared is not there.
    """

    def value(found: re.Match[str]) -> str:
        known = variables(found[1])
        if known is None:
            raise ToolError(
                f"The variable {found[1]}, which {definition.name} needs, is not set where agent-ls runs (and keys of "
                "providers are given to no tool). Tell the user.",
                kind="environment",
            )
        return known

    return {name: VARIABLE.sub(value, text) for name, text in definition.env.items()}


def _told(result: ExecResult, definition: CliTool) -> ToolOutput:
    text = back_on_screen(_capped(result.output.rstrip("\n"), definition.max_output_bytes)) or "(no output)"
    note = f"\n[{result.note}]" if result.note else ""
    if result.timed_out:
        words = f"[ERROR: {definition.name} timed out after {definition.timeout_ms}ms. Its output so far stands above.]"
        return ToolOutput(
            f"{text}\n{words}{note}",
            is_error=True,
            error_kind="shell_timeout",
            exit_code=result.exit_code,
            summary=f"timed out after {definition.timeout_ms} ms",
        )
    if result.exit_code != 0:
        return ToolOutput(
            f"{text}\nExit code: {result.exit_code}{note}",
            is_error=True,
            error_kind="shell_exit",
            exit_code=result.exit_code,
            summary=f"exit {result.exit_code}",
        )
    return ToolOutput(f"{text}{note}", exit_code=0)


def _capped(text: str, max_bytes: int) -> str:
    """Head and tail, with what was left out between them."""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    head, tail = data[: max_bytes // 2], data[len(data) - max_bytes // 2 :]
    left_out = len(data) - len(head) - len(tail)
    return f"{head.decode('utf-8', 'ignore')}\n[... {left_out} bytes left out ...]\n{tail.decode('utf-8', 'ignore')}"


# -- arguments


def _given(arguments: Arguments) -> dict[str, Scalar]:
    fields = type(arguments).model_fields
    given = {field.alias or name: getattr(arguments, name) for name, field in fields.items()}
    return {name: value for name, value in given.items() if value is not None}


def _arguments(definition: CliTool) -> type[Arguments]:
    fields: dict[str, Any] = {}
    for number, (name, parameter) in enumerate(definition.parameters.items()):
        default = None if parameter.optional else ...
        about = parameter.description or None
        # By an alias: no name of the user's is in the way of one that the model class has itself.
        fields[f"argument_{number}"] = (_hint(parameter), Field(default, alias=name, description=about))
    return cast("type[Arguments]", create_model(f"{definition.name}_arguments", __base__=Arguments, **fields))


def _hint(parameter: CliParameter) -> Any:
    if parameter.enum:
        return Literal[parameter.enum]
    limits: dict[str, Any] = {
        "min_length": parameter.min_length,
        "max_length": parameter.max_length,
        "ge": parameter.minimum,
        "le": parameter.maximum,
        "pattern": whole(parameter.pattern) if parameter.pattern else None,
    }
    known = {name: limit for name, limit in limits.items() if limit is not None}
    checks: Sequence[Any] = (AfterValidator(_without_nul),) if parameter.type == "string" else ()
    return Annotated[(_PYTHON[parameter.type], Field(strict=True, **known), *checks)]


def whole(pattern: str) -> str:
    """One that fits only as a whole: `[a-z]+` must not be found somewhere in `pods; rm`."""
    return (
        pattern
        if pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern
        else rf"^(?:{pattern})$"
    )


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a NUL character, which no argument can")
    return value
