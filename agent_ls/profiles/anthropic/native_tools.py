"""Tools of Claude Code that do not correspond one to one to our tools: Task, TaskOutput, BashOutput, KillShell."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Literal

from anyio import to_thread
from pydantic import AliasChoices, Field, field_validator

from agent_ls.environments.effects import NoEffect
from agent_ls.profiles.tool_presentation import Parameter, present_arguments
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.processes import (
    PROCESSES,
    ProcessesArguments,
    prepare as prepare_processes,
    summarize as summarize_process,
)
from agent_ls.tools.subagents import (
    SPAWN_AGENT,
    WAIT,
    SpawnArguments,
    TimedArguments,
    prepare_spawn,
    prepare_timed_wait,
    spawn_agent,
    summarize as summarize_agent,
    summarize_spawn,
    wait_for_agent,
)


class TaskArguments(SpawnArguments):
    description: str = Field(default="", description="The task in three to five words, for the user.")
    task: str = Field(
        min_length=1,
        validation_alias=AliasChoices("prompt", "task"),
        description="The task, with everything that the agent must know, because it does not see this conversation.",
    )
    subagent_type: str = Field(
        default="", description="Any word, because agents of all types have the same tools."
    )
    run_in_background: bool = Field(
        default=False, description="Return the agent's id at once; the result can be requested later."
    )


async def prepare_task(arguments: TaskArguments, context: ToolContext) -> Prepared:
    """Start an agent and wait until it has finished, unless the arguments ask to run it in the background."""
    if arguments.run_in_background:
        return await prepare_spawn(arguments, context)

    async def run() -> ToolOutput:
        state = await spawn_agent(arguments, context)
        return await wait_for_agent(state.id, None, context)

    return Prepared(NoEffect(), run)


class OutputArguments(ProcessesArguments):
    action: Literal["list", "read", "write", "kill"] = Field(default="read", description="read")
    process_id: str = Field(
        min_length=1,
        validation_alias=AliasChoices("bash_id", "process_id"),
        description="The id of the background process.",
    )
    filter: str = Field(default="", description="Show only lines that match this regular expression.")

    @field_validator("filter")
    @classmethod
    def _is_expression(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"this is not a valid regular expression ({error})") from None
        return pattern


async def prepare_output(arguments: OutputArguments, context: ToolContext) -> Prepared:
    prepared = await prepare_processes(arguments, context)
    if not arguments.filter:
        return prepared

    async def run() -> ToolOutput:
        output = await prepared.run()
        *lines, state = output.text.split("\n")
        wanted = re.compile(arguments.filter)
        # run in a thread, because matching a regular expression of the model can take very long
        kept = await to_thread.run_sync(
            lambda: [line for line in lines if wanted.search(line)], abandon_on_cancel=True
        )
        return replace(output, text="\n".join([*kept, state]))

    return Prepared(prepared.effect, run)


class KillArguments(ProcessesArguments):
    action: Literal["list", "read", "write", "kill"] = Field(default="kill", description="kill")
    process_id: str = Field(
        min_length=1,
        validation_alias=AliasChoices("shell_id", "process_id"),
        description="The id of the background process.",
    )


TASK: Tool[Any] = Tool(
    name="Task",
    description=SPAWN_AGENT.description,
    category="read",
    arguments=TaskArguments,
    prepare=prepare_task,
    look=Look("other", "Starting a helper", "Started a helper"),
    summarize=summarize_spawn,
    touches=touches_nothing,
)

TASK_OUTPUT: Tool[Any] = Tool(
    name="TaskOutput",
    description=WAIT.description,
    category="read",
    arguments=present_arguments(
        TimedArguments,
        (Parameter("agent_id", "task_id"), "block", Parameter("timeout_ms", "timeout")),
    ),
    prepare=prepare_timed_wait,
    look=Look("other", "Waiting for", "Waited for"),
    summarize=summarize_agent,
    touches=touches_nothing,
)

BASH_OUTPUT: Tool[Any] = Tool(
    name="BashOutput",
    description=PROCESSES.description,
    category="admin",
    arguments=present_arguments(OutputArguments, ("process_id", "filter", "offset")),
    prepare=prepare_output,
    look=Look("execute", "Using a background process:", "Used a background process:"),
    summarize=summarize_process,
)

KILL_SHELL: Tool[Any] = Tool(
    name="KillShell",
    description=PROCESSES.description,
    category="admin",
    arguments=present_arguments(KillArguments, ("process_id",)),
    prepare=prepare_processes,
    look=Look("execute", "Ending a background process:", "Ended a background process:"),
    summarize=summarize_process,
)
