"""Lists each requirement id and each row of the sources' checklists with the tests that prove it, and those without.

`python -m tests.tools.requirements`. A Python test names its ids with `@pytest.mark.req("L9")`, a Lua or TypeScript
test with a comment `req: L9`; rows (tests/spec_rows.py) are named with `@pytest.mark.spec("000 9.3.2")`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.spec_rows import ROWS

ROOT = Path(__file__).resolve().parents[2]
COUNTS = {"H": 19, "L": 17, "E": 8, "P": 9, "T": 14, "X": 10, "O": 6, "A": 2, "U": 16, "R": 7}
IDS = tuple(f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1))
_COMMENT = re.compile(r"(?:--|//)\s*req:\s*([A-Z]\d+(?:\s*,\s*[A-Z]\d+)*)")


def python_marks(path: Path, marker: str = "req") -> Iterator[tuple[str, str]]:
    """(id, test) for every function, class or module of a file that carries this marker."""
    place = path.relative_to(ROOT)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for mark in node.decorator_list:
                yield from ((found, f"{place}::{node.name}") for found in _ids(mark, marker))
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
        ):
            for part in ast.walk(node.value):
                yield from ((found, str(place)) for found in _ids(part, marker))


def _ids(mark: ast.AST, marker: str) -> list[str]:
    if not (isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == marker):
        return []
    return [arg.value for arg in mark.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]


def comment_marks(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        for match in _COMMENT.finditer(line):
            for found in match[1].split(","):
                yield found.strip(), f"{path.relative_to(ROOT)}:{number}"


def all_marks() -> dict[str, list[str]]:
    proofs: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for found, test in python_marks(path):
            proofs[found].append(test)
    for pattern in ("editors/**/*.lua", "vscode-extension/src/**/*.ts", "tests/**/*.mjs", "tests/**/*.lua"):
        for path in sorted(ROOT.glob(pattern)):
            for found, test in comment_marks(path):
                proofs[found].append(test)
    return proofs


def spec_marks() -> dict[str, list[str]]:
    """The tests of each row of the checklists."""
    proofs: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for found, test in python_marks(path, "spec"):
            proofs[found].append(test)
    return proofs


def _tell_rows() -> set[str]:
    """Prints the checklists; the ids that no checklist has."""
    proofs = spec_marks()
    print()
    for row in ROWS:
        print(f"{row.id:10} {row.words}{f' [{row.but}]' if row.but else ''}")
        for test in proofs.get(row.id, ()):
            print(f"           {test}")
    without = [row.id for row in ROWS if row.id not in proofs]
    print(f"\nrows of the checklists with tests: {len(ROWS) - len(without)} of {len(ROWS)}")
    print(f"without: {', '.join(without) or 'none'}")
    return set(proofs) - {row.id for row in ROWS}


def main() -> int:
    proofs = all_marks()
    for requirement in IDS:
        tests = sorted(set(proofs.get(requirement, ())))
        if tests:
            print(f"{requirement:4} {len(tests):3} tests")
            for test in tests:
                print(f"       {test}")
    without = [requirement for requirement in IDS if requirement not in proofs]
    unknown = sorted({*proofs} - {*IDS} | _tell_rows())
    print(f"\nwith tests: {len(IDS) - len(without)} of {len(IDS)}")
    print(f"without: {' '.join(without) or 'none'}")
    if unknown:
        print(f"unknown ids in tests: {' '.join(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
