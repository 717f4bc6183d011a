"""Pure: build the record of a tool call from its events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from agent_ls.loop.events.types import Envelope, FileChange, ToolCallEnd, ToolCallStart
from agent_ls.patterns import regex

ErrorType: TypeAlias = Literal[
    "ValidationError",
    "ExecutionError",
    "TimeoutError",
    "PermissionError",
    "ResourceError",
    "NetworkError",
    "QuotaError",
    "FatalError",
]
ChangeType: TypeAlias = Literal[
    "FileCreated",
    "FileModified",
    "FileDeleted",
    "FileMoved",
    "DirectoryCreated",
    "ProcessStarted",
    "ProcessTerminated",
]


@dataclass(frozen=True, slots=True)
class Remedy:
    """The type of a failure, and the action suggested to the model. `action` is "" for an error that the
    model cannot handle.
    """

    type: ErrorType
    action: str

    @property
    def is_recoverable(self) -> bool:
        return bool(self.action)


_CORRECT = Remedy("ValidationError", "Correct the arguments that the message names, and call again.")
_LOOK = Remedy("ResourceError", "Look for the right path with glob or list_dir.")
_READ_AGAIN = Remedy("ExecutionError", "Read the file again, and retry with its current text.")
_OTHERWISE = Remedy("PermissionError", "Choose another approach, or tell the user what you need.")
_CHECK = Remedy("ExecutionError", "Check what was done, then continue or retry.")

REMEDIES: Mapping[str, Remedy] = MappingProxyType(
    {
        "validation": _CORRECT,
        "invalid_pattern": _CORRECT,
        "unknown_tool": Remedy("ValidationError", "Call one of the tools that the message lists."),
        "unknown_agent": Remedy("ResourceError", "Use one of the agents that the message lists."),
        "file_not_found": _LOOK,
        "not_found": _LOOK,
        "ambiguous": _CORRECT,
        "invalid_notebook": _OTHERWISE,
        "is_notebook": _OTHERWISE,
        "lost": Remedy(
            "ResourceError",
            "Check the current state before you try again: part of the call may have had an effect.",
        ),
        "no_answer": Remedy("ResourceError", "Use another tool: the editor cannot answer this request."),
        "not_a_file": _LOOK,
        "not_a_folder": _LOOK,
        "file_exists": Remedy("ResourceError", "Read the existing file, and edit it."),
        "binary_file": Remedy("ResourceError", "Inspect the file with a command made for its format."),
        "too_large": Remedy("ResourceError", "Read a part of the file, or search in it."),
        "edit_conflict": _READ_AGAIN,
        "stale": _READ_AGAIN,
        "not_read": Remedy("ValidationError", "Read the file first, then change it."),
        "shell_exit": Remedy("ExecutionError", "Look at the output, correct the cause, and run it again."),
        "shell_timeout": Remedy(
            "TimeoutError", "Retry with a longer time limit, or run the command in the background."
        ),
        "timeout": Remedy("TimeoutError", "Search a smaller folder, or use a simpler pattern."),
        "process_start": Remedy("ExecutionError", "Correct the command, or use another program."),
        "process_limit": Remedy("QuotaError", "End a background process, or wait until one has ended."),
        "input_refused": Remedy(
            "ResourceError", "Check whether the process is running; start it again if needed."
        ),
        "permission_denied": _OTHERWISE,
        "access_denied": _OTHERWISE,
        "edit_refused": _OTHERWISE,
        "unsupported": Remedy(
            "ResourceError", "Continue without this action, because the environment does not support it."
        ),
        "limit": Remedy("QuotaError", "Wait until running work has ended, then call again."),
        "network": Remedy("NetworkError", "Retry later, or continue without this request."),
        "http_status": Remedy("NetworkError", "Check the address, or continue without this page."),
        "search": Remedy("NetworkError", "Search with other words, or continue without the search."),
        "page": Remedy("NetworkError", "Try another page, or continue without it."),
        "interrupted": _CHECK,
        "stopped": _CHECK,
        "not_run": Remedy("ExecutionError", "Call the tool again if the result is still needed."),
        "fatal": Remedy("FatalError", ""),
    }
)
OTHERS = Remedy("ExecutionError", "Read the error message, and try another approach.")


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change that a call made. `path` is an absolute path, or the id of a background process.

    `source` is the old path of a moved file, otherwise "".
    """

    type: ChangeType
    path: str
    source: str = ""

    def as_json(self) -> dict[str, str]:
        if self.type in ("ProcessStarted", "ProcessTerminated"):
            return {"type": self.type, "process_id": self.path}
        return {"type": self.type, "path": self.path, **({"from": self.source} if self.source else {})}


