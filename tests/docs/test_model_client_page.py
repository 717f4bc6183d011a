"""The programs of docs/model-client.md run against a server on this machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import agent_ls.llm
from agent_ls.llm import errors, object_errors, set_default_client
from agent_ls.llm.errors import LlmError
from tests.docs.examples import write_programs
from tests.docs.pages import code_words, read, table
from tests.support.commands import provider_variables
from tests.support.loopback import AnthropicServer, ErrorReply, Text, ToolCall

PAGE = "docs/model-client.md"
MODEL = "claude-sonnet-5"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c4890000000d49444154789c6360000002000001e221bc33"
    "0000000049454e44ae426082".replace(" ", "")
)
TOOL = ToolCall("add", {"a": 2, "b": 3})
ANSWERS: dict[str, tuple[list[Any], str]] = {
    "complete.py": (["Hello."], "Hello."),
    "streamed.py": (["1 2 3"], "1 2 3"),
    "with_tools.py": ([[Text("I add."), TOOL], "5"], "5"),
    "objects.py": (['{"name": "Oslo"}'], "Oslo"),
    "images.py": (["A dot."], "A dot."),
    "costs.py": (["Hello."], "0.0"),
    "errors.py": (
        [ErrorReply(401, {"type": "error", "error": {"type": "x", "message": "no"}})],
        "AuthenticationError",
    ),
}


@pytest.mark.req("U1")
@pytest.mark.parametrize("name", ANSWERS)
async def test_program_of_the_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = load(write_programs(PAGE, tmp_path)[name])
    answers, expected = ANSWERS[name]
    (tmp_path / "dot.png").write_bytes(PIXEL)
    with AnthropicServer(answers) as server:
        for variable, value in provider_variables(server).items():
            monkeypatch.setenv(variable, value)
        set_default_client(None)
        more = (str(tmp_path / "dot.png"),) if name == "images.py" else ()
        try:
            said = await program.main(MODEL, "anthropic", *more)
        finally:
            set_default_client(None)
    assert said.startswith(expected)
    assert len(server.requests) == len(answers)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem + "_of_page", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_program_of_the_page_is_run(tmp_path: Path) -> None:
    assert set(write_programs(PAGE, tmp_path)) == set(ANSWERS)


def test_error_table_of_the_page_has_every_error() -> None:
    named = {word for row in table(read(PAGE), "error") for word in code_words(row[0])}
    known = {
        name
        for name, found in {**vars(errors), **vars(object_errors)}.items()
        if isinstance(found, type) and issubclass(found, LlmError)
    }
    assert named == known - {"LlmError", "ProviderError"}
    assert known <= set(agent_ls.llm.__all__)


def test_functions_of_the_package_hide_the_modules_of_the_same_name() -> None:
    for name in ("generate", "stream", "retry"):
        importlib.import_module(f"agent_ls.llm.{name}")
        assert callable(getattr(agent_ls.llm, name))
    assert all(getattr(agent_ls.llm, name) is not None for name in agent_ls.llm.__all__)
