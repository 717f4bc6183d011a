"""Stored permissions: rules from approvals, and trusted workspaces; listing and removing them."""

from __future__ import annotations

from typing import ClassVar, Literal

from agent_ls.server.protocol.base import Params, Wire


class Rules(Params):
    """Lists the rules in force: those for all projects, those of a workspace folder, and those of a session.

    If neither parameter is given, lists all stored rules.
    """

    method: ClassVar[str] = "agent/rules"
    session_id: str | None = None
    workspace_folder: str | None = None


class RuleInfo(Wire):
    """A rule. `scope` says where the rule applies; for the scope `project`, `workspace` is the folder. `hits`
    counts the uses. Times are ISO 8601.
    """

    id: str
    label: str
    scope: Literal["turn", "session", "project", "user"]
    workspace: str | None = None
    hits: int
    created: str | None = None
    used: str | None = None


class RulesResult(Wire):
    rules: tuple[RuleInfo, ...]


class RemoveRule(Params):
    """Deletes a rule: from the session if `sessionId` is given, else from the store.

    With `workspaceFolder`, deletes the rule only if it applies to that project.
    """

    method: ClassVar[str] = "agent/removeRule"
    client_key: str
    rule_id: str
    session_id: str | None = None
    workspace_folder: str | None = None


class RemoveRuleResult(Wire):
    """`removed` is the number of deleted rules; 0: the rule did not exist."""

    removed: int


class Trust(Params):
    """Returns whether a workspace is trusted. Stores `decision` first if it is given; `forget` deletes the
    stored decision, so the user is asked again.

    Without `workspaceFolder`: the current folder of the client.
    """

    method: ClassVar[str] = "agent/trust"
    client_key: str = ""
    workspace_folder: str | None = None
    decision: Literal["trust", "restrict", "forget"] | None = None


class TrustedFolder(Wire):
    """A folder with a decision. `decided` is the time of the decision (ISO 8601). `owner` is the id of the user
    who owned the folder at that time.
    """

    path: str
    owner: str
    trust: Literal["trusted", "restricted"]
    decided: str


class TrustResult(Wire):
    """`trust` unknown: the user is asked when they send the next message. `folders` are all stored decisions."""

    workspace_folder: str
    trust: Literal["trusted", "restricted", "unknown"]
    folders: tuple[TrustedFolder, ...]
