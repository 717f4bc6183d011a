"""What the user allowed for longer: rules that approvals stored, and workspaces that he trusts; and taking it back."""

from __future__ import annotations

from typing import ClassVar, Literal

from agent_ls.server.protocol.base import Params, Wire


class Rules(Params):
    """The rules that hold: those for all projects, those of a workspace folder, and those of a session.

    Neither of the two given: all that are kept on the disk.
    """

    method: ClassVar[str] = "agent/rules"
    session_id: str | None = None
    workspace_folder: str | None = None


class RuleInfo(Wire):
    """`scope` tells where it holds, `workspace` in which folder (scope `project`). Times are ISO 8601."""

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
    """Takes a rule back: from the session where `sessionId` is given, else from the disk.

    `workspaceFolder`: only where it holds for that project.
    """

    method: ClassVar[str] = "agent/removeRule"
    client_key: str
    rule_id: str
    session_id: str | None = None
    workspace_folder: str | None = None


class RemoveRuleResult(Wire):
    """`removed` counts; 0: there was no such rule."""

    removed: int


class Trust(Params):
    """Whether a workspace is trusted, and with `decision` whether it is from now on; `forget`: it is asked about again.

    Without `workspaceFolder`: the folder of the client.
    """

    method: ClassVar[str] = "agent/trust"
    client_key: str = ""
    workspace_folder: str | None = None
    decision: Literal["trust", "restrict", "forget"] | None = None


class TrustedFolder(Wire):
    """A folder that was decided about. `owner` is the id of its user then, `decided` ISO 8601."""

    path: str
    owner: str
    trust: Literal["trusted", "restricted"]
    decided: str


class TrustResult(Wire):
    """`trust` unknown: it is asked about with the next input. `folders` is all that was decided and is kept."""

    workspace_folder: str
    trust: Literal["trusted", "restricted", "unknown"]
    folders: tuple[TrustedFolder, ...]
