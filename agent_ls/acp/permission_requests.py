"""Permission requests: build the options that a client displays, and interpret the client's answer. Pure.

A malformed answer, or an option that was not offered, counts as a denial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_ls.acp.diffs import diff_content, first_line
from agent_ls.acp.updates import TITLE_CHARS, text_entry, truncate_middle
from agent_ls.display.requests import describe_request
from agent_ls.loop.calls.approval import ApprovalAnswer, asks_for_trust
from agent_ls.loop.events.types import ApprovalRequested, RuleOffer
from agent_ls.text import format_code_block, reveal_controls

Kind = Literal["allow_once", "allow_always", "reject_once"]

_WIDTH = {"turn": 0, "session": 1, "project": 2, "user": 3}
_FOR_ONE = ("project", "session")
"""Scopes of the rule for clients that get a single "always" option: the first scope that has a rule is used.

A rule for all projects is offered only to clients that list every option, next to the rules with narrower
scopes.
"""
_SHOWN_IN_WORDS = ("CommandEffect", "CallEffect", "ServerEffect", "FetchEffect")
"""Effects whose calls do not show everything: the folder and variables of a command, what a server has changed."""
_SCOPE_WORDS = {
    "turn": "in this turn",
    "session": "in this session",
    "project": "in this project",
    "user": "everywhere",
}
CLOSED = "The approval request was closed without an answer, so the action was denied and not run."
NO_ANSWER = "The action was denied and not run: agent-ls does not understand the answer of the editor."
DENY_WITH_REASON = "deny-reason"


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a permission request. `rule` is the permission rule that selecting the option stores, or
    None. `asks_reason`: after this option is selected, the user is asked for the reason.
    """

    id: str
    name: str
    kind: Kind
    rule: RuleOffer | None = None
    asks_reason: bool = False

    def to_json(self) -> dict[str, str]:
        return {"optionId": self.id, "name": self.name, "kind": self.kind}


def options_for(
    request: ApprovalRequested, *, shows_every_option: bool, asks_forms: bool
) -> tuple[Option, ...]:
    """Return the options for an approval. Most clients get one option of each kind, because some map each
    kind to one key. Clients that display each option by its name get every offered rule, the narrowest first.
    """
    if asks_for_trust(request):
        return (
            Option("trust", "Trust this folder", "allow_always"),
            Option("deny", "Do not trust this folder: read and answer only", "reject_once"),
        )
    if request.effect.get("type") == "ServerEffect":
        return (
            Option("start", "Start this server, now and in later sessions", "allow_always"),
            Option("deny", "Do not start this server", "reject_once"),
        )
    offers = sorted(_lasting(request), key=lambda rule: _WIDTH[rule.scope])
    if not shows_every_option:
        offers = next(
            ([it for it in offers if it.scope == scope][:1] for scope in _FOR_ONE if _has(offers, scope)), []
        )
    always = [Option(f"rule-{n}", rule_name(rule), "allow_always", rule) for n, rule in enumerate(offers)]
    options = [Option("allow", "Allow once", "allow_once"), *always, Option("deny", "Deny", "reject_once")]
    if shows_every_option and asks_forms:
        options.append(Option(DENY_WITH_REASON, "Deny and say why", "reject_once", asks_reason=True))
    return tuple(options)


def _lasting(request: ApprovalRequested) -> Sequence[RuleOffer]:
    """Return the rules that an option of a permission request may store.

    The result is empty for a command that needs approval in every mode: such a command has only exact rules, and the
    user is asked again each time.
    """
    if request.effect.get("type") == "CommandEffect" and all(
        rule.id.startswith("command:") for rule in request.rules
    ):
        return ()
    return request.rules


def _has(offers: Sequence[RuleOffer], scope: str) -> bool:
    return any(rule.scope == scope for rule in offers)


def rule_name(rule: RuleOffer) -> str:
    """Return a rule in words, including how long it is valid."""
    says = any(word in rule.label for word in ("turn", "session", "project"))
    return rule.label if says else f"{rule.label} {_SCOPE_WORDS[rule.scope]}"


def review_options() -> tuple[Option, ...]:
    """Return the options for changes that the user reviews before they are applied."""
    return (Option("allow", "Make these changes", "allow_once"), Option("deny", "Reject them", "reject_once"))


def find_selected_option(result: object, options: Sequence[Option]) -> Option | None:
    """Return the option that the client selected; None if it was not offered."""
    outcome = result.get("outcome") if isinstance(result, Mapping) else None
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return None
    return next((option for option in options if option.id == outcome.get("optionId")), None)


def is_closed(result: object) -> bool:
    """Return whether the user closed the request without a choice."""
    outcome = result.get("outcome") if isinstance(result, Mapping) else None
    return isinstance(outcome, Mapping) and outcome.get("outcome") == "cancelled"


def answer_of(result: object, options: Sequence[Option], by: str, reason: str = "") -> ApprovalAnswer:
    option = find_selected_option(result, options)
    if option is None:
        return ApprovalAnswer("deny", reason=CLOSED if is_closed(result) else NO_ANSWER, decided_by=by)
    if option.kind not in ("allow_once", "allow_always"):
        return ApprovalAnswer("deny", reason=reason, decided_by=by)
    if option.rule:
        return ApprovalAnswer("allow", option.rule.scope, option.rule.id, decided_by=by)
    return ApprovalAnswer("allow", decided_by=by)


def permission_call(
    request: ApprovalRequested, texts: Mapping[str, str | None], kind: str, raw_input: object
) -> dict[str, Any]:
    """Return the `toolCall` of a permission request. It describes the exact effect, so that the user sees
    what they allow.

    `texts` are the current texts of the files, by path.
    """
    effect = request.effect
    content: list[dict[str, Any]] = []
    locations: list[dict[str, Any]] = []
    for file in _files(effect):
        path, diff = str(file.get("path", "")), str(file.get("diff", ""))
        content += diff_content(path, diff, str(file.get("action", "")), texts.get(path), is_new=False)
        line = first_line(diff)
        locations.append({"path": path} | ({"line": line} if line else {}))
    if effect.get("type") in _SHOWN_IN_WORDS:
        words = describe_request(request)
        if words.details:
            content.append(text_entry(format_code_block(truncate_middle(words.details))))
        content.append(text_entry(f"The agent wants to {truncate_middle(words.phrase)}."))
    if request.reason:
        content.append(text_entry(request.reason))
    paths = effect.get("paths")
    if isinstance(paths, list):
        locations += [{"path": path} for path in paths if isinstance(path, str)]
    actions = {file.get("action") for file in _files(effect)}
    kind = next((it for it in ("delete", "move") if actions == {it}), kind)
    return {
        "toolCallId": request.call_id or request.request_id,
        "title": reveal_controls(request.summary or request.tool)[:TITLE_CHARS],
        "kind": kind,
        "status": "pending",
        "content": content,
        "locations": locations,
        "rawInput": raw_input,
    }


def changed_paths(request: ApprovalRequested) -> list[str]:
    """Return the files that the effect changes."""
    return [path for file in _files(request.effect) if isinstance(path := file.get("path"), str)]


def _files(effect: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    files = effect.get("files")
    return [file for file in files if isinstance(file, Mapping)] if isinstance(files, list) else []
