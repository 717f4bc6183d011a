"""Build the guided review of one session from its log and the current texts. Blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.loop.events.types import Hunk
from agent_ls.review.guide.rows import guide
from agent_ls.review.guide.values import ProjectFacts, ReviewRow
from agent_ls.sessions.guide.facts import FactsReader
from agent_ls.sessions.guide.log import GuideLog
from agent_ls.store.layout import blobs_path, log_path
from agent_ls.text import decode, looks_binary

LARGEST_FILE = 4_000_000


@dataclass(frozen=True, slots=True)
class SessionGuide:
    """The hunks by path in the order of their positions, the rows, and the reason of each hunk by its id."""

    hunks: Mapping[str, Sequence[Hunk]]
    rows: Sequence[ReviewRow]
    reasons: Mapping[str, str]


def session_guide(
    log: GuideLog,
    folder: str | None,
    *,
    now: Mapping[str, Hunk] | None = None,
    text_of: Callable[[str], str | None] = lambda path: None,
    wanted: Callable[[Hunk], bool] = lambda hunk: True,
    reader: FactsReader | None = None,
) -> SessionGuide:
    """Return the guide of the hunks for which `wanted` is true. Reads what is new in the log.

    `now` are the undecided hunks in their current form by id; None: as in the log. `folder` is the session's
    folder on this machine; None: only what the log says is used. `text_of` returns the text of a file that the
    review knows, else the file is read. `reader` remembers what earlier guides have read.

    Raises:
        OSError: the log cannot be read.
    """
    log.read()
    found = [hunk for hunk in _current(log, now) if wanted(hunk)]
    facts = ProjectFacts()
    if folder is not None:
        texts = {path: _text(path, text_of) for path in dict.fromkeys(hunk.path for hunk in found)}
        facts = (reader or FactsReader()).read(folder, texts, log.writes, blobs_path(log.path.parent))
    by_path: dict[str, list[Hunk]] = {}
    for hunk in sorted(found, key=lambda hunk: (hunk.start, hunk.end, log.number(hunk))):
        by_path.setdefault(hunk.path, []).append(hunk)
    reasons = {hunk.id: log.reason(hunk) for hunk in found}
    return SessionGuide(by_path, guide([log.guided(hunk) for hunk in found], facts), reasons)


def open_log(session_folder: Path) -> GuideLog:
    return GuideLog(log_path(session_folder))


def _current(log: GuideLog, now: Mapping[str, Hunk] | None) -> list[Hunk]:
    """Return the decided hunks of the log, and the undecided ones in their current form."""
    if now is None:
        return [hunk for hunk in log.hunks.values() if hunk.state != "stale"]
    decided = [hunk for hunk in log.hunks.values() if hunk.state in ("kept", "undone") and hunk.id not in now]
    return [*decided, *now.values()]


def _text(path: str, text_of: Callable[[str], str | None]) -> str | None:
    if (known := text_of(path)) is not None:
        return known
    try:
        if Path(path).stat().st_size > LARGEST_FILE:
            return None
        data = Path(path).read_bytes()
    except OSError:
        return None
    return None if looks_binary(data) else decode(data).text
