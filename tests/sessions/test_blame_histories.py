"""The writer of each line in random histories of a file: with several sessions, a formatter, git, and new names."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from agent_ls.sessions.stored.provenance import ALIKE, blame_text
from agent_ls.sessions.stored.similar_texts import SimilarTexts
from agent_ls.sessions.stored.written_files import LineOrigin, OriginalWrite
from agent_ls.store.blobs import write_blob
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.layout import blobs_path
from agent_ls.text import decode, split_lines
from tests.attacks import IS_WHOLE

SESSIONS = 3


class Story:
    """A random history of one file. A line begins with the session that wrote it, or with `u` for the user."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.made = 0
        self.path = folder / f"{seed}-0.py"
        self.names = 1
        self.writes: list[OriginalWrite] = []
        self.text = [self.line("u") for _ in range(self.chance.randrange(6))]
        self.commits = [list(self.text)]
        self.recorded: list[str] = []  # the content after the newest write

    def line(self, by: str) -> str:
        self.made += 1
        return f"{by} {self.made} {self.chance.choice(('x', 'y'))}"

    def edit(self, by: str, most: int = 3) -> None:
        for _ in range(self.chance.randrange(1, most + 1)):
            at = self.chance.randrange(len(self.text) + 1)
            match self.chance.choice("iidrm"):
                case "i":
                    self.text[at:at] = [self.line(by) for _ in range(self.chance.randrange(1, 4))]
                case "d":
                    del self.text[at : at + self.chance.randrange(1, 4)]
                case "r":
                    self.text[at : at + 1] = [self.line(by)]
                case _:
                    moved = self.text[at : at + 2]
                    del self.text[at : at + 2]
                    to = self.chance.randrange(len(self.text) + 1)
                    self.text[to:to] = moved

    # --- what happens

    def user(self) -> None:
        self.edit("u")

    def agent(self) -> None:
        session = self.chance.randrange(SESSIONS)
        before = self.store(session)
        self.edit(str(session))
        self.record(session, before, self.store(session))

    def formatter(self) -> None:
        """Another program changes the text of some lines, which makes them the user's."""
        self.text = [self.line("u") if self.chance.random() < 0.2 else it for it in self.text]

    def indent(self) -> None:
        """Another program changes only white space, which makes no line anybody else's."""
        width = self.chance.randrange(1, 4)
        self.text = [
            " " * self.chance.randrange(4) + (" " * width).join(it.split())
            if self.chance.random() < 0.5
            else it
            for it in self.text
        ]

    def commit(self) -> None:
        self.commits.append(list(self.text))

    def checkout(self) -> None:
        self.text = list(self.chance.choice(self.commits))

    def rebase(self) -> None:
        """Lines of others come below the newest commit, and the later changes on top of it."""
        at = self.chance.randrange(len(self.text) + 1)
        self.text[at:at] = [self.line("u") for _ in range(self.chance.randrange(1, 5))]

    def undo(self) -> None:
        session = self.chance.randrange(SESSIONS)
        before = self.store(session)
        self.text = list(self.chance.choice(self.commits))
        self.record(session, before, self.store(session), "r-1")

    def rename(self) -> None:
        """The user or the agent moves the file, if enough of it was recorded."""
        if self.alike() < ALIKE or sum(it.write.path == str(self.path) for it in self.writes) == 0:
            return
        old, self.path = self.path, self.folder / f"{self.path.stem.partition('-')[0]}-{self.names}.py"
        self.names += 1
        if old.exists():
            old.rename(self.path)
        session = self.chance.randrange(SESSIONS)
        name = self.store(session)
        if self.chance.random() < 0.5:
            self.record(session, "", name)
            self.writes.append(
                self.writes[-1].__class__(
                    self.write(old, name, "", "t"), self.origin(session), self.session(session)
                )
            )
        else:  # the next write of the agent is seen under the new name
            self.edit(str(session), 1)
            self.record(session, name, self.store(session))

    def step(self) -> None:
        steps: list[Callable[[], None]] = [
            self.user, self.user, self.agent, self.agent, self.agent, self.formatter, self.indent, self.commit,
            self.checkout, self.rebase, self.undo, self.rename,
        ]  # fmt: skip
        self.chance.choice(steps)()
        self.path.write_text("".join(f"{line}\n" for line in self.text))

    # --- what is stored

    def alike(self) -> float:
        now, then = (Counter(" ".join(it.split()) for it in text) for text in (self.text, self.recorded))
        return 2 * (now & then).total() / max(1, now.total() + then.total())

    def session(self, number: int) -> Path:
        return self.folder / f"session-{number}"

    def store(self, session: int) -> str:
        ending = self.chance.choice(("\n", "\r\n"))  # git and editors convert them
        return write_blob(
            blobs_path(self.session(session)), "".join(f"{it}{ending}" for it in self.text).encode()
        )

    def origin(self, session: int) -> LineOrigin:
        return LineOrigin(str(session), "t", f"c-{len(self.writes)}", time=f"{len(self.writes):06}")

    def write(self, path: Path, before: str, after: str, turn: str) -> RecordedWrite:
        return RecordedWrite(str(path), f"c-{len(self.writes)}", turn, before, after)

    def record(self, session: int, before: str, after: str, turn: str = "t") -> None:
        write = self.write(self.path, before, after, turn)
        self.writes.append(OriginalWrite(write, self.origin(session), self.session(session)))
        self.recorded = list(self.text)


