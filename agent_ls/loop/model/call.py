"""One call of the model: streamed, and retried on transient errors. If the stream breaks off, the received text
is recorded.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

import anyio.lowlevel

from agent_ls.llm.errors import LlmError, RunawayError, StreamError
from agent_ls.llm.messages import ContentPart, Message, TextPart, ToolCallPart
from agent_ls.llm.requests import FinishReason, Request, Usage
from agent_ls.llm.retry import RetryPolicy, retry_delay_s
from agent_ls.llm.stream import StreamFinish, replay_as_stream
from agent_ls.loop.emission import Emitter
from agent_ls.loop.events.types import Retry
from agent_ls.loop.ids import ToolCallId
from agent_ls.loop.model.answer import ModelAnswer
from agent_ls.loop.model.call_ids import CallIds
from agent_ls.loop.model.failures import visible
from agent_ls.loop.model.runaway import RunawayGuard
from agent_ls.loop.seams import Clock, ModelClient
from agent_ls.loop.turns import AssistantTurn, Turn

log = logging.getLogger(__name__)

RUNAWAY_CHARS = 500
"""Number of characters of a stopped endless text that stay in the history, because the whole text would fill
the context.
"""

BREATH_EVENTS = 100
"""In a burst of events, yield to other tasks of the process after this many events (about 4 ms), and after the
first event that is published: users wait for the first word.
"""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete answer: the recorded turn, the ModelAnswer from which the turn was built, and the stream's
    finish event.

    `duration_ms` is the time from the successful request to the end, `first_output_ms` the time to the first
    piece of output, None for an answer without output.
    """

    turn: AssistantTurn
    answer: ModelAnswer
    finish: StreamFinish
    duration_ms: int
    first_output_ms: int | None


