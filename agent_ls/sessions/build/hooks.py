"""Create the hooks of a session, which run commands and can deny pending approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment
from agent_ls.environments.wrappers.with_input import InputEnvironment
from agent_ls.features.hooks.service import HookActions, HookedSession, SessionHooks
from agent_ls.loop.calls.approval import ApprovalAnswer

if TYPE_CHECKING:
    from agent_ls.sessions.build.draft import SessionDraft


async def _can_never_leave(command: str, options: CommandOptions, denied: str, is_read_only: bool) -> bool:
    return False


def hooks_of(draft: SessionDraft) -> SessionHooks:
    """Return the user's hooks. They run in the session's sandbox if the settings turn it on, and cannot leave it."""
    services, location, permissions = draft.services, draft.location, draft.permissions
    approver = permissions.approver
    sandbox = permissions.sandbox if draft.settings.sandbox.enabled else None

    async def run(command: str, options: CommandOptions, given: str) -> ExecResult:
        environment: ExecutionEnvironment = InputEnvironment(location.local, given)
        if sandbox:
            # imported here because it is not needed before a hook runs
            from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment

            environment = SandboxedEnvironment(environment, sandbox, _can_never_leave)
        return await environment.exec_command(command, options)

    def deny(request_id: str, reason: str) -> None:
        if any(request.request_id == request_id for request in approver.pending()):
            approver.answer(
                request_id,
                ApprovalAnswer(
                    "deny",
                    reason=f"a hook that the user configured refused the call: {reason}",
                    decided_by="hook",
                ),
            )

    hooks = SessionHooks(
        HookedSession(
            location.session_id,
            location.key,
            str(draft.stored.path),
            mode=lambda: approver.mode,
            is_trusted=permissions.gate.is_trusted,
            is_resumed=draft.stored.opened.stored is not None,
        ),
        HookActions(run, deny, services.start, draft.link.emit, draft.notices.post, location.guard),
        state=services.state,
        settings=lambda: services.now().hooks,
        secrets=services.secrets,
        reads=permissions.gate.reads,
    )
    draft.stored.opened.recorder.observers.append(hooks.observe)
    return hooks
