"""Convert updates about calls to the preview of version 2, where a command has a terminal of its own.

Version 1 describes the terminal of a command in `_meta` of its call; version 2 has `terminal_update` and
`terminal_output_chunk`. A command can be cancelled while it runs.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from agent_ls.acp.preview import Message, preview_call

_FINAL = ("completed", "failed")
_CANCELLABLE: Message = {"cancel": {}}
STOPPED = "stopped"
"""The kind of error of a command that the user has ended."""


class PreviewCalls:
    """Converts the updates of one connection. Remembers which commands run."""

    def __init__(self) -> None:
        self._announced: set[str] = set()
        """Commands that do not run yet, for example because they wait for approval."""
        self._begun: set[str] = set()
        """Calls whose command has begun, until the call has its result."""

    def updates(self, update: Mapping[str, Any]) -> Iterator[Message]:
        call_id = update["toolCallId"]
        about: Mapping[str, Any] = update.get("_meta") or {}
        call = {**preview_call(update), "sessionUpdate": "tool_call_update"}
        if info := about.get("terminal_info"):
            self._announced.add(call_id)
            yield _terminal(
                call_id, command=_command(update), **({"cwd": cwd} if (cwd := info["cwd"]) else {})
            )
        if update.get("status") == "in_progress" and call_id in self._announced:
            self._announced.remove(call_id)
            self._begun.add(call_id)
            call["capabilities"] = _CANCELLABLE
            yield _terminal(call_id, capabilities=_CANCELLABLE)
        if update.get("status") in _FINAL and call_id in self._begun:
            self._begun.remove(call_id)
            call["capabilities"] = None
            if (update.get("rawOutput") or {}).get("errorKind") == STOPPED:
                call["status"] = "cancelled"
        if len(call) > 2:  # more than which call it is
            yield call
        if output := about.get("terminal_output"):
            data = b64encode(output["data"].encode("utf-8", "replace")).decode()
            yield {"sessionUpdate": "terminal_output_chunk", "terminalId": call_id, "data": data}
        if end := about.get("terminal_exit"):
            self._announced.discard(call_id)
            yield _terminal(call_id, exitStatus={"exitCode": end["exit_code"]}, capabilities=None)


def _terminal(call_id: str, **more: Any) -> Message:
    return {"sessionUpdate": "terminal_update", "terminalId": call_id, **more}


def _command(call: Mapping[str, Any]) -> str:
    given = call.get("rawInput")
    command = given.get("command") if isinstance(given, Mapping) else None
    return command if isinstance(command, str) else call["title"]
