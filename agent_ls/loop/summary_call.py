"""The call of a model that sums up a conversation: no tools, no deltas, made again where that helps (U8)."""

from __future__ import annotations

import itertools
from contextlib import aclosing

from agent_ls.llm import stream
from agent_ls.llm.errors import LlmError, StreamError
from agent_ls.llm.messages import system, user
from agent_ls.llm.requests import Request, Usage
from agent_ls.llm.retry import RetryPolicy, retry_delay_s
from agent_ls.loop.compaction import SUMMARY_PROMPT
from agent_ls.loop.emission import Voice
from agent_ls.loop.events import Retry
from agent_ls.loop.seams import Clock, ModelClient
from agent_ls.profiles.base import ProviderProfile

DWELL_ON = "\n\nThe user asks that the summary dwell on this: "


def summary_request(profile: ProviderProfile, transcript: str, instructions: str, cache_key: str) -> Request:
    """`instructions` are the user's own, "" for none."""
    wanted = SUMMARY_PROMPT + (DWELL_ON + instructions if instructions else "")
    return Request(
        model=profile.model,
        messages=(
            system(wanted),
            user(f"<transcript>\n{transcript}\n</transcript>\n\nWrite the notes now."),
        ),
        provider=profile.id,
        provider_options=profile.provider_options,
        cache_key=cache_key,
    )


async def summed_up(
    client: ModelClient,
    clock: Clock,
    hub: Voice,
    request: Request,
    policy: RetryPolicy,
    *,
    streaming: bool,
) -> tuple[str, Usage]:
    """The summary, and what it cost.

    Raises:
        LlmError: no further attempt is to be made, or the model said nothing.
    """
    for attempt in itertools.count():
        try:
            text, usage = await (_streamed if streaming else _completed)(client, request)
        except LlmError as error:
            delay_s = retry_delay_s(error, attempt, policy, clock.random())
            if delay_s is None:
                raise
            hub.emit(Retry(attempt + 1, round(delay_s * 1000), error.kind, str(error)))
            await clock.sleep(delay_s)
        else:
            if text.strip():
                return text.strip(), usage
            empty = "The model gave no summary."
            raise StreamError(empty, provider=request.provider, model=request.model)
    raise AssertionError("unreachable: count() does not end")


async def _streamed(client: ModelClient, request: Request) -> tuple[str, Usage]:
    texts: list[str] = []
    finish: stream.StreamFinish | None = None
    async with aclosing(client.stream(request)) as events:
        async for event in events:
            match event:
                case stream.TextEnd(part=part):
                    texts.append(part.text)
                case stream.StreamFinish():
                    finish = event
                case _:
                    pass
    if finish is None:
        broken = "The answer broke off before its end."
        raise StreamError(broken, provider=request.provider, model=request.model)
    return "\n\n".join(texts), finish.usage


async def _completed(client: ModelClient, request: Request) -> tuple[str, Usage]:
    response = await client.complete(request)
    return response.text, response.usage
