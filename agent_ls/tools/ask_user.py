"""ask_user: ask the user a question. The turn waits until the user answers."""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, Field, field_validator, model_validator

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Question, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.summary import one_line

MAX_CHOICES = 8
MAX_QUESTIONS = 4
DECLINED = "The user did not answer. Continue with the choice that you think best, and state your assumption."


class AskArguments(Arguments):
    question: str = Field(
        min_length=1, description="One question, with the facts that the user needs to decide."
    )
    choices: tuple[str, ...] = Field(
        default=(),
        max_length=MAX_CHOICES,
        description="Possible answers, your preferred answer first. The user may also write another answer.",
        validation_alias=AliasChoices("choices", "options"),  # `options` is the name in other agents
    )
    multiple: bool = Field(default=False, description="The user may select several choices.")

    @field_validator("choices", mode="before")
    @classmethod
    def _labels(cls, choices: Any) -> Any:
        """Take the label of a choice that is an object, as in the tools of other agents."""
        if not isinstance(choices, (list, tuple)):
            return choices
        return [it["label"] if isinstance(it, dict) and "label" in it else it for it in choices]


async def prepare(arguments: AskArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        choices = tuple(dict.fromkeys(choice.strip() for choice in arguments.choices if choice.strip()))
        return await _ask(Question(arguments.question, choices, arguments.multiple), context)

    return Prepared(NoEffect(), run)


async def _ask(question: Question, context: ToolContext) -> ToolOutput:
    reply = await context.questions.ask(question, context.attribution.call_id)
    if reply.declined:
        return ToolOutput(DECLINED, summary="no answer")
    answers = "\n".join(reply.answers)
    return ToolOutput(f"The user answers:\n{answers}", summary=one_line(answers))


class OptionArguments(Arguments):
    label: str = Field(min_length=1, description="The answer in a few words.")
    description: str = Field(default="", description="The consequence of choosing this answer.")


class QuestionArguments(Arguments):
    question: str = Field(
        min_length=1, description="The question, with the facts that the user needs to decide."
    )
    header: str = Field(default="", description="The subject in one or two words.")
    options: tuple[OptionArguments, ...] = Field(
        default=(),
        max_length=MAX_CHOICES,
        description="Possible answers, your preferred answer first. The user may also write another answer.",
    )
    multi_select: bool = Field(
        default=False,
        validation_alias=AliasChoices("multiSelect", "multi_select", "multiple"),
        description="The user may select several options.",
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_widget_keys(cls, values: Any) -> Any:
        """Drop keys that name the kind of input control. Other agents' tools have them; our clients choose the kind."""
        if not isinstance(values, dict):
            return values
        return {key: value for key, value in values.items() if key not in ("id", "type", "placeholder")}

    @field_validator("options", mode="before")
    @classmethod
    def _as_objects(cls, options: Any) -> Any:
        """Take an option that is a text as its label."""
        if not isinstance(options, (list, tuple)):
            return options
        return [{"label": it} if isinstance(it, str) else it for it in options]

    @property
    def text(self) -> str:
        rows = [f"{option.label}: {option.description}" for option in self.options if option.description]
        return "\n".join([self.question, *rows])


class AskQuestionsArguments(Arguments):
    questions: tuple[QuestionArguments, ...] = Field(
        min_length=1,
        max_length=MAX_QUESTIONS,
        description="The questions, which are asked one after the other.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_single_question(cls, values: Any) -> Any:
        """Convert arguments in the form of our tool `ask_user`, which asks one question. The model may send
        this form.
        """
        if not isinstance(values, dict) or "question" not in values:
            return values
        rest = {key: value for key, value in values.items() if key not in ("choices", "options")}
        return {"questions": [{**rest, "options": values.get("choices") or values.get("options") or ()}]}


async def prepare_questions(arguments: AskQuestionsArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        answered = [
            (question.question, await _ask_options(question, context)) for question in arguments.questions
        ]
        if len(answered) == 1:
            return answered[0][1]
        text = "\n\n".join(f"{question}\n{output.text}" for question, output in answered)
        return ToolOutput(text, summary=one_line("; ".join(output.summary for _, output in answered)))

    return Prepared(NoEffect(), run)


async def _ask_options(question: QuestionArguments, context: ToolContext) -> ToolOutput:
    labels = tuple(dict.fromkeys(option.label.strip() for option in question.options if option.label.strip()))
    return await _ask(Question(question.text, labels, question.multi_select), context)


ASK_USER = Tool(
    name="ask_user",
    description=(
        "Ask the user a question and wait for the answer. Use it only if your next step depends on the answer "
        "and neither the project nor a sensible assumption provides it. Never ask for permission: permissions "
        "are requested automatically."
    ),
    category="read",
    arguments=AskArguments,
    prepare=prepare,
    look=Look("other", "Asking", "Asked"),
    summarize=lambda arguments: one_line(arguments.question),
    touches=touches_nothing,
)

ASK_QUESTIONS = Tool(
    name=ASK_USER.name,
    description=ASK_USER.description,
    category="read",
    arguments=AskQuestionsArguments,
    prepare=prepare_questions,
    look=ASK_USER.look,
    summarize=lambda arguments: one_line(" ".join(question.question for question in arguments.questions)),
    touches=touches_nothing,
)
