from __future__ import annotations

import pytest

from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.decisions import STALE, TYPED_IN_LINES
from tests.services.review_rig import Review

LINES = "one\ntwo\nthree\nfour\n"
EDITED = "one\nTWO\nTHREE\nfour\n"


async def edited(*, is_open: bool = False) -> Review:
    review = Review({"a.py": LINES})
    if is_open:
        review.opens("a.py", LINES)
    await review.agent_writes("a.py", EDITED)
    return review


def text(review: Review) -> str:
    document = review.host.open_document(review.path("a.py"))
    return document.text if document else review.text("a.py")


@pytest.mark.req("H6")
@pytest.mark.parametrize("is_open", [False, True], ids=["file on disk", "open document"])
async def test_undo_of_a_line_reverts_only_that_line(is_open: bool) -> None:
    review = await edited(is_open=is_open)
    (hunk,) = review.hunks()
    changed, refused = await review.service.review("undo", Selection(hunk_ids=[hunk.id]), lines=(1, 2))
    assert refused == [] and {(h.id == hunk.id, h.state) for h in changed} == {
        (True, "pending"),
        (False, "undone"),
    }
    assert text(review) == "one\nTWO\nthree\nfour\n"
    assert [(left.id, left.lines) for left in review.hunks()] == [(hunk.id, ("TWO\n",))]
    (notice,) = review.s1.notices
    assert "undid 1" in notice and "THREE" in notice and "TWO" not in notice


@pytest.mark.req("H6")
async def test_keep_of_a_line_accepts_only_that_line() -> None:
    review = await edited()
    (hunk,) = review.hunks()
    await review.decides("keep", hunk_ids=[hunk.id], lines=(0, 1))
    assert review.service.base_text(review.path("a.py")) == "one\nTWO\nthree\nfour\n"
    assert text(review) == EDITED and [left.id for left in review.hunks()] == [hunk.id]


@pytest.mark.req("H6")
@pytest.mark.parametrize("is_open", [False, True], ids=["file on disk", "open document"])
async def test_replacement_text_for_a_hunk_is_written_and_reported_to_the_model(is_open: bool) -> None:
    review = await edited(is_open=is_open)
    (hunk,) = review.hunks()
    states = await review.decides("keep", hunk_ids=[hunk.id], replacement="mine\n", comment="shorter")
    assert states == (["kept"], {})
    assert text(review) == "one\nmine\nfour\n" == review.service.base_text(review.path("a.py"))
    (notice,) = review.s1.notices
    assert "mine" in notice and "TWO\nTHREE" in notice and "The user says: shorter" in notice


@pytest.mark.req("H6")
async def test_replacing_some_lines_of_a_hunk_leaves_the_other_lines_pending() -> None:
    review = await edited()
    (hunk,) = review.hunks()
    await review.decides("keep", hunk_ids=[hunk.id], lines=(1, 2), replacement="mine\n")
    assert text(review) == "one\nTWO\nmine\nfour\n"
    assert review.service.base_text(review.path("a.py")) == "one\ntwo\nmine\nfour\n"


async def test_a_line_range_beyond_the_hunk_is_refused_with_the_reason() -> None:
    review = await edited()
    (hunk,) = review.hunks()
    states, refused = await review.decides("undo", hunk_ids=[hunk.id], lines=(1, 5))
    assert states == [] and "2 new lines" in refused[hunk.id]
    assert text(review) == EDITED


async def test_keep_of_some_lines_is_refused_if_the_user_edited_the_hunk() -> None:
    review = await edited(is_open=True)
    (hunk,) = review.hunks()
    review.types("a.py", "one\nTWO\nmine\nTHREE\nfour\n")
    assert await review.decides("keep", hunk_ids=[hunk.id], lines=(0, 1)) == ([], {hunk.id: TYPED_IN_LINES})


@pytest.mark.req("H6")
async def test_text_typed_during_an_undo_of_lines_is_preserved() -> None:
    review = await edited(is_open=True)
    (hunk,) = review.hunks()
    review.host.typing[review.path("a.py")] = [lambda now: f"# mine\n{now}"]
    await review.decides("undo", hunk_ids=[hunk.id], lines=(0, 1))
    assert text(review) == "# mine\none\ntwo\nTHREE\nfour\n"


@pytest.mark.req("H6")
async def test_undo_of_a_stale_hunk_is_refused_with_a_hint_and_keep_closes_the_hunk() -> None:
    review = Review({"a.py": LINES})
    review.opens("a.py", LINES)
    await review.agent_writes("a.py", "one\nTWO\nthree\nFOUR\n")
    first, last = review.hunks()
    review.types("a.py", "one\nall\nof\nit\nis\nmine\n")
    stale = [id_ for id_ in (first.id, last.id) if _state(review, id_) == "stale"]
    assert stale
    assert await review.decides("undo", hunk_ids=stale) == ([], dict.fromkeys(stale, STALE))
    assert await review.decides("keep", hunk_ids=stale) == (["kept"] * len(stale), {})


def _state(review: Review, hunk_id: str) -> str:
    ledger = review.service.state.ledger(review.path("a.py"))
    hunk = ledger.find(hunk_id) if ledger else None
    return hunk.state if hunk else ""
