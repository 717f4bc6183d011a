"""The strict phase: positions of chunks, resulting files, and refusals that change nothing."""

from __future__ import annotations

import pytest

from agent_ls.patch.errors import Code, PatchError
from agent_ls.patch.v4a_apply import Contents, Unreadable, lexical_path, parse, plan
from tests.patch.applying import (
    applied,
    apply_patch,
    change_set,
    decoded,
    encoded,
    patch,
    refused,
    rules,
    update,
    updated,
)

PLACED = [
    ("replace", "@@\n a\n-b\n+c", "a\nb\n", "a\nc\n"),
    ("first_place_wins", "@@\n-a\n+c", "a\na\n", "c\na\n"),
    ("in_file_order", "@@\n-a\n+1\n@@\n-a\n+2", "a\nb\na\n", "1\nb\n2\n"),
    ("after_anchor", "@@ b\n-a\n+c", "a\nb\na\n", "a\nb\nc\n"),
    ("anchor_line_is_not_available", "@@ a\n-a\n+c", "a\na\n", "a\nc\n"),
    ("anchor_by_trimming", "@@ b\n-x\n+y", "x\n  b \nx\n", "x\n  b \ny\n"),
    ("exact_beats_earlier_loose", "@@\n-a\n+c", "a \na\n", "a \nc\n"),
    ("right_trimmed", "@@\n-a \n+c", "a\n", "c\n"),
    ("trimmed", "@@\n-a\n+c", " a\n", "c\n"),
    ("typography", "@@\n-“a” – b\n+c", '"a" - b\n', "c\n"),
    ("append", "@@\n+c", "a\n\n", "a\n\nc\n"),
    ("append_to_nothing", "@@\n+c", "", "c\n"),
    ("insert_between", "@@\n a\n+b\n c", "a\nc\n", "a\nb\nc\n"),
    ("delete_all", "@@\n-a\n-b", "a\nb\n", ""),
    ("end_of_file", "@@\n-a\n+c\n*** End of File", "a\nb\na\n", "a\nb\nc\n"),
    ("one_blank_more_is_harmless", "@@\n a\n-b\n+c\n", "a\nb\nx\n", "a\nc\nx\n"),
    ("dropped_blank_comes_with_added_lines", "@@\n a\n\n+b", "a\nx\n", "a\n\nb\nx\n"),
    ("removed_blank_dropped_with_context", "@@\n \n-", "x\n\ny\n", "x\ny\n"),
    ("context_keeps_its_spelling", "@@\n a\n-b\n+c", "a  \nb\n", "a  \nc\n"),
    ("form_feed_is_no_line_end", "@@\n-x\x0cy\u2028z\n+c", "x\x0cy\u2028z\n", "c\n"),
    ("sign_like_text", "@@\n--- a\n+++ b", "-- a\n", "++ b\n"),
    ("runs_of_one_chunk", "@@\n-a\n+1\n b\n-c\n+3", "a\nb\nc\n", "1\nb\n3\n"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("body", "before", "after"), [c[1:] for c in PLACED], ids=[c[0] for c in PLACED])
def test_a_chunk_is_applied_where_the_reference_program_applies_it(
    body: str, before: str, after: str
) -> None:
    assert updated(body, before) == after
    assert rules(update(body), {"f": before}) == set()


NOT_PLACED = [
    ("missing_lines", "@@\n-z\n+y", "CONTEXT_NOT_FOUND", "Failed to find expected lines in f:"),
    ("missing_anchor", "@@ z\n+y", "ANCHOR_NOT_FOUND", "Failed to find context 'z' in f"),
    ("case", "@@\n-A\n+y", "CONTEXT_NOT_FOUND", "Failed to find expected lines in f:"),
    (
        "no_similarity",
        "@@\n-alpha beta gamma delta\n+y",
        "CONTEXT_NOT_FOUND",
        "Failed to find expected lines in f:",
    ),
    (
        "longer_than_the_file",
        "@@\n-a\n-b\n-c\n-d",
        "CONTEXT_NOT_FOUND",
        "Failed to find expected lines in f:",
    ),
]


@pytest.mark.req("T4")
@pytest.mark.report("BaseIntelligence/bounty-challenge#5977")
@pytest.mark.parametrize(
    ("body", "code", "line"), [c[1:] for c in NOT_PLACED], ids=[c[0] for c in NOT_PLACED]
)
def test_a_chunk_that_is_not_found_is_refused_with_the_reference_message(
    body: str, code: str, line: str
) -> None:
    error = refused(update(body), {"f": "a\nb\nalpha beta gamma delta!\n"})
    assert (error.code, str(error).split("\n")[0]) == (code, line)
    assert "Nothing was written." in str(error)


PRESERVED = [
    ("crlf", "@@\n-a\n+c\n+d", "a\r\nb\r\n", "c\r\nd\r\nb\r\n"),
    ("lone_cr", "@@\n-a\n+c", "a\rb\r", "c\rb\r"),
    ("mixed", "@@\n-b\n+c", "a\r\nb\nx\ny\r", "a\r\nc\r\nx\ny\r"),
    ("no_final_newline", "@@\n-a\n+c", "a\nb", "c\nb"),
    ("last_line_replaced", "@@\n-b\n+c", "a\nb", "a\nc\n"),
    ("text_after_last_line", "@@\n b\n+c", "a\r\nb", "a\r\nb\r\nc\r\n"),
    ("last_line_deleted", "@@\n-b", "a\nb", "a\n"),
    ("bom", "@@\n-a\n+c", "\ufeffa\nb\n", "\ufeffc\nb\n"),
    ("undecodable_bytes", "@@\n-b\n+c", "\udcff\udcfe\nb\n", "\udcff\udcfe\nc\n"),
    ("nul", "@@\n-b\n+c", "\x00\x0c \nb\n", "\x00\x0c \nc\n"),
    ("cr_within_a_patch_line", "@@\n-b\n+c\rd", "b\nx\n", "c\rd\nx\n"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("body", "before", "after"), [c[1:] for c in PRESERVED], ids=[c[0] for c in PRESERVED]
)
def test_bytes_outside_the_change_stay_as_they_are(body: str, before: str, after: str) -> None:
    assert updated(body, before) == after


@pytest.mark.req("T4")
def test_utf16_file_is_edited_and_written_in_its_encoding() -> None:
    before = "\ufeffnaïve\r\nb\r\n".encode("utf-16-le")
    changes = apply_patch(update("@@\n-naïve\n+café"), lambda path: before)
    assert changes.changes[0].after == "\ufeffcafé\r\nb\r\n".encode("utf-16-le")


def test_line_that_cannot_be_decoded_matches_nothing() -> None:
    assert refused(update("@@\n-\ufffd\n+c"), {"f": "\udcff\n"}).code == "CONTEXT_NOT_FOUND"


WORLD = {"f": "a\n", "g": "b\n"}


def move(source: str, destination: str, *lines: str) -> str:
    return "\n".join([f"*** Update File: {source}", f"*** Move to: {destination}", *lines])


FILES = [
    ("add", patch("*** Add File: d/n", "+x", "+"), {**WORLD, "d/n": "x\n\n"}),
    ("add_empty", patch("*** Add File: n"), {**WORLD, "n": ""}),
    ("add_over", patch("*** Add File: f", "+x"), {**WORLD, "f": "x\n"}),
    ("delete", patch("*** Delete File: f"), {"g": "b\n"}),
    ("move", patch(move("f", "h", "-a", "+c")), {"g": "b\n", "h": "c\n"}),
    ("move_over", patch(move("f", "g", "-a", "+c")), {"g": "c\n"}),
    ("move_onto_itself", patch(move("f", "./x/../f", "-a", "+c")), {**WORLD, "f": "c\n"}),
    (
        "add_then_update",
        patch("*** Add File: n", "+x", "*** Update File: n", "-x", "+y"),
        {**WORLD, "n": "y\n"},
    ),
    ("delete_then_add", patch("*** Delete File: f", "*** Add File: f", "+x"), {**WORLD, "f": "x\n"}),
    (
        "twice",
        patch("*** Update File: f", "-a", "+b", "*** Update File: f", "-b", "+c"),
        {**WORLD, "f": "c\n"},
    ),
    (
        "move_then_update",
        patch(move("f", "h", " a"), "*** Update File: h", "-a", "+c"),
        {"g": "b\n", "h": "c\n"},
    ),
    ("add_then_delete", patch("*** Add File: n", "+x", "*** Delete File: n"), WORLD),
    ("no_op", patch("*** Update File: f", " a"), WORLD),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("text", "after"), [c[1:] for c in FILES], ids=[c[0] for c in FILES])
def test_each_section_of_a_patch_applies_to_the_result_of_earlier_sections(
    text: str, after: dict[str, str]
) -> None:
    assert applied(text, WORLD) == after


SECOND_FAILS: list[tuple[str, str, Code]] = [
    ("missing_update", "*** Update File: z\n-a", "FILE_MISSING"),
    ("missing_delete", "*** Delete File: z", "FILE_MISSING"),
    ("deleted_before", "*** Delete File: f", "FILE_MISSING"),
    ("context", "*** Update File: g\n-z", "CONTEXT_NOT_FOUND"),
    ("folder_to_update", "*** Update File: folder\n-z", "IS_DIRECTORY"),
    ("folder_to_delete", "*** Delete File: folder", "IS_DIRECTORY"),
    ("folder_to_write", "*** Add File: folder\n+z", "IS_DIRECTORY"),
    ("folder_to_move_to", "*** Update File: g\n*** Move to: folder\n b", "IS_DIRECTORY"),
    ("outside", "*** Add File: ../x\n+z", "PATH_OUTSIDE"),
    ("move_outside", "*** Update File: g\n*** Move to: ../g\n b", "PATH_OUTSIDE"),
]


def inside(path: str) -> str:
    resolved = lexical_path(path)
    if resolved.startswith(".."):
        raise PatchError.of("PATH_OUTSIDE", f"{path} is outside the workspace", path=path)
    return resolved


@pytest.mark.req("T4")
@pytest.mark.parametrize(("section", "code"), [c[1:] for c in SECOND_FAILS], ids=[c[0] for c in SECOND_FAILS])
def test_a_patch_with_one_invalid_section_is_refused_completely(section: str, code: Code) -> None:
    files: dict[str, Contents] = {
        "f": b"a\n",
        "g": b"b\n",
        "folder": Unreadable("is a directory", "IS_DIRECTORY"),
    }
    with pytest.raises(PatchError) as raised:
        apply_patch(patch("*** Delete File: f", *section.split("\n")), files.get, inside)
    assert (raised.value.code, raised.value.section, raised.value.line) == (code, 2, raised.value.line)
    assert raised.value.line >= 3
    assert files["f"] == b"a\n"


@pytest.mark.req("T4")
def test_refusal_names_every_chunk_that_fails() -> None:
    text = patch("*** Update File: f", "@@", "-x", "@@", "-a", "@@ y", "-z", "*** Update File: g", "-q")
    error = refused(text, WORLD)
    assert [(p.path, p.section, p.chunk) for p in error.problems] == [("f", 1, 1), ("f", 1, 3), ("g", 2, 1)]
    assert str(error).endswith("Nothing was written (3 problems).")


@pytest.mark.req("T4")
def test_patch_without_sections_is_refused() -> None:
    assert (refused(patch(), WORLD).code, refused(patch(), WORLD).message) == (
        "NO_CHANGES",
        "No files were modified.",
    )


def test_patch_with_lone_surrogates_is_refused() -> None:
    assert refused(update("@@\n-a\n+\ud800"), WORLD).code == "PARSE"


@pytest.mark.req("T4")
def test_success_text_lists_paths_by_kind_as_written_in_the_patch() -> None:
    first = patch("*** Update File: ./f", "-a", "+c", "*** Delete File: g", "*** Add File: n")
    text = first.replace("*** End", move("n", "m", "+x") + "\n*** End")
    expected = "Success. Updated the following files:\nA n\nM ./f\nM m\nD g\n"
    assert change_set(text, WORLD).summary() == expected


@pytest.mark.req("T4")
def test_only_files_that_the_patch_names_are_read() -> None:
    read = parse(patch(move("f", "h", " a"), "*** Add File: n", "*** Update File: f", " a"))
    assert read.paths == ("f", "h", "n")
    with pytest.raises(PatchError):
        plan(read, {"f": b"a\n", "h": None, "n": None})


def test_plan_accepts_files_by_resolved_path_or_by_path_in_the_patch() -> None:
    read = parse(patch("*** Update File: ./f", "-a", "+b"))
    for key in ("/w/f", "./f"):
        (change,) = plan(read, {key: b"a\n"}, lambda path: f"/w/{lexical_path(path)}").changes
        assert (change.path, change.after) == ("/w/f", b"b\n")


def test_number_of_possible_positions_of_a_chunk_is_reported() -> None:
    (place,) = change_set(update("@@\n-a \n+b"), {"f": "x\na\na\n"}).placements
    assert (place.line, place.level, place.candidates) == (2, 2, 2)


CHANGES = [
    ("create", patch("*** Add File: n", "+x"), [("create", "n", "", None)]),
    ("delete", patch("*** Delete File: f"), [("delete", "f", "", None)]),
    ("modify", patch("*** Update File: f", "-a", "+c"), [("modify", "f", "", None)]),
    ("move", patch(move("f", "h", " a")), [("move", "h", "f", None)]),
    ("move_over", patch(move("f", "g", " a")), [("move", "g", "f", b"b\n")]),
    ("chain", patch(move("f", "h", " a"), move("h", "i", " a")), [("move", "i", "f", None)]),
    ("there_and_back", patch(move("f", "h", " a"), move("h", "f", " a")), []),
    (
        "swap",
        patch(move("f", "t", " a"), move("g", "f", " b"), move("t", "g", " a")),
        [("modify", "f", "", None), ("modify", "g", "", None)],
    ),
]


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_planned_changes_have_action_path_source_and_overwritten_text(
    text: str, expected: list[tuple[str, str, str, bytes | None]]
) -> None:
    changes = change_set(text, WORLD).changes
    assert [(c.action, c.path, c.moved_from, c.overwritten) for c in changes] == expected


@pytest.mark.req("T4")
def test_a_moved_file_has_the_mode_of_its_source_and_deletions_are_last() -> None:
    writes = change_set(patch(move("f", "h", "-a", "+c")), WORLD).writes
    assert [(w.path, w.before, w.after, w.mode_from) for w in writes] == [
        ("h", None, b"c\n", "f"),
        ("f", b"a\n", None, ""),
    ]


def test_add_over_an_existing_file_is_marked_as_overwrite_with_a_whole_file_diff() -> None:
    (change,) = change_set(patch("*** Add File: f", "+a", "+c"), WORLD).changes
    assert change.replaces_whole
    assert [(h.base_start, h.removed, h.added) for h in change.hunks] == [(1, (), ("c\n",))]


def test_patch_input_helpers_keep_undecodable_bytes() -> None:
    assert encoded(decoded(b"\xff\x00\r")) == b"\xff\x00\r"
