"""ask_user: a question that only the user can answer; the turn waits for it (REQUIREMENTS T7, L15)."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Question, Tool, ToolContext, ToolOutput
from agent_ls.tools.paths import nothing
from agent_ls.tools.summary import one_line

MAX_CHOICES = 8
DECLINED = "The user did not answer. Go on with what you think best, and say what you took for granted."


class AskArguments(Arguments):
    question: str = Field(min_length=1, description="One question, with what the user must know to decide.")
    choices: tuple[str, ...] = Field(
        default=(),
        max_length=MAX_CHOICES,
        description="Answers to choose from, the one you would take first. The user may answer otherwise.",
    )
    multiple: bool = Field(default=False, description="Several of the choices may be taken.")


async def prepare(arguments: AskArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        choices = tuple(dict.fromkeys(choice.strip() for choice in arguments.choices if choice.strip()))
        question = Question(arguments.question, choices, arguments.multiple)
        reply = await context.questions.ask(question, context.attribution.call_id)
        if reply.declined:
            return ToolOutput(DECLINED, summary="no answer")
        answers = "\n".join(reply.answers)
        return ToolOutput(f"The user answers:\n{answers}", summary=one_line(answers))

    return Prepared(NoEffect(), run)


def summarize(arguments: AskArguments) -> str:
    return one_line(arguments.question)


ASK_USER = Tool(
    name="ask_user",
    description=(
        "Ask the user a question and wait for the answer. Only where the answer decides what you do next and neither "
        "the project nor a sensible assumption can give it; never for permission, which is asked for by itself."
    ),
    category="read",
    arguments=AskArguments,
    prepare=prepare,
    summarize=summarize,
    touches=nothing,
)
