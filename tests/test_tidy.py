"""Rules of the house that a program can check; each failure says what to do."""

from __future__ import annotations

import ast
import fnmatch
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from tests.docs.pages import (
    ROOT,
    anchors,
    blocks,
    code_words,
    links,
    nodes,
    parse,
    prose_lines,
    read,
    repository_files,
    statements,
    tables,
)
from tests.tools import plain_words

FILES = repository_files()
SAMPLE = "agent_ls/cli/sample_project/"
MODULES = [
    name for name in FILES if name.startswith("agent_ls/") and name.endswith(".py") and SAMPLE not in name
]
TESTS = [name for name in FILES if name.startswith("tests/") and name.endswith(".py")]
PAGES = [
    name
    for name in FILES
    if name.endswith(".md")
    and not name.startswith(("agent_ls/", "tests/profiles/"))
    and "node_modules" not in name
]

MAX_LINES, MAX_TEST_LINES = 600, 500
MAX_FUNCTION_LINES = 60
LONG = "Long because"

# The brackets keep these patterns from matching this file.
MARKERS = re.compile(r"\b(?:[T]ODO|[F]IXME|[X]XX)\b")
MACHINE = re.compile(
    r"(?<![\w.~$}/])/(?:(?:[w]ork|[r]oot|[U]sers)/|[t]mp/\w)"
    r"|/[h]ome/(?!(?:ada|u|user)\b)\w"
    r"|\b(?:[p]ythonhosted|registry\.[n]pmjs|proxy\.[g]olang|[p]ypi\.org|[a]rtifactory)\b"
)
COMMENT_SIGNS = {".lua": "--", ".ts": "//", ".mjs": "//", ".toml": "#", ".sh": "#", ".yml": "#", ".css": "/*"}


@cache
def text_of(name: str) -> str | None:
    """Return the text of a file; None for a binary file."""
    data = (ROOT / name).read_bytes()
    return None if b"\0" in data[:8192] else data.decode("utf-8")


# --- modules --------------------------------------------------------------------------------------------------


def test_every_module_begins_with_a_docstring_of_complete_sentences() -> None:
    silent = []
    for name in MODULES:
        _, _, said = read(name).partition('"""')
        first = said.partition('"""')[0].split("\n\n")[0].strip()
        if not read(name).startswith(('"""', 'r"""')) or not first.endswith((".", "?", "!", ":")):
            silent.append(name)

    assert not silent, f"begin with one sentence of what the module is, or refuses to know: {silent}"


RELATIVE_IMPORT = re.compile(r"\bfrom[\s\\]*\.")


def test_no_import_is_relative() -> None:
    relative = [
        f"{name}:{node.lineno}"
        for name in (*MODULES, *TESTS)
        if RELATIVE_IMPORT.search(read(name))  # parsing all files takes seconds
        for node in nodes(name)
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert not relative, f"import from agent_ls by its full name: {relative}"


def test_a_file_over_the_line_limit_gives_the_reason_in_its_docstring() -> None:
    limits = [(name, MAX_LINES) for name in MODULES] + [(name, MAX_TEST_LINES) for name in TESTS]
    long = [
        f"{name} has more than {limit} lines"
        for name, limit in limits
        if read(name).count("\n") > limit and LONG not in (ast.get_docstring(parse(name)) or "")
    ]

    assert not long, f"split it, or say in its docstring '{LONG} …': {long}"


def test_a_function_has_at_most_60_lines_without_its_docstring() -> None:
    long = [
        f"{name}:{node.lineno}: {node.name} has {lines} lines"
        for name in MODULES
        for node in statements(name)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := _lines_without_docstring(node)) > MAX_FUNCTION_LINES
    ]

    assert not long, f"give a part of it that can be named a function of its own: {long}"


def _lines_without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (node.end_lineno or 0) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return lines
    return lines - ((node.body[0].end_lineno or 0) - node.body[0].lineno + 1)


