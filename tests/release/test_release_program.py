"""The release program: versions, changelog, links and archives, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.release.builder import EPOCH, ROOT, need_repository, release

CHANGELOG = "# Changelog\n\n## 1.2.0 (unreleased)\n\nAdded\n\n- [x](a.md)\n\n## 1.1.0 (2025-01-01)\n\n- old\n"


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / ".ci" / "release.py"), *words]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "01.2.3", "1.2.3-x"])
def test_invalid_release_version_is_refused_with_one_line(version: str) -> None:
    done = run(version, "--dry-run")
    assert done.returncode == 1 and "make release VERSION=1.2.3" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_version_that_the_changelog_does_not_have_is_refused(tmp_path: Path) -> None:
    need_repository()
    done = run("9.9.9", "--dry-run", "--only", "notes", "--out", str(tmp_path / "out"))
    assert done.returncode == 1 and "docs/changelog.md" in done.stderr


def test_dry_run_writes_notes_and_checksums_and_changes_no_source(tmp_path: Path) -> None:
    need_repository()

    def status() -> str:
        command = ["git", "status", "--porcelain"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    before = status()
    done = run("--dry-run", "--only", "plugin,notes", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    sums = (tmp_path / "out" / "SHA256SUMS").read_text("utf-8")
    names = {line.split("  ")[1] for line in sums.splitlines()}
    assert names == {path.name for path in (tmp_path / "out").iterdir()} - {"SHA256SUMS"}
    assert (tmp_path / "out" / "NOTES.md").read_text("utf-8").strip()
    assert status() == before


def test_changelog_heading_gets_the_release_date_and_its_section_is_the_release_notes() -> None:
    dated = release.date_changelog(CHANGELOG, "1.2.0", "2026-01-02")
    assert "## 1.2.0 (2026-01-02)\n" in dated and "## 1.1.0 (2025-01-01)" in dated
    assert release.release_notes(dated, "1.2.0") == "Added\n\n- [x](a.md)\n"
    with pytest.raises(release.ReleaseError, match=r"begin one: .## 2"):
        release.date_changelog(CHANGELOG, "2.0.0", "2026-01-02")


def test_version_can_be_stamped_into_each_version_file() -> None:
    for name in release.STAMPED:
        if name.endswith(".md"):
            continue
        text = (ROOT / name).read_text("utf-8")
        stamped = release.stamp_version(text, "7.8.9rc1")
        assert stamped != text and release.current_version() not in stamped


def test_links_lead_to_the_tagged_files_or_are_plain_text() -> None:
    text = "[a](docs/a.md#b) ![p](docs/p.svg) [w](https://x.org) [h](#here)"
    there = "https://x.org/r"
    assert release.absolute_links(text, f"{there}/", "1.0.0") == (
        f"[a]({there}/blob/v1.0.0/docs/a.md#b) ![p]({there}/raw/v1.0.0/docs/p.svg) [w](https://x.org) [h](#here)"
    )
    assert release.absolute_links(text, "", "1.0.0") == "a  [w](https://x.org) [h](#here)"


def test_archives_have_nothing_of_this_machine(tmp_path: Path) -> None:
    members = [("f/b", b"1", True), ("f/a", b"2", False)]
    first, second = tmp_path / "1.tar.gz", tmp_path / "2.tar.gz"
    release.write_tar(first, members, EPOCH)
    release.write_tar(second, reversed(members), EPOCH)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        assert {(it.uid, it.uname, it.mtime) for it in tar} == {(0, "", EPOCH)}
        assert [it.mode for it in tar] == [0o644, 0o755]
    for name, order in (("1.zip", members), ("2.zip", list(reversed(members)))):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, content, _ in order:
                archive.writestr(member, content)
        release.repack_zip(tmp_path / name, EPOCH)
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
