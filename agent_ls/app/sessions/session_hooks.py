"""Create the hooks of a session: where they run, and how they deny what waits for the user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.app.hooks.service import SessionHooks
from agent_ls.app.permissions.approver import PolicyApprover
from agent_ls.app.permissions.trust import WorkspaceTrust
from agent_ls.app.sessions.session_log import SessionFiles
from agent_ls.app.settings.model import Settings
from agent_ls.environments.base import CommandOptions, ExecResult, ExecutionEnvironment
from agent_ls.environments.wrappers.with_input import InputEnvironment
from agent_ls.loop.calls.approval import Answer
from agent_ls.loop.calls.redaction import Known
from agent_ls.loop.events.types import RecordedEvent
from agent_ls.store.log import Header

if TYPE_CHECKING:
    from agent_ls.app.permissions.sandbox import SessionSandbox


async def _never_leave(command: str, options: CommandOptions, denied: str, only_looks: bool) -> bool:
    return False


def create_hooks(
    header: Header,
    approver: PolicyApprover,
    stored: SessionFiles,
    *,
    state: Path,
    settings: Callable[[], Settings],
    trust: WorkspaceTrust,
    secrets: Known,
    start: Callable[[Callable[[], Awaitable[None]]], None],
    local: ExecutionEnvironment,
    sandbox: SessionSandbox | None,
    emit: Callable[[RecordedEvent], object],
    notify: Callable[[str], None],
) -> SessionHooks:
    """Return the user's hooks. They run in `sandbox`, if there is one, and cannot leave it.

    `start` runs a task. `emit` records an event, `notify` sends the model a notice.
    """
    folder = header.workspace_folder

    async def run(command: str, options: CommandOptions, given: str) -> ExecResult:
        environment: ExecutionEnvironment = InputEnvironment(local, given)
        if sandbox:
            from agent_ls.environments.wrappers.sandbox import SandboxedEnvironment  # imported late

            environment = SandboxedEnvironment(environment, sandbox, _never_leave)
        return await environment.exec_command(command, options)

    def deny(request_id: str, reason: str) -> None:
        if any(request.request_id == request_id for request in approver.pending()):
            approver.answer(
                request_id, Answer("deny", reason=f"a hook of the user's: {reason}", decided_by="hook")
            )

    return SessionHooks(
        session_id=header.session_id,
        folder=folder,
        state=state,
        transcript=str(stored.path),
        settings=lambda: settings().hooks,
        mode=lambda: approver.mode,
        is_trusted=lambda: trust.standing(folder) == "trusted",
        run=run,
        secrets=secrets,
        deny=deny,
        beside=start,
        emit=emit,
        notify=notify,
    )
