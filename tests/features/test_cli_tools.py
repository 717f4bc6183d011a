"""Tool definitions in YAML: valid ones are loaded, and each error is reported with file and line (T10)."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from agent_ls import tools
from agent_ls.features.skills import tool
from agent_ls.features.tools.yaml_tools import load_cli_tools, own_kinds, own_names
from agent_ls.mcp.deferred import CALL_TOOL, FIND_TOOLS
from agent_ls.mcp.resources import READ_RESOURCE
from agent_ls.services.permissions.trust import Trusting
from agent_ls.tools.cli_tool import Scalar, build_argv
from tests.support.fake_provider import text
from tests.support.session_rig import running

pytestmark = pytest.mark.req("T10")

GOOD = """\
tools:
  - name: kubectl_get
    description: "Get Kubernetes resources"
    category: read
    cmd: kubectl
    args: ["get", "{{resource}}"]
    optional_args:
      namespace: ["-n", "{{namespace}}"]
      wide: ["-o", "wide"]
    parameters:
      resource:
        type: string
        enum: [pods, services]
        description: "The resource type"
      namespace:
        type: string
        pattern: "^[a-z0-9-]+$"
        optional: true
      wide: {type: boolean, optional: true}
    env:
      KUBECONFIG: "${KUBECONFIG}"
