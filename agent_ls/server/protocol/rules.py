"""Stored permissions: rules from approvals, and trusted workspaces; listing and removing them."""

from __future__ import annotations

from typing import ClassVar, Literal

from agent_ls.server.protocol.base import Params, Wire


class Rules(Params):
    """The rules in force: those for all projects, those of a workspace folder, and those of a session.

    Without both parameters: all stored rules.
    """

    method: ClassVar[str] = "agent/rules"
    session_id: str | None = None
    workspace_folder: str | None = None


class RuleInfo(Wire):
    """`scope` says where the rule applies, `workspace` in which folder (scope `project`). Times are ISO 8601."""

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

    `workspaceFolder`: only if it applies to that project.
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
    """Returns whether a workspace is trusted, after applying `decision` if given; `forget`: the user will be asked
    again.

    Without `workspaceFolder`: the folder of the client.
    """

    method: ClassVar[str] = "agent/trust"
    client_key: str = ""
    workspace_folder: str | None = None
    decision: Literal["trust", "restrict", "forget"] | None = None


class TrustedFolder(Wire):
    """A folder with a decision. `owner` is the id of the folder's user at that time, `decided` is ISO 8601."""

    path: str
    owner: str
    trust: Literal["trusted", "restricted"]
    decided: str


class TrustResult(Wire):
    """`trust` unknown: the user is asked with the next input. `folders` are all stored decisions."""

    workspace_folder: str
    trust: Literal["trusted", "restricted", "unknown"]
    folders: tuple[TrustedFolder, ...]
