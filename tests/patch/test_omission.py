"""Markers of omitted code are distinguished from code and ordinary comments."""

from __future__ import annotations

import pytest

from agent_ls.patch.replace import is_marker, omission_marker

MARKERS = [
    "... rest of code ...",
    "// ... existing code ...",
    "    # ... (rest of the function)",
    "/* ... existing styles ... */",
    "<!-- ... existing markup ... -->",
    "{/* ... existing code ... */}",
    "# ... the rest of the file remains unchanged",
    "// rest of the code remains the same",
    "# rest of the file unchanged",
    "-- … other columns …",
    "// ... keep existing methods ...",
    "// ...existing code...",
    "// rest of the code",
    "; ... previous lines unchanged ...",
]
CODE = [
    "...",
    "    ...",
    "x = [...]",
    "def f(*rest): ...",
    "# the rest of the time is spent waiting for the disk",
    "print('... existing code ...')",
    "// see the existing code",
    "# Loading ...",
    "foo(...rest)",
    "const { a, ...rest } = props",
    "...rest,",
    "...otherProps",
    "# keep the existing connection open",
    "# Loading the rest ...of",
    "",
]


@pytest.mark.req("T3")
@pytest.mark.parametrize("line", MARKERS)
def test_a_line_for_omitted_code_is_a_marker(line: str) -> None:
    assert is_marker(line)


@pytest.mark.req("T3")
@pytest.mark.parametrize("line", CODE)
def test_a_line_of_code_or_prose_is_not_a_marker(line: str) -> None:
    assert not is_marker(line)


def test_a_marker_that_the_old_text_has_is_not_an_omission() -> None:
    assert omission_marker(["  // ... rest ..."], ["// ... rest ..."]) == ""
    assert omission_marker(["a", "  // ... rest ..."], ["a"]) == "  // ... rest ..."
