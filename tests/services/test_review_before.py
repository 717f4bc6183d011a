from __future__ import annotations

from functools import partial

import anyio
import pytest

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.errors import StaleFileError
from agent_ls.loop.events.types import FileChange, HunkStateChanged
from agent_ls.services.review.decision_request import CLOSED_SESSION, Selection
from agent_ls.services.review.proposal_decisions import DOES_NOT_FIT
from tests.services.review_rig import Review

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
EDITED = LINES.replace("two", "TWO").replace("seven", "SEVEN")


def fresh(*, is_open: bool = False) -> Review:
    review = Review({"a.py": LINES})
    if is_open:
        review.opens("a.py", LINES)
    return review


def text(review: Review, name: str = "a.py") -> str:
    document = review.host.open_document(review.path(name))
    return document.text if document else review.text(name)


@pytest.mark.req("H6")
@pytest.mark.parametrize("is_open", [False, True], ids=["file on disk", "open document"])
async def test_a_proposed_hunk_is_not_written_until_the_user_keeps_it(is_open: bool) -> None:
    review = fresh(is_open=is_open)
    async with review.proposed(("a.py", EDITED)) as call:
        first, last = review.hunks()
        assert (first.state, first.start, first.end, first.lines) == ("proposed", 1, 2, ("TWO\n",))
        assert text(review) == LINES == review.service.base_text(review.path("a.py"))
        assert review.service.proposed_text(review.path("a.py")) == EDITED
        assert await review.decides("keep", hunk_ids=[first.id]) == (["kept"], {})
        assert text(review) == LINES.replace("two", "TWO") == review.service.base_text(review.path("a.py"))
        assert not call.over.is_set()
        assert await review.decides("keep", hunk_ids=[last.id]) == (["kept"], {})
        await call.ends()
    assert text(review) == EDITED and call.note == "" and review.hunks() == []
    assert review.s1.states == [("proposed", "proposed"), ("kept",), ("kept",)]
    assert [change.hunks for change in review.s1.of(FileChange)] == [(), ()]
    assert review.s1.notices == []


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    "selection", [{"session_id": "s1"}, {"turn_id": "t1"}, {"path": "/project/a.py"}], ids=str
)
@pytest.mark.parametrize(("decision", "after"), [("keep", EDITED), ("undo", LINES)])
async def test_keep_or_undo_of_a_selection_decides_every_proposed_hunk_in_it(
    selection: dict[str, str], decision: str, after: str
) -> None:
    review = fresh()
    async with review.proposed(("a.py", EDITED)) as call:
        states, refused = await review.decides(decision, **selection)
        assert len(states) == 2 and refused == {}
        await call.ends()
    assert text(review) == after


@pytest.mark.req("H6")
async def test_the_tool_result_contains_kept_and_undone_hunks_and_the_current_text() -> None:
    review = fresh()
    async with review.proposed(("a.py", EDITED)) as call:
        first, last = review.hunks()
        await review.decides("undo", hunk_ids=[first.id], comment="keep it quiet")
        await review.decides("keep", hunk_ids=[last.id])
        await call.ends()
    assert text(review) == LINES.replace("seven", "SEVEN")
    (state,) = call.states
    assert state.before == LINES.encode() and state.after == text(review).encode()
    assert "kept 1 of its 2 parts" in call.note and "The user says: keep it quiet" in call.note
    assert "-two\n+TWO" in call.note.split("Changes in ")[0]
    assert "+SEVEN" in call.note.split("Changes in ")[1]


@pytest.mark.req("H6")
async def test_an_undone_proposal_is_reported_as_refused() -> None:
    review = fresh()
    async with review.proposed(("a.py", EDITED)) as call:
        await review.decides("undo", session_id="s1", comment="not now")
        await call.ends()
    assert "change of a.py" in call.note and "not now" in call.note
    assert call.states[0].before == call.states[0].after
    assert review.s1.of(FileChange) == []


