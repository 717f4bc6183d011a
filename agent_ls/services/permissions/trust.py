"""Workspace trust: whether the user trusts the files of a folder.

Until the user trusts the folder, nothing is changed or run, the folder's instructions are treated as data, and
none of its settings, tools, skills or servers are loaded. The decision is stored in the user's folder, so
the workspace cannot change the decision. The user can revoke it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

import anyio.lowlevel
import anyio.to_thread

from agent_ls.environments.effects import TrustEffect
from agent_ls.loop.calls.approval import (
    Allowed,
    ApprovalAnswer,
    ApprovalQuestion,
    PendingApprovals,
    PolicyJudgement,
    asks_for_trust,
)
from agent_ls.loop.events.types import DECIDED_BY_POLICY, RecordedEvent, Warning
from agent_ls.loop.seams import Clock
from agent_ls.paths import is_within
from agent_ls.services.clock import SystemClock
from agent_ls.services.errors import AppError
from agent_ls.services.settings.state_folder import not_stored, state_folder
from agent_ls.services.turn_reads import TurnRead, TurnReads
from agent_ls.store.layout import canonical
from agent_ls.store.trust import Trust, TrustRecord, TrustStore, owner_of

TRUST_VARIABLE = "AGENT_LS_TRUSTED_FOLDERS"
"""Environment variable that lists trusted folders (with subfolders), separated as in PATH; for containers."""

TrustState: TypeAlias = Literal["trusted", "restricted", "unknown"]
Trusting: TypeAlias = Literal["asked", "kept", "trusted", "restricted"]
"""`asked`: ask the user about undecided folders. `kept`: the user cannot be asked, so undecided folders are restricted.

