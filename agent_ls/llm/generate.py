"""Functions for users of the library: tool loops, retries, JSON objects. The agent itself does not use them.

    answer = await generate(build_request("claude-sonnet-5-5", "What is in a.py?"), tools=[read])
    async for event in stream(build_request("gpt-6.1-sol", "A haiku, please.")): ...
    person = (await generate_object(build_request("gemini-4-argon", text), schema)).output

To stop a call, cancel its task or leave its scope. The connection closes at once.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

import anyio
from pydantic_core import from_json

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.attachments import with_files
from agent_ls.llm.client import Client
from agent_ls.llm.errors import (
    ConfigurationError,
    LlmError,
    RequestTimeoutError,
    StreamError,
    check_amounts,
    typed,
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
from agent_ls.llm.object_errors import NoObjectGeneratedError
from agent_ls.llm.object_types import ObjectType, object_type
from agent_ls.llm.requests import FinishReason, JsonFormat, Request, Response, Usage
from agent_ls.llm.retry import RetryPolicy, retry_delay_s
from agent_ls.llm.schema_check import check_schema, find_schema_error
from agent_ls.llm.stream import StreamEvent, StreamStart, TextDelta
from agent_ls.llm.tools import CallableTool, RepairArguments, run_tool
from agent_ls.text import to_display_line

MAX_PAUSES = 10  # how often one answer may pause (finish reason `pause`) and continue in a new response

PROBLEM_CHARS = 500

T = TypeVar("T")
if TYPE_CHECKING:  # a default, so that programs may write `GenerateResult` alone; Python 3.11 has none
    from typing_extensions import TypeVar as DefaultTypeVar

    Output = DefaultTypeVar("Output", default=Any, covariant=True)
else:
    Output = TypeVar("Output", covariant=True)

OnRetry: TypeAlias = Callable[[LlmError, int, float], object]
"""Called before a retry with the error, the failed attempt's number (from 1), and the delay in seconds."""


