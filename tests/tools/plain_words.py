"""Find words that the project once used with private meanings: python -m tests.tools.plain_words.

Files that still have them are listed in tests/tools/words_to_rewrite.txt. The list may only get shorter: this program
removes the files that are clean now, and never adds one.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.docs.pages import ROOT, parse, read, repository_files, statements

COMMAND = "python -m tests.tools.plain_words"
EXCEPTIONS = "tests/tools/words_to_rewrite.txt"

NAMES: Mapping[str, str] = {
    "Workbench": "SessionManager",
    "bench": "manager (a SessionManager)",
    "Assembler": "Builder",
    "desk": "the service that it is: review, approvals, questions, rules, approver",
    "ReviewDesk": "ReviewService",
    "ApprovalDesk": "PendingApprovals",
    "QuestionDesk": "PendingQuestions",
    "RuleDesk": "RuleManager",
    "Came": "Acquired",
    "Went": "Released",
    "Owners": "SessionOwnership",
    "hub": "emitter",
    "walls": "sandbox",
    "rung": "strategy",
    "Eyes": "EditorContext",
    "Surroundings": "EditorContext",
    "shown_texts": "virtual_documents",
    "ShownTexts": "VirtualDocuments",
    "KeptSession": "StoredSessionInfo",
    "KeptSessions": "StoredSessions",
    "KeptKey": "StoredKey",
    "KeptTokens": "OAuthTokenStore",
    "KeptList": "JsonList",
    "ServerFacts": "ServerDescription",
    "LineFacts": "LineFindings",
    "SessionPlace": "SessionLocation",
    "AskedPlace": "AskedPosition",
    "told_owner": "describe_owner",
    "maybe_standing": "find_hunk_positions",
    "proposal_shown": "build_proposed_hunk",
}
"""Names, in identifiers and in prose, and what to use instead."""
WORDS: Mapping[str, str] = {
    "whoever": "name the subject",
    "anew": "again",
    "meanwhile": "name both events",
    "verdict": "decision",
    "verdicts": "decisions",
    "told": "sent, reported, listed or documented",
    "he": "they",
    "his": "their",
    "him": "them",
    "stands": "is, exists or is pending",
    "stood": "was",
    "rungs": "strategies",
    "that which": "name the subject",
    "cut turn": "interrupted turn",
    "stock face": "plugin-free client",
    "stock client": "plugin-free client",
    "reading along": "follower",
    "reads along": "follows the session",
    "taken by force": "forced take-over",
    "took by force": "forced take-over",
}
"""Words of prose: docstrings, comments and pages."""
OUTSIDE = re.compile(
    r"\b(?:SEMANTICS|FORMATS|REQUIREMENTS|ARCHITECTURE|PROTOCOL)\b(?=[ ,.;:)]|$)|\bFIELD wish|\.\./shared\b"
    r"|\b00[0-4],? (?:sections?|appendix|§|[0-9])"
)
"""References to texts that are not in the repository."""
OPENINGS = ("What", "Who", "Whoever", "Whose", "Raises:")
_OPENING = re.compile(rf'"""\s*(?:{"|".join(OPENINGS)})(?!\w)')

_UNCHECKED = (
    "agent_ls/cli/sample_project/",
    "editors/nvim/lua/agent_ls/wire/",  # generated: it has the protocol's names
    "tests/golden/",
    "tests/tools/plain_words",
)
_COMMENTS = {".lua": re.compile(r"--(.*)"), ".ts": re.compile(r"(?://|^\s*/?\*)(.*)")}
# Patterns that begin with their words are searched several times faster than those that begin with a condition, so
# `_found` checks what is in front of a match.
_IDENTIFIER = re.compile(rf"(?:{'|'.join(sorted(NAMES, key=len, reverse=True))})\b")
_WORD = re.compile(rf"(?:{'|'.join(sorted(WORDS, key=len, reverse=True))})\b", re.IGNORECASE)
_NO_IDENTIFIER = re.compile(r"[\w/-]$|\bmake $")
_NO_WORD = re.compile(r"\w$")
_LETTERS = re.compile(r"[a-z]+")
_SINGLE = {word for word in WORDS if word.isalpha()}
_COMMENT = re.compile(r"#.*")


