"""Record in a file (mode 0600), in order, the data that a session receives from its model and environment.

Known keys are removed as the last step before a line is written. If writing fails, the recording ends, and the
session continues.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment, OutputSink
from agent_ls.environments.errors import EnvError
from agent_ls.environments.language_host import LanguageHost, LanguageQuery
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.features.recording.codec import to_json_value
from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import Message, Role
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent
from agent_ls.loop.calls.redaction import MARK
from agent_ls.loop.events.editor import EditNews
from agent_ls.loop.seams import ModelClient
from agent_ls.services.context.editor import EditorStatus
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS, Header, make_private_folder
from agent_ls.tools.web_fetch import WebFetcher, WebPage

T = TypeVar("T")

FORMAT = 1
HIDDEN = MARK

log = logging.getLogger(__name__)


class RecordingWriter:
    """A recording being written.

    `secrets` returns the keys to remove, longest first; it is called for each line.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], secrets: Callable[[], Sequence[str]]) -> None:
        """Create the file. Blocks.

        Raises:
            OSError: the file exists, or cannot be created.
        """
        self._secrets = secrets
        make_private_folder(path.parent)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
        self._file = os.open(path, flags, FILE_MODE)
        self.write({"recording": FORMAT, **header})

    def write(self, value: Mapping[str, Any]) -> None:
        if self._file < 0:
            return
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for secret in self._secrets():
            line = line.replace(json.dumps(secret, ensure_ascii=False)[1:-1], HIDDEN)
        try:
            os.write(self._file, line.encode("utf-8", "backslashreplace") + b"\n")
        except OSError as error:
            log.error("the recording stops, because its file cannot be written: %s", error)
            self.close()

    def write_call(self, what: str, given: Sequence[Any], answer: T) -> T:
        """Write a call of an environment or of a service, and return its answer."""
        self.write({"place": what, "given": to_json_value(list(given)), "answer": to_json_value(answer)})
        return answer

    def write_event(self, encoded: bytes) -> None:
        """Write an event of the session. `encoded` is the event as the event codec encodes it."""
        self.write({"event": json.loads(encoded)})

    def close(self) -> None:
        """Close the file. May be called again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def create_recording(
    path: Path, header: Header, settings: Mapping[str, Any], secrets: Callable[[], Iterable[str]]
) -> RecordingWriter:
    """Create a recording for a new session. Blocks.

    Raises:
        OSError: the file exists, or cannot be created.
    """
    facts = {
        "created": header.created,
        "workspaceFolder": header.workspace_folder,
        "provider": header.provider,
        "model": header.model,
    }
    return RecordingWriter(path, {**facts, **settings}, lambda: sorted(secrets(), key=len, reverse=True))


class RecordingClient:
    """Implements ModelClient: forwards to another ModelClient and records requests and responses."""

    def __init__(self, inner: ModelClient, recording: RecordingWriter) -> None:
        self._inner = inner
        self._recording = recording
        self._known = 0

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self._record_request(request)
        events = self._inner.stream(request)
        try:
            async for event in events:
                self._recording.write({"said": to_json_value(event)})
                yield event
        except LlmError as error:
            self._recording.write({"said": to_json_value(error)})
            raise
        finally:
            await events.aclose()

    async def complete(self, request: Request) -> Response:
        self._record_request(request)
        try:
            response = await self._inner.complete(request)
        except LlmError as error:
            self._recording.write({"said": to_json_value(error)})
            raise
        self._recording.write({"said": to_json_value(response)})
        return response

    def _record_request(self, request: Request) -> None:
        conversation = conversation_messages(request.messages)
        first = self._known if self._known <= len(conversation) else 0
        self._known = len(conversation)
        self._recording.write(
            {"asked": {"model": request.model, "from": first, "messages": conversation[first:]}}
        )


def conversation_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages without the system prompt, because its date would differ in a replay."""
    return [to_json_value(message) for message in messages if message.role is not Role.SYSTEM]


