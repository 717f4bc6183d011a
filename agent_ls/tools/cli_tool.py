"""A user-defined tool that runs a program without a shell: a command and its arguments, with placeholders.

The value of a placeholder becomes one argument of the program, or a part of one argument. So quotes, semicolons and
dollar signs have no special meaning. Values are checked before they are inserted.
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
from agent_ls.patterns import regex
from agent_ls.text import leave_alternate_screen
from agent_ls.tools.base import Arguments, Category, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line

TIMEOUT_MS = 120_000  # a longer job should run in the background
MAX_OUTPUT_BYTES = 200 * 1024  # larger output is cut in the middle

PLACE = regex(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
VARIABLE = regex(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

ParameterType: TypeAlias = Literal["string", "integer", "number", "boolean"]
Scalar: TypeAlias = str | int | float
Variables: TypeAlias = Callable[[str], str | None]
"""A function that returns an environment variable of agent-ls; None if it is not set or must not be passed on."""

_PYTHON: Mapping[ParameterType, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


@dataclass(frozen=True, slots=True)
class CliParameter:
    """A parameter of a tool. `pattern` must match the whole value. Lengths are in characters; None sets no
    limit.
    """

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
    """A valid definition of a tool: each placeholder is the name of a parameter.

    `optional_args` maps parameters to arguments, which are added in this order if the parameter is given (for a
    boolean: if it is true). `env` maps names of variables to values; `${NAME}` in a value is replaced by the
    environment variable of agent-ls. `source` is the file or setting that contains the definition.
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
        """A digest of all fields that affect the tool's behaviour.

        Tools with different digests are different tools, even if they have the same name and file.
        """
        fields = {
            name: value for name, value in asdict(self).items() if name not in ("source", "description")
        }
        return hashlib.sha256(json.dumps(fields, default=str).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def usage(self) -> str:
        """The command with its placeholders in one line, for display."""
        optional = [f"[{shlex.join(words)}]" for words in self.optional_args.values()]
        return " ".join([self.cmd, *self.args, *optional])


def cli_tool(definition: CliTool, variables: Variables) -> Tool[Any]:
    return Tool(
        name=definition.name,
        description=definition.description,
        category=definition.category,
        arguments=_arguments(definition),
        prepare=partial(_prepare, definition, variables),
        look=Look("execute", "Running", "Ran"),
        summarize=lambda arguments: one_line(shlex.join(build_argv(definition, _given_values(arguments)))),
    )


def build_argv(definition: CliTool, given: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Return the program and its arguments. `given` are the checked arguments of the call."""
    words = [definition.cmd, *(_fill_placeholders(word, given) for word in definition.args)]
    for name, optional in definition.optional_args.items():
        if given.get(name) not in (None, False):
            words += [_fill_placeholders(word, given) for word in optional]
    return tuple(words)


def _fill_placeholders(template: str, given: Mapping[str, Scalar]) -> str:
    return PLACE.sub(lambda found: _format_value(given[found[1]]), template)


def _format_value(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def _prepare(
    definition: CliTool, variables: Variables, arguments: Arguments, context: ToolContext
) -> Prepared:
    given = _given_values(arguments)
    words = build_argv(definition, given)
    if taken := next(_find_option_like(definition, given), ""):
        raise ToolError(
            f"{taken} begins with a dash, so {definition.cmd} would treat it as an option. Give another value.",
            kind="validation",
        )
    shown = shlex.join(words)
    working_dir = context.environment.working_directory()

    timeout_ms = min(definition.timeout_ms, context.shell_limits.max_timeout_ms)

    async def run() -> ToolOutput:
        options = CommandOptions(
            timeout_ms,
            working_dir,
            _environment(definition, variables),
            context.attribution,
            terminal=context.terminal,
            argv=words,
            inherit="minimal",
        )
        result = await context.environment.exec_command(shown, options, context.on_output)
        return _render_output(result, definition, timeout_ms)

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


def _find_option_like(definition: CliTool, given: Mapping[str, Scalar]) -> Iterator[str]:
    """Yield parameters with a value that the program would read as an option, because it begins with a dash.

    Values of an enumeration are allowed, because the user has written them in the definition.
    """
    for template in definition.args:
        if template == "--":
            return
        yield from _find_dashed(template, definition, given)
    for name, optional in definition.optional_args.items():
        if name in given:
            for template in optional:
                yield from _find_dashed(template, definition, given)


def _find_dashed(template: str, definition: CliTool, given: Mapping[str, Scalar]) -> Iterator[str]:
    found = PLACE.match(template)
    if found and isinstance(given.get(found[1]), str) and not definition.parameters[found[1]].enum:
        if _format_value(given[found[1]]).startswith("-"):
            yield found[1]


def _environment(definition: CliTool, variables: Variables) -> dict[str, str]:
    """Return the variables of the program.

    Raises:
        ToolError: a declared variable is not set.
    """

    def value(found: re.Match[str]) -> str:
        known = variables(found[1])
        if known is None:
            raise ToolError(
                f"The variable {found[1]}, which {definition.name} needs, is not set where agent-ls runs (keys "
                "of model providers are never passed to tools). Tell the user.",
                kind="environment",
            )
        return known

    return {name: VARIABLE.sub(value, text) for name, text in definition.env.items()}


def _render_output(result: ExecResult, definition: CliTool, timeout_ms: int) -> ToolOutput:
    text = (
        leave_alternate_screen(_truncate_middle(result.output.rstrip("\n"), definition.max_output_bytes))
        or "(no output)"
    )
    note = f"\n[{result.note}]" if result.note else ""
    if result.timed_out:
        words = f"[ERROR: {definition.name} timed out after {timeout_ms}ms. The output until then is above.]"
        return ToolOutput(
            f"{text}\n{words}{note}",
            is_error=True,
            error_kind="shell_timeout",
            exit_code=result.exit_code,
            summary=f"timed out after {timeout_ms} ms",
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


def _truncate_middle(text: str, max_bytes: int) -> str:
    """Shorten the text to its head and tail, with a note on the removed part."""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    head, tail = data[: max_bytes // 2], data[len(data) - max_bytes // 2 :]
    left_out = len(data) - len(head) - len(tail)
    return f"{head.decode('utf-8', 'ignore')}\n[... {left_out} bytes left out ...]\n{tail.decode('utf-8', 'ignore')}"


# -- arguments


def _given_values(arguments: Arguments) -> dict[str, Scalar]:
    fields = type(arguments).model_fields
    given = {field.alias or name: getattr(arguments, name) for name, field in fields.items()}
    return {name: value for name, value in given.items() if value is not None}


def _arguments(definition: CliTool) -> type[Arguments]:
    fields: dict[str, Any] = {}
    for number, (name, parameter) in enumerate(definition.parameters.items()):
        default = None if parameter.optional else ...
        about = parameter.description or None
        # The alias prevents conflicts between parameter names and attributes of the pydantic class.
        fields[f"argument_{number}"] = (_hint(parameter), Field(default, alias=name, description=about))
    made = create_model(f"{definition.name}_arguments", __base__=Arguments, **fields)
    made.model_rebuild()  # an invalid pattern or limit raises now, instead of when the tool is called
    return cast("type[Arguments]", made)


def _hint(parameter: CliParameter) -> Any:
    if parameter.enum:
        return Literal[parameter.enum]
    limits: dict[str, Any] = {
        "min_length": parameter.min_length,
        "max_length": parameter.max_length,
        "ge": parameter.minimum,
        "le": parameter.maximum,
        "pattern": anchor_pattern(parameter.pattern) if parameter.pattern else None,
    }
    known = {name: limit for name, limit in limits.items() if limit is not None}
    checks: Sequence[Any] = (AfterValidator(_refuse_nul),) if parameter.type == "string" else ()
    return Annotated[(_PYTHON[parameter.type], Field(strict=True, **known), *checks)]


def anchor_pattern(pattern: str) -> str:
    """Return the pattern anchored at both ends, so that `[a-z]+` does not match a part of `pods; rm`."""
    return (
        pattern
        if pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern
        else rf"^(?:{pattern})$"
    )


def _refuse_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("contains a NUL character, which arguments cannot contain")
    return value
