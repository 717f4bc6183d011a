"""Call tools as the session does, in an in-memory environment. A test controls its background processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecResult,
    FileState,
    FileWrite,
    OutputSink,
    ProcessInfo,
    sha256,
)
from agent_ls.environments.errors import InputRefusedError, PathNotFoundError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.base import Prepared, ShellLimits, Tool, ToolContext, ToolError, ToolOutput


@dataclass
class Reads:
    """Files that the model has read. `keeps_content` False: only their digests are known, as in a resumed session."""

    digests: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    keeps_content: bool = True

    def digest_of(self, path: str) -> str | None:
        return self.digests.get(path)

    def record(self, path: str, digest: str, content: bytes | None = None) -> None:
        self.digests[path] = digest
        self.contents.pop(path, None)
        if content is not None and self.keeps_content:
            assert sha256(content) == digest
            self.contents[path] = content

    def content_of(self, path: str) -> bytes | None:
        return self.contents.get(path)


class ProcessEnvironment(MemoryEnvironment):
    """An in-memory environment with background processes whose output the test writes."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[tuple[str, CommandOptions]] = []
        self.processes: dict[str, ProcessInfo] = {}
        self.outputs: dict[str, str] = {}
        self.inputs: dict[str, str] = {}
        self.closed: set[str] = set()
        self.ended = anyio.Event()

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        self.started.append((command, options))
        process = ProcessInfo(f"p{len(self.started)}", command, 100 + len(self.started), None, 0)
        self.processes[process.id] = process
        self.outputs[process.id] = ""
        return process

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return tuple(self.processes.values())

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        text = self.outputs[process_id]
        return text[offset:], len(text)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        while self.processes[process_id].exit_code is None:
            self.ended = anyio.Event()
            await self.ended.wait()
        return self.processes[process_id]

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        if process_id in self.closed:
            raise InputRefusedError(process_id, "the input of the process was closed")
        self.inputs[process_id] = self.inputs.get(process_id, "") + text
        if close:
            self.closed.add(process_id)
        return self.processes[process_id]

    async def kill_process(self, process_id: str) -> ProcessInfo:
        if process_id not in self.processes:
            raise PathNotFoundError(process_id)
        self.processes[process_id] = replace(self.processes[process_id], exit_code=-15)
        self.ended.set()
        return self.processes[process_id]


class TypingEnvironment(MemoryEnvironment):
    """An environment whose user adds a line to every file while it is written, as in an editor."""

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        carried = [replace(w, content=w.content + b"# typed meanwhile\n") if w.content else w for w in writes]
        return await super().commit(carried, attribution)


class ToolCalls:
    """Calls of one session, which share the environment and the record of read files."""

    def __init__(
        self, environment: MemoryEnvironment | None = None, *, limits: ShellLimits | None = None
    ) -> None:
        self.environment = environment or MemoryEnvironment()
        self.reads = Reads()
        self.streamed: list[tuple[str, str]] = []
        self.context = ToolContext(
            environment=self.environment,
            attribution=Attribution("s", "t", "c"),
            on_output=lambda stream, text: self.streamed.append((stream, text)),
            reads=self.reads,
            shell_limits=limits or ShellLimits(),
        )

    async def prepare(self, tool: Tool[Any], **arguments: object) -> Prepared:
        return await tool.prepare(tool.arguments.model_validate(arguments), self.context)

    async def call(self, tool: Tool[Any], **arguments: object) -> ToolOutput:
        return await (await self.prepare(tool, **arguments)).run()

    async def fails(self, tool: Tool[Any], **arguments: object) -> ToolError:
        """Return the error of a call that must fail and leave every file unchanged."""
        files = dict(self.environment.files)
        try:
            output = await self.call(tool, **arguments)
        except ToolError as error:
            assert self.environment.files == files
            return error
        raise AssertionError(f"{tool.name} did not fail: {output.text}")

    def text(self, path: str) -> str:
        return self.bytes(path).decode()

    def bytes(self, path: str) -> bytes:
        return self.environment.files[f"{self.environment.working_directory()}/{path}"].content

    def exists(self, path: str) -> bool:
        return f"{self.environment.working_directory()}/{path}" in self.environment.files


def result(output: str = "", exit_code: int = 0, **facts: Any) -> ExecResult:
    values: dict[str, Any] = {"timed_out": False, "duration_ms": 12, "note": ""} | facts
    return ExecResult(output, "", output, exit_code, **values)


def commands(answer: ExecResult, seen: list[tuple[str, CommandOptions]] | None = None) -> MemoryEnvironment:
    """Return an environment in which every command returns `answer`. `seen` gets the commands."""

    async def run(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
        if seen is not None:
            seen.append((command, options))
        if on_output and answer.output:
            on_output("stdout", answer.output)
        return answer

    return MemoryEnvironment(run_command=run)
