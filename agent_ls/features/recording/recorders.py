"""Record in a file (mode 0600), in order, the data that a session receives from its model and environment.

Known keys are removed as the last step before a line is written. If writing fails, the recording ends, and the
session continues.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    DirEntry,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import EnvError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.features.recording.codec import to_json_value
from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import Message, Role
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent
from agent_ls.loop.calls.redaction import MARK
from agent_ls.loop.seams import ModelClient
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
        told = conversation_messages(request.messages)
        first = self._known if self._known <= len(told) else 0
        self._known = len(told)
        self._recording.write({"asked": {"model": request.model, "from": first, "messages": told[first:]}})


def conversation_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages without the system prompt, because its date would differ in a replay."""
    return [to_json_value(message) for message in messages if message.role is not Role.SYSTEM]


class _RecordingEnvironment(ForwardingEnvironment):
    def __init__(self, inner: ExecutionEnvironment, recording: RecordingWriter) -> None:
        super().__init__(inner)
        self._recording = recording


class RecordingCommands(_RecordingEnvironment):
    """Records results of commands, before other wrappers add text to them."""

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        with _record_errors(self._recording, "exec_command", command, options.working_dir):
            result = await self.inner.exec_command(command, options, on_output)
            return self._recording.write_call("exec_command", (command, options.working_dir), result)


class RecordingFiles(_RecordingEnvironment):
    """Records results and errors of all operations except commands."""

    def platform(self) -> str:
        return self._recording.write_call("platform", (), self.inner.platform())

    def os_version(self) -> str:
        return self._recording.write_call("os_version", (), self.inner.os_version())

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        with _record_errors(self._recording, "read_bytes", path, max_bytes):
            return self._recording.write_call(
                "read_bytes", (path, max_bytes), await self.inner.read_bytes(path, max_bytes)
            )

    async def file_exists(self, path: str) -> bool:
        return self._recording.write_call("file_exists", (path,), await self.inner.file_exists(path))

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        with _record_errors(self._recording, "list_directory", path, depth):
            return self._recording.write_call(
                "list_directory", (path, depth), await self.inner.list_directory(path, depth)
            )

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        with _record_errors(self._recording, "commit", list(writes)):
            return self._recording.write_call(
                "commit", (list(writes),), await self.inner.commit(writes, attribution)
            )

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        with _record_errors(self._recording, "start_process", command):
            return self._recording.write_call(
                "start_process", (command,), await self.inner.start_process(command, options)
            )

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return self._recording.write_call("list_processes", (), await self.inner.list_processes())

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        with _record_errors(self._recording, "read_process", process_id, offset):
            read = await self.inner.read_process(process_id, offset)
            return self._recording.write_call("read_process", (process_id, offset), read)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        with _record_errors(self._recording, "wait_process", process_id):
            return self._recording.write_call(
                "wait_process", (process_id,), await self.inner.wait_process(process_id)
            )

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        with _record_errors(self._recording, "write_process", process_id, text):
            written = await self.inner.write_process(process_id, text, close=close)
            return self._recording.write_call("write_process", (process_id, text), written)

    async def kill_process(self, process_id: str) -> ProcessInfo:
        with _record_errors(self._recording, "kill_process", process_id):
            return self._recording.write_call(
                "kill_process", (process_id,), await self.inner.kill_process(process_id)
            )

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        with _record_errors(self._recording, "grep", pattern, path, options):
            return self._recording.write_call(
                "grep", (pattern, path, options), await self.inner.grep(pattern, path, options)
            )

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        with _record_errors(self._recording, "glob", pattern, path):
            return self._recording.write_call("glob", (pattern, path), await self.inner.glob(pattern, path))


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


class _record_errors:  # lower case, because it is used as a context manager
    """Context manager that records the error of an environment call."""

    def __init__(self, recording: RecordingWriter, what: str, *given: Any) -> None:
        self._recording, self._what, self._given = recording, what, given

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, EnvError):
            self._recording.write_call(self._what, self._given, error)
