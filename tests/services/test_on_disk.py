"""Command lines that are harmful only because of files on disk: a link, a folder, a repository or a settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.fuzz import Scratch
from tests.policy.test_by_passes import lines_of
from tests.support.git import git

pytestmark = pytest.mark.req("X5", "X6", "X7")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A workspace with one tracked and one untracked file of secrets, and with links and folders of unusual names."""
    scratch = Scratch(tmp_path_factory.mktemp("on-disk"))
    scratch.build()
    work = scratch.work
    (work / ".env").write_text("KEY=1\n")
    git(work, "add", "-f", ".env")
    git(work, "commit", "-qm", "two")
    (work / ".env").write_text("KEY=2, longer -c\n")
    (work / ".new.env").write_text("NEW=1\n")
    for name in ("http:", "dirb", "sub/deep", "sub/.hg", "log", "nested"):
        (work / name).mkdir(parents=True)
    for name in ("KEY", "l.py", "dirb/l.py", "sub/rust-toolchain.toml", "sub/.npmrc", "sub/go.mod"):
        (work / name).write_text("x\n")
    for name in ("zl.gz", "zz.zip"):
        (work / name).symlink_to("../outside/secret.txt")
    git(work / "nested", "init", "-q")
    return scratch


@pytest.mark.parametrize("command", lines_of("hostile_on_disk.txt"))
def test_a_command_line_that_files_on_disk_make_harmful_needs_approval(
    command: str, scratch: Scratch
) -> None:
    assert not scratch.is_silent(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat -- a.txt",
        "diff a.txt b.txt",
        "cat a.txt; grep -rn x src",
        "grep -rn -e x src",
        "cat .env.example; rg x",
        "rg -g '*.py' x",
        "git diff -- a.txt src",
        "ls src; git diff HEAD -- src",
        "git grep x src",
        "git log -p -n 1 -- src",
        "git status -s",
        "cd src && cargo --version",
        "find src -type f -name '*.py' -exec cat {} +",
        "ls -la .env*",
        "[ -f .env ] && echo exists",
        "git check-ignore -v .env",
        "git log --oneline -- .env",
    ],
)
def test_a_command_line_that_avoids_the_harmful_files_on_disk_needs_no_approval(
    command: str, scratch: Scratch
) -> None:
    assert scratch.is_silent(command)


@pytest.mark.parametrize(
    "command",
    [
        'f=$(ls a.t*); cat "$f"',
        'for d in $(ls bin); do head -1 "bin/$d"; done',
        'ls bin | while read -r f; do head -1 "bin/$f"; done',
        'd=$(ls bin | tail -1); cat "bin/$d"',
        'f() { grep -c "$1" "$2"; }; f x a.txt',
        "pushd src > /dev/null; ls; popd > /dev/null; cat a.txt",
        "cd src; ls; cd -; cat a.txt",
        'a=(b*.txt); cat "${a[0]}"',
        'n=$(grep -n x a.txt | head -1 | cut -d: -f1); sed -n "${n},$((n+2))p" a.txt',
        "cat {a,b}{.txt,.txt}",
        'f() { sed -n "$2,$3p" "$1"; }; f a.txt 1 2',
        'for f in $(ls b*t); do echo "$f: $(wc -l < "$f")"; done',
        'n=$(stat -c %s a.txt); echo "$((n/2))"; if (( $(wc -l < a.txt) > 1 )); then echo x; fi',
        "python3 -c \"import glob; print(open(sorted(glob.glob('b*.txt'))[-1]).read())\"",
        "python3 -c \"from pathlib import Path; [print(p.read_text()) for p in Path('bin').rglob('*') if p.stat()]\"",
        "python3 -c \"import os\nfor r, d, f in os.walk('bin'):\n for n in f: print(open(os.path.join(r, n)).read())\"",
        "python3 -c \"import os\nfor r, d, f in os.walk('bin'):\n d[:] = [x for x in d if x]\n print(r)\"",
    ],
)
def test_names_that_the_line_itself_computes_need_no_approval_if_they_lead_nowhere_else(
    command: str, scratch: Scratch
) -> None:
    assert scratch.is_silent(command)


def test_a_pattern_for_ls_needs_approval_once_it_matches_a_folder(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.build()
    assert scratch.is_silent('f=$(ls b*t | head -1); cat "$f"')
    (scratch.work / "both").symlink_to("src")
    (scratch.work / "bot").mkdir()
    assert not scratch.is_silent('f=$(ls b*t | head -1); cat "$f"')


LISTS = ["find . -name '*.txt' | xargs wc -l", "git ls-files | xargs wc -l", "rg --files | xargs ls -la"]


@pytest.mark.parametrize("command", LISTS)
@pytest.mark.parametrize("name", ["a b", "-x", "a'b", "a\nb", "a\\b"])
def test_xargs_needs_approval_only_if_a_piped_file_name_splits_into_words_or_options(
    command: str, name: str, tmp_path: Path
) -> None:
    scratch = Scratch(tmp_path)
    scratch.work.mkdir()
    git(scratch.work, "init", "-q")
    (scratch.work / "a.txt").write_text("x\n")
    assert scratch.is_silent(command)
    (scratch.work / name).write_text("x\n")
    assert not scratch.is_silent(command)


def test_git_ls_files_piped_to_xargs_needs_approval_if_a_deleted_tracked_name_contains_spaces(
    tmp_path: Path,
) -> None:
    scratch = Scratch(tmp_path)
    scratch.work.mkdir()
    git(scratch.work, "init", "-q")
    (scratch.work / "a --files0-from=").mkdir()
    (scratch.work / "a --files0-from=" / "x").write_text("x\n")
    git(scratch.work, "add", ".")
    (scratch.work / "a --files0-from=" / "x").unlink()
    (scratch.work / "a --files0-from=").rmdir()
    assert not scratch.is_silent("git ls-files | xargs wc -l")
    assert scratch.is_silent("git ls-files")


def test_an_ignore_file_that_includes_hidden_files_makes_the_search_need_approval(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.build()
    assert scratch.is_silent("rg KEY")
    (scratch.work / ".gitignore").write_text("*.log\n!.e*\n")
    assert not scratch.is_silent("rg KEY")


def test_a_search_by_type_needs_approval_if_it_reads_a_hidden_file_with_secrets(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.build()
    assert scratch.is_silent("rg -tjson KEY")
    (scratch.work / ".credentials.json").write_text("KEY\n")
    assert not scratch.is_silent("rg -tjson KEY")
    assert not scratch.is_silent("rg --type json KEY")
    assert scratch.is_silent("rg KEY")


def test_git_diff_of_folders_outside_a_repository_needs_approval(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.build()
    assert scratch.is_silent("git diff src bin")
    (scratch.work / ".git").rename(tmp_path / "elsewhere")
    assert not scratch.is_silent("git diff src bin")