def find_wrong(seed: int, folder: Path) -> list[tuple[str, str]]:
    story = Story(seed, folder)
    for _ in range(story.chance.randrange(1, 14)):
        story.step()
    ending = story.chance.choice(("\n", "\r\n"))
    found = blame_text(story.path, ending.join(story.text), story.writes)
    story.path.unlink(missing_ok=True)
    wrong = []
    for line in found:
        by = line.origin.session_id if line.origin else "u" if line.author == "user" else "?"
        if line.text and by != line.text.split()[0]:
            wrong.append((line.text, by))
    return wrong


@pytest.mark.group("sweeps")
@pytest.mark.parametrize("share", range(10))
def test_each_line_of_a_random_history_is_of_its_session_or_of_the_user(tmp_path: Path, share: int) -> None:
    count = 1_000 if IS_WHOLE else 30
    seeds = range(share * count, (share + 1) * count)
    assert not {seed: wrong for seed in seeds if (wrong := find_wrong(seed, tmp_path))}


LONG = b"x" * 3_000_000
ODD: list[tuple[str, bytes, bytes, bytes, str]] = [
    ("mixed endings", b"a\r\nb\nc\r", b"a\r\nb\nnew\r\nc\r", b"a\nb\r\nnew\nc\n", "uu0u"),
    ("no end of the last line", b"a", b"a\nnew", b"a\nnew\n", "u0"),
    ("a mark at the begin", b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfa\nnew\n", b"a\nnew\n", "u0"),
    ("another encoding", b"\xe4b\n", b"\xe4b\n\xfcnew\n", b"\xc3\xa4b\n\xc3\xbcnew\n", "u0"),
    ("damaged text", b"\xff\xfea", b"\xff\xfea", b"\xff\xfea", "u"),
    ("lines that are all equal", b"x\n" * 400, b"x\n" * 401, b"x\n" * 401, "u" * 400 + "0"),
    ("one huge line", LONG, LONG + b"\nnew\n", LONG + b"\nnew\n", "u0"),
    ("binary before", b"\0a\n", b"new\n", b"new\n", "?"),
    ("emptied", b"a\n", b"", b"", ""),
    ("blank lines only", b"", b"\n\n", b"\n\n", "00"),
    ("generated", b'{"a": 1}\n' * 9_000, b'{"a": 1}\n' * 9_000 + b"new\n", b"new\n", "0"),
]


@pytest.mark.parametrize("row", ODD, ids=[it[0] for it in ODD])
def test_odd_contents_have_authors(tmp_path: Path, row: tuple[str, bytes, bytes, bytes, str]) -> None:
    _, before, after, current, expected = row
    old, new = (write_blob(blobs_path(tmp_path), data) if data else "" for data in (before, after))
    write = RecordedWrite(str(tmp_path / "a.py"), "c-1", "t", old, new)
    writes = [OriginalWrite(write, LineOrigin("0", "t", "c-1"), tmp_path)]
    found = blame_text(tmp_path / "a.py", decode(current).text, writes)
    signs = {"user": "u", "agent": "0", "unknown": "?"}
    assert "".join(signs[line.author] for line in found) == expected


@pytest.mark.parametrize(
    "pieces", [("a", " ", "\t", "\n", "  xy\n", ""), ("a", " ", "\n", "\r\n", "\r", "\x0b", "xy\n", "")]
)
@pytest.mark.parametrize("share", range(4))
def test_similar_texts_are_split_like_any_text(share: int, pieces: tuple[str, ...]) -> None:
    chance, texts, text = random.Random(share), SimilarTexts(), ""
    for _ in range(500):
        at = chance.randrange(len(text) + 1)
        added = "".join(chance.choice(pieces) for _ in range(3))
        text = text[:at] + added + text[at + chance.randrange(4) :]
        assert texts.split(text) == [" ".join(line.split()) for line in split_lines(text)]


FILE_PIECES = (b"a", b" ", b"\n", b"\r\n", b"\r", "ä".encode(), b"\xe4", b"\xed\xa0\x80", b"\x1b$B", b"")
STARTS = (b"", b"\xef\xbb\xbf", b"\xff\xfe", b"# coding: iso-2022-jp\n", b"# coding: latin-1\n")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("share", range(4))
def test_similar_files_are_split_like_any_file(share: int, start: bytes) -> None:
    chance, texts, data = random.Random(share), SimilarTexts(), b""
    for _ in range(300):
        at = chance.randrange(len(data) + 1)
        if chance.randrange(10) == 0:
            data = data[:at]
        added = b"".join(chance.choice(FILE_PIECES) for _ in range(3))
        data = data[:at] + added + data[at + chance.randrange(4) :]
        file = chance.choice((b"", start)) + data
        expected = [" ".join(line.split()) for line in split_lines(decode(file).text)]
        assert texts.split_file(file) == expected


def test_the_calls_of_a_blame_grow_with_the_writes_and_not_with_the_lines(tmp_path: Path) -> None:
    text = [f"value_{number} = {number}\n" for number in range(50_000)]
    texts = ["".join(text)]
    for number in range(20):
        text.insert(number * 2_000, f"new_{number} = {number}\n")
        texts.append("".join(text))
    names = [write_blob(blobs_path(tmp_path), each.encode()) for each in texts]
    (blobs_path(tmp_path) / names[-1]).unlink()  # of large files, only contents before a write are stored
    writes = [
        OriginalWrite(
            RecordedWrite(str(tmp_path / "a.py"), f"c-{at}", "t", names[at], names[at + 1]),
            LineOrigin("0", "t", f"c-{at}"),
            tmp_path,
        )
        for at in range(20)
    ]
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        found = blame_text(tmp_path / "a.py", texts[-1], writes)
    finally:
        sys.setprofile(None)
    assert counted < 20_000
    assert [count for author, _, count in found.runs() if author == "agent"] == [1] * 20 and len(
        found
    ) == 50_020