@dataclass(frozen=True, slots=True)
class Finding:
    """A word or sentence to rewrite. `line` counts from 1."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


def checked_files() -> list[str]:
    """Return the names of source files and documentation pages to check."""
    return [
        name
        for name in repository_files()
        if name.startswith(
            ("agent_ls/", "tests/", "docs/", "editors/", "vscode-extension/src/", "README", "CONTRIB")
        )
        and PurePosixPath(name).suffix in (".py", ".lua", ".ts", ".md")
        and not name.startswith(_UNCHECKED)
    ]


def findings(name: str) -> Iterator[Finding]:
    """Yield the findings in a file."""
    text = read(name)
    if any(_found(_IDENTIFIER, _NO_IDENTIFIER, text)):
        for number, line in enumerate(text.split("\n"), 1):
            for word in _found(_IDENTIFIER, _NO_IDENTIFIER, line):
                yield Finding(name, number, f"'{word}': use {NAMES[word]}")
    for number, said in prose_lines(name, text):
        for word in _found(_WORD, _NO_WORD, said):
            yield Finding(name, number, f"'{word}': use {WORDS[word.lower()]}")
        if outside := OUTSIDE.search(said):
            yield Finding(
                name,
                number,
                f"'{outside[0]}' is not in the repository: say the rule, or name a page of docs/",
            )
    if name.endswith(".py") and _OPENING.search(text):
        yield from _openings(name)


def _found(words: re.Pattern[str], not_after: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the matches in a text, except those that are only the end of another word."""
    for match in words.finditer(text):
        if not not_after.search(text[max(0, match.start() - 5) : match.start()]):
            yield match[0]


def is_dirty(name: str) -> bool:
    """Return whether the file has findings."""
    return next(findings(name), None) is not None


def _openings(name: str) -> Iterator[Finding]:
    for node in (parse(name), *statements(name)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = (ast.get_docstring(node) or "").split()
            if words and words[0] in OPENINGS:
                line = getattr(node, "lineno", 1)
                yield Finding(
                    name, line, f"a docstring begins with '{words[0]}': begin with what the code does"
                )


def prose_lines(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of docstrings, comments and paragraphs.

    Those of a Python file may be left out if they are clean.
    """
    match PurePosixPath(name).suffix:
        case ".md":
            yield from enumerate(prose_with_lines(text).split("\n"), 1)
        case ".py":
            yield from _python_prose(name, text)
        case suffix:
            for number, line in enumerate(text.split("\n"), 1):
                if found := _COMMENTS[suffix].search(line):
                    yield number, found[1]


def prose_with_lines(page: str) -> str:
    """Return a page with blank code blocks and code words, so that line numbers stay the same."""
    for block in re.findall(r"^```.*?^```[ ]*$", page, re.DOTALL | re.MULTILINE):
        page = page.replace(block, "\n" * block.count("\n"))
    return re.sub(r"`[^`\n]+`|\]\([^)]*\)", "", page)


def _python_prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    is_outside = OUTSIDE.search(text)
    if not is_outside and not _may_have_words(text):
        return
    if is_outside or any(_found(_WORD, _NO_WORD, text)):  # parsing takes most of the time
        for node in statements(name):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                yield from enumerate(str(node.value.value).split("\n"), node.lineno)
    candidates = "\n".join(_COMMENT.findall(text))
    if any(_found(_WORD, _NO_WORD, candidates)) or OUTSIDE.search(candidates):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def _may_have_words(text: str) -> bool:
    """Return False for a text without any of WORDS, in a fourth of the time of a search."""
    lowered = text.lower()
    return not _SINGLE.isdisjoint(_LETTERS.findall(lowered)) or any(
        it in lowered for it in WORDS.keys() - _SINGLE
    )


def read_exceptions() -> list[str]:
    """Return the files that may still have findings."""
    return [line for line in read(EXCEPTIONS).split("\n") if line and not line.startswith("#")]


def main() -> int:
    listed = read_exceptions()
    names = checked_files()
    dirty = {name for name in names if is_dirty(name)}
    kept = [name for name in listed if name in dirty]
    head = [line for line in read(EXCEPTIONS).split("\n") if line.startswith("#")]
    Path(ROOT / EXCEPTIONS).write_text("\n".join([*head, *kept]) + "\n", encoding="utf-8")
    for name in sorted(dirty - set(kept)):
        for finding in findings(name):
            print(finding)
    print(f"files to rewrite: {len(kept)} of {len(names)}")
    return 1 if dirty - set(kept) else 0


if __name__ == "__main__":
    sys.exit(main())
