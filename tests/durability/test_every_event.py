"""kill -9 after each event of a long run: all recorded texts are restored, and the ledger contains each change (R3,
R4).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agent_ls.loop.turns import AssistantTurn, CompactionTurn, ToolResultsTurn, Turn
from agent_ls.services.review.decision_request import Selection
from agent_ls.store.reader import read_session
from tests.durability.killed_run import TURNS, run
from tests.support.fake_provider import problem_of
from tests.support.session_rig import running

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
# The minimum number of events, the number of tests that share them, and the kills per test outside the sweep.
POINTS, SHARES, KILLS = 300, 4 if IS_WHOLE else 1, 5


def texts_of(turns: Sequence[Turn]) -> list[str]:
    """Return the texts of a history, without ids and times."""
    said = []
    for turn in turns:
        if isinstance(turn, ToolResultsTurn):
            said += [result.content for result in turn.results]
        elif isinstance(turn, AssistantTurn):
            said.append(f"{turn.content} {[call.arguments for call in turn.tool_calls]}")
        elif not isinstance(turn, CompactionTurn):
            said.append(turn.content)
    return said


def log_of(root: Path) -> Path:
    (log,) = root.glob("state/workspaces/*/sessions/*/log.jsonl")
    return log


async def check(root: Path, kill_at: int, whole: list[str]) -> None:
    """Resume the session that was killed in `root`; check its history and undo all changes."""
    stored = await anyio.to_thread.run_sync(lambda: read_session(log_of(root)))
    assert all("torn" in problem for problem in stored.problems)
    assert len(stored.events) >= kill_at
    assert [event.seq for event in stored.events] == list(range(1, len(stored.events) + 1))
    file = root / "project" / "a.txt"
    async with running(root) as rig:
        talk = await rig.reopen(log_of(root).parent.name)
        kept = texts_of(talk.live.session.history.turns)
        same = next((i for i, (a, b) in enumerate(zip(kept, whole, strict=False)) if a != b), len(kept))
        # The two differing texts are the interrupted answer and the results that report the interruption.
        assert len(kept) - same <= 2, kept[same:]
        await talk.say("still there?")
        assert problem_of(rig.model.requests[-1].messages) == ""
        at = int(file.read_text())
        assert 0 <= at <= TURNS
        _, refused = await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert not refused
        assert file.read_text() == "0\n", f"{at} changes were made"


def points(events: int, share: int) -> list[int]:
    """Return the events of this share. The first event is left out, because before it there is no session to resume."""
    mine = range(2 + share, events, SHARES)
    return list(mine) if IS_WHOLE else list(mine)[share :: len(mine) // KILLS][:KILLS]


@pytest.mark.req("R3", "R4", "H6")
@pytest.mark.sweep
@pytest.mark.timeout(1200 if IS_WHOLE else 300)
@pytest.mark.parametrize("share", range(SHARES))
async def test_a_session_killed_after_any_event_is_stored_up_to_that_event_and_can_be_undone(
    share: int, tmp_path: Path
) -> None:
    (tmp_path / "whole").mkdir()
    kinds = await run(tmp_path / "whole", 0)
    assert len(kinds) > POINTS
    stored = await anyio.to_thread.run_sync(lambda: read_session(log_of(tmp_path / "whole")))
    whole = texts_of(stored.state.turns)
    kills = points(len(kinds), share)
    command = [sys.executable, "-m", "tests.durability.killed_run", str(tmp_path), *map(str, kills)]
    await anyio.run_process(command, check=True, stderr=None)
    for kill_at in kills:
        try:
            await check(tmp_path / str(kill_at), kill_at, whole)
        except AssertionError as error:
            error.add_note(f"killed behind event {kill_at}, {kinds[kill_at - 1]}")
            raise