@pytest.mark.req("H6")
@pytest.mark.parametrize("is_open", [False, True], ids=["file on disk", "open document"])
async def test_a_replacement_text_is_written_and_reported(is_open: bool) -> None:
    review = fresh(is_open=is_open)
    async with review.proposed(("a.py", LINES.replace("two", "TWO"))) as call:
        (hunk,) = review.hunks()
        await review.decides("keep", hunk_ids=[hunk.id], replacement="mine\n")
        await call.ends()
    assert text(review) == LINES.replace("two", "mine")
    assert "Instead:\nmine" in call.note and "+TWO" in call.note and "+mine" in call.note


@pytest.mark.req("H6")
@pytest.mark.parametrize("is_open", [False, True], ids=["file on disk", "open document"])
async def test_lines_of_a_hunk_are_kept_and_the_rest_stays_pending(is_open: bool) -> None:
    review = fresh(is_open=is_open)
    async with review.proposed(("a.py", LINES.replace("two\n", "TWO\nTWO-b\nTWO-c\n"))) as call:
        (hunk,) = review.hunks()
        changed, _ = await review.service.review("keep", Selection(hunk_ids=[hunk.id]), lines=(0, 2))
        assert sorted(it.state for it in changed) == ["kept", "proposed"]
        assert text(review) == LINES.replace("two\n", "TWO\nTWO-b\n") and not call.over.is_set()
        (rest,) = review.hunks()
        assert (rest.id, rest.lines, rest.start) == (hunk.id, ("TWO-c\n",), 3)
        await review.decides("keep", hunk_ids=[rest.id])
        await call.ends()
    assert text(review) == LINES.replace("two\n", "TWO\nTWO-b\nTWO-c\n")


@pytest.mark.req("H6")
async def test_lines_of_a_hunk_are_undone_and_the_rest_stays_pending() -> None:
    review = fresh()
    async with review.proposed(("a.py", LINES.replace("two\n", "TWO\nTWO-b\nTWO-c\n"))) as call:
        (hunk,) = review.hunks()
        await review.decides("undo", hunk_ids=[hunk.id], lines=(1, 2))
        await review.decides("keep", session_id="s1")
        await call.ends()
    assert text(review) == LINES.replace("two\n", "TWO\nTWO-c\n")


@pytest.mark.req("H6")
async def test_typing_above_proposed_hunks_shifts_their_positions() -> None:
    review = fresh(is_open=True)
    async with review.proposed(("a.py", EDITED)) as call:
        review.types("a.py", f"mine\n{LINES}")
        assert [(hunk.start, hunk.state) for hunk in review.hunks()] == [(2, "proposed"), (7, "proposed")]
        await review.decides("keep", session_id="s1")
        await call.ends()
    assert text(review) == f"mine\n{EDITED}" == review.service.base_text(review.path("a.py"))


@pytest.mark.req("H6")
async def test_text_typed_while_a_kept_proposal_is_written_is_preserved() -> None:
    review = fresh(is_open=True)
    async with review.proposed(("a.py", EDITED)) as call:
        review.host.typing[review.path("a.py")] = [lambda now: f"mine\n{now}"]
        assert await review.decides("keep", session_id="s1") == (["kept", "kept"], {})
        await call.ends()
    assert text(review) == f"mine\n{EDITED}"


@pytest.mark.req("H6")
async def test_a_proposal_is_stale_until_the_user_restores_the_rewritten_lines() -> None:
    review = fresh(is_open=True)
    async with review.proposed(("a.py", EDITED)) as call:
        first, _ = review.hunks()
        review.types("a.py", LINES.replace("two", "2"))
        assert [hunk.state for hunk in review.hunks()] == ["stale", "proposed"]
        assert await review.decides("keep", hunk_ids=[first.id]) == ([], {first.id: DOES_NOT_FIT})
        review.types("a.py", LINES)
        assert [hunk.state for hunk in review.hunks()] == ["proposed", "proposed"]
        review.types("a.py", LINES.replace("two", "2"))
        states, refused = await review.decides("keep", session_id="s1")
        assert states == ["kept"] and refused == {first.id: DOES_NOT_FIT}
        assert not call.over.is_set()
        assert await review.decides("undo", hunk_ids=[first.id]) == (["undone"], {})
        await call.ends()
    assert text(review) == LINES.replace("two", "2").replace("seven", "SEVEN")
    assert "-two\n+TWO" in call.note.split("Changes in ")[0]


