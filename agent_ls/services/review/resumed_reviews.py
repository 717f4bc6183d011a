"""Implements Reviews: after a resume, check a waiting call by the policy again, then wait for its decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from anyio import get_cancelled_exc_class

from agent_ls.environments.base import Attribution, FileState
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, Approver, Denied
from agent_ls.services.review.proposals import Proposals
from agent_ls.services.review.reviewed_file import call_of
from agent_ls.services.review.state import ReviewedSession
from agent_ls.tools.file_commits import effect_of_writes


class ResumedReviews:
    """Resumes calls that wait for decisions.

    `find_session` returns the session, or None before it is live.
    """

    def __init__(
        self, proposals: Proposals, approver: Approver, find_session: Callable[[], ReviewedSession | None]
    ) -> None:
        self._proposals = proposals
        self._approver = approver
        self._find_session = find_session

    async def resume(
        self, question: ApprovalQuestion, attribution: Attribution
    ) -> Sequence[FileState] | Denied:
        """Check the call again and wait for its decisions.

        If paths resolve to other files by now, or the mode has changed, the user may be asked, or the call
        refused.
        """
        session = self._find_session()
        if session is None or not self._proposals.is_waiting(call_of(attribution)):
            return Denied(
                "The changes that this call proposed are no longer known. Read the files, then propose the "
                "changes again."
            )
        effect = effect_of_writes(self._proposals.writes_of(call_of(attribution)), session.files)
        try:
            decision = await self._approver.decide(replace(question, effect=effect))
        except get_cancelled_exc_class():
            if session.is_stopped:
                self._proposals.drop(attribution, session)
            raise
        if not isinstance(decision, Allowed):
            self._proposals.drop(attribution, session)
            return decision
        return await self._proposals.wait_for_decisions(attribution, session)
