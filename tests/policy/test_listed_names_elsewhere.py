"""Names that a command has listed are used only in the folder in which it has listed them.

In another folder the same name may be a link that leads outside. Each line that runs unasked is run in bash.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.policy.fuzz import SECRET, Scratch, harmed

LISTINGS = (
    "find . -maxdepth 1 -type f -name a.txt -print0 | while IFS= read -r -d '' f; do {}; done",
    "find . -maxdepth 1 -type f -name 'a.*' -print0 | while read -r -d '' f; do {}; done",
    "find . -maxdepth 1 -type f -name a.txt | while read -r f; do {}; done",
    "ls; find * -maxdepth 0 -type f -print0 | while IFS= read -r -d '' f; do {}; done",
)
MOVES = (
    "(cd src && {})", "(cd src; {})", "( cd ./src && {}; )", "x=$(cd src && {}); echo \"$x\"", "echo \"$(cd src; {})\"",
    "cat <(cd src; {})", "(cd src; (cd .; {}))", "(cd src && true && {})", "(cd src && if true; then {}; fi)",
    "(cd src; {} | cat)", "(cd src; x=1; {})", "(cd /nowhere; cd src; {})", "(cd src || cd src; {})",
    "(cd src; [ -f a.txt ] && {})", "(cd src; echo \"$({})\")", "{}; (cd src; {})",
)  # fmt: skip
READERS = (
    'cat "$f"', 'head -3 "$f"', 'tail -n 3 -- "$f"', 'grep -n "" "$f"', 'cat < "$f"', 'sed -n 1p "$f"', 'nl "$f"',
    "awk '{print}' \"$f\"", 'sort "$f"', 'cat $f', 'cat "${f}"', 'base64 -w0 "$f" | base64 -d', 'xargs < "$f"',
    'tac "$f"', 'git blame --contents "$f" a.txt', 'diff /dev/null "$f"',
)  # fmt: skip
LINES = [
    listing.replace("{}", move.replace("{}", reader))
    for listing, move, reader in product(LISTINGS, MOVES, READERS)
]


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return ScratchWithLink(tmp_path / "scratch")


class ScratchWithLink(Scratch):
    def build(self) -> None:
        super().build()
        for name in (
            "nl\nlink",
            "--link",
            "-l",
            "a b",
            "n ..",
            "names -print0.txt",
        ):  # all others have plain names
            (self.work / name).unlink(missing_ok=True)
        (self.work / "src/a.txt").symlink_to("../../outside/secret.txt")


@pytest.mark.req("X5", "X7", "T10")
@pytest.mark.group("sweeps")
def test_a_listed_name_is_not_read_in_another_folder_unasked(scratch: Scratch) -> None:
    scratch.build()
    silent = [line for line in LINES if scratch.is_silent(line)]
    assert len(LINES) >= 1_000
    assert list(harmed(scratch, silent)) == []


def test_a_listed_name_is_read_where_it_was_listed(scratch: Scratch) -> None:
    scratch.build()
    assert scratch.is_silent(LISTINGS[0].replace("{}", 'cat "$f"'))
    assert scratch.is_silent(LISTINGS[0].replace("{}", 'cat "$f"; (cd src && ls)'))
    hostile = LISTINGS[0].replace("{}", MOVES[0].replace("{}", 'cat "$f"'))
    assert SECRET.encode() in scratch.run(hostile)
