"""A whole story with aimock, by four wires, and the same story through a proxy of LiteLLM in front of it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.rig import (
    NODE,
    RIG,
    START_S,
    Run,
    free_port,
    needs_rig,
    run_agent,
    running,
    wait_until_served,
)

pytestmark = [needs_rig, pytest.mark.req("U2", "P5"), pytest.mark.timeout(START_S + 120)]

TASK, DONE = "tidy the notes", "The notes are tidy now."
STORY = (
    {"toolCalls": [{"name": "read_file", "arguments": json.dumps({"file_path": "notes.txt"})}]},
    {
        "toolCalls": [
            {"name": "write_file", "arguments": json.dumps({"file_path": "notes.txt", "content": "tidy\n"})}
        ]
    },
    {"content": DONE},
)
"""The answers of the model in order."""

WIRES = {
    "openai": ("OPENAI", "/v1", "gpt-6.1-sol"),
    "anthropic": ("ANTHROPIC", "", "claude-sonnet-5-5"),
    "gemini": ("GEMINI", "/v1beta", "gemini-4-argon"),
    "compatible": ("COMPATIBLE", "/v1", "gpt-4o"),
}
"""By provider: the prefix of its variables, the path of its API, and a model."""

THROUGH_PROXY = {"openai": "/v1", "anthropic": "", "compatible": "/v1"}
PROXY_KEY = f"sk-{secrets.token_hex(32)}"


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("aimock")
    answers = [
        {"match": {"userMessage": TASK, "turnIndex": turn}, "response": answer}
        for turn, answer in enumerate(STORY)
    ]
    (folder / "story.json").write_text(json.dumps({"fixtures": answers}))
    port, program = free_port(), RIG / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    command = (NODE, program, "--port", str(port), "--fixtures", folder / "story.json", "--strict")
    with running(command, folder / "log") as process:
        wait_until_served(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def litellm(aimock: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    models = [
        {
            "model_name": "through-openai",
            "litellm_params": {"model": "openai/gpt-4o", "api_base": f"{aimock}/v1"},
        },
        {
            "model_name": "through-anthropic",
            "litellm_params": {"model": "anthropic/claude-sonnet-4-5", "api_base": aimock},
        },
    ]
    for model in models:
        model["litellm_params"]["api_key"] = "none"  # type: ignore[index]  # a mapping, as written above
    (folder / "config.yaml").write_text(json.dumps({"model_list": models}))  # JSON is YAML
    program = RIG / "python" / "bin" / "litellm"
    command = (program, "--config", folder / "config.yaml", "--host", "127.0.0.1", "--port", str(port))
    with running(
        command, folder / "log", LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MASTER_KEY=PROXY_KEY
    ) as process:
        wait_until_served(f"http://127.0.0.1:{port}/health/liveliness", process)
        yield f"http://127.0.0.1:{port}"


def play(folder: Path, provider: str, address: str, model: str, key: str = "none") -> None:
    """Run the story in `folder` and check file, text and usage."""
    prefix = WIRES[provider][0]
    (folder / "notes.txt").write_text("untidy\n")
    run = run_agent(
        folder, "--provider", provider, "--model", model, "--trust", "--mode", "edits", prompt=TASK,
        variables={f"{prefix}_API_KEY": key, f"{prefix}_BASE_URL": address},
    )  # fmt: skip
    assert run.code == 0, run.errors + json.dumps(run.of_kind("error"))
    assert (folder / "notes.txt").read_text() == "tidy\n"
    assert run.text == DONE
    assert len(run.of_kind("usage")) == len(STORY)
    assert [call["name"] for call in run.of_kind("tool_call_start")] == ["read_file", "write_file"]


@pytest.mark.parametrize("provider", WIRES)
def test_scripted_session_works_with_the_aimock_model_server(
    aimock: str, tmp_path: Path, provider: str
) -> None:
    _, path, model = WIRES[provider]
    play(tmp_path, provider, aimock + path, model)


@pytest.mark.parametrize("model", ("through-openai", "through-anthropic"))
@pytest.mark.parametrize("provider", THROUGH_PROXY)
def test_scripted_session_works_through_a_litellm_proxy(
    litellm: str, tmp_path: Path, provider: str, model: str
) -> None:
    play(tmp_path, provider, litellm + THROUGH_PROXY[provider], model, PROXY_KEY)


def ask(folder: Path, address: str, model: str, key: str) -> Run:
    return run_agent(
        folder, "--provider", "compatible", "--model", model, prompt="hello",
        variables={"COMPATIBLE_API_KEY": key, "COMPATIBLE_BASE_URL": f"{address}/v1"},
    )  # fmt: skip


def test_wrong_key_of_litellm_is_reported_as_a_refused_key(litellm: str, tmp_path: Path) -> None:
    run = ask(tmp_path, litellm, "through-openai", "sk-another-key")
    assert run.code == 1
    assert "refused the key" in run.of_kind("error")[-1]["message"]


def test_unknown_model_of_litellm_is_not_reported_as_a_wrong_key(litellm: str, tmp_path: Path) -> None:
    run = ask(tmp_path, litellm, "nobody-has-it", PROXY_KEY)
    assert run.code == 1
    error = run.of_kind("error")[-1]
    assert "nobody-has-it" in error["message"] and "refused the key" not in error["message"]
