"""Convenience on top of the client, for users of the library: tool loops, retries, objects. The agent does not use it.

    answer = await generate(ask("claude-sonnet-5-5", "What is in a.py?"), tools=[read])
    async for event in stream(ask("gpt-6.1-sol", "A haiku, please.")): ...
    person = (await generate_object(ask("gemini-4-argon", text), schema)).output

To stop one, cancel its task or leave its scope: the connection closes at once (C section 4.7).
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import anyio

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.client import Client
from agent_ls.llm.errors import (
    ConfigurationError,
    LlmError,
    NoObjectGeneratedError,
    RequestTimeoutError,
    StreamError,
)
from agent_ls.llm.messages import (
    JsonObject,
    Message,
    ToolCallPart,
    ToolResultPart,
    system,
    tool_results,
    user,
)
from agent_ls.llm.partial_json import parse_partial
from agent_ls.llm.requests import FinishReason, JsonFormat, Request, Response, Usage
from agent_ls.llm.retry import RetryPolicy, retry_delay_s
from agent_ls.llm.schema_check import misfit
from agent_ls.llm.stream import StreamEvent, TextDelta
from agent_ls.llm.tools import Repair, Tool, run_tool

MAX_PAUSES = 10  # of one answer that its provider hands out in parts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the model, and the results of the tools that it called (none when they were not run)."""

    response: Response
    tool_results: tuple[ToolResultPart, ...] = ()


@dataclass(frozen=True, slots=True)
class StepFinish:
    """In a stream: a step is over and its tools have run; the next call follows."""

    step: Step


Event: TypeAlias = StreamEvent | StepFinish


@dataclass(frozen=True, slots=True)
class Rules:
    """How far to go. `max_tool_rounds`: how often tools are run and the model is called again; 0 gives calls back.

    `stop_when` is asked after each step. Times in seconds, None is no limit. `repair` mends bad arguments. `sleep` and
    `random` are for tests.
    """

    max_tool_rounds: int = 1
    stop_when: Callable[[Sequence[Step]], bool] | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    total_timeout_s: float | None = None
    step_timeout_s: float | None = None
    repair: Repair | None = None
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    random: Callable[[], float] = random.random


DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """All steps; text, calls and usage are those of the last one. `output` is what generate_object() found."""

    steps: tuple[Step, ...]
    output: Any = None

    @property
    def response(self) -> Response:
        return self.steps[-1].response

    @property
    def text(self) -> str:
        return self.response.text

    @property
    def reasoning(self) -> str:
        return self.response.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        return self.response.tool_calls

    @property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        return self.steps[-1].tool_results

    @property
    def finish_reason(self) -> FinishReason:
        return self.response.finish_reason

    @property
    def usage(self) -> Usage:
        return self.response.usage

    @property
    def total_usage(self) -> Usage:
        return sum((step.response.usage for step in self.steps), Usage())


_default: list[Client] = []


def set_default_client(client: Client | None) -> None:
    """The client of calls that name none; None: one from the environment, made anew."""
    _default[:] = [client] if client else []


def default_client() -> Client:
    """The one that was set, else one from the environment, made when it is first needed.

    Raises:
        ConfigurationError: none was set and no key is in the environment.
    """
    if not _default:
        _default.append(Client.from_env())
    return _default[0]


def ask(
    model: str,
    prompt: str = "",
    *,
    messages: Sequence[Message] = (),
    system_text: str = "",
    provider: str = "",
) -> Request:
    """A request from a prompt or from messages; `dataclasses.replace` sets the rest.

    Raises:
        ConfigurationError: both are given, or neither.
    """
    if bool(prompt) == bool(messages):
        raise ConfigurationError("give a prompt or messages", hint="One of them, not both.")
    said = (user(prompt),) if prompt else tuple(messages)
    return Request(model, (*((system(system_text),) if system_text else ()), *said), provider=provider)