`trusted` and `restricted` apply to all folders and override stored decisions.
"""

UNSTORED_SOURCES = frozenset(("headless", "program", "interrupt", "timeout", "replay", ""))
"""Decisions from these sources are not stored, and are valid only until the process ends."""

REASON = (
    "Trust this folder if you know where its files come from. Until then the agent can only read and "
    "answer, and instructions in the folder (AGENTS.md) are sent to it as data."
)
RESTRICTED = (
    "This folder is not trusted: nothing is changed or run, and its instructions are sent to the model as "
    "data."
)
BY_COMMAND = "Run `agent-ls trust add` in the folder to trust it."
BY_PROGRAM = "Open the session with `trusted=True` to trust it."


class WorkspaceTrust:
    """Trust decisions for all sessions of a process. `of_editor` returns the folders that the editor trusts.

    `on_change` is awaited after each decision, before the turn that asked for it continues. `advice` is a sentence that
    says how to trust a folder. `keeps` False: decisions are valid only until the process ends.
    """

    def __init__(
        self,
        store: TrustStore,
        clock: Clock,
        trusting: Trusting = "asked",
        *,
        of_editor: Callable[[], Sequence[str]] = tuple,
        on_change: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint,
        advice: str = BY_COMMAND,
        keeps: bool = True,
    ) -> None:
        self.trusting = trusting
        self.advice = advice
        self._keeps = keeps
        self._of_editor = of_editor
        self._on_change = on_change
        self._store = store
        self._clock = clock
        self._here: dict[str, Trust] = {}
        self._asking: list[tuple[str, PendingApprovals]] = []

    def get_trust(self, folder: str) -> TrustState:
        """Return whether the user trusts a folder; "unknown" if they have not decided. Blocks."""
        if self.trusting in ("trusted", "restricted"):
            return "trusted" if self.trusting == "trusted" else "restricted"
        path = canonical(folder)
        if here := self._here.get(path):
            return here
        if any(is_within(path, canonical(place)) for place in (*self._of_editor(), *trusted_by_variable())):
            return "trusted"
        return self._store.read_decision(folder) or ("restricted" if self.trusting == "kept" else "unknown")

    def looks(self, folder: str) -> Sequence[str]:
        """Return the files at which `get_trust` looks. It reads them only if they have changed."""
        return folder, str(self._store.path)

    def folders(self) -> Sequence[TrustRecord]:
        """Return the stored decisions. Blocks: run in a thread."""
        return self._store.folders()

    async def decide(self, folder: str, trust: Trust | None, by: str, shown: str = "") -> TrustState:
        """Set the trust of a folder, and resolve pending questions about it. `trust` None: delete the decision.

        `shown` is the question that the user answered, "" for a command of the user.

        Raises:
            AppError: the decision cannot be stored.
        """
        path, owner = await anyio.to_thread.run_sync(_identity, folder)
        self._here.pop(path, None)
        # A folder that is not on this disk is in an environment of the embedding program: store nothing.
        if trust and (not self._keeps or by in UNSTORED_SOURCES or owner is None):
            self._here[path] = trust
        else:
            await anyio.to_thread.run_sync(self._keep, folder, trust, shown)
        if trust:
            self._answer_others(path, trust, by)
        await self._on_change()
        return await anyio.to_thread.run_sync(self.get_trust, folder)

    async def ask(self, folder: str, turn_id: str, approvals: PendingApprovals) -> None:
        """Ask the user whether they trust a folder, and store their decision.

        If the turn is stopped instead, nothing is stored.
        """
        path, owner = await anyio.to_thread.run_sync(_identity, folder)
        effect = TrustEffect(path, owner or "")
        question = ApprovalQuestion("", turn_id, "trust", f"trust {path}", effect)
        judgement = PolicyJudgement("ask", f"{_describe_owner(effect.owner)}{REASON}", cause="trust")
        asking = (path, approvals)
        self._asking.append(asking)
        try:
            decision = await approvals.ask(question, judgement)
        finally:
            self._asking.remove(asking)
        if await anyio.to_thread.run_sync(self.get_trust, folder) == "unknown":
            trust: Trust = "trusted" if isinstance(decision, Allowed) else "restricted"
            await self.decide(folder, trust, decision.by, f"{question.summary}\n{judgement.reason}")

    def _keep(self, folder: str, trust: Trust | None, shown: str) -> None:
        try:
            if trust:
                self._store.store_decision(folder, trust, self._clock.now(), shown)
            else:
                self._store.delete_decision(folder)
        except OSError as error:
            raise not_stored(f"your decision about {folder}", error) from error

    def _answer_others(self, path: str, trust: Trust, by: str) -> None:
        for _, approvals in [asking for asking in self._asking if asking[0] == path]:
            _answer(approvals, trust, by)


@dataclass(slots=True)
class TrustGate:
    """Reports whether the workspace of one session is trusted, and asks the user if they have not decided.

    `emit` records a session event, `turn_id` returns the running turn's id. `reads` are the blocking reads that run
    together at the start of a turn; this class adds the read of the trust decision to them.
    """

    trust: WorkspaceTrust
    folder: str
    approvals: PendingApprovals
    emit: Callable[[RecordedEvent], object]
    turn_id: Callable[[], str]
    reads: TurnReads
    _read: TurnRead[TrustState] = field(init=False)
    _has_warned: bool = False

    def __post_init__(self) -> None:
        self._read = self.reads.add(
            lambda: partial(self.trust.get_trust, self.folder), lambda: self.trust.looks(self.folder)
        )

    def is_trusted(self) -> bool:
        """Return whether the folder is trusted, without asking. Blocks: run in a thread."""
        trust_state = self._read.get_from_this_call() or self.trust.get_trust(self.folder)
        return trust_state == "trusted"

    async def wait_for_decision(self) -> bool:
        """Return whether the folder is trusted.

        Asks the user if they have not decided yet. Warns once if the folder is not trusted.
        """
        trust_state = await self._read.get()
        if trust_state != "unknown":
            _answer(self.approvals, trust_state, DECIDED_BY_POLICY)  # a request from before a restart
        else:
            try:
                await self.trust.ask(self.folder, self.turn_id(), self.approvals)
            except AppError as error:
                self.emit(Warning(str(error), "trust_not_kept"))
            trust_state = await anyio.to_thread.run_sync(self.trust.get_trust, self.folder)
        if trust_state != "trusted" and not self._has_warned:
            self._has_warned = True
            reason = self.approvals.denial_of_trust()
            denied = f"Denied: {reason.rstrip('.')}." if reason else ""
            said = " ".join(filter(None, (denied, RESTRICTED, self.trust.advice)))
            self.emit(Warning(said, "restricted", "manageTrust"))
        return trust_state == "trusted"


def read_trust(folder: str) -> TrustState:
    """Return the user's decision about a folder of this machine. Blocks."""
    return WorkspaceTrust(TrustStore(state_folder()), SystemClock()).get_trust(folder)


def _answer(approvals: PendingApprovals, trust: Trust, by: str) -> None:
    """Answer the pending requests of one session to trust its folder."""
    decision: Literal["allow", "deny"] = "allow" if trust == "trusted" else "deny"
    for request in approvals.pending():
        if asks_for_trust(request):
            approvals.answer(request.request_id, ApprovalAnswer(decision, decided_by=by))


def _identity(folder: str) -> tuple[str, str | None]:
    return canonical(folder), owner_of(folder)


def trusted_by_variable() -> Sequence[str]:
    """Return the absolute folders in the variable TRUST_VARIABLE."""
    return [place for place in os.environ.get(TRUST_VARIABLE, "").split(os.pathsep) if os.path.isabs(place)]


def _describe_owner(owner: str) -> str:
    is_foreign = owner and hasattr(os, "getuid") and owner != str(os.getuid())
    return f"This folder belongs to another user ({owner}). " if is_foreign else ""
