"""The model call that summarizes a conversation: no tools, no deltas, retried on transient errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import aclosing
from typing import TypeAlias

from agent_ls.llm.errors import LlmError, StreamError
from agent_ls.llm.messages import system, user
from agent_ls.llm.requests import Request, Usage
from agent_ls.llm.retry import RetryPolicy, retry_delay_s
from agent_ls.llm.stream import ReasoningDelta, StreamFinish, TextDelta, TextEnd
from agent_ls.loop.context.compaction import SUMMARY_PROMPT
from agent_ls.loop.emission import Emitter
from agent_ls.loop.events.types import Retry
from agent_ls.loop.seams import Clock, ModelClient
from agent_ls.profiles.base import ProviderProfile

OnCut: TypeAlias = Callable[[int], None]
DWELL_ON = "\n\nThe user wants the summary to focus on this: "


def summary_request(profile: ProviderProfile, transcript: str, instructions: str, cache_key: str) -> Request:
    """Return the request for a summary. `instructions` are the user's instructions for the summary, "" for
    none.
    """
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


async def call_for_summary(
    client: ModelClient,
    clock: Clock,
    emitter: Emitter,
    request: Request,
    policy: RetryPolicy,
    *,
    streaming: bool,
    on_cut: OnCut = lambda received_chars: None,
) -> tuple[str, Usage]:
    """Call the model, with retries. Returns the summary and the usage. `on_cut` is as in `ModelCalls.ask`.

    Raises:
        LlmError: the call failed and is not retried, or the summary is empty.
    """
    for attempt in itertools.count():
        try:
            text, usage = await complete_text(client, request, streaming=streaming, on_cut=on_cut)
        except LlmError as error:
            delay_s = retry_delay_s(error, attempt, policy, clock.random())
            if delay_s is None:
                raise
            emitter.emit(Retry(attempt + 1, round(delay_s * 1000), error.kind, str(error)))
            await clock.sleep(delay_s)
        else:
            if text.strip():
                return text.strip(), usage
            on_cut(0)  # the provider bills what it has read
            empty = "The model wrote no summary."
            raise StreamError(empty, provider=request.provider, model=request.model)
    raise AssertionError("unreachable: count() does not end")


async def complete_text(
    client: ModelClient, request: Request, *, streaming: bool, on_cut: OnCut = lambda received_chars: None
) -> tuple[str, Usage]:
    """Call the model once. Returns the answer's text and usage. `on_cut` is as in `ModelCalls.ask`.

    Raises:
        LlmError
    """
    received: list[int] = []
    try:
        if streaming:
            return await _stream(client, request, received)
        response = await client.complete(request)
    except LlmError:
        if received:
            on_cut(sum(received))
        raise
    except BaseException:  # cancelled, or a bug
        on_cut(sum(received))
        raise
    return response.text, response.usage


async def _stream(client: ModelClient, request: Request, received: list[int]) -> tuple[str, Usage]:
    """Read an answer. `received` gets the number of characters of each event."""
    texts: list[str] = []
    finish: StreamFinish | None = None
    async with aclosing(client.stream(request)) as events:
        async for event in events:
            received.append(len(event.text) if isinstance(event, TextDelta | ReasoningDelta) else 0)
            match event:
                case TextEnd(part=part):
                    texts.append(part.text)
                case StreamFinish():
                    finish = event
                case _:
                    pass
    if finish is None:
        broken = "The model's answer ended before it was complete."
        raise StreamError(broken, provider=request.provider, model=request.model)
    return "\n\n".join(texts), finish.usage
