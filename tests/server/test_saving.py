"""Before a command: the file on disk decides who made the unsaved changes of a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.environments.editor_host import OpenDocument
from agent_ls.server.editor.saving import Savable, SavePolicy, saved_undone, unsaved_note


class Buffer:
    """An open document: its text when it was last clean, its text now, and the file on disk (None: no file)."""

    def __init__(
        self, path: Path, disk: str | None, clean: str, now: str, *, agent: bool = False, user: bool = False
    ) -> None:
        self.path = path
        self.savable = Savable(str(path), clean, agent_wrote=agent, user_typed=user)
        self.now = now
        self.saves: list[int] = []
        if disk is not None:
            path.write_bytes(disk.encode())

    def documents(self) -> list[tuple[Savable, OpenDocument]]:
        return [(self.savable, OpenDocument(str(self.path), 4, self.now))]

    async def save(self, documents: Sequence[OpenDocument]) -> bool:
        for document in documents:
            self.saves.append(document.version)
            self.path.write_text(document.text)
        return True


@pytest.mark.req("H4")
@pytest.mark.parametrize(
    ("disk", "clean", "now", "agent", "user", "saved", "note"),
    [
        ("a\n", "a\n", "a\n", False, False, False, ""),
        ("a\r\n", "a\n", "a\n", False, False, False, ""),
        ("\ufeffa\n", "a\n", "a\n", False, False, False, ""),
        ("a", "a\n", "a\n", False, False, False, ""),
        ("a\n", "a\n", "b\n", True, False, True, ""),
        ("a\n", "a\n", "b\n", True, True, False, "the user's unsaved changes"),
        ("a\n", "a\n", "b\n", False, True, False, "the user's unsaved changes"),
        ("a\n", "a\n", "a\n", True, True, False, ""),
        ("a\n", "old draft\n", "new\n", True, False, False, "the user's unsaved changes"),
        (None, "", "", False, False, False, ""),
        (None, "", "b\n", True, False, True, ""),
        (None, "", "b\n", True, True, False, "the user's unsaved changes"),
    ],
    ids=[
        "clean",
        "other line ends",
        "byte order mark",
        "no final line end",
        "the agent's",
        "both",
        "the user's",
        "typed and taken back",
        "opened with a draft",
        "no file and empty",
        "a new file of the agent's",
        "a new file of both",
    ],
)
async def test_only_documents_changed_by_the_agent_alone_are_saved(
    tmp_path: Path, disk: str | None, clean: str, now: str, agent: bool, user: bool, saved: bool, note: str
) -> None:
    buffer = Buffer(tmp_path / "a.txt", disk, clean, now, agent=agent, user=user)
    said = await unsaved_note(buffer.documents, buffer.save)
    assert bool(buffer.saves) == saved
    assert note in said
    assert bool(said) == bool(note)


async def test_if_the_editor_does_not_save_the_model_gets_a_note_about_unsaved_changes(
    tmp_path: Path,
) -> None:
    buffer = Buffer(tmp_path / "a.txt", "a\n", "a\n", "b\n", agent=True)

    async def refuse(documents: Sequence[OpenDocument]) -> bool:
        return True

    for save in (refuse, None):
        assert "edited by you" in await unsaved_note(buffer.documents, save)


@pytest.mark.req("H8")
@pytest.mark.parametrize(
    ("policy", "says", "disk", "agent", "user", "saved"),
    [
        ("auto", False, "a\n", False, True, True),
        ("auto", False, "newer on disk\n", False, True, False),
        ("agent", True, "a\n", False, True, False),
        ("agent", True, "a\n", True, False, True),
        ("ask", True, "a\n", False, True, True),
        ("ask", False, "a\n", False, True, False),
        ("ask", False, "a\n", True, False, True),
        ("ask", True, "newer on disk\n", False, True, False),
        ("never", True, "a\n", True, False, False),
    ],
)
async def test_the_policy_decides_what_is_saved_before_a_command(
    tmp_path: Path, policy: SavePolicy, says: bool, disk: str, agent: bool, user: bool, saved: bool
) -> None:
    buffer = Buffer(tmp_path / "f", disk, "a\n", "b\n", agent=agent, user=user)
    asked: list[Sequence[str]] = []

    async def may_save(paths: Sequence[str]) -> bool:
        asked.append(paths)
        return says

    note = await unsaved_note(buffer.documents, buffer.save, policy, may_save)

    assert (bool(buffer.saves), note == "") == (saved, saved)
    assert bool(asked) == (policy == "ask" and user and disk == "a\n")


class Overtaken(Buffer):
    """A document that changes while the editor saves it. `types`: the user changes it, else the agent."""

    def __init__(self, path: Path, *, types: bool, answers: bool) -> None:
        super().__init__(path, "a\n", "a\n", "b\n", agent=True)
        self.types, self.answers = types, answers

    async def save(self, documents: Sequence[OpenDocument]) -> bool:
        await super().save(documents)
        if not self.answers:
            return False
        return self.reports()

    def reports(self) -> bool:
        """Change the document, then report the save of its earlier text."""
        self.now = "c\n"
        self.savable.user_typed |= self.types
        self.savable = self.savable.saved(self.now)
        return True


@pytest.mark.req("H4")
@pytest.mark.parametrize("answers", [True, False], ids=["answers", "answers late"])
@pytest.mark.parametrize("types", [False, True], ids=["the agent", "the user"])
async def test_a_document_that_changes_while_it_is_saved_is_not_one_that_another_program_changed(
    tmp_path: Path, types: bool, answers: bool
) -> None:
    buffer = Overtaken(tmp_path / "a.txt", types=types, answers=answers)
    assert await saved_undone(buffer.documents, buffer.save, {str(buffer.path)}) == []
    if not answers:
        buffer.reports()
    buffer.save = Buffer.save.__get__(buffer)  # type: ignore[method-assign]  # from now on it is saved as asked
    note = await unsaved_note(buffer.documents, buffer.save)
    assert (buffer.path.read_text(), "user's" in note) == (("b\n", True) if types else ("c\n", False))
    assert "on disk has changed" not in note
