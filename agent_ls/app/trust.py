"""Is this workspace trusted? What lies in it is not the user's word until he says so, once, and may take it back.

Until then nothing is changed or run, its instructions are data, and nothing of its own is loaded: no settings, tools,
skills or servers. The answer is kept in the user's folder; the workspace itself has no say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import anyio.to_thread

from agent_ls.app.errors import AppError
from agent_ls.environments.effects import TrustEffect
from agent_ls.loop.approval import Allowed, Answer, ApprovalDesk, ApprovalQuestion, Verdict
from agent_ls.loop.events import RecordedEvent, Warning
from agent_ls.loop.seams import Clock
from agent_ls.store.layout import canonical
from agent_ls.store.trust import Trust, TrustedFolder, TrustStore, owner_of

TRUST_VARIABLE = "AGENT_LS_TRUSTED_FOLDERS"
"""Folders that are trusted with all below them, separated as in PATH: for containers and machines of one's own."""

Standing: TypeAlias = Literal["trusted", "restricted", "unknown"]
Trusting: TypeAlias = Literal["asked", "kept", "trusted", "restricted"]
"""`asked`: a person is asked where nothing was decided; `kept`: nobody is there, so that counts as restricted.

The other two stand in place of what was decided.
"""

NOT_PERSONS = frozenset(("headless", "program", "interrupt", "timeout", "replay", ""))
"""Who answers so is believed for as long as the process lives."""

REASON = (
    "Trust it when you know where its files come from. Until then the agent only reads and answers, "
    "and what the folder says to agents (AGENTS.md) is shown to it as data."
)
RESTRICTED = (
    "This folder is not trusted: nothing is changed or run, and its instructions are shown as data. "
    "`agent-ls trust add` in it trusts it."
)


class WorkspaceTrust:
    """One for all sessions of a process. `of_editor` tells the folders that the user trusts in his editor."""

    def __init__(self, store: TrustStore, clock: Clock, trusting: Trusting = "asked") -> None:
        self.trusting = trusting
        self.of_editor: Callable[[], Sequence[str]] = tuple
        self.on_change: Callable[[], object] = lambda: None
        """Called after each decision."""
        self._store = store
        self._clock = clock
        self._here: dict[str, Trust] = {}
        self._asking: list[tuple[str, ApprovalDesk]] = []

    def standing(self, folder: str) -> Standing:
        """Blocks: for a thread."""
        if self.trusting in ("trusted", "restricted"):
            return "trusted" if self.trusting == "trusted" else "restricted"
        path = canonical(folder)
        if here := self._here.get(path):
            return here
        if any(_is_below(path, place) for place in (*self.of_editor(), *trusted_by_variable())):
            return "trusted"
        return self._store.decided(folder) or ("restricted" if self.trusting == "kept" else "unknown")

    def folders(self) -> Sequence[TrustedFolder]:
        """What was decided and is kept. Blocks: for a thread."""
        return self._store.folders()

    async def decide(self, folder: str, trust: Trust | None, by: str) -> Standing:
        """From now on, also for who is being asked about it; None: as if nobody had ever been asked.

        Raises:
            AppError: it cannot be kept.
        """
        path, owner = await anyio.to_thread.run_sync(_identity, folder)
        self._here.pop(path, None)
        # A folder that is not on this disk is one of a program's own environment.
        if trust and (by in NOT_PERSONS or owner is None):
            self._here[path] = trust
        else:
            await anyio.to_thread.run_sync(self._keep, folder, trust)
        if trust:
            self._answer_others(path, trust, by)
        self.on_change()
        return await anyio.to_thread.run_sync(self.standing, folder)

    async def ask(self, folder: str, turn_id: str, desk: ApprovalDesk) -> None:
        """Waits for a person; afterwards it is decided, unless the turn was stopped."""
        path, owner = await anyio.to_thread.run_sync(_identity, folder)
        effect = TrustEffect(path, owner or "")
        question = ApprovalQuestion("", turn_id, "trust", f"trust {path}", effect)
        asking = (path, desk)
        self._asking.append(asking)
        try:
            decision = await desk.ask(question, Verdict("ask", f"{_foreign(effect.owner)}{REASON}"))
        finally:
            self._asking.remove(asking)
        if await anyio.to_thread.run_sync(self.standing, folder) == "unknown":
            trust: Trust = "trusted" if isinstance(decision, Allowed) else "restricted"
            await self.decide(folder, trust, decision.by)

    def _keep(self, folder: str, trust: Trust | None) -> None:
        try:
            if trust:
                self._store.keep(folder, trust, self._clock.now())
            else:
                self._store.forget(folder)
        except OSError as error:
            words = f"what you decided about {folder} cannot be kept: {error.strerror or error}"
            raise AppError(words, "agent-ls doctor tells where it is to be written") from error

    def _answer_others(self, path: str, trust: Trust, by: str) -> None:
        decision: Literal["allow", "deny"] = "allow" if trust == "trusted" else "deny"
        for _, desk in [asking for asking in self._asking if asking[0] == path]:
            for request in desk.pending():
                if request.effect.get("type") == TrustEffect.__name__:
                    desk.answer(request.request_id, Answer(decision, decided_by=by))


@dataclass(slots=True)
class TrustGate:
    """What one session asks before it believes its workspace. `emit` and `turn_id` are the session's."""

    trust: WorkspaceTrust
    folder: str
    desk: ApprovalDesk
    emit: Callable[[RecordedEvent], object]
    turn_id: Callable[[], str]
    _has_told: bool = False

    def is_trusted(self) -> bool:
        """As it stands, nobody is asked. Blocks: for a thread."""
        return self.trust.standing(self.folder) == "trusted"

    async def settled(self) -> bool:
        """As it stands after a person was asked, where that is due. Told once where it is not trusted."""
        standing = await anyio.to_thread.run_sync(self.trust.standing, self.folder)
        if standing == "unknown":
            try:
                await self.trust.ask(self.folder, self.turn_id(), self.desk)
            except AppError as error:
                self.emit(Warning(str(error), "trust_not_kept"))
            standing = await anyio.to_thread.run_sync(self.trust.standing, self.folder)
        if standing != "trusted" and not self._has_told:
            self._has_told = True
            self.emit(Warning(RESTRICTED, "restricted"))
        return standing == "trusted"


def _identity(folder: str) -> tuple[str, str | None]:
    return canonical(folder), owner_of(folder)


def trusted_by_variable() -> Sequence[str]:
    return [place for place in os.environ.get(TRUST_VARIABLE, "").split(os.pathsep) if os.path.isabs(place)]


def _is_below(path: str, place: str) -> bool:
    top = canonical(place)
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def _foreign(owner: str) -> str:
    is_foreign = owner and hasattr(os, "getuid") and owner != str(os.getuid())
    return f"It belongs to somebody else (user {owner}). " if is_foreign else ""
