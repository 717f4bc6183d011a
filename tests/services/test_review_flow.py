from __future__ import annotations

import anyio
import pytest

from agent_ls.environments.base import Attribution
from agent_ls.loop.events.types import FileChange, HunkStateChanged
from tests.services.review_rig import Review

TEXT = "one\ntwo\nthree\n"
AFTER = "one\nTWO\nthree\n"
WHO = Attribution("s1", "t1", "c-open")


async def edited_in_buffer(*, saved: str = TEXT) -> Review:
    """Return a review in which the agent has edited the open document; the disk has `saved`."""
    review = Review({"a.py": TEXT})
    review.opens("a.py", TEXT)
    await review.agent_writes("a.py", AFTER)
    review.memory.put("a.py", saved)
    return review


@pytest.mark.req("H6")
async def test_a_hunk_missing_on_disk_after_closing_without_saving_is_gone_and_reported_once() -> None:
    review = await edited_in_buffer()
    review.closes("a.py")
    await review.run_tasks()
    assert review.s1.states == [("gone",)] and review.hunks() == []
    (notice,) = review.s1.notices
    assert "a.py" in notice and "closed without saving" in notice and "TWO" in notice
    review.opens("a.py", TEXT)
    review.closes("a.py")
    await review.run_tasks()
    assert len(review.s1.notices) == 1 and review.s1.states == [("gone",)]


@pytest.mark.req("H6")
async def test_closing_a_saved_document_leaves_the_hunks_pending() -> None:
    review = await edited_in_buffer(saved=AFTER)
    review.closes("a.py")
    await review.run_tasks()
    assert review.s1.states == [] and review.s1.notices == []
    assert [hunk.state for hunk in review.hunks()] == ["pending"]


@pytest.mark.req("H6")
async def test_closing_with_an_unsaved_undo_makes_the_hunk_pending_again() -> None:
    review = await edited_in_buffer(saved=AFTER)
    review.types("a.py", TEXT)  # undo by the user
    assert review.s1.states == [("gone",)]
    review.closes("a.py")
    await review.run_tasks()
    assert review.s1.states == [("gone",), ("pending",)] and review.s1.notices == []


@pytest.mark.req("H6")
async def test_a_document_closed_and_reopened_at_once_is_not_compared_with_the_disk() -> None:
    review = await edited_in_buffer()
    review.closes("a.py")
    review.opens("a.py", AFTER)  # as an editor that reloads the document does
    await review.run_tasks()
    assert review.s1.states == [] and review.s1.notices == []


@pytest.mark.req("H6")
async def test_the_disk_check_of_a_closed_document_waits_for_an_agent_write_in_progress() -> None:
    review = await edited_in_buffer(saved=AFTER)
    path, both = review.path("a.py"), "one\nTWO\nTHREE\n"
    review.closes("a.py")
    async with anyio.create_task_group() as group:
        with review.service.writing([path]):
            group.start_soon(review.run_tasks)
            await anyio.wait_all_tasks_blocked()
            review.memory.put("a.py", both)  # the write is on disk but not reported yet
            await anyio.wait_all_tasks_blocked()
            review.service.agent_edit(path, AFTER, both, WHO)
    assert [(hunk.state, hunk.call_id) for hunk in review.hunks()] == [
        ("pending", "call1"),
        ("pending", "c-open"),
    ]


@pytest.mark.req("H6")
async def test_a_file_changed_on_disk_while_closed_is_a_user_change_and_moves_hunks() -> None:
    review = Review({"a.py": TEXT})
    await review.agent_writes("a.py", AFTER)
    review.memory.put("a.py", "# mine\n" + AFTER)
    review.opens("a.py", "# mine\n" + AFTER)
    (hunk,) = review.hunks()
    assert (hunk.state, hunk.start, hunk.base_start) == ("pending", 2, 2)
    assert review.service.base_text(review.path("a.py")) == "# mine\n" + TEXT
    assert review.s1.states == []


@pytest.mark.req("H6")
async def test_hunks_reverted_on_disk_while_the_file_is_closed_are_gone_at_the_next_agent_edit() -> None:
    review = Review({"a.py": TEXT})
    await review.agent_writes("a.py", AFTER)
    review.memory.put("a.py", TEXT)
    await review.agent_writes("a.py", TEXT.replace("three", "THREE"))
    assert review.s1.states == [("gone",)]
    assert [hunk.lines for hunk in review.hunks()] == [("THREE\n",)]


