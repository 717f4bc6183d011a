"""Names with accents: composed (NFC) on the disk and decomposed (NFD) in the request, and the other way round."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from agent_ls.environments.base import Attribution, FileWrite, GrepOptions
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.spelling import existing_spelling
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.services.permissions.ignore_file import IgnoreFile

FORMS = [("NFD", "NFC"), ("NFC", "NFD")]
FOLDER, NAME = "Entwürfe", "café.txt"


def form(name: str, text: str) -> str:
    return unicodedata.normalize(name, text)  # type: ignore[arg-type]


@pytest.fixture(params=FORMS, ids=["NFD on disk", "NFC on disk"])
def forms(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[LocalEnvironment, Path, str]:
    on_disk, asked = request.param
    file = tmp_path / form(on_disk, FOLDER) / form(on_disk, NAME)
    file.parent.mkdir()
    file.write_text("needle\n")
    return LocalEnvironment(str(tmp_path), environ={}), file, form(asked, f"{FOLDER}/{NAME}")


@pytest.mark.report("heypinchy/pinchy#729")
async def test_a_file_is_read_listed_and_changed_in_either_form(
    forms: tuple[LocalEnvironment, Path, str],
) -> None:
    environment, file, asked = forms
    assert await environment.read_bytes(asked) == b"needle\n"
    assert await environment.file_exists(asked)
    assert [entry.name for entry in await environment.list_directory(asked.rpartition("/")[0])] == [file.name]
    (state,) = await environment.commit([FileWrite(asked, b"new\n", b"needle\n")], Attribution(""))
    assert file.read_bytes() == b"new\n" and state.path == str(file)
    assert len([*file.parent.iterdir()]) == 1 and len([*file.parent.parent.iterdir()]) == 1


async def test_glob_and_grep_find_a_file_in_either_form(forms: tuple[LocalEnvironment, Path, str]) -> None:
    environment, file, asked = forms
    folder, _, name = asked.rpartition("/")
    shown = f"{file.parent.name}/{file.name}"
    for pattern in (asked, f"**/{name}", f"{folder}/*", f"*/{name[:3]}*"):
        assert list(await environment.glob(pattern, "")) == [shown], pattern
    for path, names in ((asked, ""), (folder, ""), ("", name), ("", f"{folder}/**")):
        found = await environment.grep("needle", path, GrepOptions(glob_filter=names))
        assert [line.path for line in found.lines] == [shown], (path, names)


def test_another_name_is_not_taken_for_the_file(tmp_path: Path) -> None:
    (tmp_path / "cafe.txt").touch()
    missing = str(tmp_path / NAME)
    assert existing_spelling(missing) == missing
    assert existing_spelling(str(tmp_path / "ü" / NAME)) == str(tmp_path / "ü" / NAME)


def test_a_link_in_the_other_form_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / form("NFD", NAME)).symlink_to("/etc/passwd")
    asked = str(tmp_path / form("NFC", NAME))
    assert existing_spelling(asked) == asked


def test_an_ignored_file_is_ignored_in_either_form(forms: tuple[LocalEnvironment, Path, str]) -> None:
    environment, file, asked = forms
    root = Path(environment.working_directory())
    (root / IGNORE_FILE).write_text(f"{file.name}\n")
    assert IgnoreFile((str(root),))(str(root / asked))


async def test_a_missing_file_is_still_missing(forms: tuple[LocalEnvironment, Path, str]) -> None:
    with pytest.raises(PathNotFoundError):
        await forms[0].read_bytes("Entwürfe/other.txt")
