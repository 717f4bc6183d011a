"""Run the programs of examples/ as their first lines describe, with a provider on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, read
from tests.support.commands import DEADLINE_S, environment
from tests.support.loopback import Answer, AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H13")

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))

RUNS: dict[str, tuple[list[str], list[Answer], str]] = {
    "five_lines.py": (["{folder}", "hello"], ["Hi there."], "Hi there."),
    "own_tool.py": (
        ["{folder}", "the price?"],
        [[ToolCall("price_of", {"fruit": "pear"})], "1.80 euros."],
        "1.80 euros.",
    ),
    "own_approver.py": (
        ["{folder}", "go"],
        [
            [ToolCall("write_file", {"file_path": "new.txt", "content": "x\n"})],
            [ToolCall("shell", {"command": "touch no.txt"})],
            "I would have run touch.",
        ],
        "I would have run touch.\n{folder}/new.txt",
    ),
    "own_provider.py": (["{folder}", "hello"], [], "You said: hello"),
    "blocking.py": (
        ["{folder}", "go"],
        [
            [ToolCall("ask_user", {"question": "Which?", "choices": ["left", "right"]})],
            [ToolCall("write_file", {"file_path": "new.txt", "content": "x\n"})],
            [ToolCall("shell", {"command": "touch no.txt"})],
            "Moved left.",
        ],
        "Moved left.",
    ),
    "in_memory.py": (
        ["add bread"],
        [[ToolCall("write_file", {"file_path": "bread.txt", "content": "bread\n"})], "Added."],
        "Added.\nmilk\neggs\n",
    ),
}


def test_every_example_program_has_a_test_run_and_is_listed_in_docs_library() -> None:
    page = read("docs/library.md")
    assert set(RUNS) == set(EXAMPLES)
    assert [name for name in EXAMPLES if f"examples/{name}" not in page] == []
    first = (ROOT / "examples" / "five_lines.py").read_text()
    assert first[first.index("async def main") :] in page


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_works_as_described(name: str, tmp_path: Path) -> None:
    arguments, answers, expected = RUNS[name]
    folder = tmp_path / "project"
    folder.mkdir()
    with AnthropicServer(answers) as provider:
        environ = environment(tmp_path, ANTHROPIC_API_KEY="sk-test", ANTHROPIC_BASE_URL=provider.base_url)
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / name), *(it.format(folder=folder) for it in arguments)],
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert expected.format(folder=folder) in done.stdout
    assert not (folder / "no.txt").exists()
