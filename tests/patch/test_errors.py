"""Messages of refused patches: the closest lines, the kind of difference, and what to do."""

from __future__ import annotations

import pytest

from agent_ls.patch.diagnosis import Diagnosis, kind_of_difference, similarity, visible
from agent_ls.patch.errors import MESSAGE_MAX_LINES, PatchError, PatchProblem
from agent_ls.patch.line_search import FileLines
from tests.patch.applying import patch, refused, update

CODE = "import os\n\ndef total(items):\n\tcount = 0\n\tfor item in items:\n\t\tcount += item.price\n\treturn count\n"


@pytest.mark.req("T4")
def test_missing_lines_are_refused_with_the_closest_lines_and_their_first_difference() -> None:
    body = "@@\n \tfor item in items:\n-\t\tcount += item.cost\n+\t\tpass"
    assert str(refused(update(body), {"f": CODE})) == (
        "Failed to find expected lines in f:\n\tfor item in items:\n\t\tcount += item.cost\n"
        "At section 1, chunk 1, patch line 3 of f.\n"
        "The closest match is lines 5-6. First difference at line 6 (text):\n"
        "  patch: →→count·+=·item.cost\n"
        "  file : →→count·+=·item.price\n"
        "Copy the lines exactly as they are in the file.\n"
        "Nothing was written."
    )


@pytest.mark.req("T4")
def test_lines_without_a_similar_line_are_reported_as_not_found() -> None:
    error = refused(update("@@\n-completely = different\n+x"), {"f": CODE})
    assert "The file has no similar lines." in str(error)


@pytest.mark.req("T4")
def test_a_patch_sent_twice_is_reported_as_already_applied() -> None:
    error = refused(update("@@\n-\tcount = 0\n+\tcount = 10"), {"f": CODE.replace("= 0", "= 10")})
    assert "Already applied: the file has the new lines from line 4 on." in str(error)


@pytest.mark.req("T4")
def test_an_ambiguous_chunk_is_refused_with_lines_that_make_it_unique() -> None:
    error = refused(update("@@ nowhere\n-x\n+y"), {"f": "def one():\nx\ndef two():\nx\n"})
    assert "The lines match at 2 places: lines 2, 4." in str(error)
    assert "  line 2: @@ def one():\n  line 4: @@ def two():" in str(error)


def test_the_end_of_the_file_within_the_closest_lines_is_reported() -> None:
    diagnosis = Diagnosis(FileLines(["alpha beta gamma", "delta epsilon"]))
    reason = diagnosis.explain_missing(["alpha beta gamma", "delta epsilon", "zeta"], [])
    assert reason == "The closest match is lines 1-2. The file ends after line 2."


KINDS = [
    ("a\r", "a", "line ending"),
    ("a ", "a", "trailing blanks"),
    ("    a", "\ta", "tabs against spaces"),
    ("  a", "a", "leading blanks"),
    ("a - “b”", 'a – "b"', "punctuation or blanks"),
    ("Abc", "abc", "letter case"),
    ("abc", "abd", "text"),
]


@pytest.mark.parametrize(("theirs", "ours", "kind"), KINDS, ids=[c[2] for c in KINDS])
def test_the_kind_of_difference_is_reported(theirs: str, ours: str, kind: str) -> None:
    assert kind_of_difference(theirs, ours) == kind


def test_blanks_are_made_visible_and_long_lines_are_cut() -> None:
    assert visible("\t a\r\u00a0") == "→·a␍⍽"
    assert len(visible("x" * 500)) == 160


def test_similarity_of_long_texts_is_computed_from_their_lines() -> None:
    one = [f"line number {at}" for at in range(1000)]
    assert similarity(one, [*one[:900], *["other"] * 100]) == 0.9


@pytest.mark.req("T4")
def test_the_error_for_a_huge_patch_has_at_most_200_lines() -> None:
    chunks = [line for at in range(100) for line in ("@@", *[f"-{at} {row}" for row in range(50)])]
    lines = str(refused(patch("*** Update File: f", *chunks), {"f": "x\n"})).split("\n")
    assert len(lines) <= MESSAGE_MAX_LINES
    assert lines[-1] == "Nothing was written (100 problems)."
    assert any("more problems" in line for line in lines)


def test_error_for_one_huge_problem_keeps_the_first_line_and_the_advice() -> None:
    lines = str(PatchError([PatchProblem("PARSE", "first\n" + "x\n" * 500, detail="advice")])).split("\n")
    assert (lines[0], lines[-2], len(lines)) == ("first", "advice", 61)


def test_fields_of_an_error_are_those_of_its_first_problem() -> None:
    error = PatchError([PatchProblem("OVERLAP", "m", "p", 1, 2, 3), PatchProblem("IO", "n")])
    assert (error.code, error.message, error.path) == ("OVERLAP", "m", "p")
    assert (error.section, error.chunk, error.line) == (1, 2, 3)
