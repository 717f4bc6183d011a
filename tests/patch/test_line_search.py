"""Search for lines: levels of strictness, and a large file is not processed again for every chunk."""

from __future__ import annotations

import pytest

from agent_ls.patch.line_search import FileLines, LineMatch, find_all, find_first
from agent_ls.patch.strict_placement import place_strictly
from agent_ls.patch.v4a_parser import Chunk, PatchLine

BIG = [f"    value_{at} = {at}" if at % 4 else "" for at in range(100_000)]


def chunks(count: int, spelled: str) -> list[Chunk]:
    """Return chunks at positions spread over BIG. The format `spelled` changes the spelling of their lines."""
    starts = [at * (len(BIG) // count) + 5 for at in range(count)]
    return [
        Chunk(1, lines=tuple(PatchLine("-", spelled.format(BIG[start + offset]), 1) for offset in range(7)))
        for start in starts
    ]


LEVELS = [("exact", "{}", 1), ("right_trimmed", "{} ", 2), ("trimmed", " {} ", 3)]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("spelled", "level"), [c[1:] for c in LEVELS], ids=[c[0] for c in LEVELS])
def test_search_for_fifty_chunks_normalises_a_large_file_once_per_level(spelled: str, level: int) -> None:
    file = FileLines(BIG)
    spots = place_strictly(file, chunks(50, spelled))
    assert spots is not None
    assert {spot.level for spot in spots} == {level}
    assert file.normalisations == level


def test_search_of_a_large_file_compares_only_where_the_rarest_line_is() -> None:
    file = FileLines(["", "x"] * 50_000 + ["", "y"])
    assert list(file.occurrences(["", "y"], 1)) == [100_000]
    assert find_first(file, ["", "y"], 0) == LineMatch(100_000, 1, 1)


SEEKS = [
    ("empty_pattern", [], 2, False, LineMatch(2, 0, 1)),
    ("from", ["a"], 1, False, LineMatch(2, 1, 1)),
    ("candidates", ["a"], 0, False, LineMatch(0, 1, 2)),
    ("at_end", ["b"], 0, True, LineMatch(3, 1, 1)),
    ("at_end_only", ["a"], 0, True, None),
    ("at_end_before_start", ["b"], 4, True, None),
    ("too_long", ["a"] * 9, 0, False, None),
    ("nowhere", ["c"], 0, False, None),
]


@pytest.mark.parametrize(
    ("pattern", "start", "at_end", "expected"), [c[1:] for c in SEEKS], ids=[c[0] for c in SEEKS]
)
def test_find_first_returns_the_first_position_at_the_strictest_level(
    pattern: list[str], start: int, at_end: bool, expected: LineMatch | None
) -> None:
    assert find_first(FileLines(["a", "x", "a", "b"]), pattern, start, at_end=at_end) == expected


def test_find_all_returns_the_positions_of_the_strictest_level_with_an_allowed_match() -> None:
    file = FileLines(["a ", "a", "b"])
    assert find_all(file, ["a"]) == (1, [1])
    assert find_all(file, ["a"], allowed=lambda at: at != 1) == (2, [0])
    assert find_all(file, ["c"]) == (0, [])


def test_blank_pattern_matches_nothing_at_levels_that_ignore_blanks() -> None:
    assert list(FileLines(["", "  "]).occurrences([" "], 6)) == []