def _recorded(method: Callable[..., Any], given: Collection[str] = ()) -> Callable[..., Awaitable[Any]]:
    """Return a method that calls the method of this name of `inner`, and records its result or error.

    `given` names the arguments that are recorded; by default all are.
    """
    name, signature = method.__name__, inspect.signature(method)

    @wraps(method)
    async def call(self: _Recording, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *arguments = bound.arguments.items()
        values = [value for argument, value in arguments if not given or argument in given]
        try:
            answer = await getattr(self.inner, name)(*args, **kwargs)
        except EnvError as error:
            self.recording.write_call(name, values, error)
            raise
        return self.recording.write_call(name, values, answer)

    return call


class _Recording(Protocol):
    inner: Any
    recording: RecordingWriter


class RecordingCommands(ForwardingEnvironment):
    """Records results of commands, before other wrappers add text to them."""

    def __init__(self, inner: ExecutionEnvironment, recording: RecordingWriter) -> None:
        super().__init__(inner)
        self.recording = recording

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        given = (command, options.working_dir)
        try:
            result = await self.inner.exec_command(command, options, on_output)
        except EnvError as error:
            self.recording.write_call("exec_command", given, error)
            raise
        return self.recording.write_call("exec_command", given, result)


class RecordingFiles(ForwardingEnvironment):
    """Records results and errors of all operations except commands."""

    def __init__(self, inner: ExecutionEnvironment, recording: RecordingWriter) -> None:
        super().__init__(inner)
        self.recording = recording

    def platform(self) -> str:
        return self.recording.write_call("platform", (), self.inner.platform())

    def os_version(self) -> str:
        return self.recording.write_call("os_version", (), self.inner.os_version())


_GIVEN = {"commit": ("writes",), "start_process": ("command",), "write_process": ("process_id", "text")}
"""The arguments that are recorded, of methods with others."""

for _name, _method in vars(ForwardingEnvironment).items():
    if inspect.iscoroutinefunction(_method) and _name not in ("initialize", "cleanup", "exec_command"):
        setattr(RecordingFiles, _name, _recorded(_method, _GIVEN.get(_name, ())))


class RecordingEditorStatus:
    """Implements EditorStatus: forwards to another EditorStatus and records the results."""

    def __init__(self, inner: EditorStatus, recording: RecordingWriter) -> None:
        self._inner = inner
        self._recording = recording

    def situation(self, shown: Callable[[str], str]) -> str:
        return self._recording.write_call("situation", (), self._inner.situation(shown))

    def watch_edit(
        self, paths: Sequence[str], shown: Callable[[str], str]
    ) -> Callable[[], Awaitable[EditNews]]:
        news = self._inner.watch_edit(paths, shown)

        async def noted() -> EditNews:
            return self._recording.write_call("edit_news", (list(paths),), await news())

        return noted


class _RecordingLanguage:
    """Implements LanguageHost: forwards to another LanguageHost and records results and errors."""

    def __init__(self, inner: LanguageHost, recording: RecordingWriter) -> None:
        self.inner = inner
        self.recording = recording

    def supported_queries(self) -> frozenset[LanguageQuery]:
        answers = self.inner.supported_queries()
        self.recording.write_call("answers", (), sorted(answers))
        return answers


for _name, _method in vars(LanguageHost).items():
    if inspect.iscoroutinefunction(_method):
        setattr(_RecordingLanguage, _name, _recorded(_method))


def recording_language(inner: LanguageHost, recording: RecordingWriter) -> LanguageHost:
    """Return a LanguageHost that records the results and errors of another one."""
    return cast("LanguageHost", _RecordingLanguage(inner, recording))


class RecordingPages:
    """Implements WebFetcher: forwards to `inner`, and records the fetched pages and the errors."""

    def __init__(self, inner: WebFetcher, recording: RecordingWriter) -> None:
        self.inner = inner
        self._recording = recording

    def private_address(self, url: str) -> str:
        return self._recording.write_call("private_address", (url,), self.inner.private_address(url))

    async def fetch(self, url: str, private_address: str) -> WebPage:
        try:
            page = await self.inner.fetch(url, private_address)
        except EnvError as error:
            self._recording.write_call("fetch", (url, private_address), error)
            raise
        return self._recording.write_call("fetch", (url, private_address), page)