class ModelCalls:
    """Makes model calls. `record` adds a turn to history and log."""

    def __init__(
        self,
        client: ModelClient,
        clock: Clock,
        emitter: Emitter,
        call_ids: CallIds,
        record: Callable[[Turn], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._emitter = emitter
        self._call_ids = call_ids
        self._record = record

    async def ask(
        self,
        request: Request,
        policy: RetryPolicy,
        *,
        streaming: bool,
        on_call: Callable[[ToolCallPart, ToolCallId, int], None] = lambda part, call_id, place: None,
        on_cut: Callable[[int], None] = lambda received_chars: None,
        on_broken: Callable[[AssistantTurn, tuple[ToolCallId, ...], str], None] = lambda turn, ids, why: None,
    ) -> ModelReply:
        """Call the model, with retries, and record its answer. `on_call` is passed to ModelAnswer.

        `on_broken` gets the recorded part of an answer that broke off, if calls are in it, with their ids in events
        and the reason: they need results.

        `on_cut` is called for each request that a provider answers incompletely, or that is cancelled: with the number
        of characters that were received.

        Raises:
            LlmError: the call failed and is not retried; text that had arrived is in the history.
        """
        for attempt in itertools.count():
            answer = ModelAnswer(self._emitter, self._call_ids, on_call)
            begun_ms = self._clock.monotonic_ms()
            try:
                finish, first_ms = await self._read(request, answer, streaming=streaming)
            except LlmError as error:
                if answer.has_events:  # otherwise the request was refused, or did not arrive
                    on_cut(answer.received_chars)
                delay_s = retry_delay_s(error, attempt, policy, self._clock.random())
                # Published text cannot be withdrawn, so a call is not retried after it has published a part.
                if answer.has_begun or delay_s is None:
                    error.is_cut = answer.has_begun
                    turn = self._keep_cut(request, answer, error.kind, with_calls=True)
                    if turn and turn.tool_calls:
                        on_broken(turn, answer.event_ids, str(error))
                    raise
                self._emitter.emit(Retry(attempt + 1, round(delay_s * 1000), error.kind, visible(str(error))))
            except BaseException:  # cancelled, or a bug: keep the text in both cases
                self._keep_cut(request, answer, "interrupted")
                on_cut(answer.received_chars)
                raise
            else:
                turn = self._turn(request, answer, answer.message, finish)
                self._record(turn)
                duration_ms = self._clock.monotonic_ms() - begun_ms
                first_output_ms = None if first_ms is None else first_ms - begun_ms
                reply = ModelReply(turn, answer, finish, duration_ms, first_output_ms)
                if log.isEnabledFor(logging.DEBUG):
                    log.debug("%s turn=%s", round_line(request, reply), self._emitter.turn_id)
                return reply
            await self._clock.sleep(delay_s)
        raise AssertionError("unreachable: count() does not end")

    async def _read(
        self, request: Request, answer: ModelAnswer, *, streaming: bool
    ) -> tuple[StreamFinish, int | None]:
        """Read the answer. Returns the finish event, and the time of the first output in milliseconds of the
        monotonic clock, None for an answer without output.
        """
        if streaming:
            first_ms = await self._stream(request, answer)
        else:
            response = await self._client.complete(request)
            for event in replay_as_stream(response):
                answer.feed(event)
            first_ms = self._clock.monotonic_ms() if answer.received_chars else None
        if answer.finish is None:
            broken = "The model's answer ended before it was complete."
            raise StreamError(broken, provider=request.provider, model=request.model)
        return answer.finish, first_ms

    async def _stream(self, request: Request, answer: ModelAnswer) -> int | None:
        """Read to the end of the stream, even after the finish event, so that the connection can be reused.
        Returns the time of the first output in milliseconds of the monotonic clock, None if there was none.
        """
        first_ms: int | None = None
        count, was_shown = 0, False
        guard = RunawayGuard(request.provider, request.model)
        try:
            async with aclosing(self._client.stream(request)) as events:
                async for event in events:
                    answer.feed(event)
                    if first_ms is None and answer.received_chars:
                        first_ms = self._clock.monotonic_ms()
                    guard.feed(event)
                    is_first = answer.has_begun and not was_shown
                    was_shown = answer.has_begun
                    if (count := count + 1) % BREATH_EVENTS == 0 or is_first:
                        await anyio.lowlevel.checkpoint()
        except LlmError:
            if answer.finish is None:
                raise
        return first_ms

    def _keep_cut(
        self, request: Request, answer: ModelAnswer, why: str, *, with_calls: bool = False
    ) -> AssistantTurn | None:
        """Record the text of a partial answer, and its calls if `with_calls`. Its usage is unknown."""
        message = answer.end_interrupted(with_calls=with_calls)
        if why == RunawayError.kind:
            message = _without_repetition(message)
        if not message.parts:
            return None
        turn = self._turn(request, answer, message, StreamFinish(FinishReason("other", why), Usage(), {}))
        self._record(turn)
        return turn

    def _turn(
        self, request: Request, answer: ModelAnswer, message: Message, finish: StreamFinish
    ) -> AssistantTurn:
        return AssistantTurn(
            message=message,
            usage=finish.usage,
            response_id=answer.response_id,
            provider=request.provider,
            model=request.model,
            finish_reason=finish.finish_reason,
            timestamp=self._clock.now(),
        )


def round_line(request: Request, reply: ModelReply) -> str:
    """Return the line of a round for the log: only numbers and names, no text of the user, the model or a file."""
    usage, known = reply.finish.usage, {tool.name for tool in request.tools}
    tools = ",".join(call.name if call.name in known else "?" for call in reply.turn.tool_calls)
    return (
        f"round provider={request.provider} model={request.model} ms={reply.duration_ms} "
        f"first_output_ms={reply.first_output_ms} input={usage.input_tokens} output={usage.output_tokens} "
        f"cache_read={usage.cache_read_tokens} finish={reply.finish.finish_reason.kind} "
        f"tools={tools or '-'} session={request.cache_key}"
    )


def _without_repetition(message: Message) -> Message:
    """Return a message of texts and calls with each text, also of arguments, truncated to RUNAWAY_CHARS."""
    kept: list[ContentPart] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            text = part.text
            kept.append(TextPart(text if len(text) <= RUNAWAY_CHARS else f"{text[:RUNAWAY_CHARS]} […]"))
        elif isinstance(part, ToolCallPart):
            kept.append(replace(part, arguments=part.arguments[:RUNAWAY_CHARS]))
    return Message(message.role, tuple(kept))
