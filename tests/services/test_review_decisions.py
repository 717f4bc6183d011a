from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import AccessDeniedError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.loop.events.types import HunkStateChanged
from agent_ls.services.review.decision_request import CLOSED_SESSION
from agent_ls.services.review.decisions import TYPED_INSIDE
from tests.services.review_rig import Review

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
TWO_EDITS = LINES.replace("two", "TWO").replace("seven", "SEVEN")


async def edited(text: str = LINES, after: str = TWO_EDITS) -> Review:
    review = Review({"a.py": text})
    await review.agent_writes("a.py", after)
    return review


SELECTIONS = ["hunk", "file", "turn", "session"]


def selection(kind: str, review: Review) -> dict[str, Any]:
    selectors: dict[str, dict[str, Any]] = {
        "hunk": {"hunk_ids": review.s1.hunk_ids},
        "file": {"path": review.path("a.py")},
        "turn": {"turn_id": "t1"},
        "session": {"session_id": "s1"},
    }
    return selectors[kind]


@pytest.mark.req("H6")
@pytest.mark.parametrize("kind", SELECTIONS)
async def test_keep_of_a_selection_accepts_the_current_text(kind: str) -> None:
    review = await edited()
    assert await review.decides("keep", **selection(kind, review)) == (["kept", "kept"], {})
    assert review.text("a.py") == TWO_EDITS
    assert review.service.base_text(review.path("a.py")) == TWO_EDITS
    assert review.hunks() == [] and review.s1.states[-1] == ("kept", "kept")
    assert review.s1.notices == ["Review: the user kept 2 of your changes in a.py."]


@pytest.mark.req("H6")
@pytest.mark.parametrize("kind", SELECTIONS)
async def test_undo_of_a_selection_restores_the_lines(kind: str) -> None:
    review = await edited()
    assert await review.decides("undo", **selection(kind, review)) == (["undone", "undone"], {})
    assert review.text("a.py") == LINES
    assert review.hunks() == []
    (notice,) = review.s1.notices
    assert "undid 2" in notice and "TWO" in notice and "SEVEN" in notice


@pytest.mark.req("H6")
async def test_undo_of_one_hunk_leaves_the_other_pending() -> None:
    review = await edited()
    first, last = review.s1.hunk_ids
    assert await review.decides("undo", hunk_ids=[last]) == (["undone"], {})
    assert review.text("a.py") == LINES.replace("two", "TWO")
    assert [hunk.id for hunk in review.hunks()] == [first]
    assert await review.decides("keep", hunk_ids=[first]) == (["kept"], {})


@pytest.mark.req("H6")
@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_a_review_comment_is_in_the_hunk_event_and_in_the_notice_to_the_model(decision: str) -> None:
    review = await edited()
    await review.decides(decision, session_id="s1", comment="too loud")
    assert review.s1.of(HunkStateChanged)[-1].comment == "too loud"
    assert "The user says: too loud" in review.s1.notices[0]


@pytest.mark.req("H6")
@pytest.mark.parametrize("is_open", [True, False], ids=["open document", "file on disk"])
async def test_undo_of_a_hunk_with_user_text_needs_confirm(is_open: bool) -> None:
    review = await edited()
    typed = TWO_EDITS.replace("TWO", "TWO, he said")
    if is_open:
        review.opens("a.py", TWO_EDITS)
        review.types("a.py", typed)
    else:
        review.memory.put("a.py", typed)  # in another program
    first, _ = review.s1.hunk_ids
    assert await review.decides("undo", session_id="s1") == (["undone"], {first: TYPED_INSIDE})
    assert "TWO, he said" in (review.host.text(review.path("a.py")) if is_open else review.text("a.py"))
    assert await review.decides("undo", hunk_ids=[first], confirm=True) == (["undone"], {})
    assert (review.host.text(review.path("a.py")) if is_open else review.text("a.py")) == LINES


@pytest.mark.req("H6")
async def test_keep_of_a_hunk_with_user_text_keeps_the_current_text() -> None:
    review = await edited()
    review.opens("a.py", TWO_EDITS)
    review.types("a.py", TWO_EDITS.replace("TWO", "2"))
    assert await review.decides("keep", session_id="s1") == (["kept", "kept"], {})
    assert "2\n" in (review.service.base_text(review.path("a.py")) or "")