async def generate(
    request: Request,
    *,
    tools: Sequence[Tool] = (),
    rules: Rules = DEFAULT_RULES,
    client: Client | None = None,
) -> GenerateResult:
    """The answer, with the tools run as far as `rules` say.

    Raises:
        LlmError: a call failed and is not made again; RequestTimeoutError for the limits of `rules`.
    """
    loop = _Loop(request, tools, rules)
    chosen = client or default_client()
    with _limited(rules.total_timeout_s, "the whole"):
        while True:
            response = await _retried(lambda: chosen.complete(loop.request), rules)
            if not await loop.goes_on(response):
                return GenerateResult(tuple(loop.steps))


class StreamResult:
    """Iterate it, once, for its events; or `text_stream` for text only. Leave it early with `aclose()`."""

    def __init__(self, events: AsyncGenerator[Event]) -> None:
        self._events = events
        self._folded = Accumulator()
        self.steps: list[Step] = []

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with aclosing(self._events) as events:
            async for event in events:
                if isinstance(event, StepFinish):
                    self.steps.append(event.step)
                    self._folded = Accumulator()
                else:
                    self._folded.feed(event)
                yield event

    @property
    async def text_stream(self) -> AsyncIterator[str]:
        async for event in self:
            if isinstance(event, TextDelta):
                yield event.text

    @property
    def partial(self) -> Message:
        """The current step's answer so far."""
        return self._folded.message

    def response(self) -> Response:
        """The last step's whole answer.

        Raises:
            StreamError: the stream has not ended.
        """
        return self._folded.response()

    async def aclose(self) -> None:
        await self._events.aclose()


def stream(
    request: Request,
    *,
    tools: Sequence[Tool] = (),
    rules: Rules = DEFAULT_RULES,
    client: Client | None = None,
) -> StreamResult:
    """As generate(), event by event; nothing is tried again once something was shown.

    Raises:
        LlmError: from the iteration.
    """
    return StreamResult(_streamed(request, tools, rules, client or default_client()))


async def _streamed(
    request: Request, tools: Sequence[Tool], rules: Rules, client: Client
) -> AsyncGenerator[Event]:
    loop = _Loop(request, tools, rules)
    end = None if rules.total_timeout_s is None else anyio.current_time() + rules.total_timeout_s
    while True:
        folded = Accumulator(client.default, request.model)
        async with aclosing(_step_events(loop.request, rules, client, end)) as events:
            async for event in events:
                folded.feed(event)
                yield event
        if not await loop.goes_on(folded.response()):
            return
        yield StepFinish(loop.steps[-1])


async def _step_events(
    request: Request, rules: Rules, client: Client, end: float | None
) -> AsyncGenerator[StreamEvent]:
    """One call's events. Time limits stand around each wait, never around a yield."""
    attempt = 0
    while True:
        has_begun = False
        error: LlmError = StreamError("the stream did not end")
        step_end = None if rules.step_timeout_s is None else anyio.current_time() + rules.step_timeout_s
        left = min((at for at in (end, step_end) if at is not None), default=None)
        try:
            async with aclosing(client.stream(request)) as events:
                while True:
                    with _limited(None if left is None else left - anyio.current_time(), "the answer"):
                        event = await anext(events, None)
                    if event is None:
                        return
                    has_begun = True
                    yield event
        except LlmError as failed:
            error = failed
        delay_s = None if has_begun else retry_delay_s(error, attempt, rules.retry, rules.random())
        if delay_s is None:
            raise error
        await rules.sleep(delay_s)
        attempt += 1


async def generate_object(
    request: Request, schema: JsonObject, *, rules: Rules = DEFAULT_RULES, client: Client | None = None
) -> GenerateResult:
    """An answer that is JSON and fits `schema`, in `output`.

    Raises:
        NoObjectGeneratedError: it is not, or does not; it is not asked again.
        LlmError: as generate().
    """
    result = await generate(_shaped(request, schema), rules=rules, client=client)
    return replace(result, output=_object(result.response, schema))


class ObjectStream:
    """Iterate it, once, for the object as it grows; `object()` is the whole one."""

    def __init__(self, events: StreamResult, schema: JsonObject) -> None:
        self._events = events
        self._schema = schema

    async def __aiter__(self) -> AsyncIterator[Any]:
        pieces: list[str] = []
        last: Any = None
        async for event in self._events:
            if isinstance(event, TextDelta):
                pieces.append(event.text)
                found = parse_partial(_bare("".join(pieces)))
                if found is not None and found != last:
                    last = found
                    yield found

    def object(self) -> Any:
        """
        Raises:
            NoObjectGeneratedError: the answer is no JSON, or does not fit.
            StreamError: the stream has not ended.
        """
        return _object(self._events.response(), self._schema)


