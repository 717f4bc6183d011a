"""The connection to a client that speaks the preview of version 2: converts each message (preview.py), accepts prompts
at once, and reports the state of each session.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any

from agent_ls.acp import preview
from agent_ls.acp.errors import error_object
from agent_ls.acp.preview import Message, preview_call
from agent_ls.acp.wire import AcpWire, Handler, WireReply, unknown_method
from agent_ls.loop.ids import new_id

log = logging.getLogger(__name__)

_FINAL = ("completed", "failed")
_CANCELLABLE: Message = {"cancel": {}}
STOPPED = "stopped"
"""The kind of error of a command that the user has ended."""


class PreviewCalls:
    """Converts the updates of one connection. Remembers which commands run.

    Version 1 describes the terminal of a command in `_meta` of its call; version 2 has `terminal_update` and
    `terminal_output_chunk`. A command or a subagent can be cancelled while it runs.
    """

    def __init__(self) -> None:
        self._announced: set[str] = set()
        """Commands that do not run yet, for example because they wait for approval."""
        self._begun: set[str] = set()
        """Calls whose command or subagent has begun, until the call has its result."""

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
        if update.get("status") == "in_progress" and update.get("kind") == "think" and "#" in call_id:
            self._begun.add(call_id)  # a subagent
            call["capabilities"] = _CANCELLABLE
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


_SAME = frozenset(("session/list", "session/close", "session/delete"))
_ASKING = frozenset(("session/request_permission", "elicitation/create"))

CancelCommand = Callable[[object, object], Awaitable[dict[str, Any]]]
"""Ends the command of a call, by the ids of session and call. Raises the error of a command that does not run."""

CheckPrompt = Callable[[Mapping[str, Any]], Awaitable[object]]
"""Raises the error of a prompt that cannot be accepted."""


class PreviewWire(AcpWire):
    """An AcpWire whose client speaks version 2. The rest of the agent uses it like one of version 1."""

    takes_updates_always = True
    check_prompt: CheckPrompt
    cancel_command: CancelCommand

    def handle(self, request: Handler, notice: Callable[[str, Any], None]) -> None:
        super().handle(partial(self._convert, request), notice)
        self._prompts: Counter[str] = Counter()
        self._questions: Counter[str] = Counter()
        self._calls = PreviewCalls()

    # --- to the client

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method != "session/update":
            super().notify(method, params)
            return
        update = params["update"]
        is_call = update["sessionUpdate"] in ("tool_call", "tool_call_update")
        for each in self._calls.updates(update) if is_call else preview.preview_updates(update):
            super().notify(method, {**params, "update": each})

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        if method not in _ASKING:
            return await super().ask(method, params)
        session_id = params["sessionId"]
        if method == "session/request_permission":
            params = preview.preview_permission(params)
        self._questions[session_id] += 1
        if self._questions[session_id] == 1:
            self._report(session_id, "requires_action")
        try:
            return await super().ask(method, params)
        finally:
            self._questions[session_id] -= 1
            if not self._questions[session_id] and self._prompts[session_id] and not self.is_over:
                self._report(session_id, "running")

    def _report(self, session_id: str, state: str, **more: Any) -> None:
        update = preview.state_update(state, **more)
        super().notify("session/update", {"sessionId": session_id, "update": update})

    # --- from the client

    async def _convert(self, stable: Handler, method: str, params: Any) -> Any:
        """Handle a request of version 2 by the handler of version 1."""
        given = params if isinstance(params, dict) else {}
        match method:
            case "initialize":
                return preview.preview_initialize(await stable(method, preview.stable_initialize(given)))
            case "auth/login":
                return await stable("authenticate", params)
            case "session/new":
                return _session(await stable(method, preview.stable_servers(given)))
            case "session/resume":
                replays = given.get("replayFrom") is not None
                opened = preview.stable_servers(given)
                reply = await stable("session/load" if replays else method, opened)
                self._report(given["sessionId"], "running" if self._prompts[given["sessionId"]] else "idle")
                return _session(reply)
            case "session/set_config_option":
                return _session(await stable(method, params))
            case "session/prompt":
                return await self._accept(stable, given)
            case "terminal/cancel" | "tool_call/cancel":
                given_id = given.get("terminalId" if method == "terminal/cancel" else "toolCallId")
                return await self.cancel_command(given.get("sessionId"), given_id)
            case _ if method in _SAME or method.startswith("_"):
                return await stable(method, params)
        raise unknown_method(method)

    async def _accept(self, stable: Handler, params: Mapping[str, Any]) -> WireReply:
        """Accept a prompt, and run its turn after the response was sent."""
        await self.check_prompt(params)
        session_id, message_id = params["sessionId"], new_id("m")
        message = {"sessionUpdate": "user_message", "messageId": message_id, "content": params["prompt"]}

        def begin() -> None:
            self._prompts[session_id] += 1
            super(PreviewWire, self).notify("session/update", {"sessionId": session_id, "update": message})
            self._report(session_id, "running")
            self._group.start_soon(self._run, stable, params)

        return WireReply({"messageId": message_id}, begin)

    async def _run(self, stable: Handler, params: Mapping[str, Any]) -> None:
        session_id = params["sessionId"]
        try:
            result = await stable("session/prompt", params)
            ended: dict[str, Any] = {"stopReason": result["stopReason"]}
        except Exception as error:  # last resort: every accepted prompt gets its end
            ended = {"stopReason": "error", "error": error_object(error)}
        self._prompts[session_id] -= 1
        if not self._prompts[session_id] and not self.is_over:
            self._report(session_id, "idle", **ended)


def _session(reply: Any) -> Any:
    if isinstance(reply, WireReply):
        return WireReply(preview.preview_session(reply.result), reply.then)
    return preview.preview_session(reply)
