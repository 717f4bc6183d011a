"""Check the order of messages that clients rely on, in a complete recorded connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

BETWEEN_PROMPTS = {
    "available_commands_update", "config_option_update", "current_mode_update", "session_info_update", "usage_update",
}  # fmt: skip
RANK = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}


class OrderCheck:
    """Receives each message of both directions. `problems` must stay empty."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._asked: dict[Any, tuple[str, Any]] = {}
        self._known: set[str] = set()
        self._loading: Counter[str] = Counter()
        self._prompts: dict[str, int] = {}
        self._steered: set[str] = set()
        self._status: dict[tuple[str, str], str] = {}
        self._parents: dict[str, str] = {}

    def sent(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str) or "id" not in message:
            return
        self._asked[message["id"]] = (method, params)
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        if not isinstance(session_id, str):
            return
        if method == "session/prompt":
            self._prompts[session_id] = self._prompts.get(session_id, 0) + 1
        elif method == "_session/steering":
            self._steered.add(session_id)
        elif method in ("session/load", "session/resume"):
            self._loading[session_id] += 1
            self._status = {key: value for key, value in self._status.items() if key[0] != session_id}

    def received(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method is None:
            self._answer(message)
        elif method == "session/update":
            self._update(params["sessionId"], params["update"])
        elif method == "session/request_permission":
            key = (params["sessionId"], params["toolCall"]["toolCallId"])
            if key not in self._status:
                self.problems.append(f"a permission for a call that was never announced: {key[1]}")

    def _answer(self, message: dict[str, Any]) -> None:
        method, params = self._asked.pop(message.get("id"), ("", None))
        if method == "session/new" and "result" in message:
            self._known.add(message["result"]["sessionId"])
        elif method in ("session/load", "session/resume") and isinstance(params, dict):
            session_id = params.get("sessionId")
            if isinstance(session_id, str):
                self._loading[session_id] -= 1
                if "result" in message:
                    self._known.add(session_id)
        elif (
            method == "session/prompt"
            and isinstance(params, dict)
            and isinstance(params.get("sessionId"), str)
        ):
            self._prompts[params["sessionId"]] -= 1

    def _update(self, session_id: str, update: dict[str, Any]) -> None:
        kind = update["sessionUpdate"]
        if kind == "subagent_update":
            self._parents.setdefault(update["sessionId"], session_id)
        top = session_id
        while top in self._parents:
            top = self._parents[top]
        if top not in self._known and not self._loading[top]:
            self.problems.append(f"{kind} before the session was answered")
        is_expected = self._prompts.get(top) or self._loading[top] or top in self._steered
        if kind not in BETWEEN_PROMPTS and not is_expected:
            self.problems.append(f"{kind} between prompts")
        if kind == "user_message_chunk" and not self._loading[top]:
            self.problems.append("the user's own words were echoed")
        if kind in ("tool_call", "tool_call_update"):
            self._call((session_id, update["toolCallId"]), kind, update.get("status"))

    def _call(self, key: tuple[str, str], kind: str, status: str | None) -> None:
        if kind == "tool_call":
            if key in self._status:
                self.problems.append(f"a call was announced twice: {key[1]}")
            self._status[key] = status or "pending"
            return
        if key not in self._status:
            self.problems.append(f"an update of a call that was never announced: {key[1]}")
        elif status and RANK[status] < RANK[self._status[key]]:
            self.problems.append(f"{key[1]} went from {self._status[key]} back to {status}")
        if status:
            self._status[key] = status

    def left_open(self) -> Sequence[str]:
        """Return the calls that never ended."""
        return [call_id for (_, call_id), status in self._status.items() if RANK[status] < 2]
