"""Handlers of requests that ACP does not define: steering a running turn, changes and decisions, the queue,
rules, and take-over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import anyio.to_thread
from pydantic import ValidationError

from agent_ls.acp.errors import RpcError, invalid
from agent_ls.acp.extension_types import (
    AcpHunk,
    AcpHunks,
    AcpHunksResult,
    AcpQueue,
    AcpQueueResult,
    AcpReview,
    AcpReviewResult,
    AcpRule,
    AcpRules,
    AcpRulesResult,
    AcpStruct,
    AcpTakeOver,
    AcpUnsteer,
    ExtensionParams,
    LeftAlone,
    Nothing,
    QueuedMessage,
    Steering,
    SteeringResult,
)
from agent_ls.acp.sessions import OpenSessions, Params as RawParams
from agent_ls.loop.events.types import Hunk
from agent_ls.loop.inbox import QueueChange, QueueRemoval, StartNow
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.store_errors import store_errors
from agent_ls.sessions.guide.log import GuideLog
from agent_ls.sessions.guide.session_guide import open_log
from agent_ls.sessions.live import LiveSession

P = TypeVar("P", bound=ExtensionParams)
Handler: TypeAlias = Callable[[Any], Awaitable[AcpStruct]]


class Extensions:
    def __init__(self, sessions: OpenSessions) -> None:
        self._sessions = sessions
        self._logs: WeakKeyDictionary[LiveSession, GuideLog] = WeakKeyDictionary()
        self._handlers: dict[type[ExtensionParams], Handler] = {
            Steering: self._steer,
            AcpHunks: self._hunks,
            AcpReview: self._review,
            AcpQueue: self._queue,
            AcpUnsteer: self._unsteer,
            AcpRules: self._rules,
            AcpTakeOver: self._take_over,
        }

    def register(self) -> None:
        for params, handler in self._handlers.items():
            self._sessions.methods[params.method] = partial(_called, params, handler)

    async def _steer(self, params: Steering) -> SteeringResult:
        conversation = await self._sessions.conversation(params.session_id)
        steering = (params.meta or {}).get("steering")
        idle = steering.get("idleBehavior") if isinstance(steering, dict) else None
        prompt = self._sessions.read_prompt(conversation, params.prompt)
        if idle == "promptRequired" and not conversation.live.session.is_busy:
            return SteeringResult(outcome="promptRequired")
        outcome = conversation.steer(prompt.text, prompt.images)
        return SteeringResult(outcome=outcome)

    async def _hunks(self, params: AcpHunks) -> AcpHunksResult:
        live = (await self._sessions.conversation(params.session_id)).live
        found = self._sessions.manager.review.open_hunks(
            session_id=params.session_id, path=params.path, turn_id=params.turn_id
        )
        hunks = [it for hunks in found.values() for it in hunks]
        log = self._logs.setdefault(live, open_log(live.folder))
        with store_errors(params.session_id):
            await anyio.to_thread.run_sync(log.read)
        return AcpHunksResult(hunks=tuple(_hunk(it, log.reason(it)) for it in hunks))

    async def _review(self, params: AcpReview) -> AcpReviewResult:
        """Keep or undo hunks of the named session. Ids that are not its undecided hunks are reported in
        `refused`.
        """
        manager = self._sessions.manager
        conversation = await self._sessions.conversation(params.session_id)
        manager.owners.check_owned(conversation.live)
        found = manager.review.open_hunks(
            session_id=params.session_id, path=params.path, turn_id=params.turn_id
        )
        own = [it.id for hunks in found.values() for it in hunks]
        chosen = own if params.hunk_ids is None else [it for it in params.hunk_ids if it in own]
        changed, refused = await manager.review.review(
            params.verdict, Selection(hunk_ids=chosen), comment=params.comment, confirm=params.confirm
        )
        gone = [
            (it, "this change is not waiting for a decision") for it in params.hunk_ids or () if it not in own
        ]
        return AcpReviewResult(
            changed=tuple(map(_hunk, changed)),
            refused=tuple(LeftAlone(id=id_, reason=reason) for id_, reason in (*refused, *gone)),
        )

    async def _queue(self, params: AcpQueue) -> AcpQueueResult:
        session = (await self._sessions.conversation(params.session_id)).live.session
        changes: list[QueueChange] = []
        if params.remove is not None:
            changes.append(QueueRemoval(params.remove))
        if params.start_now is not None:
            changes.append(StartNow(params.start_now))
        if len(changes) > 1:
            raise invalid("The request changes the queue in several ways; send one change at a time")
        if changes and not session.change_queue(changes[0]):
            raise invalid("This message is no longer in the queue", "Request the queue again.")
        return AcpQueueResult(
            queue=tuple(QueuedMessage(queued_id=it.queued_id, text=it.text) for it in session.queue)
        )

    async def _unsteer(self, params: AcpUnsteer) -> Nothing:
        session = (await self._sessions.conversation(params.session_id)).live.session
        waiting = [it.id for it in session.steering]
        steer_id = params.steer_id or (waiting[-1] if waiting else "")
        if not steer_id or not session.unsteer(steer_id):
            raise invalid(
                "The model has read this message already", "Send another message with the correction."
            )
        return Nothing()

    async def _rules(self, params: AcpRules) -> AcpRulesResult:
        manager = self._sessions.manager
        live = (await self._sessions.conversation(params.session_id)).live
        folder = live.summary().workspace_folder
        if params.remove is not None:
            removed = await manager.rules.remove(params.remove, live.id, folder)
            removed = removed or await manager.rules.remove(params.remove, None, folder)
            if not removed:
                raise invalid("The permission rule to remove does not exist", "Request the rules again.")
        rules = await manager.rules.rules(live.id, folder)
        found = tuple(AcpRule.model_validate(it, from_attributes=True) for it in rules)
        return AcpRulesResult(rules=found)

    async def _take_over(self, params: AcpTakeOver) -> Nothing:
        await self._sessions.manager.take_over(params.session_id, force=params.force)
        return Nothing()


async def _called(params: type[P], handler: Callable[[P], Awaitable[AcpStruct]], raw: RawParams) -> Any:
    """Parse the parameters of a request, call the handler of the request, and return the result as JSON.

    Raises:
        RpcError: the parameters are invalid.
    """
    try:
        read = params.model_validate(raw)
    except ValidationError as error:
        where = ", ".join(sorted({".".join(map(str, it["loc"])) for it in error.errors()}))
        raise RpcError(
            -32602,
            "The client sent a request that agent-ls cannot read",
            f"{params.method}: malformed: {where}",
        ) from None
    return (await handler(read)).model_dump(mode="json", by_alias=True)


def _hunk(hunk: Hunk, reason: str = "") -> AcpHunk:
    return AcpHunk.model_validate(hunk, from_attributes=True).model_copy(update={"reason": reason})