"""


def write(folder: Path, text: str, name: str = "tools.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def one(lines: str) -> str:
    """Return a tool with these lines in addition to the required ones."""
    head = "tools:\n  - name: t\n    description: d\n    category: read\n    cmd: ls\n"
    return head + "".join(f"    {line}\n" for line in dedent(lines).strip().splitlines())


def test_a_tool_definition_and_its_arguments_produce_the_expected_command_line(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    (tool,) = loaded.tools
    assert loaded.problems == ()
    assert tool.source == f"{tmp_path}/tools.yaml:2"
    assert build_argv(tool, {"resource": "pods"}) == ("kubectl", "get", "pods")
    given: dict[str, Scalar] = {"resource": "pods", "namespace": "x", "wide": True}
    assert build_argv(tool, given) == ("kubectl", "get", "pods", "-n", "x", "-o", "wide")
    assert build_argv(tool, {"resource": "pods", "wide": False}) == ("kubectl", "get", "pods")


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("tools: [", 1, "not valid YAML"),
        ("- name: x\n", 1, "one list named `tools:`"),
        ("tools:\n  - &a {name: x}\n  - *a\n", 2, "anchors"),
        ("tools:\n  - name: a\n    name: b\n", 3, "the key name occurs twice"),
        (
            "tools:\n  - name: a b\n    description: d\n    category: read\n    cmd: x\n",
            2,
            "is not a valid tool name",
        ),
        ("tools:\n  - name: a-b\n    description: d\n    category: read\n    cmd: x\n", 2, "letters, digits"),
        ("tools:\n  - name: a\n    description: d\n    cmd: x\n", 2, "category is missing"),
        ("tools:\n  - name: a\n    description: d\n    cmd: x\n    category: root\n", 5, "category: "),
        ("tools:\n  - name: shell\n    description: d\n    category: read\n    cmd: x\n", 2, "built in"),
        ("tools:\n  - name: a__b\n    description: d\n    category: read\n    cmd: x\n", 2, "servers"),
        (
            "tools:\n  - name: a\n    description: d\n    category: read\n    cmd: kubectl get\n",
            5,
            "under args",
        ),
        ("tools:\n  - name: a\n    description: d\n    category: read\n    cmd: '{{x}}'\n", 5, "a program"),
        (one("argz: [x]"), 6, "the key argz is unknown"),
        (one("args: [-n, 5]"), 6, "put the value in quotes"),
        (one("args: ['{{x}}']"), 6, "{{x}} is not the name of a parameter"),
        (one("parameters:\n  x: {type: string}"), 7, "x is not used in"),
        (one("args: ['{{x}}']\nparameters:\n  x: {optional: true}"), 6, "under optional_args.x"),
        (
            one("args: ['{{x}}']\nparameters:\n  x: {}\noptional_args:\n  x: ['{{x}}']"),
            10,
            "`optional: true`",
        ),
        (one("args: ['{{x}}']\nparameters:\n  x: {pattern: '['}"), 7, "cannot be used"),
        (one("args: ['{{x}}']\nparameters:\n  x: {enum: [1]}"), 8, "in quotes, if it is a string"),
        (one("args: ['{{x}}']\nparameters:\n  x: {type: integer, maxLength: 1}"), 8, "are for strings"),
        (one("args: ['{{x}}']\nparameters:\n  x: {minimum: 1}"), 8, "are for numbers"),
        (one("env:\n  A-B: x"), 7, "not a variable name"),
        (
            one("args: ['{{x}}']\nparameters:\n  x: {}\nenv:\n  A: '{{x}}'"),
            10,
            "env cannot contain placeholders",
        ),
        (one("timeout_seconds: 0"), 6, "timeout_seconds: "),
        (one("args: ['{{x}}']\nparameters:\n  x: {}").replace("cmd: ls", "cmd: /bin/bash"), 5, "as commands"),
    ],
)
def test_a_wrong_definition_is_left_out_and_reported_with_file_and_line(
    source: str, line: int, words: str, tmp_path: Path
) -> None:
    path = write(tmp_path, source)
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert loaded.tools == ()
    assert any(problem.startswith(f"{path}:{line}: ") and words in problem for problem in loaded.problems), (
        loaded.problems
    )
    assert "agent-ls tools" in loaded.warning


def test_a_valid_definition_is_loaded_next_to_a_wrong_one(tmp_path: Path) -> None:
    write(tmp_path, GOOD + "  - name: broken\n")
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert [tool.name for tool in loaded.tools] == ["kubectl_get"]
    assert all(problem.startswith(f"{tmp_path}/tools.yaml:22: ") for problem in loaded.problems)


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe", b"a: " + b"x" * 300_000, b"[" * 5000, b"", b"tools:\n"],
    ids=["no UTF-8", "too large", "nested too deep", "empty", "no tools"],
)
def test_an_unreadable_or_oversized_tool_file_is_reported_and_an_empty_tool_file_is_not(
    data: bytes, tmp_path: Path
) -> None:
    (tmp_path / "tools.yaml").write_bytes(data)
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert loaded.tools == () and bool(loaded.problems) is bool(data)


@pytest.mark.parametrize("trusted", [False, True])
def test_tools_of_an_untrusted_project_are_left_out(trusted: bool, tmp_path: Path) -> None:
    write(tmp_path / "work" / ".agent-ls", one("args: [a]"))
    write(tmp_path / "work" / ".agent-ls" / "tools", GOOD, "more.yaml")
    write(tmp_path / "home", one("args: [b]"))
    loaded = load_cli_tools(tmp_path / "home", tmp_path / "work", trusted=trusted)
    assert [tool.name for tool in loaded.tools] == (["t", "kubectl_get"] if trusted else ["t"])
    assert loaded.tools[0].args == ("b",), "the user's own goes before the project's"
    assert ("is defined already" in str(loaded.problems)) is trusted


@pytest.mark.parametrize("trusting", ["trusted", "restricted", "kept"])
async def test_tools_of_an_undecided_project_are_not_offered_to_the_model(
    trusting: Trusting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENT_LS_TRUSTED_FOLDERS", raising=False)
    write(tmp_path / "project" / ".agent-ls", one("args: [a]"))
    write(tmp_path / "state", GOOD)
    async with running(tmp_path, [text("Hello.")], trusting=trusting) as rig:
        await rig.talk(say="Hello?")
        offered = {tool.name for tool in rig.model.requests[0].tools}
    assert "kubectl_get" in offered
    assert ("t" in offered) is (trusting == "trusted")


def test_reserved_names_include_the_tools_of_every_family() -> None:
    assert {"shell", "read_file", "grep", "apply_patch", "spawn_agent", "list_dir", "think"} <= own_names()
    assert {"Bash", "run_shell_command", "update_plan"} <= own_names() - own_kinds()


def test_built_in_names_include_every_tool_module() -> None:
    written = [*Path(tools.__file__).parent.glob("*.py"), Path(tool.__file__)]
    named = {
        name for file in written for name in re.findall(r'^ +name="(\w+)",$', file.read_text(), re.MULTILINE)
    }
    assert {"symbols", "use_skill", "edit_notebook"} <= named
    assert named | {FIND_TOOLS, CALL_TOOL, READ_RESOURCE} <= own_kinds()
