"""ENGINE: the record of a tool call, made of the events that tell of it (002 sections 6.2, 6.3 and 7.1, T9)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from agent_ls.loop.events import Envelope, FileChange, ToolCallEnd, ToolCallStart

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
ChangeType: TypeAlias = Literal["FileCreated", "FileModified", "FileDeleted"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """What kind of failure it is, and what the model may do about it; `action` "" is nothing."""

    type: ErrorType
    action: str

    @property
    def is_recoverable(self) -> bool:
        return bool(self.action)


_CORRECT = Remedy("ValidationError", "Correct the arguments that the message names, and call again.")
_LOOK = Remedy("ResourceError", "Look for the right path with glob or list_dir.")
_READ_AGAIN = Remedy("ExecutionError", "Read the file again, and retry with its present text.")
_OTHERWISE = Remedy("PermissionError", "Choose another way, or tell the user what you need.")
_CHECK = Remedy("ExecutionError", "Look at what was done, then go on or retry.")

REMEDIES: Mapping[str, Remedy] = MappingProxyType(
    {
        "validation": _CORRECT,
        "invalid_pattern": _CORRECT,
        "unknown_tool": Remedy("ValidationError", "Call one of the tools that the message names."),
        "unknown_agent": Remedy("ResourceError", "Name one of the agents that the message lists."),
        "file_not_found": _LOOK,
        "not_found": _LOOK,
        "ambiguous": _CORRECT,
        "invalid_notebook": _OTHERWISE,
        "is_notebook": _OTHERWISE,
        "no_answer": Remedy("ResourceError", "Do it by another tool: the editor cannot tell that."),
        "not_a_file": _LOOK,
        "not_a_folder": _LOOK,
        "file_exists": Remedy("ResourceError", "Read the file that is there, and edit it."),
        "binary_file": Remedy("ResourceError", "Look at it with a command made for its kind."),
        "too_large": Remedy("ResourceError", "Read a part of it, or search in it."),
        "edit_conflict": _READ_AGAIN,
        "stale": _READ_AGAIN,
        "not_read": Remedy("ValidationError", "Read the file first, then change it."),
        "shell_exit": Remedy("ExecutionError", "Look at the output, mend the cause, and run it again."),
        "shell_timeout": Remedy("TimeoutError", "Retry with a longer timeout_ms, or in the background."),
        "process_start": Remedy("ExecutionError", "Correct the command, or use another program."),
        "process_limit": Remedy("QuotaError", "End a background process, or wait until one has ended."),
        "input_refused": Remedy("ResourceError", "Look whether the process runs; start it again if needed."),
        "permission_denied": _OTHERWISE,
        "access_denied": _OTHERWISE,
        "edit_refused": _OTHERWISE,
        "unsupported": Remedy("ResourceError", "Do without it: this place cannot do that."),
        "limit": Remedy("QuotaError", "Wait for what runs, then call again."),
        "network": Remedy("NetworkError", "Retry in a while, or go on without it."),
        "http_status": Remedy("NetworkError", "Look whether the address is right, or go on without it."),
        "search": Remedy("NetworkError", "Search with other words, or go on without it."),
        "page": Remedy("NetworkError", "Try another page, or go on without it."),
        "interrupted": _CHECK,
        "stopped": _CHECK,
        "not_run": Remedy("ExecutionError", "Call it again if it is still needed."),
        "fatal": Remedy("FatalError", ""),
    }
)
OTHERS = Remedy("ExecutionError", "Read what the message says, and try another way.")


@dataclass(frozen=True, slots=True)
class StateChange:
    type: ChangeType
    path: str


@dataclass(frozen=True, slots=True)
class CallError:
    """`code` is the kind that the event tells, in capitals."""

    type: ErrorType
    code: str
    message: str
    partial_output: str


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A call that has ended. `output` is as in its event: whole, or its ends with `output_ref` of the whole (E3).

    `output_chars` is the size of the whole, `model_chars` what the model was given of it, None in older logs.
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
    state_changes: tuple[StateChange, ...]
    recoverable: bool
    suggested_action: str
    output_chars: int
    model_chars: int | None
    output_ref: str

    def as_json(self) -> dict[str, Any]:
        """In the form of 002 section 6.2, where its names fit."""
        error = self.error
        return {
            "tool_call_id": self.tool_call_id,
            **({"agent_id": self.agent_id} if self.agent_id else {}),
            "name": self.name,
            "arguments": _parsed(self.arguments),
            "timestamp": self.timestamp,
            "success": self.success,
            "output": self.output,
            "error": error
            and {
                "type": error.type,
                "code": error.code,
                "message": error.message,
                "details": {"partial_output": error.partial_output},
            },
            "exit_code": self.exit_code,
            "execution_time_ms": self.execution_time_ms,
            "state_changes": [{"type": change.type, "path": change.path} for change in self.state_changes],
            "recoverable": self.recoverable,
            "suggested_action": self.suggested_action,
            "metadata": {
                "output_truncated": self.model_chars is not None and self.model_chars < self.output_chars,
                "total_output_chars": self.output_chars,
                "model_output_chars": self.model_chars,
                "output_ref": self.output_ref,
            },
        }


def tool_records(envelopes: Iterable[Envelope]) -> tuple[ToolRecord, ...]:
    """The calls of a session that have ended, in the order of their starts."""
    calls: dict[str, _Call] = {}
    for envelope in envelopes:
        match envelope.event:
            case ToolCallStart() as start:
                calls[start.call_id] = _Call(start, envelope)
            case FileChange(call_id=call_id) as change if call_id in calls:
                calls[call_id].changes.append(StateChange(_CHANGES[change.action], change.path))
            case ToolCallEnd(call_id=call_id) as end if call_id in calls:
                calls[call_id].end = end
            case _:
                pass
    return tuple(_record(call, call.end) for call in calls.values() if call.end)


_CHANGES: Mapping[str, ChangeType] = MappingProxyType(
    {"create": "FileCreated", "modify": "FileModified", "delete": "FileDeleted"}
)


@dataclass(slots=True)
class _Call:
    start: ToolCallStart
    told: Envelope
    changes: list[StateChange] = field(default_factory=list)
    end: ToolCallEnd | None = None


def _record(call: _Call, end: ToolCallEnd) -> ToolRecord:
    remedy = REMEDIES.get(end.error_kind, OTHERS)
    error = CallError(remedy.type, end.error_kind.upper(), end.summary, end.output) if end.is_error else None
    return ToolRecord(
        tool_call_id=end.call_id,
        agent_id=call.told.agent_id,
        name=end.name,
        arguments=call.start.arguments,
        timestamp=call.told.timestamp,
        success=not end.is_error,
        output="" if end.is_error else end.output,
        error=error,
        exit_code=end.exit_code,
        execution_time_ms=end.duration_ms,
        state_changes=tuple(call.changes),
        recoverable=end.is_error and remedy.is_recoverable,
        suggested_action=remedy.action if end.is_error else "",
        output_chars=end.output_chars,
        model_chars=end.model_chars,
        output_ref=end.output_ref,
    )


def _parsed(arguments: str) -> Any:
    """As an object; the text itself, where the model wrote none."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments
