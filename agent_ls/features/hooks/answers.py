"""Parse the output of hooks, and combine several results into one decision. Pure: no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_ls.loop.calls.hooks import CallVerdict

STOP_EXIT_CODE = 2


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The parsed result of one hook.

    `decision` about a tool call is "allow", "ask" or "deny", "" for none. `blocks`: the hook blocks the
    event. `reason` and `context` are sent to the model, `message` is displayed to the user. `arguments`
    replace the arguments of the tool call. `problem` says why there is no result: the hook failed, took too
    long, or did not print a JSON object.
    """

    decision: Literal["", "allow", "ask", "deny"] = ""
    blocks: bool = False
    reason: str = ""
    context: str = ""
    message: str = ""
    arguments: Mapping[str, Any] | None = None
    problem: str = ""


CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events at which plain text that a hook prints is context for the model. At others it has no effect, except:"""

DECIDING_EVENTS = ("PreToolUse", "PermissionRequest")
"""Events at which a hook decides about a call, so an answer that cannot be read is a failure."""

MAX_CONTEXT = 10_000

_OBJECT = re.compile(r"^\s*\{", re.MULTILINE)


def parse_answer(exit_code: int, stdout: str, stderr: str, event: str) -> HookAnswer:
    """Return the result of a hook process that has exited without a timeout.

    Exit code 2 blocks the event, with standard error as the reason. Any other code except 0 is a failure of the hook.
    Lines before a JSON object do not count: start-up files of shells print them.
    """
    if exit_code == STOP_EXIT_CODE:
        return HookAnswer("deny", blocks=True, reason=stderr.strip() or "no reason was given")
    if exit_code != 0:
        return HookAnswer(problem=f"the hook ended with exit code {exit_code}: {stderr.strip()[-300:]}")
    begin = _OBJECT.search(stdout)
    if begin is None:
        if event in DECIDING_EVENTS and stdout.strip():
            return HookAnswer(problem="the hook printed text and no JSON object")
        return HookAnswer(context=stdout.strip()[:MAX_CONTEXT] if event in CONTEXT_EVENTS else "")
    try:
        read = json.loads(stdout[begin.start() :])
    except (ValueError, RecursionError):
        return HookAnswer(problem="the hook printed a JSON object that cannot be read, or several")
    return _answer(read)


def _answer(read: Mapping[str, Any]) -> HookAnswer:
    given = read.get("hookSpecificOutput")
    specific: Mapping[str, Any] = given if isinstance(given, dict) else {}
    decision = specific.get("permissionDecision", "")
    nested = specific.get("decision")  # in this place only for PermissionRequest
    if isinstance(nested, dict):
        decision = nested.get("behavior", decision)
    blocks = read.get("decision") == "block" or read.get("continue") is False
    reasons = (
        specific.get("permissionDecisionReason"),
        nested.get("message") if isinstance(nested, dict) else None,
        read.get("reason"),
        read.get("stopReason"),
    )
    reason = next(filter(None, map(_text, reasons)), "")
    changed = specific.get("updatedInput")
    if decision not in ("", "allow", "ask", "deny"):
        return HookAnswer(problem=f"the hook returned the unknown decision {decision!r}")
    return HookAnswer(
        "deny" if blocks else decision,
        blocks,
        reason or ("no reason was given" if blocks or decision in ("ask", "deny") else ""),
        _text(specific.get("additionalContext")),
        _text(read.get("systemMessage")),
        changed if isinstance(changed, dict) else None,
    )


def call_verdict(answers: Sequence[HookAnswer]) -> CallVerdict:
    """Combine hook results about a tool call: the most restrictive decision and the last new arguments.

    If a hook failed and no other hook denies the call, the user is asked. The decision `allow` has no effect,
    because the policy still checks the call.
    """
    for answer in answers:
        if answer.decision == "deny":
            return CallVerdict("deny", answer.reason)
    arguments = next((answer.arguments for answer in reversed(answers) if answer.arguments is not None), None)
    for answer in answers:
        if answer.problem:
            return CallVerdict("ask", f"One of your hooks failed: {answer.problem}.", arguments)
    for answer in answers:
        if answer.decision == "ask":
            return CallVerdict(
                "ask", f"One of your hooks asks you to confirm this: {answer.reason}.", arguments
            )
    return CallVerdict("none", "", arguments)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