BYTES = [
    pytest.param(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n", id="BOM and CRLF"),
    pytest.param(b"\xff\xfe" + "one\ntwo\nthr\u00e9\u00e9".encode("utf-16-le"), id="UTF-16, no last newline"),
    pytest.param(b"\xfe\xff" + "one\r\ntwo\r\n".encode("utf-16-be"), id="UTF-16 BE"),
    pytest.param(b"one\ntwo\ncaf\xe9\n", id="bytes that are no UTF-8"),
    pytest.param(b"one\rtwo\rthree", id="CR alone"),
    pytest.param(b"one\n\ntwo\x0cthree\xe2\x80\xa8four\n", id="form feed and U+2028"),
]


@pytest.mark.req("H6", "T4")
@pytest.mark.parametrize("before", BYTES)
async def test_undo_on_a_closed_file_restores_its_exact_bytes(before: bytes) -> None:
    review = Review({"a.txt": before})
    two, more = ("two", "2 and more") if before[:1] not in (b"\xff", b"\xfe") else ("", "")
    encoding = "utf-16-le" if before[:1] == b"\xff" else "utf-16-be"
    change = (two.encode(), more.encode()) if two else ("two".encode(encoding), "2".encode(encoding))
    await review.agent_writes("a.txt", before.replace(*change))
    assert review.bytes("a.txt") != before
    assert await review.decides("undo", session_id="s1") == (["undone"], {})
    assert review.bytes("a.txt") == before


@pytest.mark.req("H6")
async def test_undo_of_a_created_file_deletes_it() -> None:
    review = Review({})
    await review.agent_writes("new/b.py", "x = 1\n")
    assert await review.decides("undo", session_id="s1") == (["undone"], {})
    assert not review.exists("new/b.py")
    assert "you had created" in review.s1.notices[0]


@pytest.mark.req("H6")
@pytest.mark.parametrize("before", BYTES)
async def test_undo_of_a_deleted_file_restores_it(before: bytes) -> None:
    review = Review({"a.txt": before})
    await review.agent_writes("a.txt", None)
    assert not review.exists("a.txt")
    assert await review.decides("undo", session_id="s1") == (["undone"], {})
    assert review.bytes("a.txt") == before


@pytest.mark.req("H6")
async def test_undo_of_a_file_deletion_does_not_overwrite_a_new_file_at_the_path() -> None:
    review = Review({"a.py": LINES})
    await review.agent_writes("a.py", None)
    review.memory.put("a.py", "somebody else's\n")
    changed, refused = await review.decides("undo", session_id="s1")
    assert changed == [] and refused
    assert review.text("a.py") == "somebody else's\n"


async def test_an_overwritten_binary_file_has_no_hunks_and_no_undo() -> None:
    review = Review({"a.bin": b"\0\1\2"})
    await review.agent_writes("a.bin", "now text\n")
    assert review.hunks() == [] and review.s1.hunk_ids == []
    assert await review.decides("undo", path=review.path("a.bin")) == ([], {})
    assert review.text("a.bin") == "now text\n"


async def test_hunks_of_a_file_that_becomes_binary_are_gone() -> None:
    review = await edited()
    await review.agent_writes("a.py", b"\0\1")
    assert review.hunks() == [] and review.s1.states[-1] == ("gone", "gone")


@pytest.mark.req("H6")
async def test_decisions_on_decided_reverted_or_unknown_hunks_are_refused_with_the_reason() -> None:
    review = await edited()
    first, last = review.s1.hunk_ids
    await review.decides("keep", hunk_ids=[first])
    review.memory.put("a.py", review.text("a.py").replace("SEVEN", "seven"))
    changed, refused = await review.decides("undo", hunk_ids=[first, last, "h-none"])
    assert changed == []
    assert refused[first] == "this change is already kept"
    assert "earlier state" in refused[last]
    assert "is unknown" in refused["h-none"]


@pytest.mark.req("H6")
@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_a_decision_about_a_hunk_of_a_closed_session_is_refused(
    decision: str,
) -> None:
    review = await edited()
    ids = review.s1.hunk_ids
    del review.sessions["s1"]
    assert await review.decides(decision, hunk_ids=ids) == ([], dict.fromkeys(ids, CLOSED_SESSION))
    assert len(review.hunks()) == 2 and review.text("a.py") == TWO_EDITS


@pytest.mark.req("H6", "H1")
async def test_two_sessions_on_one_file_are_notified_of_their_own_hunks_only() -> None:
    review = await edited()
    other = review.session("s2")
    await review.agent_writes("a.py", TWO_EDITS.replace("four", "FOUR"), session="s2", turn="t2")
    assert len(other.hunk_ids) == 1 and review.s1.states == []
    assert await review.decides("undo", path=review.path("a.py")) == (["undone"] * 3, {})
    assert review.text("a.py") == LINES
    assert "undid 2" in review.s1.notices[0] and "undid 1" in other.notices[0]
    assert {hunk.session_id for event in other.of(HunkStateChanged) for hunk in event.hunks} == {"s2"}


@pytest.mark.req("H6")
async def test_hunks_of_an_open_session_can_be_decided_next_to_hunks_of_a_closed_session() -> None:
    review = await edited()
    review.session("s2")
    await review.agent_writes("a.py", TWO_EDITS.replace("four", "FOUR"), session="s2")
    closed = review.s1.hunk_ids
    del review.sessions["s1"]
    assert await review.decides("undo", path=review.path("a.py")) == (
        ["undone"],
        dict.fromkeys(closed, CLOSED_SESSION),
    )
    assert review.text("a.py") == TWO_EDITS


@pytest.mark.req("H6")
async def test_a_second_agent_edit_in_a_pending_hunk_extends_the_hunk_and_undo_reverts_both_edits() -> None:
    review = await edited(after=LINES.replace("two", "TWO"))
    await review.agent_writes("a.py", LINES.replace("two", "Two and a half"))
    assert len(review.hunks()) == 1
    assert review.hunks()[0].lines == ("Two and a half\n",)
    assert await review.decides("undo", session_id="s1") == (["undone"], {})
    assert review.text("a.py") == LINES


@pytest.mark.req("H6", "H4")
async def test_undo_in_an_open_document_edits_the_editor_and_not_the_disk() -> None:
    review = await edited()
    review.opens("a.py", TWO_EDITS)
    review.types("a.py", "# mine\n" + TWO_EDITS)
    assert await review.decides("undo", session_id="s1") == (["undone", "undone"], {})
    assert review.host.text(review.path("a.py")) == "# mine\n" + LINES
    assert review.text("a.py") == TWO_EDITS
    assert review.service.base_text(review.path("a.py")) == "# mine\n" + LINES


@pytest.mark.req("H6", "H4")
async def test_text_typed_while_the_editor_applies_an_undo_is_preserved() -> None:
    review = await edited()
    review.opens("a.py", TWO_EDITS)

    def types_first(text: str) -> str:
        typed = "# mine\n" + text
        review.service.user_edit(review.path("a.py"), typed)
        return typed

    review.host.typing[review.path("a.py")] = [types_first]
    assert await review.decides("undo", session_id="s1") == (["undone", "undone"], {})
    assert review.host.text(review.path("a.py")) == "# mine\n" + LINES


@pytest.mark.req("H6")
async def test_an_undo_refused_by_the_editor_reports_the_reason_and_leaves_the_hunks_pending() -> None:
    review = await edited()
    review.opens("a.py", TWO_EDITS)
    review.host.refusals[review.path("a.py")] = "the buffer is locked"
    changed, refused = await review.decides("undo", session_id="s1")
    assert changed == [] and all("buffer is locked" in reason for reason in refused.values())
    assert [hunk.state for hunk in review.hunks()] == ["pending", "pending"]
    del review.host.refusals[review.path("a.py")]
    assert await review.decides("undo", session_id="s1") == (["undone", "undone"], {})


class BusyDisk(MemoryEnvironment):
    """A disk on which another program prepends a line just before each of the next `times` commits."""

    times = 0

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        if self.times:
            self.times -= 1
            path = writes[0].path
            self.put(path, b"# more\n" + self.files[path].content)
        return await super().commit(writes, attribution)


@pytest.mark.req("H6", "X9")
@pytest.mark.parametrize(("times", "is_done"), [(1, True), (2, True), (3, False)])
async def test_an_undo_is_computed_again_if_the_file_changes_before_the_write(
    times: int, is_done: bool
) -> None:
    disk = BusyDisk()
    review = Review({"a.py": LINES}, disk)
    await review.agent_writes("a.py", TWO_EDITS)
    disk.times = times
    changed, refused = await review.decides("undo", session_id="s1")
    if is_done:
        assert changed == ["undone", "undone"] and refused == {}
        assert review.text("a.py") == "# more\n" * times + LINES
    else:
        assert changed == [] and set(refused) == set(review.s1.hunk_ids)
        assert review.text("a.py") == "# more\n" * times + TWO_EDITS


class LockedDisk(MemoryEnvironment):
    is_locked = False

    async def read_bytes(self, path: str, max_bytes: int = 1 << 30) -> bytes:
        if self.is_locked:
            raise AccessDeniedError(path)
        return await super().read_bytes(path, max_bytes)


async def test_an_undo_is_refused_if_the_file_cannot_be_read() -> None:
    disk = LockedDisk()
    review = Review({"a.py": LINES}, disk)
    await review.agent_writes("a.py", TWO_EDITS)
    disk.is_locked = True
    changed, refused = await review.decides("undo", session_id="s1")
    assert changed == [] and all("permission denied" in reason for reason in refused.values())
    disk.is_locked = False
    assert len(review.hunks()) == 2
