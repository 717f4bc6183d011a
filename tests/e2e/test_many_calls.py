"""A response with too many calls, or with calls that share an id: each call gets its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.calls.tool_round import MAX_CALLS
from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import Answer, AnthropicServer, ChatServer, OpenAIResponsesServer, ToolCall

pytestmark = pytest.mark.req("L10", "E1", "R5")

SERVERS = [
    pytest.param(AnthropicServer, id="anthropic"),
    pytest.param(OpenAIResponsesServer, id="openai"),
    pytest.param(ChatServer, id="chat"),
]


def ends(server: Any, script: list[Answer], tmp_path: Path) -> tuple[list[dict[str, Any]], Any]:
    """Return the call results of a run and its requests. The loopback server rejects requests that the provider
    would reject.
    """
    project = tmp_path / "project"
    project.mkdir()
    with server(script) as provider:
        environ = environment(tmp_path / "home", **provider_variables(provider))
        done = run("exec", "--json", "--mode", "full", "Go.", cwd=project, environ=environ)
        assert done.code == 0, done.err
        return done.of_kind("tool_call_end"), provider.requests


@pytest.mark.parametrize("server", SERVERS)
def test_two_tool_calls_with_the_same_id_each_get_a_result(server: Any, tmp_path: Path) -> None:
    calls = [ToolCall("shell", {"command": f"echo {word}"}, id="call_same") for word in ("one", "two")]
    found, requests = ends(server, [calls, "Done."], tmp_path)
    assert len({end["callId"] for end in found}) == 2
    outputs = [end["output"] for end in sorted(found, key=lambda end: end["index"])]
    assert ["one" in output for output in outputs] == [True, False]
    assert ["two" in output for output in outputs] == [False, True]
    assert len(requests) == 2


def test_tool_calls_above_the_limit_are_refused_with_a_message(tmp_path: Path) -> None:
    count = 3 * MAX_CALLS
    calls = [ToolCall("no_such_tool", {}, id=f"call_{n}") for n in range(count)]
    found, requests = ends(AnthropicServer, [calls, "Done."], tmp_path)
    refused = [end for end in found if end["errorKind"] == "not_run"]
    assert (len(found), len(refused)) == (count, count - MAX_CALLS)
    assert all(f"only the first {MAX_CALLS} of the" in end["output"] for end in refused)
    assert len(requests) == 2
