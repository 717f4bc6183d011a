"""The skeleton of docs/adding-a-provider.md is a codec: its own tests pass, and nothing in it touches the world."""

from __future__ import annotations

import ast
from pathlib import Path

from agent_ls.llm.client import _CODECS
from agent_ls.llm.credentials import VARIABLES
from agent_ls.profiles.create import PROFILES
from tests.docs.examples import run_tests, write_programs
from tests.docs.pages import read, table
from tests.test_layers import BANNED_IN_NO_IO, imports

PAGE = "docs/adding-a-provider.md"


def test_the_tests_of_the_skeleton_pass(tmp_path: Path) -> None:
    programs = write_programs(PAGE, tmp_path)

    done = run_tests(programs["test_plain_codec.py"], folder=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout


def test_the_skeleton_is_an_engine(tmp_path: Path) -> None:
    program = write_programs(PAGE, tmp_path)["plain_codec.py"]

    assert not {name.split(".")[0] for name, _ in imports(program)} & BANNED_IN_NO_IO
    assert "PlainCodec" in {
        node.name for node in ast.parse(program.read_text()).body if isinstance(node, ast.ClassDef)
    }


def test_the_files_that_are_named_are_those_of_every_codec() -> None:
    told = {row[0].strip("`") for row in table(read(PAGE), "file")}

    for provider in ("anthropic", "openai_responses"):
        folder = Path(__file__).parents[2] / "agent_ls" / "llm" / "providers" / provider
        assert told <= {path.name for path in folder.iterdir()}


def test_the_tables_of_the_checklist_know_the_same_providers() -> None:
    assert set(_CODECS) <= set(VARIABLES)
    assert set(_CODECS) <= set(PROFILES)
