"""The pure rules of searches: globs, ignore files, and the limits of results."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st

from agent_ls.environments.base import GrepLine, GrepOptions
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.environments.globs import compile_glob, path_filter, plan_glob
from agent_ls.environments.search import (
    MAX_LINE_CHARS,
    ResultLines,
    clip,
    compile_pattern,
    grep_text,
    shown_path,
    walk,
)

pytestmark = pytest.mark.req("T6")


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc", "a.py/"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.txt"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a/c", "a/"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["az", "a/bz"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("***", ["x"], ["x/y"]),
        ("?.c", ["a.c"], ["ab.c", "/.c"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "/x"]),
        ("[!a]x", ["bx", "!x"], ["ax", "/x"]),
        ("[^a]x", ["bx"], ["ax"]),
        ("[]x]y", ["]y", "xy"], ["y"]),
        ("[[]", ["["], ["]"]),
        (r"[\d]", ["\\", "d"], ["1"]),
        ("{a,b/c}.ts", ["a.ts", "b/c.ts"], ["b.ts", "a,b/c.ts"]),
        ("{src,{lib,bin}}/x", ["src/x", "lib/x", "bin/x"], ["x"]),
        ("{**/a,b}", ["a", "x/a", "b"], ["x/b"]),
        ("{a,}x", ["ax", "x"], ["a"]),
        (r"\*\{", ["*{"], ["x{"]),
        ("a,b}", ["a,b}"], ["a"]),
        ("a.b+(c)$", ["a.b+(c)$"], ["axb+(c)$"]),
        ("x\ny", ["x\ny"], []),
        ("é*", ["éa"], ["e"]),
        ("{0..2}", ["0", "1", "2"], ["3", "0..2"]),
        ("{08..10}", ["08", "09", "10"], ["8", "9"]),
        ("{2..-1}", ["2", "0", "-1"], ["-2"]),
        ("{1..9..4}", ["1", "5", "9"], ["2"]),
        ("{1..9..0}", ["1", "2"], ["10"]),
        ("v{a..c}/{1..2}", ["va/1", "vc/2"], ["vd/1", "va/3"]),
        ("\\{1..2\\}", ["{1..2}"], ["1"]),
        ("{1..2,x}", ["1..2", "x"], ["1", "2"]),
        ("{a..C}{1.5..2}", ["a..C1.5..2"], ["a1"]),
        ("[{1..2}]", ["{", "1", "."], ["{1..2}", "3"]),
    ],
)
def test_a_glob_matches_whole_paths(pattern: str, matching: list[str], others: list[str]) -> None:
    glob = compile_glob(pattern)
    assert [path for path in matching + others if glob.fullmatch(path)] == matching


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("[a", "has no ]"),
        ("[]", "has no ]"),
        ("{a,b", "has no }"),
        ("[z-a]", "bad character range"),
        ("{1..9999}", "1000 members"),
    ],
)
def test_a_glob_that_does_not_parse_says_why(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        compile_glob(pattern)


@given(st.text(alphabet="ab*?[]!^{},/\\-.", max_size=12), st.text(alphabet="ab/.", max_size=8))
def test_any_glob_either_parses_or_is_refused(pattern: str, path: str) -> None:
    try:
        glob = compile_glob(pattern)
    except InvalidPatternError:
        return
    glob.fullmatch(path)


@pytest.mark.parametrize(
    ("pattern", "folder", "rest"),
    [
        ("*.py", "/p", "a.py"),
        ("./src/*.py", "/p/src", "a.py"),
        ("src/../lib/a.py", "/p/lib", "a.py"),
        ("/p/src/**", "/p/src", "x/y"),
        ("src/{a,b}/c", "/p/src", "b/c"),
    ],
)
def test_the_literal_start_of_a_glob_is_the_folder_to_walk(pattern: str, folder: str, rest: str) -> None:
    plan = plan_glob(pattern, "/p")
    assert plan.folder == folder
    assert plan.select([rest]) == [rest]


@pytest.mark.parametrize("pattern", ["/etc/*", "../q/*", "/*", "/ps/x", "src/../../*"])
def test_a_glob_that_leaves_its_folder_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPatternError, match="leads out of /p"):
        plan_glob(pattern, "/p")


@pytest.mark.parametrize(
    ("glob_filter", "path", "passes"),
    [
        ("", "src/a.py", True),
        ("*.py", "src/a.py", True),
        ("*.py", "src/a.ts", False),
        ("!*.py", "src/a.py", False),
        ("!*.py", "src/a.ts", True),
        ("src/*.py", "src/a.py", True),
        ("/src/*.py", "src/a.py", True),
        ("./src/*.py", "src/a.py", True),
        ("b/*.py", "src/b/a.py", False),
        ("**/b/*.py", "src/b/a.py", True),
        ("!src/**", "src/b/a.py", False),
        ("*.js !*.min.js", "d/a.js", True),
        ("*.js !*.min.js", "d/a.min.js", False),
        ("*.js !*.min.js", "d/a.py", False),
        ("!*.js  !d/**", "a.py", True),
        ("!*.js  !d/**", "d/a.py", False),
        ("two words.txt", "d/two words.txt", True),
    ],
)
def test_a_glob_filter_matches_file_names_or_with_a_slash_whole_paths(
    glob_filter: str, path: str, passes: bool
) -> None:
    assert path_filter(glob_filter)(path, path) is passes


class DictTree:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def user_rules(self) -> str:
        return ""

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        below = {path.removeprefix(folder + "/") for path in self.files if path.startswith(folder + "/")}
        return {(path.split("/")[0], "/" in path) for path in below}

    def text(self, path: str) -> str:
        return self.files[path]


def walked(files: dict[str, str], top: str = "") -> list[str]:
    tree = DictTree({posixpath.join("/p", path): text for path, text in files.items()})
    return [path.removeprefix("/p/") for path in walk(tree, posixpath.join("/p", top).rstrip("/"), "/p")]


@pytest.mark.parametrize(
    ("rules", "ignored"),
    [
        ("*.log", ["a.log", "d/a.log"]),
        ("/a.log", ["a.log"]),
        ("d/", ["d/a.log", "d/b", "d/e/c"]),
        ("d/*\n!d/b", ["d/a.log", "d/e/c"]),
        ("d\n!d/b", ["d/a.log", "d/b", "d/e/c"]),
        ("# a.log\n\n", []),
        ("**/c", ["d/e/c"]),
        ("d/*/c", ["d/e/c"]),
        ("!", []),
        ("/a.log \nb\\ ", ["a.log"]),
    ],
)
def test_ignored_files_are_not_walked(rules: str, ignored: list[str]) -> None:
    files = {".gitignore": rules, "a.log": "", "d/a.log": "", "d/b": "", "d/e/c": ""}
    assert set(files) - set(walked(files)) == set(ignored)


@pytest.mark.parametrize(
    ("files", "top", "found"),
    [
        ({".gitignore": "x", "d/.gitignore": "!x", "x": "", "d/x": ""}, "d", [".gitignore", "x"]),
        ({".gitignore": "x", ".ignore": "!x", "x": ""}, "", [".gitignore", ".ignore", "x"]),
        ({".gitignore": "gen/\n*.log", "gen/a": "", "gen/b.log": ""}, "gen", ["a", "b.log"]),
        ({".gitignore": "*.log", "src/a.log": "", "src/a": ""}, "src", ["a"]),
        ({".git/config": "", "sub/.git": "gitdir: x", "sub/a": ""}, "", ["sub/a"]),
        ({"b/x": "", "b.txt": "", "a": "", "b/w/y": ""}, "", ["a", "b/w/y", "b/x", "b.txt"]),
    ],
    ids=[
        "deeper wins",
        ".ignore wins",
        "named although ignored",
        "rules from above",
        ".git never",
        "path order",
    ],
)
def test_a_walk_respects_the_precedence_of_ignore_files(
    files: dict[str, str], top: str, found: list[str]
) -> None:
    assert walked(files, top) == [posixpath.join(top, path) for path in found]


@pytest.mark.parametrize("start", [0, 1_000, 49_999, 99_999])
def test_a_long_line_is_cut_around_its_match(start: int) -> None:
    line = "." * start + "X" + "." * (99_999 - start)
    cut = clip(line, start)
    assert "X" in cut
    assert len(cut.strip("…")) == MAX_LINE_CHARS


def test_a_line_of_allowed_length_is_not_cut() -> None:
    assert clip("x" * MAX_LINE_CHARS, 5) == "x" * MAX_LINE_CHARS


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"hit", [1]),
        (b"hit\n", [1]),
        (b"\nhit\r\nhit\r\n", [2, 3]),
        (b"a\rhit\n", [2]),
        (b"hit\0", []),
        (b"\xef\xbb\xbfhit\n", [1]),
        (b"\xffhit\xe2\x82", [1]),
    ],
)
def test_grep_text_returns_the_line_numbers_of_read_file(data: bytes, expected: list[int]) -> None:
    options = GrepOptions()
    lines = grep_text("f", data, compile_pattern("hit", options), options)
    assert [line.line for line in lines] == expected
    for line in lines:
        line.text.encode()  # fails on a lone surrogate


def test_grep_results_cut_at_the_limit_contain_no_context_lines_of_dropped_matches() -> None:
    findings = ResultLines(GrepOptions(max_results=1, before_lines=1, after_lines=1))
    lines = [
        GrepLine("f", 1, ""),
        GrepLine("f", 2, "", False),
        GrepLine("f", 8, "", False),
        GrepLine("f", 9, ""),
    ]
    assert [findings.add(line) for line in lines] == [True, True, True, False]
    result = findings.result()
    assert list(result.lines) == lines[:2]
    assert result.truncated


def test_a_limit_of_zero_results_is_reported_as_truncated() -> None:
    findings = ResultLines(GrepOptions(max_results=0))
    assert not findings.add(GrepLine("f", 1, ""))
    assert (findings.result().lines, findings.result().truncated) == ((), True)


@pytest.mark.req("T6", "R5")
@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 60 + "c", "a" * 255),
        ("**/a/" * 20 + "c", "a/" * 2_000 + "b"),
        ("**/*a*a*a*a*a*a*a*a*c", ("a" * 255 + "/") * 15 + "b"),
        ("*?*?*?*?*?*?*?*?*?*?c", "a" * 255),
    ],
)
def test_glob_with_many_wildcards_takes_no_exponential_time(glob: str, path: str) -> None:
    assert not compile_glob(glob).fullmatch(path)
    assert compile_glob(glob).fullmatch(path[:-1] + "a" * 30 + "c") or glob.startswith("**/a/")


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*a*b", "xaab", True), ("*a*b", "xaa/b", False), ("*ab*ab", "abaab", True), ("*ab*ab", "ab", False),
        ("*[ab]*?c", "xaxc", True), ("*a*{b,bc}", "aabc", True), ("**/a/**/b", "a/b", True),
        ("**/a/**/b", "x/a/x/a/y/b", True), ("**/a*/**/b", "ab/c/b", True), ("**/a/b/**/c", "a/a/b/c", True),
        ("**/a/**/b", "a/x", False), ("*\\**a", "x*xa", True), ("**/*a*/**/*b", "xa/b", True),
    ],
)  # fmt: skip
def test_glob_with_several_wildcards_matches_the_same_paths_as_a_backtracking_matcher(
    glob: str, path: str, expected: bool
) -> None:
    assert bool(compile_glob(glob).fullmatch(path)) is expected


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("**/*.py", "*.py"), ("src/a.py", "a.py"), ("{a/b,c}.py", ""), ("[a]/x", ""), ("src/**", "**")],
)
def test_plan_glob_returns_a_file_name_glob_only_if_it_is_separable_from_the_folders(
    pattern: str, name: str
) -> None:
    assert plan_glob(pattern, "/p").name == name


@given(st.text(alphabet="ab/.", max_size=12), st.sampled_from(["/", "/a", "/a/", "/a/b", "/a/../b"]))
def test_shown_path_returns_the_same_relative_path_as_posixpath_relpath(below: str, root: str) -> None:
    path = f"{root.rstrip('/')}/{below}"
    assert shown_path(path, root) == posixpath.relpath(path, root)
