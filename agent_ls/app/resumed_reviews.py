"""ADAPTER Reviews: a call that waited for verdicts when its process ended is judged again, and waits on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import get_cancelled_exc_class

from agent_ls.app.proposals import call_of
from agent_ls.environments.base import Attribution, FileState
from agent_ls.loop.approval import ApprovalQuestion, Approver, Denied
from agent_ls.tools.planned import effect_of_writes

if TYPE_CHECKING:
    from agent_ls.app.proposals import Proposals
    from agent_ls.app.review_desk import Audience


class ResumedReviews:
    """`audience` finds the session, once it lives."""

    def __init__(
        self, proposals: Proposals, approver: Approver, audience: Callable[[], Audience | None]
    ) -> None:
        self._proposals = proposals
        self._approver = approver
        self._audience = audience

    async def resume(
        self, question: ApprovalQuestion, attribution: Attribution
    ) -> Sequence[FileState] | Denied:
        """The paths may lead elsewhere by now, and the mode be another: then a person is asked, or it is refused."""
        audience = self._audience()
        if audience is None or not self._proposals.is_waiting(call_of(attribution)):
            return Denied(
                "What this call proposed is not known any more. Look at the files, then propose it again."
            )
        effect = effect_of_writes(self._proposals.writes_of(call_of(attribution)), audience.files)
        try:
            decision = await self._approver.decide(replace(question, effect=effect))
        except get_cancelled_exc_class():
            if audience.is_stopped:
                self._proposals.drop(attribution, audience)
            raise
        if isinstance(decision, Denied):
            self._proposals.drop(attribution, audience)
            return decision
        return await self._proposals.verdicts(attribution, audience)
