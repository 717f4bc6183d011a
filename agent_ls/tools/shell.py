"""shell: run one command, in the foreground or the background."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Self

from anyio import CancelScope, get_cancelled_exc_class
from pydantic import Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from agent_ls.environments.base import CommandOptions, ExecResult
from agent_ls.environments.effects import CommandEffect
from agent_ls.long_texts import run_for_text
from agent_ls.patterns import regex
from agent_ls.text import is_on_alternate_screen, leave_alternate_screen
from agent_ls.tools import descriptions
from agent_ls.tools.base import (
    Arguments,
    Prepared,
    ProcessChange,
    ShellLimits,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
)
from agent_ls.tools.look import Look
from agent_ls.tools.patch_command import parse_patch_command
from agent_ls.tools.paths import absolute
from agent_ls.tools.processes import wait_for_output
from agent_ls.tools.summary import one_line

# Models know this wording. `parameter` is the name of the time limit in the tool of the model's family.
TIMEOUT_MESSAGE = (
    "[ERROR: Command timed out after {timeout_ms}ms. Partial output is shown above.\n"
    "You can retry with a longer timeout by setting the {parameter} parameter.]"
)
FULL_SCREEN = (
    "[The command showed a full-screen program that waits for keys, such as an editor or a pager, so "
    "more time does not help. Run the command in a way that opens no such program.]"
)
_SHELL = regex(r"(?:/\S*/)?(?:ba|z|da)?sh")
_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]*")


class ShellArguments(Arguments):
    command: str = Field(min_length=1, description="The command line, run by the system shell.")
    description: str = Field(
        default="", description="The purpose of the command in a few words, for the user."
    )
    timeout_ms: Annotated[int, Field(ge=1)] | SkipJsonSchema[None] = Field(
        default=None,
        description="Milliseconds after which the command is ended; at most 600000 (10 minutes).",
    )
    working_dir: str = Field(default="", description="Folder to run in; default: the working directory.")
    env_vars: dict[str, str] = Field(default_factory=dict, description="Environment variables to add.")

    @field_validator("command", mode="before")
    @classmethod
    def _join_command_list(cls, command: Any) -> Any:
        """Accept a list of program and arguments (usually a shell with a script), which some models send."""
        if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
            return command
        match command:
            case [shell, option, script] if _SHELL.fullmatch(shell) and option in ("-c", "-lc"):
                return script
            case words:
                return shlex.join(words)

    @model_validator(mode="after")
    def _can_be_started(self) -> Self:
        bad = next((name for name in self.env_vars if not _VARIABLE.fullmatch(name)), None)
        if bad is not None:
            raise ValueError(f"env_vars: {bad!r} is not a variable name")
        if "\0" in "".join((self.command, *self.env_vars.values())):
            raise ValueError("a command and its variables cannot contain a NUL character")
        return self


class BackgroundShellArguments(ShellArguments):
    background: bool = Field(
        default=False,
        description="Start the command in the background and return its process id at once. Use it for servers "
        "and watchers.",
    )


@dataclass(frozen=True, slots=True)
class _Timeout:
    """The time limit of one shell command. `note` says that the requested limit was reduced; "" if it was not.

    `parameter` is the name under which the model knows the limit.
    """

    timeout_ms: int
    parameter: str
    note: str = ""


async def prepare(arguments: ShellArguments, context: ToolContext) -> Prepared:
    working_dir = absolute(arguments.working_dir or ".", context.environment)
    if sent := parse_patch_command(arguments.command):
        from agent_ls.tools.apply_patch import prepare_patch  # imported only when needed

        return await prepare_patch(
            sent.patch, context, absolute(sent.folder or ".", context.environment, working_dir)
        )
    background = isinstance(arguments, BackgroundShellArguments) and arguments.background
    timeout = _timeout(arguments, context.shell_limits)
    options = CommandOptions(
        timeout.timeout_ms,
        working_dir,
        arguments.env_vars,
        context.attribution,
        terminal=context.terminal,
        one_stream=True,
    )
    effect = CommandEffect(
        arguments.command, working_dir, tuple(sorted(arguments.env_vars.items())), background
    )

    async def run() -> ToolOutput:
        if background:
            return await _start(arguments.command, options, context)
        result = await context.environment.exec_command(arguments.command, options, context.on_output)
        return await run_for_text(len(result.output), partial(_render_output, result, timeout))

    return Prepared(effect, run)


def _timeout(arguments: ShellArguments, limits: ShellLimits) -> _Timeout:
    asked_ms, most_ms = arguments.timeout_ms, limits.max_timeout_ms
    parameter = arguments.parameter("timeout_ms")
    if asked_ms is None:
        return _Timeout(min(limits.default_timeout_ms, most_ms), parameter)
    if asked_ms <= most_ms:
        return _Timeout(asked_ms, parameter)
    return _Timeout(most_ms, parameter, f"[{parameter} was lowered to the limit of {most_ms}.]")


async def _start(command: str, options: CommandOptions, context: ToolContext) -> ToolOutput:
    process = await context.environment.start_process(command, options)
    return ToolOutput(
        f"Started in the background: process {process.id} (pid {process.pid}). Use the tool processes to read "
        "its output or to end it.",
        process_id=process.id,
        processes=(ProcessChange("started", process.id),),
    )


async def start_and_watch(
    command: str, options: CommandOptions, wait_ms: int, most_chars: int, context: ToolContext
) -> ToolOutput:
    """Start a command in the background. Return its output when the command ends, or after `wait_ms` milliseconds.

    If the wait is cancelled, the command is killed.
    """
    process = await context.environment.start_process(command, options)
    try:
        output = await wait_for_output(process.id, wait_ms, context.environment, most_chars=most_chars)
        return replace(output, processes=(ProcessChange("started", process.id), *output.processes))
    except get_cancelled_exc_class():
        with CancelScope(shield=True):
            await context.environment.kill_process(process.id)
        raise


def _render_output(result: ExecResult, timeout: _Timeout) -> ToolOutput:
    text = "\n".join(
        part
        for part in (leave_alternate_screen(result.output).rstrip("\n"), *_remarks(result, timeout))
        if part
    )
    if result.timed_out:
        return ToolOutput(
            text,
            is_error=True,
            error_kind="shell_timeout",
            exit_code=result.exit_code,
            summary=f"timed out after {timeout.timeout_ms} ms",
            dropped=result.dropped,
        )
    last = result.output.rstrip().rpartition("\n")[2]
    summary = f"exit {_exit(result.exit_code)}{f': {last}' if last else ''}"
    if result.exit_code != 0:
        return ToolOutput(
            text,
            is_error=True,
            error_kind="shell_exit",
            exit_code=result.exit_code,
            summary=summary,
            dropped=result.dropped,
        )
    return ToolOutput(text, exit_code=0, summary=summary, dropped=result.dropped)


def _remarks(result: ExecResult, timeout: _Timeout) -> list[str]:
    """Return lines to append to the output. They go last, because truncation keeps the end of the output."""
    note = f"[{result.note}]" if result.note else ""
    if result.timed_out:
        screen = FULL_SCREEN if is_on_alternate_screen(result.output) else ""
        return [
            TIMEOUT_MESSAGE.format(timeout_ms=timeout.timeout_ms, parameter=timeout.parameter),
            timeout.note,
            note,
            screen,
        ]
    nothing = "" if result.output.strip() else "(no output)"
    return [
        nothing,
        f"Exit code: {_exit(result.exit_code)}",
        f"Duration: {result.duration_ms} ms",
        timeout.note,
        note,
    ]


def _exit(code: int) -> str:
    return f"{code} (ended by signal {-code})" if code < 0 else str(code)


def summarize(arguments: ShellArguments) -> str:
    try:
        sent = parse_patch_command(arguments.command)
    except ToolError:
        sent = None
    if not sent:
        return one_line(arguments.command)
    from agent_ls.tools.apply_patch import list_patch_paths  # imported only when needed

    return one_line(f"apply_patch {list_patch_paths(sent.patch)}")


def shell_tool(*, default_timeout_ms: int, background: bool) -> Tool[Any]:
    """Create the shell tool. `background` False is for profiles without a tool to follow background processes.

    `default_timeout_ms` is only inserted into the tool description. Calls use the limits in
    ToolContext.shell_limits.
    """
    return Tool(
        name="shell",
        description=descriptions.load("shell").replace("{DEFAULT_SECONDS}", str(default_timeout_ms // 1000)),
        category="admin",
        arguments=BackgroundShellArguments if background else ShellArguments,
        prepare=prepare,
        look=Look("execute", "Running", "Ran"),
        summarize=summarize,
    )
