"""The strict grammar: patches that it accepts, and the reference program's messages for others."""

from __future__ import annotations

import pytest

from agent_ls.patch.v4a_parser import AddFile, DeleteFile, ParsedPatch, Section, UpdateFile, parse_strict
from tests.patch.applying import patch

HEADERS = "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"


def shown(section: Section) -> str:
    """Return a section as one line: chunks as `@anchor[sign text|...]$`; `$` is the end-of-file flag."""
    match section:
        case AddFile():
            return f"A {section.path} {list(section.lines)}"
        case DeleteFile():
            return f"D {section.path}"
        case UpdateFile():
            move = f">{section.move_to}" if section.move_to else ""
            chunks = [
                f"@{'/'.join(chunk.anchors)}[{'|'.join(line.sign + line.text for line in chunk.lines)}]"
                + ("$" if chunk.at_end else "")
                for chunk in section.chunks
            ]
            return f"U {section.path}{move} {' '.join(chunks)}"


def read(text: str) -> list[str]:
    parsed = parse_strict(text)
    assert not parsed.problems, parsed.problems
    return [shown(section) for section in parsed.sections]


ACCEPTED = [
    ("no_sections", patch(), []),
    ("add", patch("*** Add File: a", "+x", "+", "+ y  "), ["A a ['x', '', ' y  ']"]),
    ("add_empty", patch("*** Add File: a"), ["A a []"]),
    ("delete", patch("*** Delete File: a b"), ["D a b"]),
    ("update", patch("*** Update File: f", "@@", " a", "-b", "+c"), ["U f @[ a|-b|+c]"]),
    ("first_chunk_without_heading", patch("*** Update File: f", "-b"), ["U f @[-b]"]),
    ("move", patch("*** Update File: f", "*** Move to: g", "@@", "-b"), ["U f>g @[-b]"]),
    ("two_chunks", patch("*** Update File: f", "@@", "-a", "@@  x y ", "+b"), ["U f @[-a] @ x y[+b]"]),
    ("end_of_file", patch("*** Update File: f", " a", "*** End of File", "", "\t"), ["U f @[ a]$"]),
    (
        "end_then_chunk",
        patch("*** Update File: f", "-a", "*** End of File", "@@", "-b"),
        ["U f @[-a]$ @[-b]"],
    ),
    ("indented_end_is_context", patch("*** Update File: f", " *** End of File"), ["U f @[ *** End of File]"]),
    (
        "indented_header_is_context",
        patch("*** Update File: f", " *** Delete File: x"),
        ["U f @[ *** Delete File: x]"],
    ),
    ("blank_line_is_context", patch("*** Update File: f", "", "-a"), ["U f @[ |-a]"]),
    ("blanks_are_context", patch("*** Update File: f", "  ", "-a"), ["U f @[  |-a]"]),
    (
        "indented_header_after_add",
        patch("*** Add File: a", "+x", "  *** Delete File: b  "),
        ["A a ['x']", "D b"],
    ),
    ("path_verbatim", patch('*** Delete File:  "a" '), ['D  "a"']),
    ("spaces_around_patch", f" \n{patch('*** Delete File: a')}  \n\n", ["D a"]),
    ("indented_last_line", "*** Begin Patch \n*** Update File: f\n-a\n *** End Patch", ["U f @[-a]"]),
    ("crlf", patch("*** Update File: f", "@@", " a", "+").replace("\n", "\r\n"), ["U f @[ a|+]"]),
    ("heredoc", f"<<'EOF'\n{patch('*** Delete File: a')}\nEOF", ["D a"]),
    ("heredoc_tail", f"<<EOF\n{patch('*** Delete File: a')}\nxEOF", ["D a"]),
    ("environment", patch("*** Environment ID: e1", "*** Delete File: a"), ["D a"]),
    ("end_lines_repeat", patch("*** Delete File: a", "*** End Patch", "", "*** End Patch"), ["D a"]),
    ("end_of_file_before_chunks", patch("*** Update File: f", "*** End of File", "-a"), ["U f @[-a]"]),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in ACCEPTED], ids=[c[0] for c in ACCEPTED])