def stream_object(
    request: Request, schema: JsonObject, *, rules: Rules = DEFAULT_RULES, client: Client | None = None
) -> ObjectStream:
    """As generate_object(), with what there is of it so far."""
    return ObjectStream(stream(_shaped(request, schema), rules=rules, client=client), schema)


class _Loop:
    """What was said and done, and what to ask next."""

    def __init__(self, request: Request, tools: Sequence[Tool], rules: Rules) -> None:
        self.steps: list[Step] = []
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._rules = rules
        self._rounds = self._pauses = 0
        definitions = tuple(tool.definition for tool in tools)
        self.request = replace(request, tools=(*request.tools, *definitions))

    async def goes_on(self, response: Response) -> bool:
        """Notes the answer, runs its tools, and says whether the model is to be called again."""
        if response.finish_reason.kind == "pause" and self._pauses < MAX_PAUSES:
            self._pauses += 1
            self.steps.append(Step(response))
            self._say(response.message)
            return True
        if not self._runs(response):
            self.steps.append(Step(response))
            return False
        results = await self._results(response)
        self.steps.append(Step(response, results))
        self._say(response.message, tool_results(results))
        self._rounds += 1
        return not (self._rules.stop_when and self._rules.stop_when(self.steps))

    def _runs(self, response: Response) -> bool:
        """Calls of an answer that did not end by itself, and calls of passive tools, are the caller's affair."""
        calls = response.tool_calls
        is_passive = any((tool := self._tools.get(call.name)) and tool.execute is None for call in calls)
        is_natural = response.finish_reason.kind == "tool_calls"
        has_rounds = self._rounds < self._rules.max_tool_rounds
        return bool(calls) and is_natural and has_rounds and not is_passive and bool(self._tools)

    async def _results(self, response: Response) -> tuple[ToolResultPart, ...]:
        """In call order; they run side by side."""
        found: dict[int, ToolResultPart] = {}

        async def one(at: int, call: ToolCallPart) -> None:
            found[at] = await run_tool(call, self._tools, self.request.messages, self._rules.repair)

        async with anyio.create_task_group() as group:
            for at, call in enumerate(response.tool_calls):
                group.start_soon(one, at, call)
        return tuple(found[at] for at in sorted(found))

    def _say(self, *messages: Message) -> None:
        self.request = replace(self.request, messages=(*self.request.messages, *messages))


async def _retried(call: Callable[[], Awaitable[T]], rules: Rules) -> T:
    attempt = 0
    while True:
        try:
            with _limited(rules.step_timeout_s, "the answer"):
                return await call()
        except LlmError as error:
            delay_s = retry_delay_s(error, attempt, rules.retry, rules.random())
            if delay_s is None:
                raise
        await rules.sleep(delay_s)
        attempt += 1


@contextmanager
def _limited(limit_s: float | None, what: str) -> Iterator[None]:
    with anyio.move_on_after(limit_s) as scope:
        yield
    if scope.cancelled_caught:
        error = RequestTimeoutError(f"{what} took longer than it may", hint="Set a longer limit.")
        error.retryable = False  # the caller's own limit: trying again would break it
        raise error


def _shaped(request: Request, schema: JsonObject) -> Request:
    return replace(request, response_format=JsonFormat(schema))


def _object(response: Response, schema: JsonObject) -> Any:
    where = {"provider": response.provider, "model": response.model}
    try:
        value = json.loads(_bare(response.text))
    except (ValueError, RecursionError):
        raise NoObjectGeneratedError("the answer is no JSON", text=response.text, **where) from None
    if problem := misfit(value, schema):
        raise NoObjectGeneratedError(f"the answer does not fit: {problem}", text=response.text, **where)
    return value


def _bare(text: str) -> str:
    """Without the fence that some models put around JSON."""
    text = text.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].removesuffix("```")
    return text
