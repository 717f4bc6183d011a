"""The validator's report before a task, and the packs that it suggests for a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.features.packs.catalog import CATEGORIES, PRESETS
from agent_ls.features.packs.detect import suggest_packs
from agent_ls.features.packs.load import PackChoice, load_packs, permissions_of
from agent_ls.features.packs.validator import Permissions, validate

pytestmark = pytest.mark.req("T8")

PROGRAMS = {
    "pytest": ["pytest"], "unittest": ["python3"], "node_test": ["node"], "jest": ["jest"], "cargo_test": ["cargo"],
    "go_test": ["go"],
}  # fmt: skip


def test_the_pack_report_has_no_warning_if_no_programs_are_missing() -> None:
    report = validate(["testing"], PROGRAMS, {program for (program,) in PROGRAMS.values()})
    assert report.is_complete and not report.warning and report.coverage_percent == 100


def test_missing_programs_are_named_with_their_tools_and_how_to_install_them() -> None:
    report = validate(["testing"], PROGRAMS, {"pytest", "python3", "node"})
    assert (report.usable, report.total, report.coverage_percent) == (3, 6, 50)
    assert [(one.name, one.tools) for one in report.missing] == [
        ("cargo", ("cargo_test",)), ("go", ("go_test",)), ("jest", ("jest",)),
    ]  # fmt: skip
    assert "3 of 6 tools" in report.warning and "npm install --global jest" in report.warning
    assert "https://rustup.rs" in report.warning and "the shell instead" in report.warning


def test_the_pack_report_lists_packs_without_usable_tools_unless_built_in_tools_replace_them() -> None:
    report = validate(["testing", "process"], {**PROGRAMS, "list_processes": ["ps"]}, set())
    assert report.empty == ("testing",)


def test_the_pack_report_lists_the_pack_categories_that_are_not_selected() -> None:
    left_out = validate(PRESETS["minimal"], {}, set()).left_out
    assert left_out == ("git", "testing", "validation", "network")
    assert not validate(CATEGORIES, {}, set()).left_out


@pytest.mark.parametrize(
    ("permissions", "words"),
    [
        (Permissions(is_restricted=True), "This folder is not trusted"),
        (Permissions(can_write=False), "cannot be written: tools of file_manage, git"),
        (Permissions(has_network=False), "no network in the sandbox: tools of network"),
    ],
)
def test_the_pack_report_warns_about_a_missing_permission(permissions: Permissions, words: str) -> None:
    report = validate(["file_manage", "git", "network"], {}, set(), permissions)
    assert len(report.problems) == 1 and words in report.warning


def test_permission_that_no_chosen_pack_needs_is_not_mentioned() -> None:
    assert validate(["search"], {}, set(), Permissions(can_write=False, has_network=False)).is_complete


def test_the_write_permission_is_false_for_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    assert not permissions_of(str(missing), is_restricted=False, has_network=True).can_write
    assert permissions_of(str(tmp_path), is_restricted=False, has_network=True).can_write


@pytest.mark.parametrize(
    ("names", "packs"),
    [
        ((), ()),
        (("pyproject.toml", "requirements-dev.txt"), ("python",)),
        (("package.json", "Dockerfile"), ("javascript", "containers")),
        (("Cargo.toml", "go.mod"), ("rust", "go")),
        (("a.ipynb", "index.html"), ("data", "browser")),
        (("notes.md", "my-pyproject.toml"), ()),
    ],
)
def test_packs_are_suggested_by_the_names_of_files(
    names: tuple[str, ...], packs: tuple[str, ...], tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert {pack for pack, _ in suggest_packs(str(tmp_path))} == set(packs)


def test_folder_that_cannot_be_read_suggests_nothing(tmp_path: Path) -> None:
    assert suggest_packs(str(tmp_path / "none")) == ()


def test_detected_packs_are_added_once_with_the_detect_setting_and_only_suggested_otherwise(
    tmp_path: Path,
) -> None:
    (tmp_path / "Cargo.toml").touch()
    folder = str(tmp_path)
    asked = load_packs(PackChoice(packs=("rust",), detect=True), folder, path="")
    assert asked.report.packs == ("rust",) and not asked.report.suggested and not asked.tools
    assert load_packs(PackChoice("minimal"), folder, path="").report.suggested == (("rust", "Cargo.toml"),)


def test_programs_at_a_remote_place_count_as_installed(tmp_path: Path) -> None:
    found = load_packs(PackChoice(packs=("git",)), str(tmp_path), path="", is_local=False)
    assert len(found.tools) == 11 and found.report.is_complete
