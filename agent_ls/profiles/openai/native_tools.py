"""Tools of codex that do not correspond one to one to our tools: exec_command, write_stdin, list_dir, wait."""

from __future__ import annotations

from typing import Any

import anyio
from pydantic import AliasChoices, Field, field_validator

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.effects import CommandEffect, NoEffect, ProcessEffect
from agent_ls.llm.requests import CHARS_PER_TOKEN
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.glob import GLOB, GlobArguments, prepare as prepare_glob
from agent_ls.tools.list_dir import LIST_DIR, ListDirArguments, prepare as prepare_list
from agent_ls.tools.paths import absolute, touched_folder, touches_nothing
from agent_ls.tools.processes import MAX_INPUT_CHARS, PROCESSES, send_input, wait_for_output
from agent_ls.tools.shell import (
    ShellArguments,
    prepare as prepare_shell,
    start_and_watch,
    summarize as summarize_command,
)
from agent_ls.tools.subagents import WAIT, wait_for_agent
from agent_ls.tools.summary import one_line

MAX_YIELD_MS = 300_000


class ExecArguments(ShellArguments):
    yield_time_ms: int = Field(
        default=0,
        ge=0,
        le=MAX_YIELD_MS,
        description="Milliseconds to wait for the command; after that it continues in the background. Default: "
        "the command is ended at its time limit.",
    )
    max_output_tokens: int = Field(
        default=0,
        ge=0,
        description="About how many tokens of the end of the output to show; 0: the usual amount.",
    )
    background: bool = Field(default=False, description="Minimum for yield_time_ms.")


def build_exec_command(tool: Tool[Any]) -> Tool[Any]:
    """Build exec_command from `tool`, our shell tool.

    Commands always run in the foreground if the toolset has no tool to monitor background processes.
    """
    stays = "background" in tool.arguments.model_fields

    async def prepare(arguments: ExecArguments, context: ToolContext) -> Prepared:
        wait_ms = arguments.yield_time_ms or (1 if arguments.background else 0)
        if not (stays and wait_ms):
            return await prepare_shell(arguments, context)
        folder = absolute(arguments.working_dir or ".", context.environment)
        options = CommandOptions(
            working_dir=folder, env_vars=arguments.env_vars, attribution=context.attribution
        )
        effect = CommandEffect(arguments.command, folder, tuple(sorted(arguments.env_vars.items())), True)

        async def run() -> ToolOutput:
            return await start_and_watch(
                arguments.command, options, wait_ms, tokens_to_chars(arguments.max_output_tokens), context
            )

        return Prepared(effect, run)

    return Tool(
        name=tool.name,
        description=tool.description,
        category="admin",
        arguments=ExecArguments,
        prepare=prepare,
        look=tool.look,
        summarize=summarize_command,
    )


def tokens_to_chars(tokens: int) -> int:
    return tokens * CHARS_PER_TOKEN


class StdinArguments(Arguments):
    process_id: str = Field(
        min_length=1,
        validation_alias=AliasChoices("session_id", "process_id"),
        description="The session id that exec_command returned.",
    )
    text: str = Field(
        default="",
        max_length=MAX_INPUT_CHARS,
        validation_alias=AliasChoices("chars", "text"),
        description="The text to type, exactly as given; an empty text only reads output. \\u0003 ends the command.",
    )
    yield_time_ms: int = Field(
        default=1_000, ge=0, le=MAX_YIELD_MS, description="Milliseconds to wait for output."
    )
    max_output_tokens: int = Field(
        default=0, ge=0, description="About how many tokens of the output to show."
    )
    offset: int = Field(
        default=0, ge=0, description="The character to start reading from; each result states the next one."
    )

    @field_validator("process_id", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if type(value) is int else value


def build_write_stdin(tool: Tool[Any]) -> Tool[Any]:
    async def prepare(arguments: StdinArguments, context: ToolContext) -> Prepared:
        environment, process_id = context.environment, arguments.process_id
        is_interrupt = arguments.text == "\x03"

        async def run() -> ToolOutput:
            typed = "" if is_interrupt else arguments.text
            await send_input(process_id, typed, environment, end=is_interrupt)
            most = tokens_to_chars(arguments.max_output_tokens)
            return await wait_for_output(
                process_id, arguments.yield_time_ms, environment, arguments.offset, most
            )

        if arguments.text and not is_interrupt:  # checked like a command, because the process may be a shell
            folder = environment.working_directory()
            return Prepared(CommandEffect(arguments.text, folder, input_of=process_id), run)
        return Prepared(ProcessEffect(process_id, "kill" if is_interrupt else "read"), run)

    return Tool(
        name=tool.name,
        description=PROCESSES.description,
        category="admin",
        arguments=StdinArguments,
        prepare=prepare,
        look=tool.look,
        summarize=lambda arguments: one_line(f"{arguments.process_id} {arguments.text}".strip()),
    )


class ListOrGlobArguments(ListDirArguments):
    pattern: str = Field(
        default="",
        description="Find files by name instead, anywhere below the folder, for example `**/*.py`.",
    )


async def _list_or_glob(arguments: ListOrGlobArguments, context: ToolContext) -> Prepared:
    if arguments.pattern:
        return await prepare_glob(GlobArguments(pattern=arguments.pattern, path=arguments.path), context)
    return await prepare_list(arguments, context)


LIST_OR_GLOB: Tool[Any] = Tool(
    name=GLOB.name,
    description=LIST_DIR.description,
    category="read",
    arguments=ListOrGlobArguments,
    prepare=_list_or_glob,
    look=GLOB.look,
    summarize=lambda arguments: one_line(arguments.pattern or arguments.path),
    touches=touched_folder,
    starts_early=True,
)


class WaitArguments(Arguments):
    ids: tuple[str, ...] = Field(
        min_length=1,
        validation_alias=AliasChoices("ids", "agent_id", "id"),
        description="The ids of the agents to wait for.",
    )
    timeout_ms: int = Field(
        default=0,
        ge=0,
        le=600_000,
        description="The maximum number of milliseconds to wait; 0: wait until all agents have ended.",
    )

    @field_validator("ids", mode="before")
    @classmethod
    def _of_one(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


async def _wait_for_all(arguments: WaitArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        until = anyio.current_time() + arguments.timeout_ms / 1000
        answers = []
        for agent_id in arguments.ids:
            left = max(0.0, until - anyio.current_time()) if arguments.timeout_ms else None
            answers.append((await wait_for_agent(agent_id, left, context)).text)
        return ToolOutput("\n\n".join(answers))

    return Prepared(NoEffect(), run)


WAIT_FOR_ALL: Tool[Any] = Tool(
    name=WAIT.name,
    description=WAIT.description,
    category="read",
    arguments=WaitArguments,
    prepare=_wait_for_all,
    look=WAIT.look,
    summarize=lambda arguments: one_line(" ".join(arguments.ids)),
    touches=touches_nothing,
)