def test_a_valid_patch_is_parsed(text: str, expected: list[str]) -> None:
    assert read(text) == expected


def at(line: int, reason: str) -> str:
    return f"Invalid patch hunk on line {line}: {reason}"


def header(line: int, shown: str) -> str:
    return at(line, f"'{shown}' is not a valid hunk header. {HEADERS}")


def unexpected(line: int, shown: str) -> str:
    signs = "' ' (context line), '+' (added line), or '-' (removed line)"
    return at(line, f"Unexpected line found in update hunk: '{shown}'. Every line should start with {signs}")


def expected_heading(line: int, shown: str) -> str:
    return at(line, f"Expected update hunk to start with a @@ context marker, got: '{shown}'")


FIRST = "Invalid patch: The first line of the patch must be '*** Begin Patch'"
LAST = "Invalid patch: The last line of the patch must be '*** End Patch'"
EMPTY_UPDATE = at(2, "Update file hunk for path 'f' is empty")
NO_LINES = at(4, "Update hunk does not contain any lines")


REFUSED = [
    ("empty", "", FIRST),
    ("no_begin", "x\n*** End Patch", FIRST),
    ("no_end", "*** Begin Patch\n*** Delete File: a", LAST),
    ("lower_case", "*** begin patch\n*** End Patch", FIRST),
    ("only_begin", "*** Begin Patch", LAST),
    ("unknown_header", patch("*** Frobnicate File: foo"), header(2, "*** Frobnicate File: foo")),
    ("header_without_path", patch("*** Add File: "), header(2, "*** Add File:")),
    ("blank_in_add", patch("*** Add File: a", "+x", "", "+y"), header(4, "")),
    ("text_after_delete", patch("*** Delete File: a", "x"), header(3, "x")),
    ("text_after_end", patch("*** Delete File: a", "*** End Patch", "x"), header(4, "x")),
    ("empty_update", patch("*** Update File: f"), EMPTY_UPDATE),
    ("move_alone", patch("*** Update File: f", "*** Move to: g"), EMPTY_UPDATE),
    ("empty_chunk", patch("*** Update File: f", "@@"), NO_LINES),
    ("empty_chunk_at_end", patch("*** Update File: f", "@@", "*** End of File"), NO_LINES),
    ("stacked", patch("*** Update File: f", "@@ a", "@@ b", "-c"), unexpected(4, "@@ b")),
    ("no_space_after_heading", patch("*** Update File: f", "@@x"), unexpected(3, "@@x")),
    ("unsigned_line", patch("*** Update File: f", "@@", "-a", "b"), expected_heading(5, "b")),
    (
        "after_end_of_file",
        patch("*** Update File: f", "-a", "*** End of File", "+b"),
        expected_heading(5, "+b"),
    ),
    ("late_move", patch("*** Update File: f", "-a", "*** Move to: g"), expected_heading(4, "*** Move to: g")),
    (
        "empty_environment",
        patch("*** Environment ID: ", "*** Delete File: a"),
        "Invalid patch: apply_patch environment_id cannot be empty",
    ),
    ("heredoc_blanks", f"<<EOF \n{patch()}\nEOF", FIRST),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("text", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_an_invalid_patch_is_refused_with_the_reference_message(text: str, message: str) -> None:
    assert parse_strict(text) == ParsedPatch(problems=parse_strict(text).problems)
    assert [problem.message for problem in parse_strict(text).problems] == [message]


def test_line_numbers_of_a_heredoc_count_from_its_begin_line() -> None:
    (problem,) = parse_strict(f"<<EOF\n{patch('*** Delete File: a', 'x')}\nEOF").problems
    assert problem.line == 3