@pytest.mark.req("H6")
async def test_typing_the_proposed_text_counts_as_keeping_the_proposal() -> None:
    review = fresh(is_open=True)
    async with review.proposed(("a.py", LINES.replace("two", "TWO"))) as call:
        review.types("a.py", LINES.replace("two", "TWO"))
        await call.ends()
    assert review.s1.states[-1] == ("kept",)


@pytest.mark.req("H6")
async def test_proposals_follow_the_disk_text_after_close_without_save_and_the_buffer_after_reopen() -> None:
    review = fresh(is_open=True)
    async with review.proposed(("a.py", EDITED)) as call:
        review.types("a.py", LINES.replace("two", "2"))
        assert [hunk.state for hunk in review.hunks()] == ["stale", "proposed"]
        review.closes("a.py")
        await review.run_tasks()
        assert [hunk.state for hunk in review.hunks()] == ["proposed", "proposed"]
        review.opens("a.py", f"mine\n{LINES}")
        assert [hunk.start for hunk in review.hunks()] == [2, 7]
        await review.decides("keep", session_id="s1")
        await call.ends()
    assert text(review) == f"mine\n{EDITED}"


@pytest.mark.req("H6")
async def test_reverting_a_kept_proposal_in_the_editor_is_a_user_change() -> None:
    review = fresh(is_open=True)
    async with review.proposed(("a.py", EDITED)) as call:
        first, last = review.hunks()
        await review.decides("keep", hunk_ids=[first.id])
        review.types("a.py", LINES)
        assert [hunk.id for hunk in review.hunks()] == [last.id]
        await review.decides("keep", hunk_ids=[last.id])
        await call.ends()
    assert text(review) == LINES.replace("seven", "SEVEN") == review.service.base_text(review.path("a.py"))


@pytest.mark.req("H6")
async def test_an_interrupt_drops_pending_proposals_and_reports_kept_ones() -> None:
    review = fresh()
    async with review.proposed(("a.py", EDITED)):
        first, _ = review.hunks()
        await review.decides("keep", hunk_ids=[first.id])
    assert review.hunks() == [] and review.s1.states[-1] == ("gone",)
    assert text(review) == LINES.replace("two", "TWO")
    assert "1 made" in review.s1.notices[0]


@pytest.mark.req("H6")
@pytest.mark.parametrize("lines", [None, (0, 1)], ids=["a hunk", "a line of one"])
async def test_an_interrupt_during_the_write_of_a_kept_proposal_drops_the_pending_proposals(
    lines: tuple[int, int] | None,
) -> None:
    review = fresh(is_open=True)
    review.host.held = anyio.Event()
    async with anyio.create_task_group() as group:
        async with review.proposed(("a.py", EDITED.replace("TWO", "TWO\nTOO"))):
            first, _ = review.hunks()
            group.start_soon(partial(review.decides, "keep", hunk_ids=[first.id], lines=lines))
            await anyio.wait_all_tasks_blocked()
        assert review.hunks() == []
        review.host.held.set()
    assert text(review) == LINES.replace("two\n", "TWO\nTOO\n" if lines is None else "TWO\n")
    assert review.hunks() == []
    assert "1 made" in review.s1.notices[0]


@pytest.mark.req("H6", "R4")
async def test_decisions_on_proposals_that_survive_a_shutdown_are_applied_and_reported_to_the_model() -> None:
    review = fresh()
    review.s1.is_stopped = False
    async with review.proposed(("a.py", EDITED)):
        first, last = review.hunks()
    assert review.s1.notices == []
    assert [hunk.state for hunk in review.hunks()] == ["proposed", "proposed"]
    await review.decides("keep", hunk_ids=[first.id])
    await review.decides("undo", hunk_ids=[last.id], comment="no")
    assert text(review) == LINES.replace("two", "TWO")
    assert "1 made, 0 refused" in review.s1.notices[0]
    assert "0 made, 1 refused" in review.s1.notices[1] and "The user says: no" in review.s1.notices[1]


