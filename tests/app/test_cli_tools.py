"""Definitions of tools in YAML: what is taken, and what is told of the rest, with file and line (T10)."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from agent_ls.app.cli_tools import load_cli_tools, own_names
from agent_ls.app.trust import Trusting
from agent_ls.tools.cli_tool import Scalar, argv
from tests.support.fake_provider import text
from tests.support.workbench import running

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
    """A tool with these lines besides what every one needs."""
    head = "tools:\n  - name: t\n    description: d\n    category: read\n    cmd: ls\n"
    return head + "".join(f"    {line}\n" for line in dedent(lines).strip().splitlines())


def test_definition_of_the_specification_when_loaded_then_makes_the_command(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    (tool,) = loaded.tools
    assert loaded.problems == ()
    assert tool.source == f"{tmp_path}/tools.yaml:2"
    assert argv(tool, {"resource": "pods"}) == ("kubectl", "get", "pods")
    given: dict[str, Scalar] = {"resource": "pods", "namespace": "x", "wide": True}
    assert argv(tool, given) == ("kubectl", "get", "pods", "-n", "x", "-o", "wide")
    assert argv(tool, {"resource": "pods", "wide": False}) == ("kubectl", "get", "pods")


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("tools: [", 1, "this is no YAML"),
        ("- name: x\n", 1, "one list by the name `tools:`"),
        ("tools:\n  - &a {name: x}\n  - *a\n", 2, "anchors"),
        ("tools:\n  - name: a\n    name: b\n", 3, "name stands here twice"),
        ("tools:\n  - name: a b\n    description: d\n    category: read\n    cmd: x\n", 2, "name: "),
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
        (one("argz: [x]"), 6, "argz is not known here"),
        (one("args: [-n, 5]"), 6, "put it in quotes"),
        (one("args: ['{{x}}']"), 6, "{{x}} names no parameter"),
        (one("parameters:\n  x: {type: string}"), 7, "x is used by no word"),
        (one("args: ['{{x}}']\nparameters:\n  x: {optional: true}"), 6, "under optional_args.x"),
        (
            one("args: ['{{x}}']\nparameters:\n  x: {}\noptional_args:\n  x: ['{{x}}']"),
            10,
            "`optional: true`",
        ),
        (one("args: ['{{x}}']\nparameters:\n  x: {pattern: '['}"), 7, "cannot be used"),
        (one("args: ['{{x}}']\nparameters:\n  x: {enum: [1]}"), 8, "in quotes, if it is a text"),
        (one("args: ['{{x}}']\nparameters:\n  x: {type: integer, maxLength: 1}"), 8, "are for texts"),
        (one("args: ['{{x}}']\nparameters:\n  x: {minimum: 1}"), 8, "are for numbers"),
        (one("env:\n  A-B: x"), 7, "no name of a variable"),
        (one("args: ['{{x}}']\nparameters:\n  x: {}\nenv:\n  A: '{{x}}'"), 10, "not put into variables"),
        (one("timeout_seconds: 0"), 6, "timeout_seconds: "),
        (one("args: ['{{x}}']\nparameters:\n  x: {}").replace("cmd: ls", "cmd: /bin/bash"), 5, "as commands"),
    ],
)
def test_definition_when_it_is_wrong_then_is_left_out_and_told_with_file_and_line(
    source: str, line: int, words: str, tmp_path: Path
) -> None:
    path = write(tmp_path, source)
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert loaded.tools == ()
    assert any(problem.startswith(f"{path}:{line}: ") and words in problem for problem in loaded.problems), (
        loaded.problems
    )
    assert "agent-ls tools" in loaded.warning


def test_one_definition_when_another_of_the_file_is_wrong_then_is_taken(tmp_path: Path) -> None:
    write(tmp_path, GOOD + "  - name: broken\n")
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert [tool.name for tool in loaded.tools] == ["kubectl_get"]
    assert all(problem.startswith(f"{tmp_path}/tools.yaml:22: ") for problem in loaded.problems)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a: " + b"x" * 300_000, b"[" * 5000, b"", b"tools:\n"])
def test_file_when_it_is_no_text_or_far_too_much_then_is_told_or_holds_nothing(
    data: bytes, tmp_path: Path
) -> None:
    (tmp_path / "tools.yaml").write_bytes(data)
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert loaded.tools == () and bool(loaded.problems) is bool(data)


@pytest.mark.parametrize("trusted", [False, True])
def test_tools_of_a_project_when_it_is_not_trusted_then_are_left_out(trusted: bool, tmp_path: Path) -> None:
    write(tmp_path / "work" / ".agent-ls", one("args: [a]"))
    write(tmp_path / "work" / ".agent-ls" / "tools", GOOD, "more.yaml")
    write(tmp_path / "home", one("args: [b]"))
    loaded = load_cli_tools(tmp_path / "home", tmp_path / "work", trusted=trusted)
    assert [tool.name for tool in loaded.tools] == (["t", "kubectl_get"] if trusted else ["t"])
    assert loaded.tools[0].args == ("b",), "the user's own goes before the project's"
    assert ("is defined already" in str(loaded.problems)) is trusted


@pytest.mark.parametrize("trusting", ["trusted", "restricted", "kept"])
async def test_tools_of_a_project_when_its_user_has_not_trusted_it_then_are_offered_to_no_model(
    trusting: Trusting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENT_LS_TRUSTED_FOLDERS", raising=False)
    write(tmp_path / "project" / ".agent-ls", one("args: [a]"))
    write(tmp_path / "state", GOOD)
    async with running(tmp_path, [text("Hello.")], trusting=trusting) as bench:
        talk = await bench.talk()
        await talk.say("Hello?")
        offered = {tool.name for tool in bench.model.requests[0].tools}
    assert "kubectl_get" in offered
    assert ("t" in offered) is (trusting == "trusted")


def test_names_of_our_own_tools_hold_those_of_every_family() -> None:
    assert {"shell", "read_file", "grep", "apply_patch", "spawn_agent", "list_dir", "think"} <= own_names()
