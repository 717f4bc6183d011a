"""Files that a client has open: unsaved text is read and kept, and no write is reported that did not happen."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from agent_ls.acp.files import CHANGED, NOT_SAVED, ClientFilesEnvironment
from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.errors import (
    CommitError,
    EditRefusedError,
    EnvError,
    PathNotFoundError,
    StaleFileError,
)
from agent_ls.environments.local import LocalEnvironment
from agent_ls.text import normalize_line_endings
from tests.acp.lying_texts import LyingTexts, typed_in

RUNS = 200 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 25
STEPS = 30


class HonestTexts:
    """A client that serves its buffers and saves each write."""

    def __init__(self, **buffers: str) -> None:
        self.can_write = True
        self.saves = True
        self.buffers = buffers
        self.written: list[str] = []
        self.answers: dict[str, str | None] = {}

    async def read(self, path: str) -> str | None:
        name = Path(path).name
        if name in self.answers:
            return self.answers[name]
        if name in self.buffers:
            return self.buffers[name]
        return Path(path).read_bytes().decode() if Path(path).exists() else None  # noqa: ASYNC240

    async def write(self, path: str, text: str) -> bool:
        self.written.append(path)
        if self.saves:
            Path(path).write_bytes(text.encode())  # noqa: ASYNC240
            self.buffers.pop(Path(path).name, None)
        else:
            self.buffers[Path(path).name] = text
        return True


class CountingTexts(HonestTexts):
    """A client that remembers for which files it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def read(self, path: str) -> str | None:
        self.asked.append(path)
        return await super().read(path)