@pytest.mark.req("H6", "R4")
async def test_a_queued_decision_of_a_closed_session_writes_nothing() -> None:
    review = fresh(is_open=True)
    review.s1.is_stopped = False
    async with review.proposed(("a.py", EDITED)):
        first, last = review.hunks()
    review.host.held = anyio.Event()
    refused: list[dict[str, str]] = []

    async def keep_last() -> None:
        refused.append((await review.decides("keep", hunk_ids=[last.id]))[1])

    async with anyio.create_task_group() as group:
        group.start_soon(partial(review.decides, "keep", hunk_ids=[first.id]))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(keep_last)
        await anyio.wait_all_tasks_blocked()
        del review.sessions["s1"]
        review.host.held.set()
    assert refused == [{last.id: CLOSED_SESSION}]
    assert text(review) == LINES.replace("two", "TWO")
    assert [hunk.id for hunk in review.hunks()] == [last.id]


@pytest.mark.req("H6")
async def test_new_and_deleted_files_are_proposed_as_a_whole() -> None:
    review = Review({"old.py": "old\n"})
    async with review.proposed(("new.py", "new\n"), ("old.py", None)) as call:
        new, old = review.hunks()
        assert (new.what, old.what) == ("create", "delete")
        assert not review.exists("new.py") and review.exists("old.py")
        await review.decides("keep", hunk_ids=[new.id])
        assert review.text("new.py") == "new\n"
        await review.decides("undo", hunk_ids=[old.id])
        await call.ends()
    assert review.exists("old.py")
    assert "change of old.py" in call.note


@pytest.mark.req("H6")
@pytest.mark.parametrize(("decision", "moved"), [("keep", True), ("undo", False)])
async def test_source_and_target_hunks_of_a_move_are_decided_together(decision: str, moved: bool) -> None:
    review = Review({"old.py": "old\n"})
    writes = (("new.py", "old\nmore\n"), ("old.py", None))
    async with review.proposed(*writes, moves={"new.py": "old.py"}) as call:
        one, other = review.hunks()
        assert one.link == other.link != ""
        states, refused = await review.decides(decision, hunk_ids=[one.id])
        assert len(states) == 2 and refused == {}
        await call.ends()
    assert review.exists("new.py") == moved and review.exists("old.py") != moved


@pytest.mark.req("H6")
async def test_a_proposed_move_is_refused_if_the_source_file_changed() -> None:
    review = Review({"old.py": "old\n"})
    review.opens("old.py", "old\n")
    writes = (("new.py", "old\n"), ("old.py", None))
    async with review.proposed(*writes, moves={"new.py": "old.py"}) as call:
        hunks = review.hunks()
        review.types("old.py", "mine\n")
        states, refused = await review.decides("keep", hunk_ids=[hunks[0].id])
        assert states == [] and refused == {hunk.id: DOES_NOT_FIT for hunk in hunks}
        assert not call.over.is_set()
    assert text(review, "old.py") == "mine\n"


@pytest.mark.req("H6")
async def test_binary_content_is_kept_or_undone_as_a_whole() -> None:
    review = Review({"a.bin": b"\0old"})
    async with review.proposed(("a.bin", b"\0new")) as call:
        (hunk,) = review.hunks()
        assert hunk.lines == () and review.bytes("a.bin") == b"\0old"
        await review.decides("keep", hunk_ids=[hunk.id])
        await call.ends()
    assert review.bytes("a.bin") == b"\0new"


@pytest.mark.req("H6")
async def test_files_kept_together_are_written_all_or_nothing() -> None:
    review = Review({"a.py": LINES, "b.py": LINES})
    for name in ("a.py", "b.py"):
        review.opens(name, LINES)
    async with review.proposed(("a.py", EDITED), ("b.py", EDITED)) as call:
        review.host.refusals[review.path("b.py")] = "it is read only"
        states, refused = await review.decides("keep", session_id="s1")
        assert states == [] and len(refused) == 4 and "read only" in next(iter(refused.values()))
        assert text(review) == LINES and {hunk.state for hunk in review.hunks()} == {"proposed"}
        assert not call.over.is_set()
        del review.host.refusals[review.path("b.py")]
        states, refused = await review.decides("keep", session_id="s1")
        assert len(states) == 4 and refused == {}
        await call.ends()
    assert text(review, "a.py") == text(review, "b.py") == EDITED


