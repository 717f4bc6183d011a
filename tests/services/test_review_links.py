"""The two files of a move that is already applied are decided together, like those of a proposed move."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.services.review.decision_request import LINKED, Selection
from agent_ls.services.review.decisions import OTHER_END, TYPED_INSIDE
from tests.services.review_rig import Review

OLD, NEW = "one\ntwo\n", "one\nTWO\n"


async def moved() -> Review:
    """Return a review in which a.py was moved to b.py, and c.py was changed by the same call."""
    review = Review({"a.py": OLD, "c.py": "C\n"})
    environment = review.s1.environment
    assert environment
    a, b, c = (review.path(name) for name in ("a.py", "b.py", "c.py"))
    writes = [
        FileWrite(b, NEW.encode(), None, a),
        FileWrite(c, b"D\n", b"C\n"),
        FileWrite(a, None, OLD.encode()),
    ]
    await environment.commit(writes, Attribution("s1", "t1", "call-move"))
    return review


def tree(review: Review) -> dict[str, bytes]:
    return {path.rpartition("/")[2]: file.content for path, file in review.memory.files.items()}


@pytest.mark.req("H6", "T3")
async def test_source_and_target_hunks_of_a_move_share_a_link_and_unrelated_hunks_have_none() -> None:
    review = await moved()
    links = {hunk.path.rpartition("/")[2]: hunk.link for hunk in review.hunks()}
    assert links["a.py"] == links["b.py"] != ""
    assert links["c.py"] == ""


@pytest.mark.req("H6", "T3")
@pytest.mark.parametrize("end", ["a.py", "b.py"])
async def test_undo_of_the_source_or_target_hunk_of_a_move_reverts_the_whole_move(end: str) -> None:
    review = await moved()
    changed, refused = await review.service.review("undo", Selection(path=review.path(end)))
    assert refused == [] and [hunk.state for hunk in changed] == ["undone", "undone"]
    assert tree(review) == {"a.py": OLD.encode(), "c.py": b"D\n"}


@pytest.mark.req("H6", "T3")
async def test_keep_of_the_target_hunk_of_a_move_also_keeps_the_source_hunk() -> None:
    review = await moved()
    (made,) = [hunk for hunk in review.hunks() if hunk.path.endswith("b.py")]
    changed, _ = await review.service.review("keep", Selection(hunk_ids=[made.id]))
    assert [hunk.state for hunk in changed] == ["kept", "kept"]
    assert [hunk.path.rpartition("/")[2] for hunk in review.hunks()] == ["c.py"]


@pytest.mark.req("H6", "X9")
async def test_a_move_with_user_text_is_not_undone_without_confirmation() -> None:
    review = await moved()
    typed = f"{NEW}mine\n"
    review.memory.put("b.py", typed)
    review.service.user_edit(review.path("b.py"), typed)
    changed, refused = await review.service.review("undo", Selection(path=review.path("a.py")))
    assert changed == []
    assert sorted(reason for _, reason in refused) == sorted([OTHER_END, TYPED_INSIDE])
    assert tree(review)["b.py"] == typed.encode() and "a.py" not in tree(review)
    _, refused = await review.service.review("undo", Selection(path=review.path("a.py")), confirm=True)
    assert refused == [] and tree(review) == {"a.py": OLD.encode(), "c.py": b"D\n"}


@pytest.mark.req("H6", "X9")
async def test_undo_of_a_move_is_refused_if_another_file_exists_at_the_old_path() -> None:
    review = await moved()
    (made,) = [hunk for hunk in review.hunks() if hunk.path.endswith("b.py")]
    review.memory.put("a.py", "somebody else's\n")
    _, refused = await review.service.review("undo", Selection(hunk_ids=[made.id]))
    assert (made.id, OTHER_END) in refused
    assert tree(review)["a.py"] == b"somebody else's\n"
    assert "b.py" in tree(review)


@pytest.mark.req("H6")
async def test_undo_of_single_lines_of_a_move_is_refused() -> None:
    review = await moved()
    (made,) = [hunk for hunk in review.hunks() if hunk.path.endswith("b.py")]
    changed, refused = await review.service.review("undo", Selection(hunk_ids=[made.id]), lines=(0, 1))
    assert changed == [] and {reason for _, reason in refused} == {LINKED}
    assert "b.py" in tree(review) and "a.py" not in tree(review)


async def moved_over(review: Review) -> Review:
    """Return the review after a.py was moved over the existing b.py."""
    environment = review.s1.environment
    assert environment
    a, b = review.path("a.py"), review.path("b.py")
    writes = [FileWrite(b, NEW.encode(), b"B\n", a), FileWrite(a, None, OLD.encode())]
    await environment.commit(writes, Attribution("s1", "t1", "call-move"))
    return review


@pytest.mark.req("H6", "T4")
async def test_an_undone_move_restores_permission_bits() -> None:
    review = Review({"a.py": OLD, "c.py": "C\n"})
    review.memory.files[review.path("a.py")] = replace(review.memory.files[review.path("a.py")], mode=0o755)
    environment = review.s1.environment
    assert environment
    a, b = review.path("a.py"), review.path("b.py")
    writes = [FileWrite(b, NEW.encode(), None, a), FileWrite(a, None, OLD.encode())]
    await environment.commit(writes, Attribution("s1", "t1", "call-move"))
    await review.decides("undo", path=b)
    assert review.memory.files[a].mode == 0o755 and not review.exists("b.py")


@pytest.mark.req("H6", "X9")
async def test_undo_of_a_move_changes_nothing_if_one_of_the_two_files_cannot_be_written() -> None:
    review = await moved_over(Review({"a.py": OLD, "b.py": "B\n"}))
    b = review.path("b.py")
    review.memory.files[b] = replace(review.memory.files[b], mode=0o444)
    before = {hunk.id: hunk.state for hunk in review.hunks()}
    changed, refused = await review.decides("undo", turn_id="t1")
    assert changed == [] and refused.keys() == before.keys()
    assert all("read-only" in reason for reason in refused.values())
    assert tree(review) == {"b.py": NEW.encode()}
    assert {hunk.id: hunk.state for hunk in review.hunks()} == before
    review.memory.files[b] = replace(review.memory.files[b], mode=0o644)
    assert await review.decides("undo", turn_id="t1") == (["undone"] * len(before), {})
    assert tree(review) == {"a.py": OLD.encode(), "b.py": b"B\n"}


@pytest.mark.req("H6", "X9")
async def test_an_undo_in_an_open_document_is_reverted_if_the_disk_write_fails() -> None:
    review = Review({"a.py": OLD, "b.py": "B\n"})
    review.opens("b.py", "B\n")
    await moved_over(review)
    before = {hunk.id: hunk.state for hunk in review.hunks()}
    assert review.host.text(review.path("b.py")) == NEW

    def somebody_takes_the_old_place(text: str) -> str:
        review.memory.put("a.py", "somebody else's\n")
        return text

    review.host.typing[review.path("b.py")] = [somebody_takes_the_old_place]
    changed, refused = await review.decides("undo", turn_id="t1")
    assert changed == [] and OTHER_END in refused.values()
    assert len(review.host.applied) == 3, "edited, undone, and taken back"
    assert review.host.text(review.path("b.py")) == NEW
    assert tree(review)["a.py"] == b"somebody else's\n"
    states = {hunk.id: hunk.state for hunk in review.hunks(path=review.path("b.py"))}
    assert states and set(states.values()) == {"pending"} and states.items() <= before.items()
    review.memory.files.pop(review.path("a.py"))
    assert (await review.decides("keep", turn_id="t1"))[1] == {}
