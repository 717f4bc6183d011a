"""Authors of lines: never the user where the agent wrote it unchanged, and the reverse, in any history."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from agent_ls.review.provenance import UNKNOWN, USER, WrittenText, authors
from agent_ls.sessions.stored.similar_texts import SimilarTexts
from tests.attacks import IS_WHOLE


def lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split()]


def write(before: str | None, after: str | None, *, is_restoring: bool = False) -> WrittenText:
    return WrittenText(
        None if before is None else lines(before), None if after is None else lines(after), is_restoring
    )


U, Q = USER, UNKNOWN


@pytest.mark.parametrize(
    ("writes", "current", "expected"),
    [
        ([], "a b", [U, U]),
        ([write("", "a b")], "a b", [0, 0]),
        ([write("a b", "a x b")], "a x b", [U, 0, U]),
        # the user types between two writes and after them
        ([write("a b", "a x b"), write("a x u b", "a x u y b")], "a x v u y b", [U, 0, U, U, 1, U]),
        # a line that was changed after the agent wrote it is the user's
        ([write("a b", "a x b")], "a X b", [U, U, U]),
        # lines that move keep their author, also if the agent moves them
        ([write("a b", "a x b")], "x a b", [0, U, U]),
        ([write("a b c", "c a b x")], "c a b x", [U, U, U, 0]),
        # an undo, and a redo
        ([write("a b", "a x b"), write("a x b", "a b", is_restoring=True)], "a b", [U, U]),
        ([write("a b", "a x b"), write("a x b", "a b", is_restoring=True)], "a x b", [U, 0, U]),
        ([write("a b", "b"), write("b", "a b", is_restoring=True)], "a b", [U, U]),
        # git checkout of an older content, and back
        ([write("a b", "a x b"), write("a b", "a y b")], "a x b", [U, 0, U]),
        # a part of an older content comes back among other lines
        ([write("a b", "a x z b"), write("a b", "a y b")], "a x z b u", [U, 0, 0, U, U]),
        # the same write again is the later write's
        ([write("a b", "a x b"), write("a b", "a x b")], "a x b", [U, 1, U]),
        # a deleted file, written again
        ([write("a", ""), write("", "b")], "b", [1]),
        # contents that were not kept
        ([write(None, "a")], "a", [Q]),
        ([write("a b", None)], "a x b", [U, Q, U]),
        ([write("a", None), write("a x", "a x y")], "a x y", [U, Q, 1]),
    ],
)
def test_authors_of_lines(writes: Sequence[WrittenText], current: str, expected: Sequence[int]) -> None:
    assert authors(writes, lines(current)) == expected


class _Story:
    """A random history of a file, whose lines are known to be by their first letter."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.made = 0
        self.writes: list[WrittenText] = []
        self.text = [self._line("u") for _ in range(self.chance.randrange(6))]
        self.before = [list(self.text)]

    def _line(self, by: str) -> str:
        self.made += 1
        return f"{by}{len(self.writes)}-{self.made}\n"

    def _edit(self, by: str) -> None:
        for _ in range(self.chance.randrange(1, 4)):
            at = self.chance.randrange(len(self.text) + 1)
            match self.chance.choice("iidrm"):
                case "i":
                    self.text[at:at] = [self._line(by) for _ in range(self.chance.randrange(1, 4))]
                case "d":
                    del self.text[at : at + self.chance.randrange(1, 4)]
                case "r":
                    self.text[at : at + 1] = [self._line(by)]
                case _:
                    moved = self.text[at : at + 2]
                    del self.text[at : at + 2]
                    to = self.chance.randrange(len(self.text) + 1)
                    self.text[to:to] = moved

    def step(self) -> None:
        match self.chance.choice("uuaaaxc"):
            case "u":
                self._edit("u")
            case "a":
                was = list(self.text)
                self._edit("a")
                self.writes.append(WrittenText(was, list(self.text)))
            case "x":  # an undo of the agent's, to an earlier content
                was = list(self.text)
                self.text = list(self.chance.choice(self.before))
                self.writes.append(WrittenText(was, list(self.text), is_restoring=True))
            case _:  # another program brings back an earlier content
                self.text = list(self.chance.choice(self.before))
        self.before.append(list(self.text))


def _wrong(seed: int) -> list[tuple[str, int]]:
    story = _Story(seed)
    for _ in range(story.chance.randrange(1, 12)):
        story.step()
    found = authors(story.writes, story.text)
    return [
        (line, who) for line, who in zip(story.text, found, strict=True) if (line[0] == "a") != (who >= 0)
    ]


@pytest.mark.parametrize("share", range(10))
def test_no_line_of_a_random_history_is_given_to_the_other(share: int) -> None:
    count = 1_000 if IS_WHOLE else 100
    wrong = {seed: found for seed in range(share * count, (share + 1) * count) if (found := _wrong(seed))}
    assert not wrong


def test_the_work_grows_with_the_writes_and_not_with_their_square() -> None:
    text = [f"line {number}\n" for number in range(50_000)]
    after = [*text[:25_000], "new\n", *text[25_000:]]
    found = authors([WrittenText(text, after)], after)
    assert found.count(0) == 1 and found[25_000] == 0


@pytest.mark.parametrize("seed", range(200))
def test_contents_with_known_equal_ends_give_the_same_authors(seed: int) -> None:
    draw = random.Random(seed)
    similar = SimilarTexts()
    contents = [similar.split("a\nb\na\nc\n")]
    for _ in range(8):
        lines = list(contents[-1])
        start = draw.randint(0, len(lines))
        lines[start : draw.randint(start, len(lines))] = draw.choices("abc", k=draw.randint(0, 3))
        contents.append(similar.split("".join(f"{line}\n" for line in lines)))
    assert authors(_writes(contents), contents[-1]) == authors(_writes([*map(list, contents)]), contents[-1])


def _writes(contents: Sequence[Sequence[str]]) -> list[WrittenText]:
    return [WrittenText(before, after) for before, after in pairwise(contents)]
