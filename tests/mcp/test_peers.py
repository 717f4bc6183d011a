"""Third-party MCP servers in our sessions: both protocol eras, over stdio and HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from agent_ls.features.mcp.prompt_commands import prompt_commands, prompt_text
from agent_ls.features.mcp.resource_mentions import resource_mentions, resource_text
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, QuestionAsked
from tests.mcp.peers import MODULES, NODE, needs_peers, node, python
from tests.mcp.plans import user_file
from tests.mcp.rig import running, servers_of
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import SessionRig, Talk

pytestmark = [pytest.mark.req("T11"), needs_peers]


async def called(rig: SessionRig, calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[Talk, list[str]]:
    """Return the results of these calls, which the model makes in one input."""
    talk = await rig.talk("full", say="go")
    assert len(rig.results()) == len(calls)
    return talk, [str(it.content) for it in rig.results()]


def script_of(calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Piece]:
    return [
        *(tool_call(name, json.dumps(given), f"call_{n}") for n, (name, given) in enumerate(calls)),
        text("done"),
    ]


EVERYTHING: list[tuple[str, dict[str, Any], str]] = [
    ("echo", {"message": "hello"}, "hello"),
    ("get-sum", {"a": 2, "b": 3}, "5"),
    ("get-annotated-message", {"messageType": "success", "includeImage": False}, "success"),
    ("get-env", {}, "PATH"),
    ("get-resource-links", {"count": 2}, "[resource "),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "```"),
    ("get-structured-content", {"location": "New York"}, "temperature"),
    ("get-tiny-image", {}, "image"),
    ("trigger-long-running-operation", {"duration": 0.1, "steps": 2}, "completed"),
    ("get-roots-list", {}, "project"),
    ("gzip-file-as-resource", {"name": "a.gz", "data": "data:text/plain,hello"}, "a.gz"),
    ("toggle-simulated-logging", {}, "Started simulated"),
    ("toggle-subscriber-updates", {}, "Started simulated"),
]
ASKING = {"trigger-elicitation-request", "trigger-url-elicitation"}
"""Tools of the same server that ask the user. Tools for sampling are not listed to our client, and one that needs a
task is left out.
"""


@asynccontextmanager
async def by_http(port: int) -> AsyncIterator[str]:
    """Run the server `everything` with HTTP on loopback; yield its address."""
    words = [str(NODE), str(MODULES / "server-everything" / "dist" / "index.js"), "streamableHttp"]
    # The wheel's program node starts a child process, so the whole process group must be ended.
    process = subprocess.Popen(  # noqa: ASYNC220  # starting takes no time
        words, env={"PORT": str(port), "PATH": "/usr/bin"}, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stderr
        while b"listening" not in (line := await anyio.to_thread.run_sync(process.stderr.readline)):
            assert line, "the server has ended"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_every_tool_of_the_everything_server_can_be_called(tmp_path: Path, transport: str) -> None:
    calls = [(f"every__{name.replace('-', '_')}", given) for name, given, _ in EVERYTHING]
    async with by_http(free_port()) as url:
        entry = {"url": url} if transport == "http" else node("server-everything")
        user_file(tmp_path / "state", every=entry)
        async with running(tmp_path, script_of(calls), deferAtPercent=100) as rig:
            talk, results = await called(rig, calls)
            for (name, _, expected), result in zip(EVERYTHING, results, strict=True):
                assert expected in result, name
            server = servers_of(talk).servers[0]
            assert {it.name for it in server.tools} - ASKING == {name for name, _, _ in EVERYTHING}
            facts = server.description
            assert (facts.era, len(facts.prompts)) == ("legacy", 4) and len(facts.resources) >= 7


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_prompts_resources_and_progress_of_the_everything_server_are_supported(
    tmp_path: Path, transport: str
) -> None:
    slow: dict[str, Any] = {"duration": 0.1, "steps": 2}
    script: list[Piece] = [
        tool_call("every__trigger_long_running_operation", json.dumps(slow)),
        text("done"),
    ]
    async with by_http(free_port()) as url:
        entry = {"url": url} if transport == "http" else node("server-everything")
        user_file(tmp_path / "state", every=entry)
        async with running(tmp_path, script, deferAtPercent=100) as rig:
            talk = await rig.talk("full")
            texts: list[str] = []
            with talk.live.session.subscribe() as events:
                await talk.say("go")
                async for item in events:
                    texts.append(getattr(item.envelope.event, "text", ""))
                    if item.envelope.kind == "processing_end":
                        break
            assert "1/2" in "".join(texts) and "2/2" in "".join(texts)
            words = {
                "every:simple-prompt": ("", "a simple prompt without arguments"),
                "every:args-prompt": ("Paris France", "Paris"),
                "every:completable-prompt": ("Engineering Alice", "promote Alice"),
                "every:resource-prompt": ("Text 1", "Resource 1"),
            }
            assert {it.name for it in prompt_commands(talk.live.servers)} == set(words)
            for name, (arguments, expected) in words.items():
                assert expected in await prompt_text(talk.live.servers, name, arguments), name
            resources = resource_mentions(talk.live.servers)
            assert len(resources) == 7
            for resource in resources:
                content = await resource_text(talk.live.servers, "every", resource.uri)
                assert "server every" in content and "resource is empty" not in content


async def test_the_url_of_a_url_elicitation_is_displayed_and_not_opened(tmp_path: Path) -> None:
    user_file(tmp_path / "state", every=node("server-everything"))
    page: dict[str, Any] = {"url": "http://127.0.0.1:9/page", "message": "Log in there"}
    script: list[Piece] = [tool_call("every__trigger_url_elicitation", json.dumps(page)), text("done")]
    async with running(tmp_path, script, deferAtPercent=100) as rig:
        talk = await rig.talk("full")  # the call still needs approval, because it names a host
        asked: list[QuestionAsked] = []
        with anyio.fail_after(240), talk.live.session.subscribe() as events:
            talk.live.session.submit("go")
            async for item in events:
                event = item.envelope.event
                if isinstance(event, ApprovalRequested):
                    assert event.effect["hosts"] == ["127.0.0.1"]
                    talk.live.approver.answer(event.request_id, ApprovalAnswer("allow", decided_by="test"))
                if isinstance(event, QuestionAsked):
                    asked.append(event)
                    talk.live.session.questions.reply("Decline", "")
                if item.envelope.kind == "processing_end":
                    break
        [question] = asked
        assert "http://127.0.0.1:9/page" in question.question and "not open" in question.question
        assert "declin" in str(rig.results()[0].content).lower()


async def test_elicitation_questions_of_the_everything_server_reach_the_user(tmp_path: Path) -> None:
    user_file(tmp_path / "state", every=node("server-everything"))
    calls: list[tuple[str, dict[str, Any]]] = [("every__trigger_elicitation_request", {})]
    async with running(tmp_path, script_of(calls), deferAtPercent=100) as rig:
        talk = await rig.talk("full")
        asked: list[QuestionAsked] = []
        with anyio.fail_after(240), talk.live.session.subscribe() as events:
            talk.live.session.submit("go")
            async for item in events:
                event = item.envelope.event
                if isinstance(event, QuestionAsked):
                    asked.append(event)
                    words = (
                        "Ada" if "name" in event.question.lower() and len(asked) > 1 else event.choices[-1]
                    )
                    words = "Answer" if len(asked) == 1 else words
                    talk.live.session.questions.reply(words, "")
                if item.envelope.kind == "processing_end":
                    break

        assert "server every asks" in asked[0].question
        assert "Ada" in str(rig.results()[0].content)


async def test_the_filesystem_server_gets_its_folders_from_the_session(tmp_path: Path) -> None:
    user_file(tmp_path / "state", fs=node("server-filesystem", str(tmp_path / "elsewhere")))
    (tmp_path / "elsewhere").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("hello")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("fs__read_text_file", {"path": str(project / "a.txt")}),
        ("fs__list_directory", {"path": str(project)}),
        ("fs__read_text_file", {"path": "/etc/passwd"}),
    ]
    async with running(tmp_path, script_of(calls), deferAtPercent=100) as rig:
        _, results = await called(rig, calls)
        assert "hello" in results[0] and "a.txt" in results[1] and "denied" in results[2].lower()


async def test_the_memory_server_stores_and_finds_an_entity(tmp_path: Path) -> None:
    entry = {**node("server-memory"), "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}}
    user_file(tmp_path / "state", memory=entry)
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory__create_entities", {"entities": [ada]}),
        ("memory__search_nodes", {"query": "programs"}),
    ]
    async with running(tmp_path, script_of(calls), deferAtPercent=100) as rig:
        _, results = await called(rig, calls)
        assert "Ada" in results[1]


async def test_time_git_and_fetch_servers_from_pypi_can_be_called_with_the_modern_protocol(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)  # noqa: ASYNC221  # before anything runs
    user_file(
        tmp_path / "state",
        time=python("mcp-server-time"), git=python("mcp-server-git"), fetch=python("mcp-server-fetch"),
    )  # fmt: skip
    calls: list[tuple[str, dict[str, Any]]] = [
        ("time__get_current_time", {"timezone": "Europe/Berlin"}),
        ("git__git_status", {"repo_path": str(project)}),
        ("fetch__fetch", {"url": "http://127.0.0.1:1/"}),
    ]
    async with running(tmp_path, script_of(calls), deferAtPercent=100) as rig:
        talk, results = await called_with_hosts(rig)
        assert "Europe/Berlin" in results[0] and "No commits yet" in results[1]
        assert "127.0.0.1" in results[2]
        assert {it.description.era for it in servers_of(talk).servers} == {"modern"}


async def called_with_hosts(rig: SessionRig) -> tuple[Talk, list[str]]:
    talk = await rig.talk("full", say="go")
    return talk, [str(it.content) for it in rig.results()]


def test_the_http_library_of_the_sdk_is_installed() -> None:
    assert httpx2.__version__
