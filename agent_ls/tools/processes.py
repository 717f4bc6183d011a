"""processes: list, read, write to and kill the background processes that shell started."""

from __future__ import annotations

from typing import Literal

import anyio
from pydantic import Field, model_validator

from agent_ls.environments.base import ExecutionEnvironment, ProcessInfo
from agent_ls.environments.effects import CommandEffect, ProcessEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.text import leave_alternate_screen
from agent_ls.tools.base import Arguments, Prepared, ProcessChange, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line

MAX_INPUT_CHARS = 60_000


class ProcessesArguments(Arguments):
    action: Literal["list", "read", "write", "kill"] = Field(
        description=(
            "list: list all processes; read: read the output of a process; write: type into a process; kill: "
            "end a process and all processes that it started."
        )
    )
    process_id: str = Field(
        default="", description="The id of the process, as returned by shell. Not needed for list."
    )
    offset: int = Field(
        default=0,
        ge=0,
        description="For read: the character to start from; the last result ends with the next offset.",
    )

    text: str = Field(
        default="",
        max_length=MAX_INPUT_CHARS,
        description="For write: the input, exactly as given; most programs wait for a newline at its end.",
    )
    close_input: bool = Field(
        default=False, description="For write: close the input of the process after this text."
    )

    @model_validator(mode="after")
    def _names_a_process(self) -> ProcessesArguments:
        if self.action != "list" and not self.process_id:
            name = self.parameter("process_id")
            raise ValueError(
                f"{name} is needed for {self.action}; the call that started the process returned its id"
            )
        if self.action == "write" and not self.text and not self.close_input:
            raise ValueError("write needs text or close_input")
        if self.action != "write" and (self.text or self.close_input):
            raise ValueError(
                f"text and close_input are only allowed with action=write, not with action={self.action}"
            )
        return self


async def prepare(arguments: ProcessesArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        environment = context.environment
        match arguments.action:
            case "list":
                return await _list(environment)
            case "read":
                return await _read(arguments, environment)
            case "write":
                return await _write(arguments, environment)
            case "kill":
                return await _kill(arguments.process_id, environment)

    return Prepared(_effect(arguments, context.environment), run)


def _effect(
    arguments: ProcessesArguments, environment: ExecutionEnvironment
) -> CommandEffect | ProcessEffect:
    """Return the effect. The policy checks text sent to a process as a command, because the process may be a
    shell.
    """
    if arguments.text:
        folder = environment.working_directory()
        return CommandEffect(arguments.text, folder, input_of=arguments.process_id)
    return ProcessEffect(arguments.process_id, arguments.action)


async def _list(environment: ExecutionEnvironment) -> ToolOutput:
    processes = await environment.list_processes()
    if not processes:
        return ToolOutput("No background processes.")
    return ToolOutput("\n".join(_line(process) for process in processes))


async def _read(arguments: ProcessesArguments, environment: ExecutionEnvironment) -> ToolOutput:
    process = await _find_process(arguments.process_id, environment)
    text, end = await environment.read_process(process.id, arguments.offset)
    body = (
        leave_alternate_screen(text).rstrip("\n")
        if text
        else "(no output since then)"
        if arguments.offset
        else "(no output yet)"
    )
    return ToolOutput(f"{body}\n[{_state(process)}. Read on with offset={end}.]", exit_code=process.exit_code)


async def _write(arguments: ProcessesArguments, environment: ExecutionEnvironment) -> ToolOutput:
    process = await _find_process(arguments.process_id, environment)
    await environment.write_process(process.id, arguments.text, close=arguments.close_input)
    written = f"Written: {len(arguments.text)} characters. " if arguments.text else ""
    closed = "The input of the process is closed now. " if arguments.close_input else ""
    return ToolOutput(f"{written}{closed}Read the output with action read.")


async def _kill(process_id: str, environment: ExecutionEnvironment) -> ToolOutput:
    process = await _find_process(process_id, environment)
    if process.exit_code is not None:
        return ToolOutput(f"Process {process_id} had already ended with exit code {process.exit_code}.")
    ended = await environment.kill_process(process_id)
    return ToolOutput(
        f"Process {process_id}: {_state(ended)}.", processes=(ProcessChange("ended", process_id),)
    )


async def send_input(process_id: str, text: str, environment: ExecutionEnvironment, *, end: bool) -> None:
    """Send text to a process. `end`: kill the process instead.

    Raises:
        ToolError: unknown process. EnvError: the process accepts no input.
    """
    process = await _find_process(process_id, environment)
    if end and process.exit_code is None:
        await environment.kill_process(process_id)
    elif text:
        await environment.write_process(process_id, text)


async def wait_for_output(
    process_id: str, wait_ms: int, environment: ExecutionEnvironment, offset: int = 0, most_chars: int = 0
) -> ToolOutput:
    """Wait until a process ends, but at most `wait_ms` milliseconds. Return its output from `offset` on.

    Only the last `most_chars` characters are returned; 0 sets no limit. `process_id` of the result is set if the
    process still runs.
    """
    ended: ProcessInfo | None = None
    with anyio.move_on_after(wait_ms / 1000):
        ended = await environment.wait_process(process_id)
    text, end = await environment.read_process(process_id, offset)
    shown = leave_alternate_screen(text).rstrip("\n")
    if most_chars and len(shown) > most_chars:
        shown = f"[{len(shown) - most_chars} characters left out]\n{shown[-most_chars:]}"
    body = shown or "(no output)"
    if ended is None or ended.exit_code is None:
        state = f"Process running with session ID {process_id}. Next offset: {end}."
        return ToolOutput(f"{body}\n[{state}]", process_id=process_id, summary=f"running: {process_id}")
    code = ended.exit_code
    return ToolOutput(
        f"{body}\nExit code: {code}",
        is_error=code != 0,
        error_kind="shell_exit" if code else "",
        exit_code=code,
        summary=f"exit {code}",
        processes=(ProcessChange("ended", process_id),),
    )


async def _find_process(process_id: str, environment: ExecutionEnvironment) -> ProcessInfo:
    processes = await environment.list_processes()
    for process in processes:
        if process.id == process_id:
            return process
    ids = ", ".join(process.id for process in processes) or "there are none"
    raise ToolError(f"No background process {process_id!r}. Known: {ids}.", kind=PathNotFoundError.kind)


def _line(process: ProcessInfo) -> str:
    return f"{process.id}  {_state(process)}  {one_line(process.command)}"


def _state(process: ProcessInfo) -> str:
    if process.exit_code is not None:
        return f"ended with exit code {process.exit_code}"
    return "running, waits for input" if process.is_waiting else "running"


def summarize(arguments: ProcessesArguments) -> str:
    return one_line(f"{arguments.action} {arguments.process_id} {arguments.text}".strip())


PROCESSES = Tool(
    name="processes",
    description=(
        "List the background processes that shell started, read their output, type into them, or end them. "
        "Background processes keep running after your turn ends; end processes that are no longer needed."
    ),
    category="admin",
    arguments=ProcessesArguments,
    prepare=prepare,
    look=Look("execute", "Using a background process:", "Used a background process:"),
    summarize=summarize,
)
