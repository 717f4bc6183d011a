"""Create the parts that permit or refuse the actions of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_ls.loop.answer_limit import AnswerLimit
from agent_ls.loop.calls.approval import PendingApprovals
from agent_ls.services.permissions.approver import ConfinementFacts, PolicyApprover
from agent_ls.services.permissions.session_rules import SessionRules
from agent_ls.services.permissions.trust import TrustGate
from agent_ls.services.settings.model import Settings
from agent_ls.services.turn_reads import TurnReads
from agent_ls.sessions.build.link import SessionLink
from agent_ls.sessions.build.parts import SessionLocation, SessionPermissions
from agent_ls.sessions.new_session import SessionChoice
from agent_ls.sessions.services import SharedServices

if TYPE_CHECKING:
    from agent_ls.services.permissions.session_sandbox import SessionSandbox


def permissions_for(
    services: SharedServices,
    location: SessionLocation,
    choice: SessionChoice,
    settings: Settings,
    link: SessionLink,
) -> SessionPermissions:
    """Create the parts that permit or refuse the session's actions: approvals, rules, trust, sandbox."""
    limit = AnswerLimit(services.clock, settings.approval_timeout_ms)
    approvals = PendingApprovals(link.emit, link.is_stopped, limit)
    rules = SessionRules(services.rules, location.key, services.clock, services.start, link.emit)
    gate = TrustGate(services.trust, location.key, approvals, link.emit, link.turn_id, TurnReads())
    gate.reads.add(lambda: services.models.take_stored_keys, services.models.key_files)
    sandbox: SessionSandbox | None = None
    if location.is_here:
        from agent_ls.services.permissions.session_sandbox import (
            SessionSandbox,  # imported only when needed
        )

        sandbox = SessionSandbox(
            settings.sandbox,
            lambda: location.bounds.places,
            str(services.state),
            link.emit,
            read_only=services.read_only,
        )
    approver = PolicyApprover(
        bounds=location.bounds,
        mode=choice.mode,
        approvals=approvals,
        grants=rules,
        review=choice.review,
        is_trusted=gate.is_trusted,
        confinement=ConfinementFacts(
            warn_of_loss=lambda: link.live.environment.warn_of_loss(),
            has_sandbox=lambda: sandbox is None or sandbox.is_started,
            can_confine=sandbox.can_look_confined
            if sandbox
            else _always
            if services.program.confines
            else None,
            # The embedding program itself must confine the environment that it provides.
            unconfined=lambda: (
                "trust" if services.program.environment else services.now().unconfined_commands
            ),
        ),
    )
    return SessionPermissions(approvals, rules, gate, approver, sandbox)


async def _always() -> bool:
    return True
