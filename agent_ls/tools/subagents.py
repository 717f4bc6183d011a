"""spawn_agent, send_input, wait, close_agent: agents that work on a task of their own (000 section 7.2).

None of them has an effect of its own: what an agent does is judged, call by call, as its parent's calls are.
"""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import AgentState, AgentTask, Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.paths import nothing
from agent_ls.tools.summary import one_line


class SpawnArguments(Arguments):
    task: str = Field(
        min_length=1,
        description="What is to be done, with all that the agent must know: it does not see this conversation.",
    )
    working_dir: str = Field(
        default="", description="A folder below yours for it to work in; it then changes files only there."
    )
    model: str = Field(default="", description="Another model of the same provider; yours when left out.")
    max_turns: int = Field(
        default=0, ge=0, description="After so many model calls it is stopped; 0: no limit."
    )
    with_history: bool = Field(
        default=False, description="Let it begin with this conversation so far instead of the task alone."
    )


class AgentArguments(Arguments):
    agent_id: str = Field(min_length=1, description="The id that spawn_agent gave.")


class SendArguments(AgentArguments):
    message: str = Field(min_length=1, description="What it is to know or to do next.")


async def prepare_spawn(arguments: SpawnArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        task = AgentTask(
            arguments.task,
            arguments.working_dir,
            arguments.model,
            arguments.max_turns,
            arguments.with_history,
        )
        state = await context.subagents.spawn(task, context.attribution.call_id)
        return ToolOutput(
            f"Agent {state.id} was started: {state.status}. It works on its own; wait gives you its result.",
            summary=f"{state.id} {state.status}",
        )

    return Prepared(NoEffect(), run)


async def prepare_send(arguments: SendArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        state = context.subagents.send(arguments.agent_id, arguments.message)
        return ToolOutput(f"Agent {state.id} has the message and is {state.status}.")

    return Prepared(NoEffect(), run)


async def prepare_wait(arguments: AgentArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return _told(await context.subagents.wait(arguments.agent_id))

    return Prepared(NoEffect(), run)


async def prepare_close(arguments: AgentArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return _told(await context.subagents.close(arguments.agent_id))

    return Prepared(NoEffect(), run)


def _told(state: AgentState) -> ToolOutput:
    if state.status == "running":
        return ToolOutput(
            f"Agent {state.id} is still running. The user has sent a message, which comes next; then wait again.",
            summary=f"{state.id} running",
        )
    why = f" ({state.reason})" if state.reason else ""
    success = "true" if state.status == "completed" else "false"
    head = f"Agent {state.id}: {state.status}{why}. Success: {success}. Turns used: {state.turns_used}."
    return ToolOutput(
        f"{head}\n\n{state.output or '(it said nothing)'}", summary=f"{state.id} {state.status}{why}"
    )


def summarize_spawn(arguments: SpawnArguments) -> str:
    return one_line(arguments.task)


def summarize_send(arguments: SendArguments) -> str:
    return one_line(f"{arguments.agent_id}: {arguments.message}")


def summarize(arguments: AgentArguments) -> str:
    return one_line(arguments.agent_id)


SPAWN_AGENT = Tool(
    name="spawn_agent",
    description=(
        "Start an agent that does a task on its own, beside you, with tools like yours and a conversation of its own. "
        "For parts that can be done apart: looking through a large code base, a change in one module, a second "
        "approach. Several can run at once; do not let two change the same files. Returns the agent's id at once."
    ),
    category="read",
    arguments=SpawnArguments,
    prepare=prepare_spawn,
    summarize=summarize_spawn,
    touches=nothing,
)

SEND_INPUT = Tool(
    name="send_input",
    description=(
        "Send a message to an agent that you started. One that runs sees it before its next step; one that has ended "
        "goes on with it."
    ),
    category="read",
    arguments=SendArguments,
    prepare=prepare_send,
    summarize=summarize_send,
    touches=nothing,
)

WAIT = Tool(
    name="wait",
    description="Wait until an agent has ended. Returns its last text, whether it succeeded, and its model calls.",
    category="read",
    arguments=AgentArguments,
    prepare=prepare_wait,
    summarize=summarize,
    touches=nothing,
)

CLOSE_AGENT = Tool(
    name="close_agent",
    description="End an agent that is no longer needed, with all that it runs. Returns how it ended.",
    category="read",
    arguments=AgentArguments,
    prepare=prepare_close,
    summarize=summarize,
    touches=nothing,
)

SUBAGENT_TOOLS = (SPAWN_AGENT, SEND_INPUT, WAIT, CLOSE_AGENT)
