"""Each tool of a pack through its real program, in a folder of the test's own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import Attribution
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.features.packs.catalog import PACKS
from agent_ls.features.packs.load import PackTool, pack_tools
from agent_ls.tools.base import ShellLimits, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.cli_tool import CliTool, cli_tool
from tests.features.packs.examples import EXAMPLES, Example
from tests.support.tool_calls import Reads
from tests.support.web_server import Answer, web_server

pytestmark = pytest.mark.req("T8")

TOOLS = {tool.name: tool for pack in PACKS for tool in pack_tools(pack)}
WITH_TOOLCHAIN = ("cargo",)
"""Programs that need the user's real home folder, because they are installed there."""


def test_each_tool_has_an_example() -> None:
    assert set(TOOLS) == set(EXAMPLES)


def environ_of(tool: PackTool) -> dict[str, str]:
    """Return the environment variables in which the programs of the test's Python environment are on PATH."""
    folders = [os.environ["PATH"], str(Path(sys.executable).parent)]
    if tool.definition.name == "pip_install":  # many systems forbid pip to install into their own Python
        folders.reverse()
    path = os.pathsep.join(folders)
    own_home = {"HOME": pwd.getpwuid(os.getuid()).pw_dir} if tool.programs[:1] == WITH_TOOLCHAIN else {}
    return {**os.environ, "PATH": path, **own_home}


def tool_of(found: PackTool) -> Tool[Any]:
    return (
        cli_tool(found.definition, lambda name: None)
        if isinstance(found.definition, CliTool)
        else found.definition
    )


def set_up(folder: Path, example: Example) -> None:
    for name, text in example.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in example.before:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


async def call(found: PackTool, folder: Path, arguments: dict[str, object]) -> ToolOutput:
    """Call the tool. An error that it raises becomes an error result, as in a session."""
    tool = tool_of(found)
    environment = LocalEnvironment(str(folder), environ=environ_of(found))
    await environment.initialize()
    try:
        context = ToolContext(
            environment, Attribution("s", "t", "c"), lambda stream, text: None, Reads(), ShellLimits()
        )
        prepared = await tool.prepare(tool.arguments.model_validate(arguments), context)
        return await prepared.run()
    except (ToolError, EnvError) as error:
        return ToolOutput(str(error), is_error=True)
    finally:
        await environment.cleanup()


def printed(command: Sequence[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def filled(arguments: Mapping[str, object], url: str, pid: int) -> dict[str, object]:
    """Replace `{url}` and `{pid}` in the arguments."""
    places: dict[object, object] = {"{pid}": pid, "{url}/page": f"{url}page"}
    return {name: places.get(value, value) for name, value in arguments.items()}


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("name", EXAMPLES)
async def test_each_pack_tool_runs_its_program_with_the_expected_result(
    name: str, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    found, example = TOOLS[name], EXAMPLES[name]
    for program in found.programs:
        if not shutil.which(program, path=environ_of(found)["PATH"]):
            pytest.skip(f"{program} is not installed here")
    if reason := example.skip():
        pytest.skip(reason)
    folder = tmp_path / "project"
    folder.mkdir()
    set_up(folder, example)
    with web_server({"/page": Answer(b"the page")}) as server:
        output = await call(found, folder, filled(example.arguments, server.url(), sleeper.pid))

    assert output.is_error is example.fails, output.text
    assert example.says in output.text
    for path, text in example.after.items():
        assert ((folder / path).read_text() if (folder / path).exists() else None) == text
    if example.then:
        assert printed(example.then[0], folder) == example.then[1].strip()
    if name == "http_post":
        assert server.sent == [b'@a.txt "x"'], "the body is sent as it is, and no file"
    if name == "signal_process":
        assert sleeper.wait(30) == -15