@pytest.mark.parametrize(
    ("name", "asked"),
    [("AGENTS.md", 1), (".agent-ls/memory.md", 1), ("sub/CLAUDE.md", 1), ("../state/notes.txt", 0)],
)
async def test_the_client_is_not_asked_for_optional_files_that_are_missing_and_never_for_files_outside(
    tmp_path: Path, name: str, asked: int
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    client = CountingTexts()
    environment = place(folder, client)
    with pytest.raises(PathNotFoundError):
        await environment.read_bytes(name)
    assert not await environment.file_exists(name)
    assert client.asked == []
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("kept")
    assert await environment.read_bytes(name) == b"kept" and len(client.asked) == asked


async def test_unsaved_text_of_a_file_of_instructions_is_read(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("old")
    assert await place(tmp_path, HonestTexts(**{"AGENTS.md": "new"})).read_bytes("AGENTS.md") == b"new"


def place(tmp_path: Path, client: object) -> ClientFilesEnvironment:
    return ClientFilesEnvironment(LocalEnvironment(str(tmp_path), environ={}), client)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", ["a\nb\n", "a\nb", "\ufeffa\nb\n", "a\r\nb\r\n", None, ""])
async def test_a_read_returns_the_bytes_on_disk_if_the_client_text_differs_only_in_line_endings(
    tmp_path: Path, answer: str | None
) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    client = HonestTexts()
    client.answers["f"] = answer
    assert await place(tmp_path, client).read_bytes("f") == b"\xef\xbb\xbfa\r\nb\r\n"


async def test_unsaved_text_is_read_with_the_line_ends_on_disk(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\nc\r\n")
    found = await place(tmp_path, HonestTexts(f="a\nb\nnew\nc\n")).read_bytes("f")
    assert found == b"\xef\xbb\xbfa\r\nb\nnew\r\nc\r\n"


async def test_a_file_that_exists_only_in_the_client_is_read(tmp_path: Path) -> None:
    files = place(tmp_path, HonestTexts(new="draft\n"))
    assert await files.read_bytes("new") == b"draft\n"
    assert await files.file_exists("new")
    with pytest.raises(PathNotFoundError):
        await files.read_bytes("none")


@pytest.mark.parametrize("data", [b"\x00\x01", b"\xff\xfe\x41\x00", b"caf\xe9\n" * 3])
async def test_a_file_that_is_not_utf_8_is_never_read_from_the_client(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "f").write_bytes(data)
    client = HonestTexts(f="something else\n")
    files = place(tmp_path, client)
    assert await files.read_bytes("f") == data
    await files.commit([FileWrite("f", b"other", data)], Attribution())
    assert (tmp_path / "f").read_bytes() == b"other" and not client.written


async def test_a_write_goes_through_the_client_and_is_verified(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old\n")
    client = HonestTexts()
    state = (await place(tmp_path, client).commit([FileWrite("f", b"new\n", b"old\n")], Attribution()))[0]
    assert client.written == [str(tmp_path / "f")]
    assert (state.before, state.after, state.note) == (b"old\n", b"new\n", "")


async def test_line_ends_that_the_client_changed_are_restored(tmp_path: Path) -> None:
    class Joined(HonestTexts):
        async def write(self, path: str, text: str) -> bool:
            return await super().write(path, text.replace("\r\n", "\n").removesuffix("\n"))

    (tmp_path / "f").write_bytes(b"old\r\nline\r\n")
    state = (
        await place(tmp_path, Joined()).commit(
            [FileWrite("f", b"new\r\nline\r\n", b"old\r\nline\r\n")], Attribution()
        )
    )[0]
    assert (tmp_path / "f").read_bytes() == b"new\r\nline\r\n" == state.after


async def test_a_write_that_the_client_confirms_but_does_not_perform_is_made_on_disk(tmp_path: Path) -> None:
    class Losing(HonestTexts):
        async def write(self, path: str, text: str) -> bool:
            return True

    (tmp_path / "f").write_text("old\n")
    await place(tmp_path, Losing()).commit([FileWrite("f", b"new\n", b"old\n")], Attribution())
    assert (tmp_path / "f").read_text() == "new\n"


async def test_a_write_result_has_the_text_as_the_client_formatted_it_with_a_note(tmp_path: Path) -> None:
    class Formatting(HonestTexts):
        async def write(self, path: str, text: str) -> bool:
            return await super().write(path, text.upper())

    (tmp_path / "f").write_text("old\n")
    state = (await place(tmp_path, Formatting()).commit([FileWrite("f", b"new\n", b"old\n")], Attribution()))[
        0
    ]
    assert state.after == b"NEW\n" and state.note == CHANGED


async def test_unsaved_text_is_changed_through_the_client_only(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old\n")
    client = HonestTexts(f="old\ntyped\n")
    client.saves = False
    files = place(tmp_path, client)
    with pytest.raises(StaleFileError):
        await files.commit([FileWrite("f", b"new\n", b"old\n")], Attribution())
    state = (await files.commit([FileWrite("f", b"new\ntyped\n", b"old\ntyped\n")], Attribution()))[0]
    assert client.buffers["f"] == "new\ntyped\n" and state.note == NOT_SAVED
    assert (tmp_path / "f").read_text() == "old\n"


async def test_unsaved_text_is_not_changed_if_the_client_does_not_support_writes(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old\n")
    client = HonestTexts(f="typed\n")
    client.can_write = False
    for content in (b"new\n", None):
        with pytest.raises(EditRefusedError, match="unsaved changes"):
            await place(tmp_path, client).commit([FileWrite("f", content, b"typed\n")], Attribution())
    assert client.buffers["f"] == "typed\n" and (tmp_path / "f").read_text() == "old\n"


async def test_no_file_is_changed_if_one_of_several_writes_fails(tmp_path: Path) -> None:
    class Failing(HonestTexts):
        async def write(self, path: str, text: str) -> bool:
            if Path(path).name == "c":
                self.buffers["c"] = "the user typed this\n"
                return False
            return await super().write(path, text)

    for name in "abc":
        (tmp_path / name).write_text(f"{name}\n")
    client = Failing(c="c unsaved\n")
    writes = [FileWrite(name, b"new\n", f"{name}\n".encode()) for name in "ab"]
    with pytest.raises(EnvError):
        await place(tmp_path, client).commit(
            [*writes, FileWrite("d", b"x", b"not there"), FileWrite("c", b"new\n", b"c unsaved\n")],
            Attribution(),
        )
    assert [(tmp_path / name).read_text() for name in "abc"] == ["a\n", "b\n", "c\n"]


@pytest.mark.sweep
@pytest.mark.req("H4", "H13")
@pytest.mark.parametrize("seed", range(RUNS))
async def test_with_false_client_answers_no_typed_text_is_lost_and_no_write_result_is_false(
    tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    ending = random.choice(("\n", "\r\n"))
    names = ("a", "b", "c")
    for name in names:
        (tmp_path / name).write_text("".join(f"line {n} of  {name}{ending}" for n in range(5)), newline="")
    client = LyingTexts(random, lies=random.choice((0.0, 0.2, 0.6)), can_write=random.random() < 0.9)
    files = place(tmp_path, client)
    claims = 0
    for step in range(STEPS):
        if random.random() < 0.4:
            client.type_into(str(tmp_path / random.choice(names)))
        writes = []
        for name in random.sample(names, random.choice((1, 1, 2, 3))):
            base = await files.read_bytes(name)
            lines = base.decode().splitlines(keepends=True)
            lines.insert(random.randrange(len(lines) + 1), f"agent {step}{ending}")
            writes.append(FileWrite(name, "".join(lines).encode(), base))
        if random.random() < 0.2:
            client.type_into(str(tmp_path / random.choice(names)))
        on_disk = {name: (tmp_path / name).read_bytes() for name in names}
        try:
            states = await files.commit(writes, Attribution())
        except CommitError as error:
            assert error.unrestored or on_disk == {name: (tmp_path / name).read_bytes() for name in names}
            continue
        except EnvError:
            continue
        for state in states:
            claims += 1
            answered = client.answered.get(state.path)
            seen = {(tmp_path / Path(state.path).name).read_bytes().decode(), answered or ""}
            assert normalize_line_endings((state.after or b"").decode()) in set(
                map(normalize_line_endings, seen)
            ), state
    assert not client.lost, f"typed characters that were taken away: {client.lost}"
    if client.lies == 0:
        alive = set().union(*(typed_in(client.current(str(tmp_path / name))) for name in names))
        assert len(alive) == client.typed and claims