@pytest.mark.req("H6")
async def test_keeping_a_proposed_hunk_preserves_the_file_encoding() -> None:
    review = Review({"a.py": "\ufeffone\r\ntwo\r\n".encode("utf-16-le")})
    content = "\ufeffONE\r\ntwo\r\nthree\r\n".encode("utf-16-le")
    async with review.proposed(("a.py", content)) as call:
        first, last = review.hunks()
        await review.decides("keep", hunk_ids=[last.id])
        assert review.bytes("a.py") == "\ufeffone\r\ntwo\r\nthree\r\n".encode("utf-16-le")
        await review.decides("undo", hunk_ids=[first.id])
        await call.ends()


async def test_an_edit_based_on_outdated_text_fails_before_hunks_are_proposed() -> None:
    review = fresh(is_open=True)
    review.types("a.py", LINES.replace("two", "2"))
    write = FileWrite(review.path("a.py"), EDITED.encode(), LINES.encode())
    assert review.s1.environment
    with pytest.raises(StaleFileError):
        await review.s1.environment.commit([write], Attribution("s1", "t1", "before9"))
    assert review.hunks() == []


@pytest.mark.req("H6")
async def test_keeping_proposals_of_one_session_leaves_hunks_of_another_session_pending() -> None:
    review = fresh()
    review.session("s2")
    await review.agent_writes("a.py", LINES.replace("four", "FOUR"), session="s2")
    async with review.proposed(("a.py", EDITED.replace("four", "FOUR"))) as call:
        await review.decides("keep", session_id="s1")
        await call.ends()
    assert text(review) == EDITED.replace("four", "FOUR")
    (pending,) = review.hunks()
    assert (pending.session_id, pending.state, pending.lines) == ("s2", "pending", ("FOUR\n",))
    assert review.service.base_text(review.path("a.py")) == EDITED


async def test_the_base_range_of_a_proposed_hunk_refers_to_the_accepted_text() -> None:
    review = fresh()
    review.session("s2")
    await review.agent_writes("a.py", f"new\nnew\n{LINES}", session="s2")
    async with review.proposed(("a.py", f"new\nnew\n{LINES.replace('seven', 'SEVEN')}")):
        proposed = next(hunk for hunk in review.hunks() if hunk.session_id == "s1")
        assert (proposed.base_start, proposed.start) == (6, 8)


@pytest.mark.req("H6")
async def test_a_decision_about_a_decided_hunk_is_refused_with_the_reason() -> None:
    review = fresh()
    async with review.proposed(("a.py", EDITED)):
        first, _ = review.hunks()
        await review.decides("keep", hunk_ids=[first.id])
        assert await review.decides("undo", hunk_ids=[first.id]) == (
            [],
            {first.id: "this change is already kept"},
        )


@pytest.mark.req("H6")
async def test_keeping_a_proposal_is_refused_if_the_edit_does_not_appear_in_the_editor() -> None:
    review = fresh(is_open=True)
    async with review.proposed(("a.py", LINES.replace("two", "TWO"))) as call:
        (hunk,) = review.hunks()
        review.host.refusals[review.path("a.py")] = "its text never showed the edit"
        states, refused = await review.decides("keep", hunk_ids=[hunk.id])
        assert states == [] and "never showed" in refused[hunk.id]
        assert [it.state for it in review.hunks()] == ["proposed"]
        assert not [e for e in review.s1.of(HunkStateChanged) if e.by == "user"]
        # The edit arrives late: the user sees the text of their decision, and nothing is pending.
        review.types("a.py", LINES.replace("two", "TWO"))
        await call.ends()
    assert review.s1.states[-1] == ("kept",)
