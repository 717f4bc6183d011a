"""processes: the background processes that shell started: list, read, write, kill (REQUIREMENTS T5)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from agent_ls.environments.base import ExecutionEnvironment, ProcessInfo
from agent_ls.environments.effects import CommandEffect, ProcessEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.text import back_on_screen
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.summary import one_line

MAX_INPUT_CHARS = 60_000


class ProcessesArguments(Arguments):
    action: Literal["list", "read", "write", "kill"] = Field(
        description=(
            "list: all of them; read: the output of one; write: type into one; "
            "kill: end one and all that it started."
        )
    )
    process_id: str = Field(default="", description="Which one, unless listing: the id that shell gave.")
    offset: int = Field(
        default=0,
        ge=0,
        description="For read: the character to read from; what was read last time ends with it.",
    )

    text: str = Field(
        default="",
        max_length=MAX_INPUT_CHARS,
        description="For write: the input, exactly as it is; most programs wait for the newline at its end.",
    )
    close_input: bool = Field(default=False, description="For write: it gets no more input after this.")

    @model_validator(mode="after")
    def _names_a_process(self) -> ProcessesArguments:
        if self.action != "list" and not self.process_id:
            raise ValueError(f"process_id is needed for {self.action}; action list shows the ids")
        if self.action == "write" and not self.text and not self.close_input:
            raise ValueError("text is needed for write, or close_input")
        if self.action != "write" and (self.text or self.close_input):
            raise ValueError(f"text and close_input are for write, not for {self.action}")
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
    """What is typed into a shell is a command: it is judged as one, wherever it is typed."""
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
    process = await _known(arguments.process_id, environment)
    text, end = await environment.read_process(process.id, arguments.offset)
    body = (
        back_on_screen(text).rstrip("\n")
        if text
        else "(no output since then)"
        if arguments.offset
        else "(no output yet)"
    )
    return ToolOutput(f"{body}\n[{_state(process)}. Read on with offset={end}.]", exit_code=process.exit_code)


async def _write(arguments: ProcessesArguments, environment: ExecutionEnvironment) -> ToolOutput:
    process = await _known(arguments.process_id, environment)
    await environment.write_process(process.id, arguments.text, close=arguments.close_input)
    written = f"Written: {len(arguments.text)} characters. " if arguments.text else ""
    closed = "Its input is closed now. " if arguments.close_input else ""
    return ToolOutput(f"{written}{closed}Read the answer with action read.")


async def _kill(process_id: str, environment: ExecutionEnvironment) -> ToolOutput:
    process = await _known(process_id, environment)
    if process.exit_code is not None:
        return ToolOutput(f"Process {process_id} had already ended with exit code {process.exit_code}.")
    ended = await environment.kill_process(process_id)
    return ToolOutput(f"Process {process_id}: {_state(ended)}.")


async def _known(process_id: str, environment: ExecutionEnvironment) -> ProcessInfo:
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
        "They go on running when your turn ends; end those that are no longer needed."
    ),
    category="admin",
    arguments=ProcessesArguments,
    prepare=prepare,
    summarize=summarize,
)
