"""Authors of lines in stories that users of other programs reported."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.headless.test_blame import Project, edit, project
from tests.headless.test_blame_notes import git
from tests.support.commands import environment, run
from tests.support.loopback import ToolCall

__all__ = ["project"]

LIST = "".join(f"- item {number}\n" for number in range(50))


def write(content: str) -> ToolCall:
    return ToolCall("write_file", {"file_path": "a.py", "content": content})


def sides(project: Project) -> str:
    """Return the author of each line: u or a."""
    return "".join(line["author"][0] for line in project.lines())


def begin(project: Project, *settings: str) -> None:
    git(project, "init", "-q")
    for setting in ("user.name=a", "user.email=a@b", *settings):
        git(project, "config", *setting.split("="))
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")


@pytest.mark.report("git-ai-project/git-ai#950")
def test_lines_of_two_sessions_survive_a_squash(project: Project) -> None:
    begin(project)
    project.ask("base", edit("first\n", "first\nopen\nuse\nclose\n"))
    git(project, "commit", "-qam", "base")
    project.ask("more", edit("use\n", "check\nuse\nlog\n"), edit("close\n", "flush\nclose\n"))
    git(project, "commit", "-qam", "more")
    git(
        project,
        "-c",
        "sequence.editor=sed -i 2s/^pick/squash/",
        "-c",
        "core.editor=true",
        "rebase",
        "-qi",
        "HEAD~2",
    )

    assert git(project, "rev-list", "--count", "HEAD").strip() == "2"
    assert sides(project) == "uaaaaaau"
    assert {said for _, said in project.authors()} == {"user", "base", "more"}


@pytest.mark.parametrize(
    ("written", "now"),
    [
        ("def f():\n    return    1\n", "def f():\n    return 1\n"),
        ("def f():\n    return 1\n", "if x:\n    def f():\n        return 1\n"),
        ("def f( a ):\n\treturn 1\n", "def f( a ):\n    return 1   \n"),
    ],
)
@pytest.mark.report("git-ai-project/git-ai#494")
def test_white_space_changes_no_author(project: Project, written: str, now: str) -> None:
    project.ask("write it", write(written))
    project.file.write_text(now)
    added = "u" * (now.count("\n") - written.count("\n"))
    assert sides(project) == added + "aa"

    project.file.write_text("mine = [ 1,2 ]\nits = 0\n")
    project.ask("format it", edit("mine = [ 1,2 ]\n", "    mine  =  [ 1,2 ]\n"))
    assert sides(project) == "uu"


@pytest.mark.report("git-ai-project/git-ai#355")
def test_text_that_is_written_again_as_it_was_keeps_its_author(project: Project) -> None:
    project.ask("review it", write("first\nlast\n"))
    project.ask("once more", write("first\nnew\nlast\n"))

    assert sides(project) == "uau"


@pytest.mark.report("git-ai-project/git-ai#589")
def test_a_small_edit_in_a_list_of_the_agent_changes_only_its_lines(project: Project) -> None:
    begin(project)
    project.ask("list them", write(LIST))
    git(project, "commit", "-qam", "list")
    project.file.write_text(
        LIST.replace("- item 7\n", "- item seven\n").replace("- item 31\n", "- item 31.\n")
    )

    assert sides(project).count("u") == 2 and sides(project)[7] == sides(project)[31] == "u"


@pytest.mark.report("git-ai-project/git-ai#1904")
def test_edits_in_a_new_file_of_the_agent_are_the_users(project: Project) -> None:
    begin(project)
    new = ToolCall("write_file", {"file_path": "new.py", "content": LIST})
    project.ask("make it", new)
    project.file = project.folder / "new.py"
    project.file.write_text(LIST.replace("- item 3\n", "- mine\n") + "mine too\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "new")

    found = subprocess.run(
        ["git", "show", "HEAD:new.py"], cwd=project.folder, capture_output=True, check=True
    )
    assert found.stdout == project.file.read_bytes()
    shown = blame_of(project, "new.py")
    assert shown == "aaau" + "a" * 46 + "u"


def blame_of(project: Project, name: str) -> str:
    done = run("blame", name, "--json", cwd=project.folder, environ=environment(project.home))
    return "".join(json.loads(line)["author"][0] for line in done.out.splitlines())


@pytest.mark.report("git-ai-project/git-ai#168")
def test_empty_lines_of_the_agent_are_the_agents(project: Project) -> None:
    begin(project)
    project.ask("setup", edit("first\n", "first\n\nimport os\n\n\ndef setup():\n    pass\n\n\n"))
    git(project, "commit", "-qam", "setup")

    assert sides(project) == "uaaaaaaaau"


@pytest.mark.report("git-ai-project/git-ai#727")
@pytest.mark.parametrize("between", ["", None])
def test_a_file_written_anew_by_hand_is_the_users(project: Project, between: str | None) -> None:
    project.ask("write it", write("def f():\n    return 1\n"))
    if between is not None:
        project.file.write_text(between)
        assert sides(project) == ""
    project.file.write_text("def g():\n    return 2\n")

    assert sides(project) == "uu"


@pytest.mark.report("git-ai-project/git-ai#1920")
@pytest.mark.report("git-ai-project/git-ai#1368")
def test_converted_line_endings_change_no_author(project: Project) -> None:
    project.file.write_bytes(b"first\r\nlast\r\n")
    begin(project, "core.autocrlf=true")
    project.ask("add two", edit("first\n", "first\none\ntwo\n"))
    git(project, "commit", "-qam", "two")
    project.file.unlink()
    git(project, "checkout", "-q", "--", "a.py")
    assert b"\r\n" in project.file.read_bytes() and sides(project) == "uaau"

    project.file.write_bytes(project.file.read_bytes().replace(b"\r\n", b"\n").replace(b"two", b"three"))
    assert sides(project) == "uauu"


@pytest.mark.report("git-ai-project/git-ai#2067")
@pytest.mark.report("git-ai-project/git-ai#2344")
def test_lines_typed_below_or_instead_of_the_agents_are_the_users(project: Project) -> None:
    begin(project)
    project.ask("say hello", edit("first\n", "first\n<h1>Hello AI4</h1>\n<h1>Hello AI5</h1>\n"))
    project.file.write_text("first\n<h1>Hello AI4</h1>\n<h1>Hello Human5</h1>\n<h1>Hello Human6</h1>\nlast\n")
    git(project, "commit", "-qam", "hello")

    assert sides(project) == "uauuu"


@pytest.mark.report("git-ai-project/git-ai#1114")
@pytest.mark.report("git-ai-project/git-ai#1660")
def test_a_stash_keeps_the_authors_on_both_sides(project: Project) -> None:
    begin(project)
    project.ask("add one", edit("first\n", "first\none\ntwo\n"))
    git(project, "stash", "-q")
    project.file.write_text("first\nmine\nlast\n")
    git(project, "commit", "-qam", "mine")
    assert sides(project) == "uuu"
    subprocess.run(["git", "stash", "pop", "-q"], cwd=project.folder, capture_output=True, check=False)
    assert "<<<<<<<" in project.file.read_text()
    project.file.write_text("first\nmine\none\ntwo\nlast\n")

    assert sides(project) == "uuaau"


@pytest.mark.report("git-ai-project/git-ai#173")
def test_a_resolved_conflict_has_the_authors_of_both_sides(project: Project) -> None:
    begin(project)
    git(project, "checkout", "-qb", "feature")
    project.ask("a function", edit("last\n", "def by_agent():\n    return 1\n\n\nlast\n"))
    git(project, "commit", "-qam", "feature")
    git(project, "checkout", "-q", "-")
    project.file.write_text("first\ndef by_hand():\n    return 2\n\n\nlast\n")
    git(project, "commit", "-qam", "by hand")
    git(project, "checkout", "-q", "feature")
    rebase = subprocess.run(
        ["git", "-c", "core.editor=true", "rebase", "-q", "-"],
        cwd=project.folder,
        capture_output=True,
        check=False,
    )
    assert rebase.returncode and "<<<<<<<" in project.file.read_text()
    both = "first\ndef by_hand():\n    return 2\n\n\ndef by_agent():\n    return 1\n\n\nlast\n"
    project.file.write_text(both)
    git(project, "add", ".")
    git(project, "-c", "core.editor=true", "rebase", "--continue")

    code = {line["text"]: line["author"] for line in project.lines() if line["text"]}
    assert [text for text, author in code.items() if author == "agent"] == ["def by_agent():", "    return 1"]


@pytest.mark.report("git-ai-project/git-ai#193")
def test_lines_typed_between_two_edits_of_the_agent_stay_the_users(project: Project) -> None:
    begin(project)
    project.ask("three", edit("first\n", "first\nAI 1\nAI 2\nAI 3\n"))
    git(project, "commit", "-qam", "three")
    project.file.write_text(project.file.read_text().replace("AI 3\n", "AI 3\nmine 1\nmine 2\n"))
    project.ask("fewer", edit("AI 2\n", ""), edit("mine 2\n", "mine 2\nAI 4\nAI 5\n"))

    assert [line["text"] for line in project.lines() if line["author"] == "user"] == [
        "first",
        "mine 1",
        "mine 2",
        "last",
    ]
    assert sides(project) == "uaauuaau"


IMPORTS = "import sys\nimport os\n\ndef f( ):\n  return 1\n"


@pytest.mark.parametrize(
    ("asked", "now", "expected"),
    [
        pytest.param(
            [write("one\n\n\ntwo\n"), edit("two\n", "three\n\nfour\n")],
            "one\n\n\nthree\n\nfour\n",
            "aaaaaa",
            marks=pytest.mark.report("git-ai-project/git-ai#619"),
        ),
        pytest.param(
            [],
            "mine\nlast\n",
            "uu",
            marks=pytest.mark.report("git-ai-project/git-ai#761"),
        ),
        pytest.param(
            [write(IMPORTS)],
            "import os\nimport sys\n\ndef f( ):\n    return 1\n",
            "aaaaa",
            marks=pytest.mark.report("git-ai-project/git-ai#725"),
        ),
        pytest.param(
            [write(IMPORTS), edit("  return 1\n", "    return 1\n")],
            IMPORTS.replace("  return", "    return"),
            "aaaaa",
            marks=pytest.mark.report("git-ai-project/git-ai#313"),
        ),
    ],
)
def test_lines_stay_with_who_wrote_their_words(
    project: Project, asked: list[ToolCall], now: str, expected: str
) -> None:
    project.ask("do it", *asked)
    project.file.write_text(now)

    assert sides(project) == expected