@dataclass(frozen=True, slots=True)
class GenerateStep:
    """One model call and the results of its tool calls. The results are empty if the tools were not run."""

    response: Response
    tool_results: tuple[ToolResultPart, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerateStepFinish:
    """Stream event: a step has ended and its tools have run; the next model call follows."""

    step: GenerateStep


Event: TypeAlias = StreamEvent | GenerateStepFinish


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """Limits and hooks of generate() and stream(). Times are in seconds; None sets no limit.

    `max_tool_rounds` limits how often tools run and the model is called again; 0 returns tool calls to the caller.
    `stop_when` is called after each step; True ends the loop. `repair` is a function that corrects
    invalid arguments of a tool call. `on_retry` is called before each wait for another attempt. `sleep` and
    `random` can be replaced in tests.
    """

    max_tool_rounds: int = 1
    stop_when: Callable[[Sequence[GenerateStep]], bool] | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    on_retry: OnRetry | None = None
    total_timeout_s: float | None = None
    step_timeout_s: float | None = None
    repair: RepairArguments | None = None
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    random: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        check_amounts(self, "max_tool_rounds", "total_timeout_s", "step_timeout_s")


DEFAULT_GENERATE_OPTIONS = GenerateOptions()


@dataclass(frozen=True, slots=True)
class GenerateResult(Generic[Output]):
    """The result of generate(). The properties `text`, `tool_calls` and `usage` return values of the last step.

    `output` is the object of generate_object(), None after generate().
    """

    steps: tuple[GenerateStep, ...]
    output: Output

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


@typed
def set_default_client(client: Client | None) -> None:
    """Set the client for calls without a `client` argument. None: create a client from the environment when needed."""
    _default[:] = [client] if client else []


def default_client() -> Client:
    """Return the client that was set, or else a client that is created from the environment on first use.

    Raises:
        ConfigurationError: no client was set, and the environment has no key.
    """
    if not _default:
        _default.append(Client.from_env())
    return _default[0]


@typed
def build_request(
    model: str,
    prompt: str = "",
    *,
    messages: Sequence[Message] = (),
    system_text: str = "",
    provider: str = "",
) -> Request:
    """Build a request from a prompt or from messages; use `dataclasses.replace` for other fields.

    Raises:
        ConfigurationError: both prompt and messages are given, or neither.
    """
    if bool(prompt) == bool(messages):
        raise ConfigurationError(
            "pass either a prompt or messages", hint="Pass either a prompt or messages, not both."
        )
    said = (user(prompt),) if prompt else tuple(messages)
    return Request(model, (*((system(system_text),) if system_text else ()), *said), provider=provider)


@typed
async def generate(
    request: Request,
    *,
    tools: Sequence[CallableTool] = (),
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> GenerateResult[None]:
    """Call the model repeatedly, run the tools that it calls (within `options`), and return the result.

    Raises:
        LlmError: a call failed and is not retried. RequestTimeoutError: a time limit of `options` has passed.
    """
    loop = _Loop(replace(request, messages=await with_files(request.messages)), tools, options)
    chosen = client or default_client()
    with _limit_time(options.total_timeout_s, "the whole request"):
        while True:
            complete = partial(chosen.complete, loop.request)
            response = await retry(partial(_call_in_time, complete, options.step_timeout_s), options)
            if not await loop.run_step(response):
                return GenerateResult(tuple(loop.steps), None)


class StreamResult:
    """A streamed answer. Iterate over it once for all events, or over `text_stream` for text only.

    `aclose()` stops the answer.
    """

    def __init__(self, events: AsyncGenerator[Event], provider: str = "", model: str = "") -> None:
        self._events = events
        self._fold = partial(Accumulator, provider, model)
        self._folded = self._fold()
        self.steps: list[GenerateStep] = []

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with aclosing(self._events) as events:
            async for event in events:
                if isinstance(event, GenerateStepFinish):
                    self.steps.append(event.step)
                    self._folded = self._fold()
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
        """The part of the current step's answer that has arrived so far."""
        return self._folded.message

    def response(self) -> Response:
        """Return the last step's complete answer.

        Raises:
            StreamError: the stream has not ended.
        """
        return self._folded.response()

    async def aclose(self) -> None:
        await self._events.aclose()


@typed
def stream(
    request: Request,
    *,
    tools: Sequence[CallableTool] = (),
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> StreamResult:
    """Do the same as generate(), but stream the answer. A call that fails after a part of its answer is not retried.

    Raises:
        LlmError: from the iteration.
    """
    chosen = client or default_client()
    steps = _stream_steps(request, tools, options, chosen)
    return StreamResult(steps, request.provider or chosen.default, request.model)


async def _stream_steps(
    request: Request, tools: Sequence[CallableTool], options: GenerateOptions, client: Client
) -> AsyncGenerator[Event]:
    loop = _Loop(replace(request, messages=await with_files(request.messages)), tools, options)
    end = None if options.total_timeout_s is None else anyio.current_time() + options.total_timeout_s
    while True:
        folded = Accumulator(request.provider or client.default, request.model)
        async with aclosing(_step_events(loop.request, options, client, end)) as events:
            async for event in events:
                folded.feed(event)
                yield event
        if not await loop.run_step(folded.response()):
            return
        yield GenerateStepFinish(loop.steps[-1])


async def _step_events(
    request: Request, options: GenerateOptions, client: Client, end: float | None
) -> AsyncGenerator[StreamEvent]:
    """Yield the events of one model call. Time limits apply to each wait for an event, not to a `yield`."""
    attempt = 0
    while True:
        has_begun = False
        held: list[
            StreamEvent
        ] = []  # the start, which has nothing of the answer: an error after it is retried
        error: LlmError = StreamError("the stream did not end")
        step_end = None if options.step_timeout_s is None else anyio.current_time() + options.step_timeout_s
        left = min((at for at in (end, step_end) if at is not None), default=None)
        try:
            async with aclosing(client.stream(request)) as events:
                while True:
                    with _limit_time(None if left is None else left - anyio.current_time(), "the answer"):
                        event = await anext(events, None)
                    if isinstance(event, StreamStart) and not has_begun:
                        held.append(event)
                        continue
                    has_begun = True
                    for start in held:
                        yield start
                    held.clear()
                    if event is None:
                        return
                    yield event
        except LlmError as failed:
            error = failed
        if has_begun:
            raise error
        attempt = await _wait_for_retry(error, attempt, options)


@overload
async def generate_object(
    request: Request,
    schema: type[T],
    *,
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> GenerateResult[T]: ...


@overload
async def generate_object(
    request: Request,
    schema: JsonObject,
    *,
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> GenerateResult[Any]: ...


@typed
async def generate_object(
    request: Request,
    schema: JsonObject | type[Any],
    *,
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> GenerateResult[Any]:
    """Return an answer whose `output` matches `schema`.

    The `output` is JSON for a JSON Schema, and an instance for a pydantic model, a dataclass or a TypedDict.

    Raises:
        NoObjectGeneratedError: the answer is not JSON or does not match `schema`; the call is not repeated.
        ConfigurationError: `schema` is not a JSON Schema, or a class without one. LlmError: the errors of generate().
    """
    wanted = object_type(schema)
    result = await generate(_with_schema(request, wanted.schema), options=options, client=client)
    return GenerateResult(result.steps, _parse_object(wanted, result.response, result.total_usage))


class ObjectStream(Generic[Output]):
    """A streamed object. Iterate over it once for partial objects; `object()` returns the complete object."""

    def __init__(self, events: StreamResult, read: Callable[[Response, Usage], Output]) -> None:
        self._events = events
        self._read = read

    async def __aiter__(self) -> AsyncIterator[Any]:
        pieces: list[str] = []
        last: Any = None
        async for event in self._events:
            if isinstance(event, TextDelta):
                pieces.append(event.text)
                found = parse_partial(_strip_fence("".join(pieces)))
                if found is not None and found != last:
                    last = found
                    yield found

    def object(self) -> Output:
        """Return the complete object.

        Raises:
            NoObjectGeneratedError: the answer is not JSON or does not match the schema.
            StreamError: the stream has not ended.
        """
        response = self._events.response()
        return self._read(response, response.usage)


@overload
def stream_object(
    request: Request,
    schema: type[T],
    *,
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> ObjectStream[T]: ...


@overload
def stream_object(
    request: Request,
    schema: JsonObject,
    *,
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> ObjectStream[Any]: ...


@typed
def stream_object(
    request: Request,
    schema: JsonObject | type[Any],
    *,
    options: GenerateOptions = DEFAULT_GENERATE_OPTIONS,
    client: Client | None = None,
) -> ObjectStream[Any]:
    """Stream the answer of generate_object() as partial objects."""
    wanted = object_type(schema)
    return ObjectStream(
        stream(_with_schema(request, wanted.schema), options=options, client=client),
        partial(_parse_object, wanted),
    )


class _Loop:
    """The state of one tool loop: its steps, and the next request."""

    def __init__(self, request: Request, tools: Sequence[CallableTool], options: GenerateOptions) -> None:
        self.steps: list[GenerateStep] = []
        self._tools: Mapping[str, CallableTool] = {tool.name: tool for tool in tools}
        self._options = options
        self._rounds = self._pauses = 0
        definitions = tuple(tool.definition for tool in tools)
        self.request = replace(request, tools=(*request.tools, *definitions))

    async def run_step(self, response: Response) -> bool:
        """Record the answer, run its tools, and return whether to call the model again."""
        if response.finish_reason.kind == "pause" and self._pauses < MAX_PAUSES:
            self._pauses += 1
            self.steps.append(GenerateStep(response))
            self._say(response.message)
            return True
        if not self._runs(response):
            self.steps.append(GenerateStep(response))
            return False
        results = await self._results(response)
        self.steps.append(GenerateStep(response, results))
        self._say(response.message, tool_results(results))
        self._rounds += 1
        return not (self._options.stop_when and self._options.stop_when(self.steps))

    def _runs(self, response: Response) -> bool:
        """Return whether to run the tool calls of this response.

        Otherwise the calls are returned to the caller: if the answer was truncated, if a called tool has no handler,
        or if the tools have run `max_tool_rounds` times.
        """
        calls = response.tool_calls
        is_passive = any((tool := self._tools.get(call.name)) and tool.execute is None for call in calls)
        is_natural = response.finish_reason.kind == "tool_calls"
        has_rounds = self._rounds < self._options.max_tool_rounds
        return bool(calls) and is_natural and has_rounds and not is_passive and bool(self._tools)

    async def _results(self, response: Response) -> tuple[ToolResultPart, ...]:
        """Run the calls in parallel, and return their results in call order."""
        found: dict[int, ToolResultPart] = {}

        async def one(at: int, call: ToolCallPart) -> None:
            found[at] = await run_tool(call, self._tools, self.request.messages, self._options.repair)

        async with anyio.create_task_group() as group:
            for at, call in enumerate(response.tool_calls):
                group.start_soon(one, at, call)
        return tuple(found[at] for at in sorted(found))

    def _say(self, *messages: Message) -> None:
        self.request = replace(self.request, messages=(*self.request.messages, *messages))


@typed
async def retry(call: Callable[[], Awaitable[T]], options: GenerateOptions = DEFAULT_GENERATE_OPTIONS) -> T:
    """Await `call()`, repeatedly after retryable errors: `await retry(lambda: client.complete(request))`.

    Of `options` only `retry`, `on_retry`, `sleep` and `random` are used.

    Raises:
        LlmError: the error of the last attempt.
    """
    attempt = 0
    while True:
        try:
            return await call()
        except LlmError as error:
            attempt = await _wait_for_retry(error, attempt, options)


async def _wait_for_retry(error: LlmError, attempt: int, options: GenerateOptions) -> int:
    """Wait for the next attempt and return its number, or raise `error` if no attempt is left."""
    delay_s = retry_delay_s(error, attempt, options.retry, options.random())
    if delay_s is None:
        raise error
    if options.on_retry:
        options.on_retry(error, attempt + 1, delay_s)
    await options.sleep(delay_s)
    return attempt + 1


async def _call_in_time(call: Callable[[], Awaitable[T]], limit_s: float | None) -> T:
    with _limit_time(limit_s, "the answer"):
        return await call()


@contextmanager
def _limit_time(limit_s: float | None, what: str) -> Iterator[None]:
    with anyio.move_on_after(limit_s) as scope:
        yield
    if scope.cancelled_caught:
        error = RequestTimeoutError(
            f"{what} took longer than its time limit", hint="Set a longer time limit."
        )
        error.retryable = False  # a retry would exceed the caller's time limit again
        raise error


def _with_schema(request: Request, schema: JsonObject) -> Request:
    check_schema(schema)
    return replace(request, response_format=JsonFormat(schema))


def _parse_object(wanted: ObjectType, response: Response, usage: Usage) -> Any:
    text = _strip_fence(response.text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _no_object("the answer is not valid JSON", response, usage) from None
    if problem := find_schema_error(value, wanted.schema, is_own=True):
        raise _no_object(f"the answer does not match the schema: {problem}", response, usage)
    if wanted.read is None:
        return value
    try:
        return wanted.read(text)
    except ValueError as error:  # a validator of the program's class
        words = f"the answer does not fit the class: {to_display_line(str(error), PROBLEM_CHARS)}"
        raise _no_object(words, response, usage) from error


def _no_object(problem: str, response: Response, usage: Usage) -> NoObjectGeneratedError:
    return NoObjectGeneratedError(
        problem,
        text=response.text,
        usage=usage,
        provider=response.provider,
        model=response.model,
    )


def parse_partial(text: str) -> Any:
    """Return the value of an incomplete JSON text, None if it has no value yet. The last string may be incomplete."""
    try:
        return from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None


def _strip_fence(text: str) -> str:
    """Remove the code fence that some models put around JSON."""
    text = text.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].removesuffix("```")
    return text