def comments(name: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each comment, but nothing for a file without any match of MARKERS."""
    text = text_of(name)
    if text is None or not MARKERS.search(text):
        return
    if name.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        return
    sign = (
        "#"
        if Path(name).name == "Makefile" or name.startswith(".ci/")
        else COMMENT_SIGNS.get(Path(name).suffix)
    )
    for number, line in enumerate(text.split("\n"), 1):
        if name.endswith(".md"):
            yield number, line
        elif sign and sign in line:
            yield number, line.partition(sign)[2]


def test_no_comment_contains_a_todo_marker() -> None:
    found = [
        f"{name}:{number}: {text.strip()}"
        for name in FILES
        for number, text in comments(name)
        if MARKERS.search(text)
    ]

    assert not found, "do it, or write an issue:\n" + "\n".join(found)


def test_no_file_contains_a_path_of_the_development_machine() -> None:
    found = [
        f"{name}:{number}: {line.strip()[:160]}"
        for name in FILES
        for number, line in enumerate((text_of(name) or "").split("\n"), 1)
        if MACHINE.search(line)
    ]

    assert not found, "\n".join(found)


# --- signatures -----------------------------------------------------------------------------------------------

MAX_PARAMETERS = 7
PUBLIC = {"open_session"}  # the keyword arguments that docs/library.md documents


def test_functions_take_few_parameters() -> None:
    long = [
        f"{name}:{node.lineno} {node.name} takes {count}"
        for name in MODULES
        for node in statements(name)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in PUBLIC
        if (count := _parameters(node.args)) > MAX_PARAMETERS
    ]

    assert not long, "group the parameters that belong together in a frozen dataclass:\n" + "\n".join(long)


def _parameters(arguments: ast.arguments) -> int:
    names = [it.arg for it in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


# --- names of classes -----------------------------------------------------------------------------------------

SAME = {"ReasoningStart", "ReasoningEnd", "ToolCallStart", "ToolCallEnd"}
"""Events of a provider's stream, and the session's events that are made of them."""


def test_class_names_are_unique_across_modules() -> None:
    places: dict[str, list[str]] = {}
    for name in MODULES:
        for node in parse(name).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in SAME:
                places.setdefault(node.name, []).append(f"{name}:{node.lineno}")

    shared = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]
    assert not shared, (
        "say in the name what each of these is, so that it can be searched for and read without its module "
        "(PolicyJudgement, not Judgement):\n" + "\n".join(shared)
    )


# --- words ----------------------------------------------------------------------------------------------------


def test_files_outside_the_exception_list_follow_the_plain_english_rules() -> None:
    listed = set(plain_words.read_exceptions())
    found = [
        str(finding)
        for name in plain_words.checked_files()
        if name not in listed
        for finding in plain_words.findings(name)
    ]

    assert not found, "say it in plain technical English (CONTRIBUTING.md, Style):\n" + "\n".join(found[:40])


def test_the_plain_english_exception_list_contains_only_files_with_findings() -> None:
    there = set(plain_words.checked_files())
    clean = [
        name for name in plain_words.read_exceptions() if name not in there or not plain_words.is_dirty(name)
    ]

    assert not clean, f"well done: shorten {plain_words.EXCEPTIONS} with `{plain_words.COMMAND}`: {clean}"


# --- folders --------------------------------------------------------------------------------------------------

LOOSE_FILES = {
    "agent_ls/services": {"__init__", "clock", "errors", "logs", "store_errors", "turn_reads"},
    "agent_ls/features": {"__init__", "base", "memory", "review_tool"},
    "agent_ls/server": {
        "__init__",
        "assembly",
        "backend",
        "seams",
        "server",
        "start",
        "start_time",
        "create_manager",
    },
}


def test_every_module_of_these_packages_is_in_a_folder() -> None:
    loose = [
        name
        for name in MODULES
        for folder, known in LOOSE_FILES.items()
        if str(PurePosixPath(name).parent) == folder and PurePosixPath(name).stem not in known
    ]

    assert not loose, f"move these into the folder that they belong to (docs/architecture.md): {loose}"


# --- packaging ------------------------------------------------------------------------------------------------


def test_every_data_file_is_included_in_the_package() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    patterns = project["tool"]["setuptools"]["package-data"]
    data = [name for name in FILES if name.startswith("agent_ls/") and not name.endswith(".py")]

    left_out = [name for name in data if not any(_is_packaged(name, *item) for item in patterns.items())]

    assert data
    assert not left_out, f"no pattern of package-data in pyproject.toml fits {left_out}"


def _is_packaged(name: str, package: str, patterns: list[str]) -> bool:
    """Return whether a pattern of package-data includes the file, by setuptools' rules.

    The package `*` is every package, and a pattern is relative to the package's folder.
    """
    path = PurePosixPath(name)
    folders = [package.replace(".", "/")] if package != "*" else [str(path.parent)]
    return any(
        name.startswith(f"{folder}/") and _fits(name.removeprefix(f"{folder}/"), pattern)
        for folder in folders
        for pattern in patterns
    )


def _fits(below: str, pattern: str) -> bool:
    if "**/" in pattern:
        head = pattern.partition("**/")[0]
        return below.startswith(head) and fnmatch.fnmatch(
            PurePosixPath(below).name, pattern.rpartition("/")[2]
        )
    return below.count("/") == pattern.count("/") and fnmatch.fnmatch(below, pattern)


def test_every_module_of_the_sample_project_gets_into_the_package() -> None:
    """setuptools packages the sample project's modules as data, because they are not modules of agent-ls."""
    patterns = tomllib.loads(read("pyproject.toml"))["tool"]["setuptools"]["package-data"]

    for name in (name for name in FILES if name.startswith(SAMPLE)):
        assert _is_packaged(name, "agent_ls.cli", patterns["agent_ls.cli"]), name


def test_every_data_file_that_the_code_loads_is_there() -> None:
    there = {PurePosixPath(name).name for name in FILES if name.startswith("agent_ls/")}
    missing = [
        f"{name}: {node.value}"
        for name in MODULES
        if "importlib.resources" in read(name)
        for node in nodes(name)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"[\w-]+\.(?:md|json|txt)", node.value) and node.value not in there
    ]

    assert not missing


