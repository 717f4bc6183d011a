"""A project's instruction files are searched once, and again only after a change of the searched folders or files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent_ls.environments.base import READ_LIMIT_BYTES, DirEntry
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.services.context.project_docs import ProjectDocumentCache
from agent_ls.services.turn_reads import TurnReads

pytestmark = pytest.mark.req("O6")

LONG_AGO_NS = 1_000_000_000_000_000_000
FAMILY = ("NOTES.md",)


class Counting(ForwardingEnvironment):
    """An environment that counts its reads, and the reads of files and folders among them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(LocalEnvironment(str(folder)))
        self.reads = 0
        self.contents = 0

    async def file_exists(self, path: str) -> bool:
        self.reads += 1
        return await super().file_exists(path)

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        self.reads += 1
        self.contents += 1
        return await super().list_directory(path, depth)

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        self.reads += 1
        self.contents += 1
        return await super().read_bytes(path, max_bytes)


class Project:
    """A folder in a repository with a cache of its documents. `shown` has the versions of documents in an editor."""

    def __init__(self, top: Path) -> None:
        self.root = top / "root"
        self.folder = self.root / "part"
        self.folder.mkdir(parents=True)
        (self.root / ".git").mkdir()
        self.shown: dict[str, int] = {}
        self.environment = Counting(self.folder)
        self.known = ProjectDocumentCache(lambda: self.shown, TurnReads())

    async def texts(self) -> Sequence[str]:
        return [document.text for document in await self.known.find(self.environment, FAMILY)]

    async def reads(self) -> int:
        """Return how many file reads the next query of the documents makes."""
        before = self.environment.reads
        await self.texts()
        return self.environment.reads - before


@pytest.fixture
async def project(tmp_path: Path) -> Project:
    """A project without instruction files, whose cache already knows that there are none."""
    made = Project(tmp_path)
    for _ in range(2):
        assert await made.texts() == []
    assert await made.reads() == 0
    return made


def _make(path: Path, text: str) -> None:
    """Write a file and set its mtime far back. The ctime cannot be set."""
    path.write_text(text)
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


async def test_without_project_documents_no_folder_is_searched_again(project: Project) -> None:
    assert [await project.reads() for _ in range(3)] == [0, 0, 0]


async def test_only_names_that_exist_are_read(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert await project.texts() == [] and project.environment.contents == 0
    for number, name in enumerate(("AGENTS.md", ".cursor/rules/a.mdc"), start=1):
        (project.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (project.folder / name).write_text("---\nalwaysApply: true\n---\nBe brief.")
        project.environment.contents = 0
        assert len(await project.texts()) == number
    assert project.environment.contents == 3  # both files and the folder of rules


async def test_a_project_document_created_after_the_first_search_is_found(project: Project) -> None:
    _make(project.folder / "AGENTS.md", "Be brief.")
    assert await project.texts() == ["Be brief."]
    _make(project.root / "NOTES.md", "Be kind.")
    assert await project.texts() == ["Be kind.", "Be brief."]


async def test_documents_above_the_folder_are_left_out_when_the_repository_is_gone(project: Project) -> None:
    _make(project.root / "NOTES.md", "Be kind.")
    assert await project.texts() == ["Be kind."]
    (project.root / ".git").rmdir()
    assert await project.texts() == []


async def test_the_first_search_is_not_repeated(tmp_path: Path) -> None:
    """Its look at all names is what later turns compare with."""
    project = Project(tmp_path)
    assert await project.texts() == []
    assert await project.reads() == 0


async def test_the_signature_of_a_just_changed_document_is_not_trusted(project: Project) -> None:
    path = project.folder / "AGENTS.md"
    for text in ("one", "two", "six"):
        _make(path, text)
        assert await project.texts() == [text]
    assert await project.reads() > 0
    path.unlink()
    assert await project.texts() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda project: project.shown.update({str(project.folder / "AGENTS.md"): 1}),
        lambda project: (project.folder / ".git").mkdir(),
        lambda project: (project.root / IGNORE_FILE).write_text("AGENTS.md\n"),
    ],
    ids=["opened in an editor", "another root", "ignored"],
)
async def test_documents_are_read_again_after_a_change_of_repository_ignore_file_or_open_documents(
    change: Callable[[Project], object], project: Project
) -> None:
    change(project)
    assert await project.reads() > 0


async def test_documents_without_signatures_are_read_each_time(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.known = ProjectDocumentCache(None, TurnReads())
    first = await project.reads()
    assert first > 0
    assert await project.reads() == first
