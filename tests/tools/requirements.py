"""List each requirement with its promise and its tests, and the rows of the specifications' checklists.

`python -m tests.tools.requirements` (`make requirements`). The promises are those of docs/requirements.md. A Python
test names ids with `@pytest.mark.req("L9")`, a Lua or TypeScript test with a comment `req: L9`. Rows of
tests/spec_rows.py are named with `@pytest.mark.spec("loop 9.3.2")`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.docs.pages import read, statements, tables
from tests.spec_rows import ROWS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "requirements.md"
STATUSES = ("tests", "in part", "not yet")
_COMMENT = re.compile(r"(?:--|//)\s*req:\s*([A-Z]\d+(?:\s*,\s*[A-Z]\d+)*)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A row of docs/requirements.md."""

    id: str
    promise: str
    status: str


def read_requirements() -> tuple[Requirement, ...]:
    found = tables(PAGE.read_text(encoding="utf-8"))
    return tuple(
        Requirement(*row) for rows in found if rows[0] == ["id", "promise", "status"] for row in rows[1:]
    )


def python_marks(path: Path, marker: str = "req") -> Iterator[tuple[str, str]]:
    """Yield (id, test) for each function, class or module of a file with this marker."""
    file = str(path.relative_to(ROOT))
    if f"mark.{marker}(" not in read(file):
        return  # parsing takes most of the time
    for node in statements(file):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for mark in node.decorator_list:
                yield from ((found, f"{file}::{node.name}") for found in _ids(mark, marker))
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
        ):
            for part in ast.walk(node.value):
                yield from ((found, file) for found in _ids(part, marker))


def _ids(mark: ast.AST, marker: str) -> list[str]:
    if not (isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == marker):
        return []
    return [arg.value for arg in mark.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]


def comment_marks(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (id, position) for each comment `req: L9` of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        for match in _COMMENT.finditer(line):
            for found in match[1].split(","):
                yield found.strip(), f"{path.relative_to(ROOT)}:{number}"


@cache
def all_marks() -> dict[str, list[str]]:
    """Return the tests of each requirement id."""
    proofs: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for found, test in python_marks(path):
            proofs[found].append(test)
    for pattern in ("editors/**/*.lua", "vscode-extension/src/**/*.ts", "tests/**/*.mjs", "tests/**/*.lua"):
        for path in sorted(ROOT.glob(pattern)):
            for found, test in comment_marks(path):
                proofs[found].append(test)
    return proofs


@cache
def spec_marks() -> dict[str, list[str]]:
    """Return the tests of each row of the checklists."""
    proofs: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for found, test in python_marks(path, "spec"):
            proofs[found].append(test)
    return proofs


def _print_rows() -> set[str]:
    """Print the checklists. Return the marked ids that no checklist has."""
    proofs = spec_marks()
    print()
    for row in ROWS:
        print(f"{row.id:17} {row.words}{f' [{row.but}]' if row.but else ''}")
        for test in proofs.get(row.id, ()):
            print(f"                  {test}")
    without = [row.id for row in ROWS if row.id not in proofs]
    print(f"\nrows of the checklists with tests: {len(ROWS) - len(without)} of {len(ROWS)}")
    print(f"without: {', '.join(without) or 'none'}")
    return set(proofs) - {row.id for row in ROWS}


def _print_requirements(requirements: tuple[Requirement, ...], proofs: dict[str, list[str]]) -> None:
    for requirement in requirements:
        tests = sorted(set(proofs.get(requirement.id, ())))
        print(f"{requirement.id:4} {requirement.promise} [{requirement.status}; {len(tests)} tests]")
        for test in tests:
            print(f"       {test}")


def outdated(requirements: tuple[Requirement, ...], proofs: dict[str, list[str]]) -> list[str]:
    """Return the statuses of docs/requirements.md that the marks of the tests contradict."""
    return [
        f"{it.id} is '{it.status}' in docs/requirements.md, and has {len(proofs.get(it.id, ()))} tests"
        for it in requirements
        if (it.status == "not yet") == (it.id in proofs)
    ]


def main() -> int:
    requirements, proofs = read_requirements(), all_marks()
    _print_requirements(requirements, proofs)
    ids = [requirement.id for requirement in requirements]
    without = [requirement for requirement in ids if requirement not in proofs]
    unknown = sorted({*proofs} - {*ids} | _print_rows())
    for line in outdated(requirements, proofs):
        print(f"update the status: {line}")
    print(f"\nwith tests: {len(ids) - len(without)} of {len(ids)}")
    print(f"without: {' '.join(without) or 'none'}")
    if unknown:
        print(f"unknown ids in tests: {' '.join(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
