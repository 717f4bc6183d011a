"""submit: report the result and end the task."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line


class SubmitArguments(Arguments):
    result: str = Field(
        min_length=1,
        description="The result for the user: the work done, how it was checked, and what is unfinished.",
    )
    confidence: float | None = Field(
        default=None, ge=0, le=1, description="Your confidence that the result is correct, from 0 to 1."
    )


async def prepare(arguments: SubmitArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        sure = "" if arguments.confidence is None else f"\n\nConfidence: {arguments.confidence:.0%}"
        return ToolOutput(arguments.result + sure)

    return Prepared(NoEffect(), run)


SUBMIT = Tool(
    name="submit",
    description=(
        "Submit the result and end the task. It must be the last call: later calls of the same response are not run."
    ),
    category="read",
    arguments=SubmitArguments,
    prepare=prepare,
    look=Look("other", "Submitting", "Submitted"),
    summarize=lambda arguments: one_line(arguments.result),
    terminal=True,
)
