"""One call of the model: streamed, made again where that helps, and kept as far as it came when it was cut (U8)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

import anyio.lowlevel

from agent_ls.llm.errors import LlmError, StreamError
from agent_ls.llm.messages import ToolCallPart
from agent_ls.llm.requests import FinishReason, Request, Usage
from agent_ls.llm.retry import RetryPolicy, retry_delay_s
from agent_ls.llm.stream import StreamFinish, replayed
from agent_ls.loop.answer import Answer
from agent_ls.loop.call_ids import CallIds
from agent_ls.loop.emission import Voice
from agent_ls.loop.events import Retry
from agent_ls.loop.ids import ToolCallId
from agent_ls.loop.seams import Clock, ModelClient
from agent_ls.loop.turns import AssistantTurn, Turn

BREATH_EVENTS = 100
"""Events of a burst come many at a time; after so many, some 4 ms, all others of the process have their turn."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The recorded turn, the answer that it was made of, and how that ended.

    `duration_ms` is from the request that was answered to the end, `first_output_ms` to the first piece.
    """

    turn: AssistantTurn
    answer: Answer
    finish: StreamFinish
    duration_ms: int
    first_output_ms: int


class ModelCalls:
    """`record` puts a turn into the history and the log."""

    def __init__(
        self,
        client: ModelClient,
        clock: Clock,
        hub: Voice,
        call_ids: CallIds,
        record: Callable[[Turn], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._hub = hub
        self._call_ids = call_ids
        self._record = record

    async def ask(
        self,
        request: Request,
        policy: RetryPolicy,
        *,
        streaming: bool,
        on_call: Callable[[ToolCallPart, ToolCallId, int], None] = lambda part, call_id, place: None,
    ) -> ModelReply:
        """`on_call` as in Answer.

        Raises:
            LlmError: no further attempt is to be made; text that had come is in the history.
        """
        for attempt in itertools.count():
            answer = Answer(self._hub, self._call_ids, on_call)
            begun_ms = self._clock.monotonic_ms()
            try:
                finish, first_ms = await self._read(request, answer, streaming=streaming)
            except LlmError as error:
                delay_s = retry_delay_s(error, attempt, policy, self._clock.random())
                # What was shown cannot be taken back: from the first piece on there is no second attempt.
                if answer.has_begun or delay_s is None:
                    self._keep_cut(request, answer, error.kind)
                    raise
                self._hub.emit(Retry(attempt + 1, round(delay_s * 1000), error.kind, str(error)))
            except BaseException:  # stopped, or a fault of ours: what was said is kept either way
                self._keep_cut(request, answer, "interrupted")
                raise
            else:
                turn = self._turn(request, answer, finish)
                self._record(turn)
                duration_ms = self._clock.monotonic_ms() - begun_ms
                return ModelReply(turn, answer, finish, duration_ms, first_ms - begun_ms)
            await self._clock.sleep(delay_s)
        raise AssertionError("unreachable: count() does not end")

    async def _read(self, request: Request, answer: Answer, *, streaming: bool) -> tuple[StreamFinish, int]:
        """How it ended, and when its first piece had come."""
        if streaming:
            first_ms = await self._stream(request, answer)
        else:
            response = await self._client.complete(request)
            first_ms = self._clock.monotonic_ms()
            for event in replayed(response):
                answer.feed(event)
        if answer.finish is None:
            broken = "The answer broke off before its end."
            raise StreamError(broken, provider=request.provider, model=request.model)
        return answer.finish, first_ms

    async def _stream(self, request: Request, answer: Answer) -> int:
        """Reads to the end, past the finish: a connection that was read out can be used again."""
        first_ms = count = 0
        try:
            async with aclosing(self._client.stream(request)) as events:
                async for event in events:
                    first_ms = first_ms or self._clock.monotonic_ms()
                    answer.feed(event)
                    if (count := count + 1) % BREATH_EVENTS == 0:
                        await anyio.lowlevel.checkpoint()
        except LlmError:
            if answer.finish is None:
                raise
        return first_ms

    def _keep_cut(self, request: Request, answer: Answer, why: str) -> None:
        """A partial answer stays in the history as far as it is text (H2, R4). Nobody reported what it cost."""
        message = answer.cut()
        if message.parts:
            self._record(
                AssistantTurn(
                    message=message,
                    usage=Usage(),
                    response_id=answer.response_id,
                    provider=request.provider,
                    model=request.model,
                    finish_reason=FinishReason("other", why),
                    timestamp=self._clock.now(),
                )
            )

    def _turn(self, request: Request, answer: Answer, finish: StreamFinish) -> AssistantTurn:
        return AssistantTurn(
            message=answer.message,
            usage=finish.usage,
            response_id=answer.response_id,
            provider=request.provider,
            model=request.model,
            finish_reason=finish.finish_reason,
            timestamp=self._clock.now(),
        )
