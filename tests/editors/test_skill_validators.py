"""Our skill loader and two public validators give the same results on the same skills, except for a table in the
docs.

`.ci/skills-rig` installs the validators. Neither package contains example skills, so they are written here.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from agent_ls.environments.instruction_files import MAX_BYTES
from tests.features.skills.folders import load
from tests.support import REPOSITORY

PROGRAMS = REPOSITORY / ".tools" / "skill-validators" / "bin"
DOCS = REPOSITORY / "docs" / "skills.md"
DESCRIPTION = "description: Writes release notes. Use it when the user asks for a changelog."
SKILLSAW_RULES = ("agentskill-valid", "agentskill-name", "agentskill-description")

Results: TypeAlias = tuple[str, str, str]
"""The results of agent-ls, skills-ref and skillsaw, in the words of the table."""

AGREEMENTS = (("used", "accepted", "accepted"), ("left out", "refused", "reported"))

pytestmark = [
    pytest.mark.req("T12"),
    pytest.mark.skipif(
        not ((PROGRAMS / "agentskills").exists() and (PROGRAMS / "skillsaw").exists()),
        reason="needs the validators of PyPI (make test-editors sets them up)",
    ),
]


@dataclass(frozen=True)
class Case:
    """A skill. `row` is the first cell of its row in the table of differences; "" if all three tools agree about it."""

    text: str | bytes
    row: str = ""
    folder: str = "notes"
    is_link: bool = False


def page(*rows: str, body: str = "Do this.") -> str:
    return "\n".join(("---", *rows, "---", body, ""))


def named(name: str, folder: str = "", row: str = "") -> Case:
    return Case(page(f"name: {name}", DESCRIPTION), row, folder or name)


def with_rows(*rows: str, row: str = "") -> Case:
    return Case(page("name: notes", DESCRIPTION, *rows), row)


PLAIN = page("name: notes", DESCRIPTION)
BAD_NAME = "a missing or invalid name, or a name that differs from the folder's name"
OTHER_ROWS = "fields that the standard does not have (`hooks`, `user-invocable`, …)"
UNUSUAL = "a byte order mark, a repeated field, or a header in braces"
CASES = {
    "plain": Case(PLAIN),
    "all rows of the standard": with_rows(
        "license: MIT", "compatibility: git", "metadata:", "  author: me", "allowed-tools: Read Grep"
    ),
    "CRLF": Case(PLAIN.replace("\n", "\r\n")),
    "description of two lines": Case(
        page("name: notes", "description: |", "  Writes notes.", "  Use it for them.")
    ),
    "no text": Case(page("name: notes", DESCRIPTION, body="")),
    "tools as a list": with_rows("allowed-tools:", "  - Read"),
    "byte order mark": Case("\ufeff" + PLAIN, UNUSUAL),
    "row twice": with_rows("license: MIT", "license: BSD", row=UNUSUAL),
    "rows in braces": Case(page("{name: notes, description: Use it for notes}"), UNUSUAL),
    "rows of other agents": with_rows("argument-hint: words", "model: inherit", row=OTHER_ROWS),
    "hooks": with_rows("user-invocable: false", "hooks: {}", row=OTHER_ROWS),
    "colon in the description": Case(
        page("name: notes", "description: Use when: the user asks for notes"),
        "a colon without quotes in the description",
    ),
    "capital letters": named("Notes", row=BAD_NAME),
    "two hyphens": named("release--notes", row=BAD_NAME),
    "hyphen at the end": named("notes-", row=BAD_NAME),
    "underscore": named("release_notes", row=BAD_NAME),
    "space": named("release notes", row=BAD_NAME),
    "65 characters": named("n" * 65, row=BAD_NAME),
    "name of another folder": named("notes", "other", row=BAD_NAME),
    "no name": Case(page(DESCRIPTION), BAD_NAME),
    "list as a name": named("[notes]", "notes", row=BAD_NAME),
    "letters of other languages": named("größe", row="a name with letters other than a-z"),
    "number": named("123", row="a name that is a number"),
    "sign in the name": named("release#tagger"),
    "long description": Case(
        page("name: notes", "description: " + "Use it. " * 140), "a description of more than 1,024 characters"
    ),
    "no description": Case(page("name: notes")),
    "empty description": Case(page("name: notes", 'description: ""')),
    "list as a description": Case(page("name: notes", "description: [a, b]")),
    "no rows": Case("Do this.\n"),
    "no end of the rows": Case(f"---\nname: notes\n{DESCRIPTION}\nDo this.\n"),
    "invalid YAML": with_rows("metadata: [a"),
    "list instead of rows": Case(page("- name", "- notes")),
    "not UTF-8": Case(PLAIN.encode() + b"\xe9"),
    "long compatibility": with_rows(
        "compatibility: " + "x" * 501, row="a `compatibility` of more than 500 characters"
    ),
    "text as metadata": with_rows("metadata: text", row="a `metadata` without fields"),
    "too much text": Case(PLAIN + "word " * (MAX_BYTES // 5), "a file of more than 64 KiB"),
    "link out of the folder": Case(PLAIN, is_link=True),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Write all skills. Returns, by case, a home folder that contains only this skill."""
    root = tmp_path_factory.mktemp("skills")
    written = {}
    for number, (title, case) in enumerate(CASES.items()):
        home = root / str(number)
        path = home / ".agents/skills" / case.folder / "SKILL.md"
        path.parent.mkdir(parents=True)
        target = home / "elsewhere.md" if case.is_link else path
        target.write_bytes(case.text if isinstance(case.text, bytes) else case.text.encode())
        if case.is_link:
            path.symlink_to(target)
        written[title] = home
    return written


