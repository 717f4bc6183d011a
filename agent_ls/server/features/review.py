"""Handlers for the user's decisions: approvals, and keep or undo of hunks."""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from agent_ls.loop.calls.approval import ApprovalAnswer, UnknownApprovalError
from agent_ls.server import protocol as wire
from agent_ls.server.features.hunk_cells import files_of_hunks
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc import to_wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.idempotency import find_logged
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import AmbiguousSelectionError, BadInputError, InvalidParamsError
from agent_ls.services.review.decision_request import Selection


async def approve(context: Context, params: wire.Approve) -> wire.ApproveResult:
    if (
        params.replacement
        and params.replacement.command is not None
        and not params.replacement.command.strip()
    ):
        raise BadInputError("the command is empty", "write the command to run, or deny this one")
    live = context.require_live(params.session_id)
    waiting = any(request.request_id == params.request_id for request in live.approver.pending())
    if waiting and live.session.is_stopped:
        # The turn is being stopped, so the call is about to be denied; an approval that arrives after the
        # stop has no effect.
        return wire.ApproveResult(decision="deny", decided_by="interrupt")
    answer = ApprovalAnswer(
        decision=params.decision,
        scope=params.scope,
        rule_id=params.rule_id or "",
        reason=params.reason or "",
        decided_by=context.client_id,
        client_key=params.client_key,
        command=(params.replacement and params.replacement.command) or "",
    )
    try:
        resolved = live.approver.answer(params.request_id, answer)
    except UnknownApprovalError:
        earlier = partial(find_logged, live, "approval_resolved", params.request_id)
        if logged := await anyio.to_thread.run_sync(earlier):
            return wire.ApproveResult(decision=logged["decision"], decided_by=logged["decidedBy"])
        raise
    return wire.ApproveResult(decision=resolved.decision, decided_by=resolved.decided_by)


async def hunks(context: Context, params: wire.Hunks) -> wire.HunksResult:
    path = file_path(params.uri, params.method) if params.uri else None
    if params.guide:
        if params.session_id is None:
            raise InvalidParamsError(params.method, "a guide needs sessionId")
        from agent_ls.server.features.guide import guided_hunks  # imported only when needed

        return await guided_hunks(context, params.session_id, path=path, turn_id=params.turn_id)
    if params.session_id and (read := context.manager.owners.find_follower(params.session_id)):
        hunks = read.open_hunks(path=path, turn_id=params.turn_id)
        return wire.HunksResult(files=to_wire.file_hunks(hunks, lambda path: "", lambda path: None))
    found = pending_hunks(context, session_id=params.session_id, path=path, turn_id=params.turn_id)
    return wire.HunksResult(files=found)


def pending_hunks(
    context: Context, *, session_id: str | None = None, path: str | None = None, turn_id: str | None = None
) -> tuple[wire.FileHunks, ...]:
    found = context.manager.review.open_hunks(session_id=session_id, path=path, turn_id=turn_id)
    return files_of_hunks(context, found)


async def looked(context: Context, params: wire.Looked) -> wire.Empty:
    context.manager.review.look(frozenset(params.hunk_ids))
    return wire.Empty()


def find_synced_hunks(context: Context, path: str) -> wire.FileHunks | None:
    """Return the open hunks of a file; None if the file has no open hunks, or if the ledger does not have the
    document's text yet.
    """
    document = context.host.open_document(path)
    if document and document.text != context.manager.review.current_text(path):
        return None
    return next(iter(pending_hunks(context, path=path)), None)


async def review(context: Context, params: wire.Review) -> wire.ReviewResult:
    selectors = (params.hunk_ids, params.uri, params.turn_id, params.session_id)
    if (count := sum(selector is not None for selector in selectors)) != 1:
        raise AmbiguousSelectionError(count)
    if (params.lines is not None or params.replacement is not None) and len(params.hunk_ids or ()) != 1:
        raise InvalidParamsError(params.method, "with lines or replacement, give exactly one id in hunkIds")
    if params.replacement is not None and params.verdict != "keep":
        raise InvalidParamsError(params.method, "a replacement can only be given with keep")
    changed, refused = await context.manager.review.review(
        params.verdict,
        Selection(
            hunk_ids=params.hunk_ids,
            path=file_path(params.uri, params.method) if params.uri else None,
            turn_id=params.turn_id,
            session_id=params.session_id,
        ),
        comment=params.comment or "",
        confirm=params.confirm,
        lines=params.lines,
        replacement=params.replacement,
    )
    return wire.ReviewResult(
        changed=tuple(to_wire.hunk(hunk) for hunk in changed),
        refused=tuple({"id": hunk_id, "reason": reason} for hunk_id, reason in refused),
    )


def file_path(uri: str, method: str) -> str:
    if path := maybe_path(uri):
        return path
    raise InvalidParamsError(method, f"uri: {uri} is not the URI of a file")


ROUTES = (
    route(wire.Approve, approve),
    route(wire.Hunks, hunks),
    route(wire.Looked, looked),
    route(wire.Review, review),
)
