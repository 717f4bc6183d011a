"""Show the findings of reviews as diagnostics, with code actions to fix, explain or dismiss them.

Used for clients with and without a plugin. The model's text is shown as plain text without control
characters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from anyio.to_thread import run_sync

from agent_ls.background import TaskStarter
from agent_ls.server.lsp.capabilities import FINDING_COMMANDS
from agent_ls.server.rpc.context import Context
from agent_ls.server.transport.errors import InvalidParamsError, NothingPendingError
from agent_ls.services.review.change_events import relative_name
from agent_ls.services.review.findings import ReviewFinding, ReviewFindings
from agent_ls.text import decode, reveal_controls, strip_escapes, to_display_line

Act: TypeAlias = Literal["fix", "explain", "dismiss"]

MAX_READ_BYTES = 16 * 1024 * 1024
TITLE_CHARS = 60

_ACTS: Mapping[str, Act] = MappingProxyType(
    dict(zip(FINDING_COMMANDS, ("fix", "explain", "dismiss"), strict=True))
)
_TITLES: Mapping[Act, str] = MappingProxyType(
    {"fix": "Fix with the agent", "explain": "Let the agent explain", "dismiss": "Dismiss"}
)
_SEVERITIES: Mapping[str, int] = MappingProxyType({"error": 1, "warning": 2, "info": 3})


@dataclass(frozen=True, slots=True)
class FindingAction:
    """A code action: the title, the command and the command's argument."""

    title: str
    command: str
    argument: Mapping[str, str]


class FindingDiagnostics:
    """The diagnostics and code actions of review findings. `publish` is called with the path of a file whose
    diagnostics have changed.
    """

    def __init__(
        self, context: Context, findings: ReviewFindings, publish: Callable[[str], None], start: TaskStarter
    ) -> None:
        self._context = context
        self._start = start
        self._findings = findings
        findings.watch(publish)

    def text_changed(self, path: str) -> None:
        """Update finding positions in a file whose document was opened, edited or closed, or which changed on
        disk.
        """
        if not self._findings.of_file(path):
            return
        if document := self._context.host.open_document(path):
            self._findings.text_is(path, document.text)
        else:
            self._start(partial(self._read, path))

    async def _read(self, path: str) -> None:
        text = await run_sync(_text_of, path)
        if not self._context.host.open_document(path):
            self._findings.text_is(path, text)

    def diagnostics(self, path: str) -> list[dict[str, Any]]:
        return [finding_mark(finding) for finding in self._findings.of_file(path)]

    def actions(self, path: str, first: int, last: int) -> list[FindingAction]:
        """Return the actions for the lines `first` to `last`, inclusive."""
        return [
            FindingAction(
                f"{_TITLES[act]}: {to_display_line(finding.message, TITLE_CHARS)}",
                command,
                {"findingId": finding.id},
            )
            for finding in self._findings.of_file(path)
            if finding.start <= last and first < finding.end
            for command, act in _ACTS.items()
        ]

    async def run(self, command: str, argument: object) -> None:
        """Carry out the command of an action.

        Raises:
            InvalidParamsError. NothingPendingError: the finding is not listed any more. AppError: the
            finding's session cannot be opened.
        """
        finding_id = argument.get("findingId") if isinstance(argument, dict) else None
        if not isinstance(finding_id, str):
            raise InvalidParamsError(command, "findingId: must be a string, the id of a finding")
        finding = self._findings.find(finding_id)
        if finding is None:
            raise NothingPendingError(
                "this finding is no longer listed", "open the list of code actions again"
            )
        act = _ACTS[command]
        if act == "dismiss":
            self._findings.dismiss(finding.id)
            return
        live = await self._context.require_open(finding.session_id)
        live.session.submit(message_for(act, finding, live.files.working_directory()), when_busy="queue")


def finding_mark(finding: ReviewFinding) -> dict[str, Any]:
    """Return the diagnostic of a finding."""
    fix = f"\nSuggested fix:\n{_to_plain(finding.fix)}" if finding.fix else ""
    return {
        "range": {
            "start": {"line": finding.start, "character": 0},
            "end": {"line": finding.end, "character": 0},
        },
        "severity": _SEVERITIES[finding.severity],
        "source": "agent-ls",
        "code": "review",
        "message": f"{_to_plain(finding.message)}{fix}",
    }


def message_for(act: Act, finding: ReviewFinding, folder: str) -> str:
    """Return the message to the agent for the actions fix and explain. Paths in `folder` are written relative to it."""
    first, last = finding.start + 1, finding.end
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    what = {
        "fix": "Fix this finding of your review",
        "explain": "Explain this finding of your review: what goes wrong, when, and how you know. Change nothing",
    }[act]
    fix = f"\n\nSuggested fix:\n{finding.fix}" if finding.fix else ""
    return f"{what}.\n\n{relative_name(finding.path, folder)}, {lines}:\n{finding.message}{fix}"


def _to_plain(text: str) -> str:
    return reveal_controls(strip_escapes(text)).strip()


def _text_of(path: str) -> str | None:
    """Return the text of a file on disk, None if the file is missing, unreadable or too large to be compared.
    Blocks.
    """
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > MAX_READ_BYTES:
            return None
        return decode(file.read_bytes()).text
    except OSError:
        return None