@dataclass(frozen=True, slots=True)
class CallError:
    """The error of a call.

    `code` is the error's kind in upper case, `message` is the complete error message. `command` is the command
    of the call, "" for a call without one. `timeout_ms` is the time limit that the command reached, or else the
    limit in the arguments; None if there is neither.
    """

    type: ErrorType
    code: str
    message: str
    partial_output: str
    command: str = ""
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """The record of a call that has ended.

    `output` is the text in the end event: the complete output, or its head and tail if `output_ref` refers to
    the complete one. For a failed call it is "", and `error` has the text. `output_chars` is the complete size,
    `model_chars` the size sent to the model. `model_chars` and `output_bytes` are None in older logs. `output`
    contains both stdout and stderr of a command, so truncation affects both.
    """

    tool_call_id: str
    agent_id: str
    name: str
    arguments: str
    timestamp: str
    success: bool
    output: str
    error: CallError | None
    exit_code: int | None
    execution_time_ms: int
    state_changes: tuple[RecordedChange, ...]
    recoverable: bool
    suggested_action: str
    output_chars: int
    model_chars: int | None
    output_ref: str
    output_bytes: int | None = None

    @property
    def is_truncated(self) -> bool:
        return self.model_chars is not None and self.model_chars < self.output_chars

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON. Fields that "Function Calls & Tool Calling" defines in section 6.2 have
        the names that are used there.
        """
        error = self.error
        return {
            "tool_call_id": self.tool_call_id,
            **({"agent_id": self.agent_id} if self.agent_id else {}),
            "name": self.name,
            "arguments": _parse_arguments(self.arguments),
            "timestamp": self.timestamp,
            "success": self.success,
            "output": self.output,
            "error": error
            and {
                "type": error.type,
                "code": error.code,
                "message": error.message,
                "details": {
                    **({"command": error.command} if error.command else {}),
                    **({"timeout_seconds": error.timeout_ms / 1000} if error.timeout_ms else {}),
                    "partial_output": error.partial_output,
                },
            },
            "exit_code": self.exit_code,
            "execution_time_ms": self.execution_time_ms,
            "state_changes": [change.as_json() for change in self.state_changes],
            "recoverable": self.recoverable,
            "suggested_action": self.suggested_action,
            "metadata": {
                "output_truncated": self.is_truncated,
                "stdout_truncated": self.is_truncated,
                "stderr_truncated": self.is_truncated and self.exit_code is not None,
                "total_output_bytes": self.output_bytes,
                "total_output_chars": self.output_chars,
                "model_output_chars": self.model_chars,
                "output_ref": self.output_ref,
            },
        }


def tool_records(envelopes: Iterable[Envelope]) -> tuple[ToolRecord, ...]:
    """Return the records of the ended calls of a session, in order of their start."""
    calls: dict[str, _Call] = {}
    for envelope in envelopes:
        match envelope.event:
            case ToolCallStart() as start:
                calls[start.call_id] = _Call(start, envelope)
            case FileChange(call_id=call_id) as change if call_id in calls:
                calls[call_id].changes.append(RecordedChange(_CHANGES[change.action], change.path))
            case ToolCallEnd(call_id=call_id) as end if call_id in calls:
                calls[call_id].end = end
            case _:
                pass
    return tuple(_record(call, call.end) for call in calls.values() if call.end)


_CHANGES: Mapping[str, ChangeType] = MappingProxyType(
    {"create": "FileCreated", "modify": "FileModified", "delete": "FileDeleted"}
)


_OTHER_CHANGES: Mapping[str, ChangeType] = MappingProxyType(
    {
        "file_moved": "FileMoved",
        "folder_created": "DirectoryCreated",
        "process_started": "ProcessStarted",
        "process_ended": "ProcessTerminated",
    }
)
_COMMANDS = ("command", "cmd")
_LIMITS = ("timeout_ms", "timeout")
_TIMED_OUT = regex(r"Command timed out after (\d+)ms")
_OUR_WORDS = regex(r"^(?:Tool error \(|Permission denied: |Invalid arguments for tool: )", re.MULTILINE)


@dataclass(slots=True)
class _Call:
    start: ToolCallStart
    envelope: Envelope
    changes: list[RecordedChange] = field(default_factory=list)
    end: ToolCallEnd | None = None


def _record(call: _Call, end: ToolCallEnd) -> ToolRecord:
    remedy = REMEDIES.get(end.error_kind, OTHERS)
    return ToolRecord(
        tool_call_id=end.call_id,
        agent_id=call.envelope.agent_id,
        name=end.name,
        arguments=call.start.arguments,
        timestamp=call.envelope.timestamp,
        success=not end.is_error,
        output="" if end.is_error else end.output,
        error=_error(call, end, remedy) if end.is_error else None,
        exit_code=end.exit_code,
        execution_time_ms=end.duration_ms,
        state_changes=_state_changes(call, end),
        recoverable=end.is_error and remedy.is_recoverable,
        suggested_action=remedy.action if end.is_error else "",
        output_chars=end.output_chars,
        model_chars=end.model_chars,
        output_ref=end.output_ref,
        output_bytes=end.output_bytes,
    )


def _state_changes(call: _Call, end: ToolCallEnd) -> tuple[RecordedChange, ...]:
    """Return the changes of a call. A move is one change, not a creation and a deletion."""
    moved = [change for change in end.changes if change.change == "file_moved"]
    ends = {change.subject for change in moved} | {change.source for change in moved}
    files = [change for change in call.changes if change.path not in ends]
    others = [
        RecordedChange(_OTHER_CHANGES[change.change], change.subject, change.source) for change in end.changes
    ]
    folders = [change for change in others if change.type == "DirectoryCreated"]
    return (*folders, *files, *(change for change in others if change.type != "DirectoryCreated"))


def _error(call: _Call, end: ToolCallEnd, remedy: Remedy) -> CallError:
    arguments = _parse_arguments(call.start.arguments)
    given = arguments if isinstance(arguments, dict) else {}
    command = next((it for key in _COMMANDS if isinstance(it := given.get(key), str)), "")
    limits = (it for key in _LIMITS if isinstance(it := given.get(key), int))
    reached = _TIMED_OUT.search(end.output)
    timeout_ms = int(reached[1]) if reached else next(limits, None) if command else None
    message = _message(end)
    partial = (
        "" if end.output == message else end.output
    )  # only a command prints something besides the message
    return CallError(remedy.type, end.error_kind.upper(), message, partial, command, timeout_ms)


def _message(end: ToolCallEnd) -> str:
    """Return the complete message of an error, without the output that a command printed."""
    found = _OUR_WORDS.search(end.output)
    if found:
        return end.output[found.start() :]
    if end.exit_code is not None or end.error_kind == "shell_timeout":
        reached = _TIMED_OUT.search(end.output)
        return reached[0] if reached else end.summary
    return end.output or end.summary


def _parse_arguments(arguments: str) -> Any:
    """Return the arguments as an object, or the text itself if it is not JSON."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments
