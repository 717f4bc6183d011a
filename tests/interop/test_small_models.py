"""Ten tasks with real models of 135 and 270 million parameters, which are too small for them.

They print code in place of calls, invent results, repeat themselves and break off. What is tested is the loop: it never
crashes or hangs, states no change that the disk lacks, and ends with words that the user understands.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.interop.rig import HERE, PYTHON, RIG, START_S, Run, run_agent, running

TASK_S = 600
"""Time for one task. The first one reads all tools and instructions, some 4,400 tokens, on a processor."""
pytestmark = [
    pytest.mark.req("P5"),
    pytest.mark.timeout(START_S + 2 * TASK_S),
    pytest.mark.skipif(not PYTHON.exists(), reason="needs packages of PyPI (make test-interop sets them up)"),
]

CONTEXT, ANSWER_TOKENS = 8_192, 120
TASKS = {
    "create": "Create the file hello.py with the text: print('hello')",
    "read": "Read the file calc.py and tell me which function is in it.",
    "edit": "In calc.py, change the minus in the function add to a plus.",
    "run": "Run the command ls and tell me which files there are.",
    "search": "Find all files that contain the word add.",
    "rename": "Rename the file notes.txt to todo.txt.",
    "delete": "Delete the file notes.txt.",
    "test": "Write a test for the function add, and run it.",
    "talk": "Say hello in one short sentence.",
    "impossible": "Read the file missing.txt and repeat its first line.",
}
MARKS = ("<tool_call>", "</tool_call>", "<tool_result", "<|im_start|>", "<|im_end|>", "<start_of_turn>")


@dataclass
class Served:
    name: str
    address: str
    handled: list[str] = field(default_factory=list)


@pytest.fixture(scope="module", params=["SmolLM2-135M", "Gemma-3-270M"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("model")
    find = subprocess.run(
        [PYTHON, HERE / "small_model.py", request.param, folder], capture_output=True, text=True, check=False
    )
    if find.returncode:
        pytest.skip(f"{RIG} has no {request.param}")
    file = Path(find.stdout.strip())
    command = (PYTHON, HERE / "serve_llama_cpp.py", file, str(CONTEXT), str(ANSWER_TOKENS))
    with running(command, folder / "log") as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address, "llama.cpp did not start"
        made = Served(request.param, f"{address}/v1")
        yield made
    print(f"\n{made.name}: the loop handled {len(made.handled)} of {len(TASKS)} tasks")


def project(folder: Path) -> Path:
    """Make a small project. Its path has always the same length, so that the server finds the prompt in its cache."""
    folder.mkdir(exist_ok=True)
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "notes.txt").write_text("buy milk\n")
    return folder


def check(run: Run, folder: Path) -> None:
    ends = run.of_kind("processing_end")
    assert len(ends) == 1, run.errors
    assert "Traceback" not in run.errors and "internal error" not in run.errors
    reason = ends[0]["reason"]
    assert (run.code == 0) == (reason == "completed"), (run.code, reason)
    if reason != "completed":
        assert run.errors.strip(), "a run that did not end well says why"
    notices = [str(data) for kind in ("warning", "error", "turn_limit") for data in run.of_kind(kind)]
    assert run.text.strip() or run.of_kind("tool_call_start") or notices, "the user reads nothing"
    if any(mark in run.text for mark in MARKS[:3]):
        assert notices, "text that was meant as a call stands in the answer without a word"
    for data in run.of_kind("file_change"):
        check_change(data, folder)


def check_change(data: dict[str, Any], folder: Path) -> None:
    path = folder / Path(data["path"]).name
    assert path.exists() != (data["action"] == "delete"), data


@pytest.mark.parametrize("task", TASKS)
def test_the_loop_handles_a_model_that_is_too_small(served: Served, tmp_path: Path, task: str) -> None:
    folder = project(tmp_path)
    run = run_agent(
        folder, "--trust", "--mode", "full", "--provider", "llamacpp", "--model", served.name,
        "--set", "maxTurns=4", prompt=TASKS[task], seconds=TASK_S,
        variables={"LLAMACPP_BASE_URL": served.address, "HOME": str(tmp_path.parent)},
    )  # fmt: skip
    check(run, folder)
    served.handled.append(task)