@pytest.fixture(scope="module")
def reported(folders: Mapping[str, Path]) -> frozenset[Path]:
    """Run skillsaw on all skills. Returns the files that it reports."""
    rules = [word for rule in SKILLSAW_RULES for word in ("--rule", rule)]
    plain = ["--format", "json", "--no-plugins", "--no-custom-rules", "--no-baseline"]
    output = run(
        "skillsaw", "lint", *plain, *rules, *(str(home / ".agents/skills") for home in folders.values())
    )
    found = json.loads(output.stdout)["violations"]
    assert {violation["rule_id"] for violation in found} <= set(SKILLSAW_RULES), found
    # Paths are relative to the nearest folder that contains all arguments.
    root = next(iter(folders.values())).parent
    return frozenset(root / violation["file_path"] for violation in found)


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAMS / program, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def table_of_differences() -> Mapping[str, Results]:
    section = DOCS.read_text().partition("## Other validators\n")[2].partition("\n## ")[0]
    rows = [
        tuple(cell.strip() for cell in row.strip("|").split("|"))
        for row in re.findall(r"^\|.*\|$", section, re.M)
    ]
    return {case: (here, reference, skillsaw) for case, here, reference, skillsaw in rows[2:]}


@pytest.mark.parametrize("title", CASES)
def test_our_loader_and_public_validators_agree_on_each_skill_except_for_documented_differences(
    title: str, folders: Mapping[str, Path], reported: frozenset[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    case, home = CASES[title], folders[title]
    monkeypatch.setenv("HOME", str(home))
    found = load(home)
    here = "left out" if not found.found else "used, reported" if found.problems else "used"
    skill = home / ".agents/skills" / case.folder
    output = run("agentskills", "validate", str(skill))
    results = (
        here,
        "refused" if output.returncode else "accepted",
        "reported" if any(path.is_relative_to(skill) for path in reported) else "accepted",
    )
    if case.row:
        assert results == table_of_differences()[case.row], output
    else:
        assert results in AGREEMENTS, output


def test_each_documented_difference_between_skill_validators_has_a_test_case() -> None:
    table = table_of_differences()
    assert set(table) == {case.row for case in CASES.values() if case.row}
    assert not set(table.values()) & set(AGREEMENTS)
