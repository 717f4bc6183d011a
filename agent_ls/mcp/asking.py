"""Ask the user an MCP server's questions (elicitation): one session question for each form field."""

from __future__ import annotations

from typing import Any, Literal

from agent_ls.addresses import split_address
from agent_ls.mcp.descriptions import Elicitation, ElicitationReply, FormField
from agent_ls.mcp.elicitation import NO, SKIP, YES, asks_for_secret, value_of
from agent_ls.mcp.visible import visible
from agent_ls.tools.base import Question, QuestionReply, ToolContext, ToolError

MAX_TRIES = 3
MAX_FIELDS = 20
OPENED = "I have opened the page"
DECLINE = "Decline"
ANSWER = "Answer"
WARNING = (
    "The server seems to ask for a password or a key, which MCP servers must not do: decline if in doubt."
)


async def ask_user(server: str, context: ToolContext, asked: Elicitation) -> ElicitationReply:
    """Ask the user and return the reply. It is `cancel` if no user can be asked: `decline` says that a user refused.

    An address that is no page of the web is not shown to the user.
    """
    try:
        if asked.url and split_address(asked.url).scheme.lower() not in ("http", "https"):
            return ElicitationReply("cancel")
        if asked.url:
            return await _by_address(server, context, asked)
        return await _by_form(server, context, asked)
    except ToolError:
        return ElicitationReply("cancel")


async def _by_address(server: str, context: ToolContext, asked: Elicitation) -> ElicitationReply:
    host = split_address(asked.url).hostname or "an unknown host"
    text = (
        f"The MCP server {server} asks you to open a page of {host}: {visible(asked.message)}\n"
        f"{visible(asked.url)}\nagent-ls does not open the page for you."
    )
    reply = await _ask(context, text, (OPENED, DECLINE))
    is_done = not reply.declined and OPENED in reply.answers
    return ElicitationReply("accept" if is_done else _refusal(reply))


async def _by_form(server: str, context: ToolContext, asked: Elicitation) -> ElicitationReply:
    intro = f"The MCP server {server} asks: {visible(asked.message)}"
    if asks_for_secret(asked.message, asked.fields):
        intro = f"{intro}\n{WARNING}"
    if len(asked.fields) != 1 or asks_for_secret(asked.message, asked.fields):
        reply = await _ask(context, intro, (ANSWER, DECLINE))
        if reply.declined or ANSWER not in reply.answers:
            return ElicitationReply(_refusal(reply))
        intro = f"For the MCP server {server}"
    content: dict[str, Any] = {}
    for field in asked.fields[:MAX_FIELDS]:
        answer = await _field(context, intro, field)
        if answer is None or answer.declined:
            return ElicitationReply(_refusal(answer))
        if answer.answers and answer.answers != (SKIP,):
            content[field.name] = value_of(field, answer.answers)
        elif field.default is not None:
            content[field.name] = field.default
    return ElicitationReply("accept", content)


def _refusal(reply: QuestionReply | None) -> Literal["decline", "cancel"]:
    """Return "decline" if the user refused, "cancel" if nobody has answered."""
    return "cancel" if reply and reply.declined else "decline"


async def _field(context: ToolContext, intro: str, field: FormField) -> QuestionReply | None:
    """Ask the user for one field's value; ask again after an invalid answer.

    Returns None if none of MAX_TRIES answers is valid.
    """
    label = visible(field.title or field.name)
    about = f" ({visible(field.description)})" if field.description else ""
    default = f" Default: {visible(str(field.default))}." if field.default is not None else ""
    choices = (YES, NO) if field.kind == "boolean" else tuple(visible(it) for _, it in field.choices)
    if not field.is_required:
        choices = (*choices, SKIP)
    problem = ""
    for _ in range(MAX_TRIES):
        text = f"{intro}\n{label}{about}.{default}{problem}"
        reply = await _ask(context, text, choices, is_multiple=field.is_multiple)
        if reply.declined or SKIP in reply.answers:
            return reply if reply.declined else QuestionReply((SKIP,))
        try:
            value_of(field, reply.answers)
            return reply
        except ValueError as error:
            problem = f"\nThis answer is not valid: {error}."
    return None


async def _ask(
    context: ToolContext, text: str, choices: tuple[str, ...], *, is_multiple: bool = False
) -> QuestionReply:
    question = Question(text, choices, is_multiple)
    return await context.questions.ask(question, context.attribution.call_id)
