"""Decisions of the user: approvals, and verdicts on hunks."""

from __future__ import annotations

import json

import anyio.to_thread

from agent_ls.environments.base import sha256
from agent_ls.loop.approval import Answer, UnknownApprovalError
from agent_ls.server import protocol as wire, to_wire
from agent_ls.server.context import Context
from agent_ls.server.errors import AmbiguousSelectionError, InvalidParamsError
from agent_ls.server.from_lsp import maybe_path
from agent_ls.server.rpc import route
from agent_ls.server.seams import Live


async def approve(context: Context, params: wire.Approve) -> wire.ApproveResult:
    if (
        params.replacement
        and params.replacement.command is not None
        and not params.replacement.command.strip()
    ):
        raise InvalidParamsError(params.method, "replacement.command is blank; deny the command instead")
    live = context.live(params.session_id)
    waiting = any(request.request_id == params.request_id for request in live.desk.pending())
    if waiting and live.session.is_stopped:
        # The stop is on its way to the call, which will be told so; an answer behind it allows nothing.
        return wire.ApproveResult(decision="deny", decided_by="interrupt")
    answer = Answer(
        decision=params.decision,
        scope=params.scope,
        rule_id=params.rule_id or "",
        reason=params.reason or "",
        decided_by=context.client_id,
        client_key=params.client_key,
        command=(params.replacement and params.replacement.command) or "",
    )
    try:
        resolved = live.desk.answer(params.request_id, answer)
    except UnknownApprovalError:
        if decided := await anyio.to_thread.run_sync(_decided_before, live, params.request_id):
            return decided
        raise
    return wire.ApproveResult(decision=resolved.decision, decided_by=resolved.decided_by)


def _decided_before(live: Live, request_id: str) -> wire.ApproveResult | None:
    """The decision that stands in the log: made before the process that asked for it ended. Blocks."""
    name = json.dumps(request_id).encode()
    for encoded in live.events_since(0):
        if b'"kind":"approval_resolved"' in encoded[:200] and name in encoded:
            data = json.loads(encoded)["data"]
            return wire.ApproveResult(decision=data["decision"], decided_by=data["decidedBy"])
    return None


async def hunks(context: Context, params: wire.Hunks) -> wire.HunksResult:
    path = file_path(params.uri, params.method) if params.uri else None
    if params.session_id and (read := context.bench.owners.elsewhere(params.session_id)):
        hunks = read.open_hunks(path=path, turn_id=params.turn_id)
        return wire.HunksResult(files=to_wire.file_hunks(hunks, lambda path: "", lambda path: None))
    found = pending_hunks(context, session_id=params.session_id, path=path, turn_id=params.turn_id)
    return wire.HunksResult(files=found)


def pending_hunks(
    context: Context, *, session_id: str | None = None, path: str | None = None, turn_id: str | None = None
) -> tuple[wire.FileHunks, ...]:
    def base_hash(path: str) -> str:
        text = context.bench.review.base_text(path)
        return sha256(text.encode("utf-8", "surrogateescape")) if text is not None else ""

    def version(path: str) -> int | None:
        document = context.host.open_document(path)
        return document.version if document else None

    found = context.bench.review.open_hunks(session_id=session_id, path=path, turn_id=turn_id)
    return to_wire.file_hunks(found, base_hash, version)


async def review(context: Context, params: wire.Review) -> wire.ReviewResult:
    selectors = (params.hunk_ids, params.uri, params.turn_id, params.session_id)
    if (count := sum(selector is not None for selector in selectors)) != 1:
        raise AmbiguousSelectionError(count)
    if (params.lines is not None or params.replacement is not None) and len(params.hunk_ids or ()) != 1:
        raise InvalidParamsError(params.method, "lines and replacement are for exactly one of hunkIds")
    if params.replacement is not None and params.verdict != "keep":
        raise InvalidParamsError(params.method, "a replacement is for keep: what is undone has no text")
    changed, refused = await context.bench.review.review(
        verdict=params.verdict,
        hunk_ids=params.hunk_ids,
        path=file_path(params.uri, params.method) if params.uri else None,
        turn_id=params.turn_id,
        session_id=params.session_id,
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
    raise InvalidParamsError(method, f"uri: {uri} is no file")


ROUTES = (route(wire.Approve, approve), route(wire.Hunks, hunks), route(wire.Review, review))
