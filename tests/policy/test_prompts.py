from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.replay.session import read_recording, replay
from benchmarks.prompts import SESSIONS, measured
from tests.docs.pages import read, section, table

RECORDINGS = sorted(SESSIONS.glob("*/recording.jsonl"))


@pytest.mark.req("H7")
def test_general_rules_need_30_percent_fewer_approvals_and_no_more_than_exact_rules() -> None:
    assert len(measured()) == 3
    for name, found in measured().items():
        assert found.learned <= found.exact <= found.without < found.calls, name
    total = measured().values()
    assert sum(found.learned for found in total) < sum(found.without for found in total) * 0.7


@pytest.mark.req("H13")
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.parent.name)
async def test_recorded_everyday_session_replays_without_differences(recording: Path) -> None:
    told = await replay(read_recording(recording))
    assert told.differences == [] and told.calls > 10


def test_approval_counts_in_performance_docs_equal_the_measured_counts() -> None:
    rows = table(section(read("docs/performance-parts.md"), "## Questions to the user"), "session")
    told = [tuple(int(cell) for cell in row[1:]) for row in rows]
    assert told == [(it.calls, it.without, it.exact, it.learned) for it in measured().values()]
