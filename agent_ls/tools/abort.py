"""abort: end the task although it is not finished, and report the reason."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line


class AbortArguments(Arguments):
    reason: str = Field(min_length=1, description="Why the task cannot be done, and what the user could do.")


async def prepare(arguments: AbortArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return ToolOutput(f"The task was given up: {arguments.reason}")

    return Prepared(NoEffect(), run)


ABORT = Tool(
    name="abort",
    description=(
        "Give up the task and end it with a reason. Use it only if the task is impossible; changes made so far "
        "remain. It must be the last call: later calls of the same response are not run."
    ),
    category="read",
    arguments=AbortArguments,
    prepare=prepare,
    look=Look("other", "Giving up", "Gave up"),
    summarize=lambda arguments: one_line(arguments.reason),
    terminal=True,
)
