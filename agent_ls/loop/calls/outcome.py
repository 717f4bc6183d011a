"""Pure: convert the output of a tool to the outcome of its call, and build the errors that replace an output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from agent_ls.llm.messages import ToolResultPart
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.approval import Denied
from agent_ls.loop.events.types import StateChange, ToolCallEnd
from agent_ls.tools.base import Tool, ToolOutput

NO_IMAGES = "[This model cannot see images: the image was left out.]"


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call. `ends_loop` is set if a terminal tool succeeded ("completed") or a failure is
    fatal ("error"). `usage` is the usage of model calls that the tool made, None if it made none.
    """

    result: ToolResultPart
    was_denied: bool = False
    had_effect: bool = False
    ends_loop: Literal["completed", "error"] | None = None
    usage: Usage | None = None


def outcome_of(result: ToolResultPart, output: ToolOutput, tool: Tool[Any] | None) -> CallOutcome:
    return CallOutcome(
        result, was_denied(output), had_effect(output, tool), _ends_loop(output, tool), output.usage
    )


def output_of(end: ToolCallEnd) -> ToolOutput:
    """Rebuild a tool's output from the stored end event of its call, with only the fields that decide the
    outcome.
    """
    return ToolOutput("", is_error=end.is_error, error_kind=end.error_kind, exit_code=end.exit_code)


def changes_of(output: ToolOutput) -> tuple[StateChange, ...]:
    folders = [StateChange("folder_created", it) for file in output.files for it in file.created_folders]
    moved = [StateChange("file_moved", it.path, it.moved_from) for it in output.files if it.moved_from]
    begun = [
        StateChange("process_started", it.process_id) for it in output.processes if it.change == "started"
    ]
    ended = [StateChange("process_ended", it.process_id) for it in output.processes if it.change == "ended"]
    return (*folders, *moved, *begun, *ended)


def was_denied(output: ToolOutput) -> bool:
    return output.error_kind == "permission_denied"


def _ends_loop(output: ToolOutput, tool: Tool[Any] | None) -> Literal["completed", "error"] | None:
    if output.is_error:
        return "error" if output.error_kind == "fatal" else None
    return "completed" if tool and tool.terminal else None


def had_effect(output: ToolOutput, tool: Tool[Any] | None) -> bool:
    """Return whether the call may have changed something. A command that ran and failed counts as a change."""
    ran = not output.is_error or output.exit_code is not None
    return ran and tool is not None and tool.category != "read"


def without_images(output: ToolOutput) -> ToolOutput:
    """Remove images from an output for a model without image input, because its provider would refuse the
    whole request.
    """
    if not output.images:
        return output
    return replace(output, text=f"{output.text}\n{NO_IMAGES}".strip(), images=())


def make_denied(decision: Denied) -> ToolOutput:
    return error_output(f"Permission denied: {decision.reason}", "permission_denied")


def error_output(text: str, kind: str) -> ToolOutput:
    return ToolOutput(text, is_error=True, error_kind=kind)
