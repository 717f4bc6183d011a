"""The findings of reviews: listed by file, moved while the text around them is edited, dropped when their lines change.

They are kept until the process ends, like the diagnostics of a linter; a session's log contains the calls that
reported them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from agent_ls.patch.line_diff import line_hunks
from agent_ls.review.moved_lines import move_range
from agent_ls.text import normalize_line_endings, split_lines
from agent_ls.tools.base import ToolError
from agent_ls.tools.report_finding import ReportedFinding, Severity

MAX_FINDINGS = 200  # per session; longer lists are of no use to users


@dataclass(frozen=True, slots=True)
class ReviewFinding:
    """A finding in lines [start, end), from 0. `message` and `fix` are untrusted text of a model, "" for no fix."""

    id: str
    session_id: str
    path: str
    start: int
    end: int
    severity: Severity
    message: str
    fix: str


@dataclass(slots=True)
class _File:
    """The findings of a file. Their line numbers refer to `text`."""

    text: str
    findings: list[ReviewFinding] = field(default_factory=list)


class ReviewFindings:
    """The findings of all sessions of this process.

    Implements FindingSink (tools/report_finding.py).
    """

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._numbers = count(1)
        self._watchers: list[Callable[[str], None]] = []

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call `changed` with the path of a file whose findings have been added, moved or removed."""
        self._watchers.append(changed)

    def _changed(self, path: str) -> None:
        for changed in self._watchers:
            changed(path)

    def report(self, finding: ReportedFinding) -> bool:
        """Add a finding. Returns False if an equal finding is listed already.

        Raises:
            ToolError: MAX_FINDINGS findings of the session are listed already.
        """
        self.text_is(finding.path, finding.text)
        file = self._files.setdefault(finding.path, _File(_lines_of(finding.text)))
        is_listed = any(
            (it.start, it.end, it.message) == (finding.start, finding.end, finding.message)
            for it in file.findings
        )
        if is_listed:
            return False
        if len(self.of_session(finding.session_id)) >= MAX_FINDINGS:
            raise ToolError(
                f"{MAX_FINDINGS} findings are listed, which is the limit. Report the others in your answer.",
                kind="limit",
            )
        added = ReviewFinding(
            f"f{next(self._numbers)}",
            finding.session_id,
            finding.path,
            finding.start,
            finding.end,
            finding.severity,
            finding.message,
            finding.fix,
        )
        file.findings.append(added)
        self._changed(finding.path)
        return True

    def of_file(self, path: str) -> Sequence[ReviewFinding]:
        """Return the findings of a file, by line."""
        file = self._files.get(path)
        return sorted(file.findings, key=lambda it: (it.start, it.end)) if file else ()

    def of_session(self, session_id: str) -> Sequence[ReviewFinding]:
        """Return the findings that a session has reported, by path and line."""
        found = [it for file in self._files.values() for it in file.findings if it.session_id == session_id]
        return sorted(found, key=lambda it: (it.path, it.start, it.end))

    def find(self, finding_id: str) -> ReviewFinding | None:
        return next(
            (it for file in self._files.values() for it in file.findings if it.id == finding_id), None
        )

    def dismiss(self, finding_id: str) -> ReviewFinding | None:
        """Remove a finding and return it; None if it is not listed."""
        finding = self.find(finding_id)
        if finding:
            self._files[finding.path].findings.remove(finding)
            self._publish(finding.path)
        return finding

    def text_is(self, path: str, text: str | None) -> None:
        """Update the line numbers of a file's findings for its current text, and remove findings
        whose lines changed.

        `text` None means that the file was deleted; all its findings are removed.
        """
        file = self._files.get(path)
        if file is None:
            return
        now = None if text is None else _lines_of(text)
        if now == file.text:
            return
        before = list(file.findings)
        if now is None:
            file.findings.clear()
        else:
            hunks = line_hunks(split_lines(file.text), split_lines(now))
            moved = ((it, move_range(it.start, it.end, hunks)) for it in before)
            file.findings = [replace(it, start=to[0], end=to[1]) for it, to in moved if to is not None]
            file.text = now
        if file.findings != before:
            self._publish(path)

    def _publish(self, path: str) -> None:
        if not self._files[path].findings:
            del self._files[path]
        self._changed(path)


def _lines_of(text: str) -> str:
    """Return the text with normalised line ends and one more line end, because editors send different line ends."""
    return normalize_line_endings(text) + "\n"
