"""Parse the output of hooks, and combine several results into one decision. Pure: no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from agent_ls.loop.calls.hooks import CallHookDecision
from agent_ls.patterns import regex

STOP_EXIT_CODE = 2
_NO_REASON = "no reason was given"


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The parsed result of one hook.

    `decision` about a tool call is "allow", "ask" or "deny", "" for none. `blocks`: the hook blocks the
    event. `reason` and `context` are sent to the model, `message` is displayed to the user. `arguments`
    replace the arguments of the tool call. `problem` says why there is no result: the hook failed, took too
    long, or did not print a JSON object. `ends_turn` is what the user reads if the hook ends the turn, "" if it
    does not.
    """

    decision: Literal["", "allow", "ask", "deny"] = ""
    blocks: bool = False
    reason: str = ""
    context: str = ""
    message: str = ""
    arguments: Mapping[str, Any] | None = None
    problem: str = ""
    ends_turn: str = ""


CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events at which plain text that a hook prints is context for the model. At others it has no effect."""

DECIDING_EVENTS = ("PreToolUse", "PermissionRequest")
"""Events at which a hook decides about a call, so an answer that is no object and no short text is a failure."""

MAX_CONTEXT = 10_000

MAX_PRINTED = 4 * 1024 * 1024
"""How many characters of a hook's standard output are read. All of them are searched for secrets."""

_OBJECT = regex(r"^\s*\{", re.MULTILINE)


def parse_answer(exit_code: int, stdout: str, stderr: str, event: str) -> HookAnswer:
    """Return the result of a hook process that has exited without a timeout.

    Exit code 2 blocks the event, with standard error as the reason, or with the reason in a JSON object if nothing is
    there. The context and the message in the object count too. Any other code except 0 is a failure of the hook, unless
    its object denies or asks. Lines before a JSON object do not count: start-up files of shells print them.
    """
    if exit_code == STOP_EXIT_CODE:
        said = parse_answer(0, stdout, "", event) if _OBJECT.search(stdout) else HookAnswer()
        reason = stderr.strip() or said.reason or _NO_REASON
        return replace(said, decision="deny", blocks=True, reason=reason, arguments=None, problem="")
    if exit_code != 0:
        problem = f"the hook ended with exit code {exit_code}: {stderr.strip()[-300:]}"
        said = parse_answer(0, stdout, "", event) if _OBJECT.search(stdout) else HookAnswer()
        if said.decision in ("deny", "ask"):
            return replace(said, arguments=None, message=said.message or problem)
        return HookAnswer(problem=problem)
    begin = _OBJECT.search(stdout)
    if begin is None:
        if event in DECIDING_EVENTS and (len(stdout) > MAX_CONTEXT or stdout.lstrip()[:1] in ("[", '"')):
            return HookAnswer(problem="the hook printed neither a JSON object nor a short text")
        return HookAnswer(context=stdout.strip()[:MAX_CONTEXT] if event in CONTEXT_EVENTS else "")
    try:
        # Not strict, because scripts of shells do not escape line breaks.
        read = json.loads(stdout[begin.start() :], strict=False)
    except (ValueError, RecursionError):
        return HookAnswer(problem="the hook printed a JSON object that cannot be read, or several")
    return _answer(read, event)


Decision: TypeAlias = Literal["", "allow", "ask", "deny"]
_STRICTNESS: Sequence[Decision] = ("", "allow", "ask", "deny")
_DECISIONS: Mapping[str, Decision] = {
    "allow": "allow", "approve": "allow", "ask": "ask", "deny": "deny", "block": "deny", "reject": "deny",
}  # fmt: skip
"""The words of several agents for a decision."""


def _answer(read: Mapping[str, Any], event: str) -> HookAnswer:
    """Return the answer in an object. A decision counts in the form of any agent: inside of `hookSpecificOutput`, or at
    the top as `permissionDecision`, `permission` or `decision`. A guard that means no is never taken for silence.
    """
    given = read.get("hookSpecificOutput")
    specific: Mapping[str, Any] = given if isinstance(given, dict) else {}
    nested = specific.get("decision")  # in this place only for PermissionRequest
    behavior = nested.get("behavior") if isinstance(nested, dict) else None
    places = (
        behavior,
        specific.get("permissionDecision"),
        read.get("permissionDecision"),
        read.get("permission"),
        read.get("decision"),
    )
    said = [word.strip().lower() for word in places if isinstance(word, str) and word.strip()]
    if unknown := [word for word in said if word not in _DECISIONS]:
        return HookAnswer(problem=f"the hook returned the unknown decision {unknown[0]!r}")
    decision = max((_DECISIONS[word] for word in said), key=_STRICTNESS.index, default=_STRICTNESS[0])
    more = read.get("followup_message") if event == "Stop" else None  # what Cursor's agent is to do next
    stops = any(_is_said(read, name, word) for name, word in _STOPS)
    blocks = bool(_text(more)) or stops or _DECISIONS.get(str(read.get("decision")).strip().lower()) == "deny"
    ends = _is_said(read, "continue", "false") or _is_said(nested, "interrupt", "true")
    reasons = (
        specific.get("permissionDecisionReason"),
        nested.get("message") if isinstance(nested, dict) else None,
        more,
        *(read.get(name) for name in _REASONS),
    )
    reason = next(filter(None, map(_text, reasons)), "")
    shown = _text(read.get("systemMessage"))  # some guards explain themselves only to the user
    changes = (specific.get("updatedInput"), *(read.get(name) for name in _CHANGES))
    changed = next((it for it in changes if isinstance(it, dict)), None)
    contexts = (
        specific.get("additionalContext"),
        read.get("additionalContext"),
        read.get("additional_context"),
        read.get("contextModification"),
    )
    return HookAnswer(
        "deny" if blocks else decision,
        blocks,
        reason or ((shown or _NO_REASON) if blocks or decision in ("ask", "deny") else ""),
        next(filter(None, map(_text, contexts)), ""),
        shown,
        changed,
        ends_turn=(_text(read.get("stopReason")) or reason or shown or _NO_REASON) if ends else "",
    )


_CHANGES = ("updatedInput", "updated_input", "modifiedArgs")

_STOPS = (("continue", "false"), ("shouldContinue", "false"), ("cancel", "true"))
"""Fields with which a hook blocks, and their value. The last two are Cline's."""

_REASONS = (
    "permissionDecisionReason", "reason", "stopReason", "agent_message", "user_message", "errorMessage", "message",
)  # fmt: skip


def combine_decisions(answers: Sequence[HookAnswer]) -> CallHookDecision:
    """Combine hook results about a tool call: the most restrictive decision and the last new arguments.

    If a hook failed and no other hook denies the call, the user is asked. The decision `allow` has no effect,
    because the policy still checks the call.
    """
    for answer in answers:
        if answer.decision == "deny":
            return CallHookDecision("deny", answer.reason)
    arguments = next((answer.arguments for answer in reversed(answers) if answer.arguments is not None), None)
    for answer in answers:
        if answer.problem:
            return CallHookDecision("ask", f"One of your hooks failed: {answer.problem}.", arguments)
    for answer in answers:
        if answer.decision == "ask":
            return CallHookDecision(
                "ask", f"One of your hooks asks you to confirm this: {answer.reason}.", arguments
            )
    return CallHookDecision("none", "", arguments)


def _is_said(read: object, name: str, word: str) -> bool:
    return isinstance(read, Mapping) and str(read.get(name)).lower() == word


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
