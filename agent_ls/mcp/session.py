"""One connection to an MCP server, through the official SDK. Only this module and its imports load the SDK.

The SDK rejects a whole list or result if one entry is invalid. Therefore invalid tools, prompts and resources are
removed from messages, and reported, and results are repaired, before the SDK reads the messages.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from agent_ls._version import __version__
from agent_ls.addresses import split_address
from agent_ls.llm.http.address import find_proxy
from agent_ls.mcp.config import OBSOLETE, HttpTarget
from agent_ls.mcp.descriptions import (
    CallResult,
    Elicitation,
    ElicitationReply,
    Era,
    ResultBlock,
    ServerDescription,
)
from agent_ls.mcp.elicitation import fields_of
from agent_ls.mcp.http_answers import HttpAnswers
from agent_ls.mcp.limits import HttpLimits, JudgeAddress
from agent_ls.mcp.older_version import AskingStream, supported_version
from agent_ls.mcp.patience import Patient
from agent_ls.mcp.process import MAX_LINE_BYTES, EndedError, ServerProcess
from agent_ls.mcp.repairs import as_result, reduce_tool, repair_question, repair_result, repair_tool
from agent_ls.mcp.schemas import is_object_schema
from agent_ls.mcp.sdk_values import (
    block_of,
    content_of,
    key_of,
    prompt_of,
    resource_of,
    template_of,
    tool_of,
)
from agent_ls.mcp.server_questions import Asker
from agent_ls.mcp.session_errors import (
    SDK_REFUSED,
    McpServerError,
    RequestLimit,
    is_closed,
    problem_of,
)
from agent_ls.mcp.stored_login import StoredLogin

# the SDK would log messages of the server, with tracebacks
logging.getLogger("mcp").setLevel(logging.CRITICAL)

T = TypeVar("T")

_DIRECT: Mapping[str, None] = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}
"""A proxy cannot reach servers of this machine."""
PROBE_S = 5
END_S = 1
LISTEN_AGAIN_S = (0, 1, 4, 16, 60)
"""Seconds before each new subscription, after one that has ended."""
MAX_PAGES = 100
MAX_ITEMS = 2_000
MAX_STALE_PAGES = 3
MAX_INSTRUCTIONS = 2 * 1024

_LISTS: Mapping[str, type[Any]] = {
    "tools": types.Tool,
    "prompts": types.Prompt,
    "resources": types.Resource,
    "resourceTemplates": types.ResourceTemplate,
}
TEMPLATES_S = 5
"""Some servers do not answer requests that they do not know."""


@dataclass(frozen=True, slots=True)
class ConnectionCallbacks:
    """Functions that a connection calls. `changed` gets the name of the list that changed, and returns at
    once.
    """

    changed: Callable[[str], None]
    elicit: Callable[[Elicitation], Awaitable[ElicitationReply]]
    roots: Callable[[], Sequence[str]]


@dataclass(slots=True)
class _ListFilter:
    """Repairs results in a server's messages, and removes invalid entries from their lists.

    `problems` has a sentence for each removed entry. `announces_nothing`: the server has not said what it can.
    """

    problems: dict[str, str] = field(default_factory=dict)
    announces_nothing: bool = False

    def remove_invalid(self, message: Any) -> None:
        if isinstance(message, dict) and "result" in message:
            message["result"] = as_result(message["result"])
        error = message.get("error") if isinstance(message, dict) else None
        if isinstance(error, dict) and error.get("code") == types.CONNECTION_CLOSED:
            error["code"] = types.INTERNAL_ERROR  # the connection has not ended: the server has just answered
        method, params, result = (
            message.get(name) if isinstance(message, dict) else getattr(message, name, None)
            for name in ("method", "params", "result")
        )
        repair_question(method, params)
        if isinstance(result, dict):
            questions = result.get("inputRequests")
            for asked in questions.values() if isinstance(questions, dict) else ():
                if isinstance(asked, dict):
                    repair_question(asked.get("method"), asked.get("params"))
            if result.keys() & {"capabilities", "protocolVersion"}:
                self.announces_nothing = not result.get("capabilities")
            repair_result(result)
            for kind, model in _LISTS.items():
                if isinstance(result.get(kind), list):
                    result[kind] = [it for it in result[kind] if self._is_valid(kind, model, it)]

    def _is_valid(self, kind: str, model: type[Any], item: Any) -> bool:
        name = str(item.get("name", "")) if isinstance(item, dict) else ""
        if kind == "tools" and isinstance(item, dict):
            repair_tool(item)
        if kind == "tools" and isinstance(item, dict) and not _is_of(model, item):
            reduce_tool(item)
        try:
            model.model_validate(item, by_name=False)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where = ".".join(map(str, problem["loc"]))
            words = f"{where}: {problem['msg']}" if where else str(problem["msg"])
            self.problems[f"{kind} {name}"] = f"the {kind[:-1]} {name or '(no name)'} is left out: {words}"
            return False
        if kind == "tools" and not is_object_schema(item["inputSchema"]):
            self.problems[f"{kind} {name}"] = (
                f"the tool {name} is left out: its schema does not describe an object"
            )
            return False
        if kind == "tools" and (item.get("execution") or {}).get("taskSupport") == "required":
            words = "the tool can only be called as a task, which agent-ls does not support"
            self.problems[f"{kind} {name}"] = f"the tool {name} is left out: {words}"
            return False
        return True


def _is_of(model: type[Any], item: Any) -> bool:
    try:
        model.model_validate(item, by_name=False)
    except ValidationError:
        return False
    return True


class McpConnection:
    """An open connection. Any task may call it while the connection is open."""

    def __init__(
        self, client: Client, list_filter: _ListFilter, asker: Asker, answers: HttpAnswers | None = None
    ) -> None:
        self._client = client
        self._list_filter = list_filter
        self._asker = asker
        self._answers = answers

    @property
    def era(self) -> Era:
        return "modern" if self._client.protocol_version in MODERN_PROTOCOL_VERSIONS else "legacy"

    async def describe(self, timeout_s: float) -> ServerDescription:
        """Ask the server for its tools, prompts and resources.

        Raises:
            McpServerError: the server did not answer in time.
        """
        client = self._client
        can = client.server_capabilities
        info = client.server_info
        self._list_filter.problems.clear()
        with RequestLimit(timeout_s, self._answers):
            fetch = self._fetch_other if self._list_filter.announces_nothing else self._fetch_list
            tools = await fetch("tools", client.list_tools) if can.tools else []
            prompts = await self._fetch_other("prompts", client.list_prompts) if can.prompts else []
            resources = await self._fetch_other("resources", client.list_resources) if can.resources else []
            templates: list[Any] = []
            with anyio.move_on_after(TEMPLATES_S if can.resources else 0):
                templates = await self._fetch_other("resource_templates", client.list_resource_templates)
        return ServerDescription(
            title=(info.title or info.name) if info else "",
            version=info.version if info else "",
            era=self.era,
            protocol=str(client.protocol_version),
            instructions=(client.instructions or "")[:MAX_INSTRUCTIONS],
            tools=tuple(map(tool_of, tools)),
            prompts=tuple(map(prompt_of, prompts)),
            resources=tuple(map(resource_of, resources)),
            templates=tuple(map(template_of, templates)),
            invalid=tuple(self._list_filter.problems.values()),
        )

    async def _fetch_other(self, kind: str, fetch: Callable[..., Awaitable[Any]]) -> list[Any]:
        """Return the items of a list without which the tools still work. Servers announce lists that they lack."""
        try:
            return await self._fetch_list(kind, fetch)
        except MCPError as error:
            if is_closed(error):
                raise
            if error.error.code != types.METHOD_NOT_FOUND:
                self._list_filter.problems[kind] = f"the {kind} cannot be listed: {error.error.message}"
            return []

    async def _fetch_list(self, kind: str, fetch: Callable[..., Awaitable[Any]]) -> list[Any]:
        """Return the items of all pages. Some servers send a cursor on each page, also the last one: pages end where a
        cursor comes again or an empty one is refused, or after MAX_STALE_PAGES pages without a new item.
        """
        items: dict[str, Any] = {}
        cursor: str | None = None
        seen = set[str | None]()
        stale = 0
        for _ in range(MAX_PAGES):
            try:
                page = await fetch(cursor=cursor, cache_mode="refresh")
            except MCPError as error:
                if cursor != "" or is_closed(error):
                    raise
                break
            before = len(items)
            for item in getattr(page, kind):
                items.setdefault(key_of(item), item)
            seen.add(cursor)
            cursor = page.next_cursor
            stale = stale + 1 if len(items) == before else 0
            if cursor is None or cursor in seen or stale == MAX_STALE_PAGES or len(items) >= MAX_ITEMS:
                break
        return [*items.values()][:MAX_ITEMS]

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_s: float, on_progress: Callable[[str], None]
    ) -> CallResult:
        """Call a tool. Cancelling this method notifies the server. Each message about progress begins the time limit
        again, up to MAX_EXTENDED times the limit in all.

        Raises:
            SessionLostError: the call did not reach the server's tool, because a new connection is needed.
            McpServerError: the server refused the call, sent an invalid answer, ended, or took too long.
        """

        limit = RequestLimit(timeout_s, self._answers)

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            limit.extend(anyio.current_time())
            share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
            on_progress(f"{share} {message}" if message else share)

        with limit, self._asker.during(limit):
            try:
                result = await self._client.call_tool(tool, dict(arguments), progress_callback=progress)
            except MCPError as error:
                if error.error.code != types.URL_ELICITATION_REQUIRED:
                    raise
                if not await self._asker.open_pages(error.error.data):
                    raise
                result = await self._client.call_tool(tool, dict(arguments), progress_callback=progress)
        blocks = tuple(block for part in result.content if (block := block_of(part)))
        return CallResult(blocks, result.structured_content, bool(result.is_error))

    async def prompt(
        self, name: str, arguments: Mapping[str, str], timeout_s: float
    ) -> Sequence[ResultBlock]:
        """Return the messages of a prompt.

        Raises:
            McpServerError: the server refused the request, sent an invalid answer, ended, or took too long.
        """
        with RequestLimit(timeout_s, self._answers):
            result = await self._client.get_prompt(name, dict(arguments))
        return [block for message in result.messages if (block := block_of(message.content))]

    async def resource(self, uri: str, timeout_s: float) -> Sequence[ResultBlock]:
        """Return the contents of a resource.

        Raises:
            McpServerError: the server refused the request, sent an invalid answer, ended, or took too long.
        """
        with RequestLimit(timeout_s, self._answers):
            result = await self._client.read_resource(uri)
        return [content_of(part) for part in result.contents]

    async def follow_changes(self, changed: Callable[[str], None]) -> None:
        """Subscribe to changes of lists, as newer protocol versions require, and again when a subscription ends.
        Returns if the server does not support subscriptions.
        """
        if self.era == "legacy":
            return
        can = self._client.server_capabilities
        waits = [*LISTEN_AGAIN_S]
        while True:
            begun = anyio.current_time()
            try:
                async with self._client.listen(
                    tools_list_changed=bool(can.tools and can.tools.list_changed),
                    prompts_list_changed=bool(can.prompts and can.prompts.list_changed),
                    resources_list_changed=bool(can.resources and can.resources.list_changed),
                ) as events:
                    if len(waits) < len(LISTEN_AGAIN_S):
                        changed("unknown")  # nobody has said what changed between two subscriptions
                    async for event in events:
                        changed(type(event).__name__)
            except SubscriptionLost:
                pass
            except (MCPError, RuntimeError, TimeoutError):
                return
            if anyio.current_time() - begun > LISTEN_AGAIN_S[-1]:
                waits = [*LISTEN_AGAIN_S]
            if not waits:
                return
            await anyio.sleep(waits.pop(0))


@asynccontextmanager
async def by_process(
    process: ServerProcess, callbacks: ConnectionCallbacks, *, is_legacy: bool, timeout_s: float
) -> AsyncIterator[McpConnection]:
    """Connect to a running process.

    Raises:
        McpServerError, EndedError: the connection failed.
    """
    list_filter = _ListFilter()
    async with _connected(
        _stdio(process, list_filter), list_filter, callbacks, is_legacy, timeout_s
    ) as connection:
        yield connection


def excluded_host(url: str) -> Mapping[str, None]:
    """Return the host of a server that NO_PROXY excludes: httpx2 ignores networks there."""
    at = split_address(url)
    host, port = at.hostname or "", at.port or (443 if at.scheme == "https" else 80)
    return (
        {} if find_proxy(at.scheme, host, port) else {f"all://{f'[{host}]' if ':' in host else host}": None}
    )


@asynccontextmanager
async def by_http(
    target: HttpTarget,
    callbacks: ConnectionCallbacks,
    *,
    auth: httpx2.Auth | None,
    judge: JudgeAddress,
    is_legacy: bool,
    timeout_s: float,
) -> AsyncIterator[McpConnection]:
    """Connect to a server by HTTP. Redirects to other origins are refused.

    Raises:
        McpServerError: the connection failed. Its cause is LoginNeededError if the user must log in first.
    """
    list_filter = _ListFilter()
    timeout = httpx2.Timeout(timeout_s, read=None)
    hooks: Any = HttpLimits(target.url, MAX_LINE_BYTES, judge).hooks()
    answers = HttpAnswers(auth if isinstance(auth, StoredLogin) else None)
    hooks["response"].append(answers.read)
    try:
        client = httpx2.AsyncClient(
            headers=dict(target.headers),
            timeout=timeout,
            auth=Patient(auth),
            event_hooks=hooks,
            mounts={**_DIRECT, **excluded_host(target.url)},
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        raise McpServerError(
            "the proxy settings in the environment cannot be used: check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
        ) from error
    async with client as http:

        def connected(version: str) -> AbstractAsyncContextManager[McpConnection]:
            transport = streamable_http_client(
                target.url, http_client=http, max_sse_event_size=MAX_LINE_BYTES, terminate_on_close=False
            )
            pair = _filter_lists(transport, list_filter, version)
            legacy = is_legacy or bool(version)
            return _connected(pair, list_filter, callbacks, legacy, timeout_s, answers)

        async with AsyncExitStack() as stack:
            stack.push_async_callback(_end_session, http, target.url, answers)
            try:
                connection = await stack.enter_async_context(connected(""))
            except McpServerError as error:
                if failure := answers.login_failure:
                    raise McpServerError(str(failure)) from failure
                if not (version := supported_version(answers.refused)):
                    if await _is_obsolete(http, target.url, answers):
                        raise McpServerError(f"the server {OBSOLETE}") from error
                    if str(error) == SDK_REFUSED and answers.refused:
                        raise McpServerError(answers.refused) from error
                    raise
                connection = await stack.enter_async_context(connected(version))
            yield connection


async def _end_session(http: httpx2.AsyncClient, url: str, answers: HttpAnswers) -> None:
    """Let a server end its session, also when the connection is cancelled. Nothing is renewed or logged in for that."""
    if answers.session and not answers.has_lost_session:
        with anyio.move_on_after(END_S, shield=True), suppress(httpx2.HTTPError, httpx2.StreamError):
            await http.delete(url, headers=answers.session, auth=httpx2.Auth())


async def _is_obsolete(http: httpx2.AsyncClient, url: str, answers: HttpAnswers) -> bool:
    """Return whether a server that has refused the handshake speaks the obsolete transport: its stream begins with the
    address for messages.
    """
    with anyio.move_on_after(PROBE_S), suppress(httpx2.HTTPError, httpx2.StreamError):
        async with http.stream("GET", url, headers={"accept": "text/event-stream"}) as response:
            async for _ in response.aiter_bytes():
                if answers.is_obsolete:
                    break
    return answers.is_obsolete


@asynccontextmanager
async def _connected(
    transport: Any,
    list_filter: _ListFilter,
    callbacks: ConnectionCallbacks,
    is_legacy: bool,
    timeout_s: float,
    answers: HttpAnswers | None = None,
) -> AsyncIterator[McpConnection]:
    async def on_message(message: Any) -> None:
        match message:
            case types.ToolListChangedNotification():
                callbacks.changed("tools")
            case types.PromptListChangedNotification():
                callbacks.changed("prompts")
            case types.ResourceListChangedNotification():
                callbacks.changed("resources")

    asker = Asker(callbacks.elicit)

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        if isinstance(params, types.ElicitRequestURLParams):
            asked = Elicitation(params.message, url=params.url)
        else:
            asked = Elicitation(params.message, fields_of(params.requested_schema))
        reply = await asker.ask(asked)
        is_form = reply.action == "accept" and not asked.url
        content: Any = dict(reply.content) if is_form else None
        return types.ElicitResult(action=reply.action, content=content)

    async def roots(context: Any) -> types.ListRootsResult:
        folders = [Path(folder) for folder in callbacks.roots()]
        return types.ListRootsResult(
            roots=[types.Root.model_validate({"uri": it.as_uri(), "name": it.name}) for it in folders]
        )

    client = Client(
        transport,
        message_handler=on_message,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        client_info=types.Implementation(name="agent-ls", version=__version__),
        mode="legacy" if is_legacy else "auto",
        cache=None,
    )
    entered = False
    try:
        with anyio.move_on_after(timeout_s) as starting:
            async with client:
                entered = True
                starting.deadline = float("inf")
                yield McpConnection(client, list_filter, asker, answers)
        if starting.cancelled_caught and not entered:
            raise McpServerError(f"the server did not answer within {timeout_s:g} s")
    except BaseException as error:
        if entered:
            raise
        if problem := problem_of(error):
            raise McpServerError(problem) from error
        raise


@asynccontextmanager
async def _stdio(process: ServerProcess, list_filter: _ListFilter) -> AsyncIterator[tuple[Any, Any]]:
    """Return the pair of streams that the SDK's client reads and writes."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        async with incoming:
            try:
                async for raw in process.messages():
                    list_filter.remove_invalid(raw)
                    try:
                        message = types.jsonrpc_message_adapter.validate_python(raw, by_name=False)
                    except ValidationError:
                        process.noise += 1
                        continue
                    await incoming.send(SessionMessage(message))
            except (EndedError, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                return

    async def send() -> None:
        async with outgoing:
            async for item in outgoing:
                try:
                    plain = item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
                    # ASCII only: on Windows, many servers read their input in the code page of the system
                    await process.send(json.dumps(plain, separators=(",", ":")))
                except EndedError:
                    return

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        try:
            async with read, write:
                yield read, write
        finally:
            group.cancel_scope.cancel()


class _FilteredStream:
    """Wraps a stream of messages from a server, and removes invalid entries from the lists in the messages."""

    def __init__(self, stream: Any, list_filter: _ListFilter) -> None:
        self._stream = stream
        self._list_filter = list_filter

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return self._filter(await self._stream.receive())

    def _filter(self, item: Any) -> Any:
        if isinstance(item, SessionMessage):
            self._list_filter.remove_invalid(item.message)
        return item

    async def aclose(self) -> None:
        await self._stream.aclose()

    def close(self) -> None:
        self._stream.close()

    def __aiter__(self) -> _FilteredStream:
        return self

    async def __anext__(self) -> Any:
        return self._filter(await self._stream.__anext__())

    async def __aenter__(self) -> _FilteredStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> bool | None:
        left: bool | None = await self._stream.__aexit__(*details)
        return left


@asynccontextmanager
async def _filter_lists(
    transport: AbstractAsyncContextManager[Any], list_filter: _ListFilter, version: str
) -> AsyncIterator[tuple[Any, Any]]:
    """Filter what the server sends. `version`: the version of the protocol to ask for, "" for the SDK's choice."""
    async with transport as (read, write):
        yield _FilteredStream(read, list_filter), AskingStream(write, version) if version else write