@pytest.mark.req("H6", "E8")
async def test_a_file_change_event_contains_the_hunks_and_a_diff_with_relative_paths() -> None:
    review = Review({"src/a.py": TEXT})
    await review.agent_writes("src/a.py", AFTER)
    (change,) = review.s1.of(FileChange)
    assert change.diff.startswith("--- a/src/a.py\n+++ b/src/a.py\n")
    assert (change.action, change.added, change.removed) == ("modify", 1, 1)
    assert [hunk.lines for hunk in change.hunks] == [("TWO\n",)]


def typed(count: int) -> str:
    return AFTER.replace("TWO", "TWO" + "!" * count)


@pytest.mark.req("H6", "E4")
async def test_typing_inside_a_hunk_is_published_at_most_twice_a_second() -> None:
    review = await edited_in_buffer()
    async with anyio.create_task_group() as group:
        for key in range(1, 41):  # four seconds with ten keys each
            review.types("a.py", typed(key))
            group.start_soon(review.run_tasks)
            await anyio.wait_all_tasks_blocked()
            review.clock.advance(0.1)
            await anyio.wait_all_tasks_blocked()
        review.clock.advance(1)
    events = review.s1.of(HunkStateChanged)
    assert events[0].hunks[0].lines == ("TWO!\n",), "the new state is told at once"
    assert events[-1].hunks[0].lines == ("TWO" + "!" * 40 + "\n",), "the last lines are told in the end"
    assert 8 <= len(events) <= 10


@pytest.mark.req("H6")
async def test_a_state_change_of_a_hunk_by_typing_is_published_at_once() -> None:
    review = await edited_in_buffer()
    for text in (typed(1), AFTER, typed(2), TEXT, AFTER):
        review.types("a.py", text)
    assert review.s1.states == [("edited",), ("pending",), ("edited",), ("gone",), ("pending",)]
    assert not review.tasks


BEFORE_IT = ["decision on another hunk", "agent edit", "end of the turn", "closed"]


@pytest.mark.req("H6")
@pytest.mark.parametrize("what", BEFORE_IT)
async def test_delayed_hunk_updates_from_typing_are_published_before_the_next_event(what: str) -> None:
    review = Review({"a.py": TEXT})
    review.opens("a.py", TEXT)
    await review.agent_writes("a.py", "one\nTWO\nthree\nfour\n")
    first, last = review.s1.hunk_ids
    texts = [f"one\nTWO{end}\nthree\nfour\n" for end in ("!", "!!")]
    for text in texts:
        review.types("a.py", text)
    assert review.s1.states == [("edited",)]
    count = len(review.s1.events)
    match what:
        case "decision on another hunk":
            await review.decides("keep", hunk_ids=[last])
        case "agent edit":
            await review.agent_writes("a.py", texts[-1] + "five\n")
        case "end of the turn":
            review.service.state.flush()
        case _:
            review.memory.put("a.py", texts[-1])
            review.closes("a.py")
            await review.tasks.pop()()
    event = review.s1.events[count]
    assert isinstance(event, HunkStateChanged)
    assert [(hunk.id, hunk.lines) for hunk in event.hunks] == [(first, ("TWO!!\n",))]
    review.clock.advance(5)
    assert event.by == "editor"


@pytest.mark.req("H6", "H1")
async def test_typing_in_a_hunk_is_published_only_to_the_session_of_that_hunk() -> None:
    review = await edited_in_buffer()
    other = review.session("s2")
    await review.agent_writes("a.py", AFTER.replace("one", "ONE"), session="s2")
    review.types("a.py", "ONE!\nTWO\nthree\n")
    assert other.states == [("edited",)] and review.s1.states == []


@pytest.mark.req("H6")
async def test_an_agent_edit_in_the_hunk_of_another_session_sets_that_hunk_to_edited() -> None:
    review = await edited_in_buffer()
    other = review.session("s2")
    await review.agent_writes("a.py", AFTER.replace("TWO", "2"), session="s2")
    assert review.s1.states == [("edited",)]
    assert [event.by for event in review.s1.of(HunkStateChanged)] == ["agent"]
    assert [change.hunks for change in other.of(FileChange)] == [()]
