"""Lines of a stranger: each really shows a secret, or runs a file of the workspace, and so needs approval."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Situation
from agent_ls.services.permissions.command_files import cover
from tests.policy.fuzz import SECRET, Scratch
from tests.support.git import git

pytestmark = pytest.mark.req("X6", "X7")

BEHIND_LINKS = (
    "grep -rh KEY src/z/..", "grep -r KEY src/z/../", "find src/z/.. -type f -exec cat {} +",
    "find src/z/.. -type f | xargs cat", "find src/z/.. -type f -print0 | xargs -0 cat",
    "cd src/z && grep -rh KEY ..", "(cd src/z; grep -rh KEY ..)", "cd src/z && find .. -type f -exec cat {} +",
    "git -C src/z/.. grep --untracked KEY", "grep -rh SEC src/z/..", "grep -rh SEC src/*/..",
)  # fmt: skip
OF_GIT = (
    "git diff-tree -p HEAD", "git diff-tree -p --root HEAD", "git diff blob HEAD:a.txt", "git diff HEAD:a.txt blob",
    "git diff blob a.txt", "git diff HEAD:a.txt..blob", "git grep SEC blob", "git grep SEC tree",
    "git grep SEC HEAD:conf", "git show tree:priv.txt", "git diff tree~0", "git for-each-ref --format='%(raw)'",
    "git tag --format='%(raw)'", "git for-each-ref --format '%(*raw)%(raw)'",
    "git show -s blob", "git show --stat blob", "git show --name-only blob", "git show --no-patch --oneline blob",
)  # fmt: skip
COMPILED = "json.cpython-311-x86_64-linux-gnu.so"
RUNS_A_FILE = (
    "python3 -m json.tool c.json",
    "cat c.json | python3 -m json.tool",
    "cd src && python3 -m json.tool",
)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A workspace in which `src/z` leads to a folder beside a secret file and an ignored one, which git tracks."""
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    work = scratch.work
    for path in [*work.iterdir()]:
        if path.name not in (".git", "a.txt", "src", "c.json"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (work / "src/l.py").unlink()
    (work / "conf/deep").mkdir(parents=True)
    (work / "conf/.env").write_text(f"KEY={SECRET}\n")
    (work / "conf/priv.txt").write_text(f"SEC={SECRET}\n")
    (work / ".agent-ls-ignore").write_text("conf/priv.*\n")
    (work / "src/z").symlink_to("../conf/deep")
    git(work, "add", "-f", "conf/priv.txt")
    git(work, "commit", "-qm", "two")
    git(work, "tag", "blob", git(work, "rev-parse", "HEAD:conf/priv.txt"))
    git(work, "tag", "tree", git(work, "rev-parse", "HEAD:conf"))
    return scratch


@pytest.mark.parametrize("line", [*BEHIND_LINKS, *OF_GIT])
def test_a_line_that_shows_a_secret_in_a_roundabout_way_is_asked_about(line: str, scratch: Scratch) -> None:
    assert not scratch.is_silent(line)


@pytest.mark.parametrize("line", [BEHIND_LINKS[0], BEHIND_LINKS[2], OF_GIT[0], OF_GIT[6], OF_GIT[9]])
def test_these_lines_show_the_secret_if_they_run(line: str, scratch: Scratch) -> None:
    assert SECRET.encode() in scratch.run(line)


@pytest.mark.parametrize(
    "line",
    ["grep -rn x src/..", "cd src && grep -n x ../a.txt", "git diff HEAD:a.txt a.txt", "git grep -n x HEAD -- src",
     "git diff-tree -p HEAD~1 HEAD -- a.txt", "git show HEAD:src", "git grep -n signature",
     "git diff HEAD~1..HEAD -- src",
     "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD -- a.txt",
     "git for-each-ref --sort=-committerdate"],
)  # fmt: skip
def test_a_usual_line_of_the_same_form_needs_no_approval(line: str, scratch: Scratch) -> None:
    (scratch.work / "conf/.env").unlink()
    (scratch.work / ".agent-ls-ignore").unlink()
    assert scratch.is_silent(line)


def test_python_runs_a_module_of_the_folder(scratch: Scratch) -> None:
    (scratch.work / "_json.py").write_text("open('made', 'w')\n")
    scratch.run(RUNS_A_FILE[0])
    assert (scratch.work / "made").exists()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        *product(
            RUNS_A_FILE, ("_json.py", "json.py", "_struct.py", "json.abi3.so", COMPILED, "re/__init__.py")
        ),
        ("python3 -m pip list", "pip.py"),
        ("python3 -m pip show x", "pip/__init__.py"),
        ("cd src && python3 -m pip --version", "_manylinux.py"),
        ("python3 -c 'import platform; print(platform.platform())'", "platform.py"),
        ("python3 -c 'import os; print(os.cpu_count())'", "json.py"),
        ("python3 -c 'import pprint; pprint.pprint(1)'", "org/python/core.py"),
        ("python3 -m tarfile -l a.tar", "org/python/core.py"),
        ("python3 -m pip list", "pip/__main__.py"),
        ("python3 -m sysconfig", "_sysconfigdata__x86_64-linux-gnu.py"),
    ],
)
def test_python_with_a_module_of_the_folder_is_asked_about(line: str, name: str, scratch: Scratch) -> None:
    assert scratch.is_silent(line)
    for folder in (scratch.work, scratch.work / "src"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("open('made', 'w')\n")
    assert not scratch.is_silent(line)


def test_a_folder_that_is_no_package_replaces_no_module(scratch: Scratch) -> None:
    (scratch.work / "site").mkdir()
    (scratch.work / "org/apache").mkdir(parents=True)
    (scratch.work / "types.txt").write_text("")
    assert scratch.is_silent(RUNS_A_FILE[0])


@pytest.mark.parametrize("line", ["gofmt -l .", "gofmt -d src", "clang-format --style=file:out/x src/a.c"])
def test_a_formatter_that_reads_a_link_to_a_file_outside_is_asked_about(line: str, scratch: Scratch) -> None:
    (scratch.work / "out").symlink_to("../outside")
    (scratch.work / "src/l.go").symlink_to("../../outside/secret.txt")
    assert not scratch.is_silent(line)


@pytest.mark.parametrize(
    "line",
    ['echo "$MYSQL_PWD"', 'echo "$GH_PAT"', 'echo "$SENTRY_DSN"', 'printf %s "$SLACK_WEBHOOK_URL"', 'echo "${JWT}"',
     'echo "$DB_PIN"', 'echo "$SESSION_COOKIE"', "netstat -t", "netstat -r", "ss -r", "ss -tr",
     "git for-each-ref --sort signature", "git branch --sort -signature:grade"],
)  # fmt: skip
def test_a_line_that_prints_a_secret_variable_or_asks_a_server_for_names_is_asked_about(line: str) -> None:
    assert not isinstance(
        judge(CommandEffect(line, "/w"), Situation("ask", Places(("/w",), "/home/ada"))), Allow
    )


@pytest.mark.parametrize(
    "line", ['echo "$PWD"', 'echo "$OLDPWD"', 'echo "$PATTERN"', "netstat -tulpn", "ss -tlnp"]
)
def test_a_similar_line_needs_no_approval(line: str) -> None:
    assert isinstance(judge(CommandEffect(line, "/w"), Situation("ask", Places(("/w",), "/home/ada"))), Allow)


@pytest.mark.parametrize("line", ["cargo tree", "pip list", "kubectl version --client"])
def test_a_program_that_may_write_or_connect_needs_confinement_whatever_the_settings_say(line: str) -> None:
    places = Places(("/w",), "/home/ada")
    confined = Situation("ask", places, confinement="available", unconfined="trust")
    unconfined = Situation("ask", places, confinement="unavailable", unconfined="trust")
    assert isinstance(judge(CommandEffect(line, "/w"), confined), Allow)
    assert not isinstance(judge(CommandEffect(line, "/w"), unconfined), Allow)


FACT_OF_PACKAGE = """node -p "require('./package.json').version\""""


@pytest.mark.parametrize("line", [FACT_OF_PACKAGE, "bash -n src/a.sh", "shellcheck src/a.sh"])
def test_a_line_that_prints_a_fact_needs_no_approval(line: str, scratch: Scratch) -> None:
    (scratch.work / "package.json").write_text('{"version": "1.2.3"}')
    assert scratch.is_silent(line)


@pytest.mark.parametrize("name", ["package.json.js", "package.json/index.js", "package.json/package.json"])
def test_node_with_a_file_that_runs_in_place_of_the_package_file_is_asked_about(
    name: str, scratch: Scratch
) -> None:
    (scratch.work / name).parent.mkdir(exist_ok=True)
    (scratch.work / name).write_text("require('fs').writeFileSync('made', '')\n")
    assert not scratch.is_silent(FACT_OF_PACKAGE)


@pytest.mark.parametrize(
    ("line", "name"),
    [(FACT_OF_PACKAGE, "package.json"), ("bash -n a.sh", "a.sh"), ("shellcheck a.sh", "a.sh"),
     ("shellcheck src/x.sh", ".shellcheckrc"), ("python3 -m site", "site.py")],
)  # fmt: skip
def test_such_a_line_is_asked_about_if_it_reads_a_link_that_leads_outside(
    line: str, name: str, scratch: Scratch
) -> None:
    (scratch.work / name).symlink_to("../outside/secret.txt")
    assert not scratch.is_silent(line)


@pytest.mark.parametrize("line", ["rg x", "rg -n x src", "rg --no-ignore-vcs x .", "cd src && rg x"])
@pytest.mark.parametrize("name", [".ignore", ".rgignore", "src/.gitignore"])
def test_rg_with_an_ignore_file_that_is_a_link_to_outside_is_asked_about(
    line: str, name: str, scratch: Scratch
) -> None:
    (scratch.work / "conf/.env").unlink()
    (scratch.work / ".agent-ls-ignore").unlink()
    assert scratch.is_silent(line)
    (scratch.work / name).symlink_to(scratch.folder / "outside/secret.txt")
    assert not scratch.is_silent(line)


@pytest.mark.parametrize(
    ("setting", "line"),
    [("[diff]\n\tsubmodule = log", "git diff"), ("[status]\n\tsubmoduleSummary = true", "git status")],
)
@pytest.mark.parametrize("is_link", [True, False])
def test_git_with_a_submodule_that_is_a_repository_outside_is_asked_about(
    setting: str, line: str, is_link: bool, scratch: Scratch
) -> None:
    work, other = scratch.work, scratch.folder / "outside"
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "one")
    first = git(other, "rev-parse", "HEAD")
    git(other, "commit", "-q", "--allow-empty", "-m", SECRET)
    (work / "sub").mkdir()
    if is_link:
        (work / "sub/.git").symlink_to(other / ".git")
    else:
        (work / "sub/.git").write_text(f"gitdir: {other}/.git\n")
    (work / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./x\n')
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{first},sub")
    git(work, "commit", "-qm", "sub")
    with (work / ".git/config").open("a") as config:
        config.write(f"{setting}\n")
    assert not scratch.is_silent(line)
    assert is_link or SECRET.encode() in scratch.run(line)


@pytest.mark.parametrize(
    "text", ["{}\n", "# x\n{}\n", "../../../outside/.git/objects\n", '"{}"\n', "../../more\n"]
)
def test_git_with_objects_of_a_repository_outside_is_asked_about(text: str, scratch: Scratch) -> None:
    work, other = scratch.work, scratch.folder / "outside"
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-qm", "one")
    line = f"git show {git(other, 'rev-parse', 'HEAD')}"
    (work / "more/info").mkdir(parents=True)
    (work / "more/info/alternates").write_text(f"{other}/.git/objects\n")
    assert scratch.is_silent("git log")
    (work / ".git/objects/info/alternates").write_text(text.format(f"{other}/.git/objects"))
    assert SECRET.encode() in scratch.run(line)
    assert not scratch.is_silent("git log")
    assert not scratch.is_silent(line)


def test_a_hook_that_formats_json_is_compared_with_the_modules_of_the_folder(tmp_path: Path) -> None:
    before = cover("python3 -m json.tool a.json", str(tmp_path)).digest
    for name in ("json.py", "_json.py", "re/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
        assert cover("python3 -m json.tool a.json", str(tmp_path)).digest != before
        before = cover("python3 -m json.tool a.json", str(tmp_path)).digest


@pytest.mark.parametrize(
    "command", ["python3 -m pytest -q", "pytest", "python -m unittest", "npx eslint .", "vitest run"]
)
def test_a_hook_that_runs_further_files_of_the_project_says_so(command: str, tmp_path: Path) -> None:
    assert cover(command, str(tmp_path)).note


@pytest.mark.parametrize(
    ("command", "name"),
    [("node .", "index.js"), ("node ./src", "src/index.js"), ("node src/x", "src/x.js"),
     ("make -C src", "src/Makefile"), ("make -Csrc a", "src/makefile"), ("npm --prefix=src test", "src/package.json"),
     ("npm --prefix src test", "src/package.json")],
)  # fmt: skip
def test_a_hook_is_compared_with_the_file_that_its_program_finds(
    command: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    before = cover(command, str(tmp_path)).digest
    (tmp_path / name).write_text("1\n")
    assert cover(command, str(tmp_path)).digest != before
