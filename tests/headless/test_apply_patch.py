from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_ls.cli import apply_patch as arguments
from agent_ls.cli.main import main as command_line
from agent_ls.headless.apply_patch import DONE, FAILED, main
from tests.support.commands import DEADLINE_S, command, environment

USAGE = arguments.USAGE
UPDATE = "*** Update File: a.py\n@@\n-A = 1\n+A = 2\n"


def patch(body: str) -> bytes:
    return f"*** Begin Patch\n{body}*** End Patch\n".encode()


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_bytes(b"A = 1\r\nB = 1\n")
    (tmp_path / "outside.py").write_text("A = 1\n")
    return folder


@pytest.mark.req("T4")
def test_a_matching_patch_changes_and_lists_all_files(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "old.py").write_text("x\n")
    body = f"{UPDATE}*** Add File: sub/n.py\n+n\n*** Update File: old.py\n*** Move to: new.py\n@@\n-x\n+y\n"
    assert main(patch(body), project) == DONE
    assert capsys.readouterr() == (
        "Success. Updated the following files:\nA sub/n.py\nM a.py\nM new.py\n",
        "",
    )
    assert tree(project) == {"a.py": b"A = 2\r\nB = 1\n", "sub/n.py": b"n\n", "new.py": b"y\n"}


@pytest.mark.req("T4", "X9")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(
            f"{UPDATE}*** Update File: gone.py\n@@\n-x\n+y\n",
            ["Failed to read file to update gone.py", "section 2, patch line 6 of gone.py"],
            id="missing",
        ),
        pytest.param(
            UPDATE.replace("A = 1", "A = 7"),
            ["Failed to find expected lines in a.py:", "chunk 1, patch line 3 of a.py"],
            id="context",
        ),
        pytest.param("*** Update Fil: a.py\n", ["Invalid patch hunk on line 2"], id="grammar"),
        pytest.param("", ["No files were modified."], id="empty"),
        pytest.param(f"{UPDATE}*** Delete File: \x1b[2Ja.pyy\n", ["Failed to delete file"], id="escapes"),
    ],
)
def test_a_patch_that_does_not_match_changes_nothing_and_reports_the_position(
    project: Path, capsys: pytest.CaptureFixture[str], body: str, says: list[str]
) -> None:
    before = tree(project)
    assert main(patch(body), project) == FAILED
    out, err = capsys.readouterr()
    assert out == "" and "\x1b" not in err and "Nothing was written" in err
    assert [words for words in says if words not in err] == []
    assert tree(project) == before


@pytest.mark.req("T4", "X6")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("*** Update File: ../outside.py\n@@\n-A = 1\n+A = 2\n", id="dots"),
        pytest.param("*** Update File: link.py\n@@\n-A = 1\n+A = 2\n", id="link"),
        pytest.param("*** Add File: up/new.py\n+x\n", id="linked-folder"),
        pytest.param("*** Update File: a.py\n*** Move to: ../a.py\n@@\n-A = 1\n+A = 2\n", id="move-out"),
    ],
)
def test_a_patch_with_a_path_outside_the_folder_is_refused_and_writes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    (project / "link.py").symlink_to(project.parent / "outside.py")
    (project / "up").symlink_to(project.parent)
    before = tree(project.parent)
    assert main(patch(body), project) == FAILED
    assert f"is outside of {project}" in capsys.readouterr().err
    assert tree(project.parent) == before


@pytest.mark.req("T4")
def test_checking_a_patch_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(project)
    assert main(patch(UPDATE), project, is_check=True) == DONE
    assert capsys.readouterr().out == "The patch applies. It would update the following files:\nM a.py\n"
    assert main(patch(UPDATE.replace("-A = 1", "-A = 9")), project, is_check=True) == FAILED
    assert tree(project) == before


@pytest.mark.req("T4")
def test_repairs_of_a_patch_are_reported_on_standard_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(b"Here it is:\n" + patch(UPDATE), project) == DONE
    out, err = capsys.readouterr()
    assert out.endswith("\nM a.py\n")
    assert err.startswith("Repaired: R1")


@pytest.mark.req("T4")
def test_a_patch_that_is_not_text_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(b"*** Begin Patch\n\xff\n*** End Patch", project) == FAILED
    assert "not UTF-8" in capsys.readouterr().err


@pytest.mark.req("T4", "U12")
def test_apply_patch_without_a_usable_patch_or_folder_ends_with_2_and_a_reason(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = project / "empty.patch"
    empty.write_text("\n")
    for words, says in (
        ([str(project / "none.patch")], "none.patch cannot be read: No such file"),
        ([str(project)], "cannot be read"),
        ([str(empty)], "the patch is empty"),
        ([str(empty), "--folder", str(project / "none")], "the folder does not exist"),
    ):
        assert command_line(["apply-patch", *words]) == USAGE
        assert says in capsys.readouterr().err


@pytest.mark.req("T4")
def test_apply_patch_accepts_a_file_name_or_the_patch_text_as_argument(project: Path) -> None:
    file = project.parent / "fix.patch"
    file.write_bytes(patch(UPDATE))
    assert command_line(["apply-patch", str(file), "--folder", str(project)]) == DONE
    back = UPDATE.replace("-A = 1\n+A = 2", "-A = 2\n+A = 1")
    assert command_line(["apply-patch", patch(back).decode(), "--folder", str(project)]) == DONE
    assert (project / "a.py").read_bytes() == b"A = 1\r\nB = 1\n"


@pytest.mark.req("T4")
def test_a_patch_on_standard_input_changes_the_current_folder(
    project: Path,
) -> None:
    done = subprocess.run(
        command("apply-patch"),
        cwd=project,
        env=environment(project.parent / "home"),
        input=patch(UPDATE),
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (DONE, b"")
    assert (project / "a.py").read_bytes() == b"A = 2\r\nB = 1\n"
