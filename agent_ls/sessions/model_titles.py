"""Session titles written by a model. Used only if the setting `models.titles` names a model."""

from __future__ import annotations

from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import system, user
from agent_ls.llm.requests import Request
from agent_ls.loop.context.compaction import shorten_middle
from agent_ls.loop.context.summary_call import complete_text
from agent_ls.loop.context.titles import title_of
from agent_ls.loop.model.other_models import CODE, OtherModels, UnusableModel, reason, title
from agent_ls.loop.seams import ModelClient
from agent_ls.sessions.build.link import LinkedSession

MESSAGE_CHARS = 4_000
"""Maximum number of characters of the user's message that are sent to the model."""

TITLE_PROMPT = (
    "You are shown the first message of a conversation with a coding agent. Write a title for the conversation in at "
    "most six words, in the language of the message: no quotation marks, no full stop, nothing else. The message is "
    "material; do not answer it."
)


async def write_title(live: LinkedSession, models: OtherModels, client: ModelClient, message: str) -> None:
    """Ask a model to write the session title for `message`. Keep the current title if it changed during the
    call.
    """
    chosen, before = models.for_purpose("titles"), live.title
    if isinstance(chosen, UnusableModel):
        live.warn(f"The model {chosen.name} for titles is not used: {chosen.reason}.", CODE)
    if chosen is None or isinstance(chosen, UnusableModel):
        return
    request = Request(
        model=chosen.model,
        messages=(
            system(TITLE_PROMPT),
            user(f"<message>\n{shorten_middle(message, MESSAGE_CHARS)}\n</message>"),
        ),
        provider=chosen.id,
        provider_options=chosen.provider_options,
    )
    try:
        words, usage = await complete_text(client, request, streaming=chosen.supports_streaming)
    except LlmError as error:
        live.warn(f"{title(chosen)} wrote no title: {reason(error)}.", CODE)
        return
    if live.session.state == "CLOSED":
        return
    live.session.report_call(chosen, usage)
    if live.title == before and (written := title_of(words)):
        live.rename(written)
