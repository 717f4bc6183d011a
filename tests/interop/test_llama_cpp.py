"""llama.cpp's own server with a tiny model of random weights: its list, its context size, its stream, its errors."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.rig import HERE, PYTHON, START_S, needs_rig, run_agent, running

pytestmark = [needs_rig, pytest.mark.req("P5"), pytest.mark.timeout(START_S + 120)]

ENOUGH, TOO_LITTLE = 32_768, 2_048
"""Tokens of context: the tools and instructions of the first message need several thousand."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("model") / "random.gguf"
    subprocess.run([PYTHON, HERE / "random_model.py", file], check=True, capture_output=True)
    return file


@contextmanager
def served(model: Path, context: int) -> Iterator[str]:
    """Serve `model`; yields the address of the API."""
    command = (PYTHON, HERE / "serve_llama_cpp.py", model, str(context), "48")
    with running(command, model.with_suffix(f".{context}.log")) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address, "llama.cpp did not start"
        yield f"{address}/v1"


def test_llama_cpp_answer_cut_at_the_output_limit_is_accepted_without_an_error(
    model: Path, tmp_path: Path
) -> None:
    with served(model, ENOUGH) as address:
        run = run_agent(
            tmp_path, "--provider", "llamacpp", "--model", str(model), prompt="hello",
            variables={"LLAMACPP_BASE_URL": address},
        )  # fmt: skip
    assert run.text
    (usage,) = run.of_kind("usage")
    assert usage["call"]["outputTokens"] == 48
    assert run.of_kind("processing_end")[-1]["reason"] != "error", run.errors


def test_first_message_over_the_llama_cpp_context_reports_the_size_and_the_ctx_size_option(
    model: Path, tmp_path: Path
) -> None:
    with served(model, TOO_LITTLE) as address:
        run = run_agent(
            tmp_path, "--provider", "llamacpp", "--model", str(model), prompt="hello",
            variables={"LLAMACPP_BASE_URL": address},
        )  # fmt: skip
    assert run.code == 1
    error = run.of_kind("error")[-1]
    assert str(TOO_LITTLE) in error["message"].replace(",", "")
    assert "--ctx-size" in error["hint"]
