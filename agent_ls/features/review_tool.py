"""Offer the tool `report_finding` after the session's first /review.

The tool is added after the other tools at the start of the next input. The session keeps the tool, even after a
resume, so that the prefix of its requests stays the same.
"""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.features.base import SessionFeature
from agent_ls.features.slash_commands import maybe_command
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.report_finding import FindingSink, report_finding_tool

REVIEW_MARK = "findingsTool"
"""Key in the session's stored configuration: whether the session has the tool report_finding."""


class ReviewTool(SessionFeature):
    """Offers the tool. `findings` receives the findings that the model reports.

    `is_wanted`: the session already had the tool in an earlier process. `remember` stores that the session has
    the tool.
    """

    def __init__(self, findings: FindingSink, *, is_wanted: bool, remember: Callable[[], None]) -> None:
        self._findings = findings
        self._is_wanted = is_wanted
        self._remember = remember

    def on_input(self, text: str) -> None:
        """Offer the tool from now on if the text of an input contains the command /review."""
        command = maybe_command("review")
        if command and command.text in text:
            self.offer()

    def offer(self) -> None:
        """Offer the tool from the next input on."""
        if not self._is_wanted:
            self._is_wanted = True
            self._remember()

    async def prepare(self, profile: ProviderProfile) -> None:
        if self._is_wanted and profile.registry.lookup("report_finding") is None:
            profile.registry.register(report_finding_tool(self._findings))
