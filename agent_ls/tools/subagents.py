"""spawn_agent, send_input, wait, close_agent: let subagents work on separate tasks.

Calls of these tools need no approval. The policy checks each tool call of a subagent like a call of its parent.
"""

from __future__ import annotations

import anyio
from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import (
    AgentState,
    AgentTask,
    Arguments,
    Prepared,
    Tool,
    ToolContext,
    ToolOutput,
    no_report,
)
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.summary import one_line


class SpawnArguments(Arguments):
    task: str = Field(
        min_length=1,
        description="The task, with everything that the agent must know, because it does not see this conversation.",
    )
    working_dir: str = Field(
        default="",
        description="A subfolder of your folder in which the agent works; the agent can then change files only there.",
    )
    model: str = Field(default="", description="Another model of the same provider; default: your model.")
    max_turns: int = Field(
        default=0, ge=0, description="The maximum number of model calls of the agent; 0: no limit."
    )
    with_history: bool = Field(
        default=False,
        description="Whether the agent sees this conversation so far, instead of the task alone.",
    )


class AgentArguments(Arguments):
    agent_id: str = Field(min_length=1, description="The id that spawn_agent returned.")


class TimedArguments(AgentArguments):
    block: bool = Field(
        default=True, description="true: wait until the agent has ended; false: return its current state."
    )
    timeout_ms: int = Field(
        default=0,
        ge=0,
        le=600_000,
        description="The maximum number of milliseconds to wait; 0: wait until the agent has ended.",
    )


class SendArguments(AgentArguments):
    message: str = Field(min_length=1, description="The information or the next task for the agent.")


async def prepare_spawn(arguments: SpawnArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        state = await spawn_agent(arguments, context)
        return ToolOutput(
            f"Agent {state.id} was started: {state.status}. The agent works on its own; use wait to get its result.",
            summary=f"{state.id} {state.status}",
        )

    return Prepared(NoEffect(), run)


async def spawn_agent(arguments: SpawnArguments, context: ToolContext) -> AgentState:
    task = AgentTask(
        arguments.task,
        arguments.working_dir,
        arguments.model,
        arguments.max_turns,
        arguments.with_history,
    )
    return await context.subagents.spawn(task, context.attribution.call_id)


async def prepare_send(arguments: SendArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        state = context.subagents.send(arguments.agent_id, arguments.message)
        return ToolOutput(f"Agent {state.id} received the message and is {state.status}.")

    return Prepared(NoEffect(), run)


async def prepare_wait(arguments: AgentArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return _render_state(await context.subagents.wait(arguments.agent_id))

    return Prepared(NoEffect(), run)


async def prepare_timed_wait(arguments: TimedArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        seconds = (arguments.timeout_ms / 1000 or None) if arguments.block else 0
        return await wait_for_agent(arguments.agent_id, seconds, context)

    return Prepared(NoEffect(), run)


async def wait_for_agent(agent_id: str, seconds: float | None, context: ToolContext) -> ToolOutput:
    """Wait until a subagent has ended, for at most `seconds` (None: no limit). Return the agent's state."""
    with anyio.move_on_after(seconds):
        return _render_state(await context.subagents.wait(agent_id))
    return ToolOutput(f"Agent {agent_id} is still running.", summary=f"{agent_id} running")


async def prepare_close(arguments: AgentArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return _render_state(await context.subagents.close(arguments.agent_id))

    return Prepared(NoEffect(), run)


def _render_state(state: AgentState) -> ToolOutput:
    if state.status == "running":
        return ToolOutput(
            f"Agent {state.id} is still running. The user has sent a message, which you receive next. Then wait again.",
            summary=f"{state.id} running",
        )
    why = f" ({state.reason})" if state.reason else ""
    success = "true" if state.status == "completed" else "false"
    head = f"Agent {state.id}: {state.status}{why}. Success: {success}. Turns used: {state.turns_used}."
    return ToolOutput(
        f"{head}\n\n{state.output or no_report(state)}", summary=f"{state.id} {state.status}{why}"
    )


def summarize_spawn(arguments: SpawnArguments) -> str:
    return one_line(arguments.task)


def summarize(arguments: AgentArguments) -> str:
    return one_line(arguments.agent_id)


SPAWN_AGENT = Tool(
    name="spawn_agent",
    description=(
        "Start an agent that works on a task in parallel, with tools like yours and its own conversation. Use "
        "it for independent parts: searching a large code base, a change in one module, a second approach. "
        "Several agents can run at once; do not let two of them change the same files. Returns the agent's id at once."
    ),
    category="read",
    arguments=SpawnArguments,
    prepare=prepare_spawn,
    look=Look("other", "Starting a helper", "Started a helper"),
    summarize=summarize_spawn,
    touches=touches_nothing,
)

SEND_INPUT = Tool(
    name="send_input",
    description=(
        "Send a message to an agent that you started. A running agent sees it before its next step; an ended one "
        "continues with it."
    ),
    category="read",
    arguments=SendArguments,
    prepare=prepare_send,
    look=Look("other", "Sending a message to a helper", "Sent a message to a helper"),
    summarize=lambda arguments: one_line(f"{arguments.agent_id}: {arguments.message}"),
    touches=touches_nothing,
)

WAIT = Tool(
    name="wait",
    description="Wait until an agent has ended. Returns its last text, whether it succeeded, and its model calls.",
    category="read",
    arguments=AgentArguments,
    prepare=prepare_wait,
    look=Look("other", "Waiting for", "Waited for"),
    summarize=summarize,
    touches=touches_nothing,
)

CLOSE_AGENT = Tool(
    name="close_agent",
    description="End an agent that is no longer needed, with all its commands. Returns its final state.",
    category="read",
    arguments=AgentArguments,
    prepare=prepare_close,
    look=Look("other", "Ending", "Ended"),
    summarize=summarize,
    touches=touches_nothing,
)

SUBAGENT_TOOLS = (SPAWN_AGENT, SEND_INPUT, WAIT, CLOSE_AGENT)
