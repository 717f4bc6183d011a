"""Find definitions, names and tests in code, by regular expressions. What is not known is None, never a guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from posixpath import basename, splitext

from agent_ls.patterns import regex
from agent_ls.review.guide.values import Definition

_HEAD_LINES = 12
"""The most lines of a signature. A longer one is compared by its first lines."""

_LINE_CHARS = 400
"""A definition is searched in this many characters of a line: generated code has lines of megabytes."""

_WORD = regex(r"[^\W\d]\w*")
_TEST_NAME = regex(r"(?:^|[._-])(?i:tests?|specs?)(?:[._-]|$)|^conftest\.|[a-z0-9](?:Tests?|Spec)\.")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing"})
_MARK_UP = frozenset(
    {".md", ".rst", ".txt", ".json", ".yaml", ".yml", ".toml", ".html", ".css", ".lock", ".csv"}
)


@dataclass(frozen=True, slots=True)
class _Language:
    """`head` matches the first line of a definition, with the groups `indent` and `name`. `public` matches the
    head of a definition that other files may use; None: not known.
    """

    head: re.Pattern[str]
    public: re.Pattern[str] | None


def _language(head: str, public: str | None) -> _Language:
    return _Language(re.compile(rf"^(?P<indent>[ \t]*){head}"), re.compile(public) if public else None)


_CONTAINER = regex(r"\b(?:class|interface|enum|struct|trait|impl|mod|module|object|namespace|type)\b")
"""The head of a definition whose members other files can use, unlike what is defined in a function."""

_NAME = r"(?P<name>[^\W\d]\w*)"
_PYTHON = _language(rf"(?:async\s+)?(?:def|class)\s+{_NAME}", r"(?:def|class)\s+(?:[^\W_]|__\w+__)")
_SCRIPT = _language(
    r"(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:function\s*\*?|class|interface|enum|type|const|let|var)\s+(?P<name>[A-Za-z_$][\w$]*)",
    r"^\s*export\b",
)
_GO = _language(rf"(?:func(?:\s*\([^)]*\))?|type)\s+{_NAME}", r"(?:func(?:\s*\([^)]*\))?|type)\s+[A-Z]")
_RUST = _language(
    rf"(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|const\s+|unsafe\s+)*(?:fn|struct|enum|trait|type|mod)\s+{_NAME}",
    r"^\s*pub\s",
)
_JAVA = _language(
    r"(?:@\w+\s+)*(?:(?:public|protected|private|internal|static|final|abstract|sealed|override|async|virtual)\s+)+"
    r"[\w<>\[\],.? ]*?(?P<name>[A-Za-z_]\w*)\s*(?=[({<]|extends|implements|$)",
    r"\b(?:public|protected)\b",
)
_KOTLIN = _language(rf"(?:(?:public|private|internal|open|override|suspend|data)\s+)*(?:fun|class|object)\s+{_NAME}",
                    r"^(?!.*\b(?:private|internal)\b)")  # fmt: skip
_RUBY = _language(r"(?:def\s+(?:self\.)?|class\s+|module\s+)(?P<name>[A-Za-z_]\w*[?!=]?)", None)
_LUA = _language(r"(?:local\s+)?function\s+(?:\w+[.:])*(?P<name>[A-Za-z_]\w*)", r"^\s*function\b")
_PHP = _language(rf"(?:(?:public|protected|private|static|final|abstract)\s+)*(?:function|class|interface)\s+&?{_NAME}",
                 r"^(?!.*\bprivate\b)")  # fmt: skip
_SHELL = _language(r"(?:function\s+)?(?P<name>[A-Za-z_][\w-]*)\s*\(\)", None)

_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), _PYTHON),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"), _SCRIPT),
    **dict.fromkeys((".java", ".cs"), _JAVA),
    **dict.fromkeys((".kt", ".kts"), _KOTLIN),
    **dict.fromkeys((".sh", ".bash"), _SHELL),
    ".go": _GO,
    ".rs": _RUST,
    ".rb": _RUBY,
    ".lua": _LUA,
    ".php": _PHP,
}


def suffix(path: str) -> str:
    return splitext(path)[1].lower()


def is_code(path: str) -> bool:
    """Return whether the definitions of this file can be found."""
    return suffix(path) in _LANGUAGES


def is_mark_up(path: str) -> bool:
    """Return whether the file has a format without definitions."""
    return suffix(path) in _MARK_UP


def family(path: str) -> object:
    """Return a value that is equal for files whose names can refer to each other."""
    return _LANGUAGES.get(suffix(path)) or suffix(path)


def is_test(path: str) -> bool:
    """Return whether a file is a test, by its name or folder."""
    parts = path.replace("\\", "/").split("/")
    return bool(_TEST_NAME.search(basename(parts[-1]))) or not _TEST_FOLDERS.isdisjoint(parts[:-1])


def words(lines: Sequence[str]) -> frozenset[str]:
    """Return all names in some lines."""
    return frozenset(word for line in lines for word in _WORD.findall(line))


def definitions(path: str, lines: Sequence[str]) -> list[Definition]:
    """Return the definitions that begin in some lines of a file. An unknown language has none."""
    language = _LANGUAGES.get(suffix(path))
    return list(_definitions(language, lines)) if language else []


def _definitions(language: _Language, lines: Sequence[str]) -> Iterator[Definition]:
    around: list[
        tuple[int, bool]
    ] = []  # indent of each definition around the line, and whether it is a function
    for at, line in enumerate(lines):
        line = line[:_LINE_CHARS]
        if not line.strip():
            continue
        indent = _indent(line)
        while around and around[-1][0] >= indent and line.lstrip()[0] not in ")]}":
            around.pop()
        if found := language.head.match(line):
            signature = _signature(lines, at)
            is_local = any(is_function for _, is_function in around)
            is_public = language.public is not None and bool(language.public.search(line)) and not is_local
            yield Definition(found["name"], signature, is_public, at, indent)
            around.append((indent, not _CONTAINER.search(line)))


def can_tell_public(path: str) -> bool:
    language = _LANGUAGES.get(suffix(path))
    return language is not None and language.public is not None


def _signature(lines: Sequence[str], at: int) -> str:
    """Return the head of a definition up to the end of its brackets, without white space."""
    depth, found = 0, ""
    for line in (line[:_LINE_CHARS] for line in lines[at : at + _HEAD_LINES]):
        depth += sum(line.count(mark) for mark in "([") - sum(line.count(mark) for mark in ")]")
        found += line
        if depth <= 0:
            break
    head = re.split(r"[{]|=>|:\s*(?:#.*)?$|(?<![=!<>])=(?!=)\s*(?!.*\))", found.rstrip(), maxsplit=1)[0]
    return re.sub(r",(?=[)\]])", "", "".join(head.split()))


def enclosing(path: str, lines: Sequence[str], at: int) -> Definition | None:
    """Return the definition around line `at`, by indentation."""
    language = _LANGUAGES.get(suffix(path))
    if language is None or not lines:
        return None
    at = min(at, len(lines) - 1)
    indent = _indent(lines[at]) if lines[at].strip() else 10_000
    for row in range(at, -1, -1):
        line = lines[row]
        if not line.strip() or (_indent(line) >= indent and row != at):
            continue
        if found := next(_definitions(language, lines[row : row + _HEAD_LINES]), None):
            if found.first == 0:
                return Definition(found.name, found.signature, found.is_public, row, found.indent)
        indent = _indent(line)
        if indent == 0 and line[0] not in ")]}":
            return None
    return None


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))