# --- pages ----------------------------------------------------------------------------------------------------


MAX_LINE_CHARS, MAX_CELL_CHARS, MAX_PAGE_LINES = 120, 200, 300
LISTS = {f"docs/{name}.md" for name in ("changelog", "field-reports", "requirements")}
"""Pages that grow with each change, and that nobody reads from start to end."""


def test_no_page_is_too_long_to_be_read() -> None:
    texts = {name: read(name) for name in PAGES if name not in LISTS and "protocol/" not in name}
    long = [name for name, text in texts.items() if text.count("\n") > MAX_PAGE_LINES]

    assert not long, f"shorten these pages to {MAX_PAGE_LINES} lines: {long}"


def test_no_line_of_a_documentation_page_exceeds_the_length_limit() -> None:
    long = [
        f"{name}:{number} has {len(line)} characters"
        for name in PAGES
        for number, line in prose_lines(read(name))
        if len(line) > MAX_LINE_CHARS and not line.startswith(("|", "!["))
    ]

    assert not long, f"wrap these lines at {MAX_LINE_CHARS} characters:\n" + "\n".join(long)


def test_no_table_cell_of_a_documentation_page_exceeds_the_length_limit() -> None:
    long = [
        f"{name}: {len(cell)} characters: {cell[:60]}…"
        for name in PAGES
        for rows in tables(read(name))
        for row in rows
        for cell in row
        if len(cell) > MAX_CELL_CHARS
    ]

    assert not long, f"at most {MAX_CELL_CHARS}; put the rest below the table:\n" + "\n".join(long)


def test_every_link_of_a_documentation_page_has_an_existing_target() -> None:
    dead = [f"{name}: {target}" for name in PAGES for target in links(read(name)) if _is_dead(name, target)]

    assert not dead, "these links lead nowhere:\n" + "\n".join(dead)


def _is_dead(page: str, target: str) -> bool:
    if re.match(r"[a-z]+:", target):
        return False  # a link to another site is not checked, because tests have no network
    place, _, anchor = target.partition("#")
    path = (ROOT / page).parent / place if place else ROOT / page
    if not path.exists():
        return True
    return bool(anchor) and anchor not in anchors(path.read_text(encoding="utf-8"))


_NAMED = re.compile(
    r"(?:agent_ls|docs|editors|tests|benchmarks|requirements)/[\w./-]*|Makefile|pyproject\.toml"
)


def test_every_file_that_a_page_names_exists() -> None:
    missing = [
        f"{name}: {word}"
        for name in PAGES
        for word in code_words(read(name))
        # `count_lines` is the example of a page, which says that it is not in the repository.
        if _NAMED.fullmatch(word) and "count_lines" not in word and not (ROOT / word).exists()
    ]

    assert not missing, f"files that are not there: {missing}"


def test_every_module_named_without_py_in_a_documentation_page_exists() -> None:
    packages = "|".join(sorted({name.split("/")[1] for name in MODULES if name.count("/") > 1}))
    module = re.compile(rf"((?:{packages})/[\w/]+)(?:\.[A-Z]\w+)?")
    named = [
        (name, match[1])
        for name in PAGES
        for word in code_words(read(name))
        if (match := module.fullmatch(word))
    ]
    missing = [
        f"{page}: {path}"
        for page, path in named
        if not (ROOT / f"agent_ls/{path}.py").exists() and not (ROOT / "agent_ls" / path).exists()
    ]

    assert named
    assert not missing, f"modules that do not exist: {missing}"


def test_every_target_of_make_that_a_page_names_exists() -> None:
    there = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    lines = [line for name in PAGES for block in blocks(read(name), "sh") for line in block.text.splitlines()]
    lines += [word for name in PAGES for word in code_words(read(name))]
    named = {match[1] for line in lines if (match := re.match(r"make ([a-z][a-z-]*)", line))}

    assert named
    assert named <= there
