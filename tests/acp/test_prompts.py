"""Contents of a prompt (text, images, links to files and lines, embedded texts), and the model's questions to the
user.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.acp.errors import RpcError
from agent_ls.acp.prompts import file_and_lines, read_prompt
from tests.acp.client import acp_client, acp_ready, acp_session
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall

PIXEL = base64.b64encode(
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    )
).decode()
ASK = ToolCall("ask_user", {"question": "Which colour?", "choices": ["red", "blue"]})

LINKS = [
    ("file:///p/a.py", ("/p/a.py", None)),
    ("file:///p/a.py#L3-9", ("/p/a.py", (3, 9))),
    ("file:///p/a.py#L3-L9", ("/p/a.py", (3, 9))),
    ("file:///p/a.py#L3:9", ("/p/a.py", (3, 9))),
    ("file:///p/a.py:3:9", ("/p/a.py", (3, 9))),
    ("file:///p/a%20b.py#L7", ("/p/a b.py", (7, 7))),
    ("FILE://localhost/p/a.py", ("/p/a.py", None)),
    ("file://elsewhere/p/a.py", ("", None)),
    ("https://example.org/a.py#L3", ("", None)),
    ("zed:///agent/symbol", ("", None)),
    ("zed:///agent/symbol/f?path=/p/a%20b.py#L3:9", ("/p/a b.py", (3, 9))),
    ("zed:///agent/selection?path=/p/a.py#L7", ("/p/a.py", (7, 7))),
    ("zed:///agent/rule/1?name=style", ("", None)),
]


@pytest.mark.parametrize(("uri", "found"), LINKS)
def test_a_file_uri_is_parsed_into_a_path_and_a_line_range(
    uri: str, found: tuple[str, tuple[int, int] | None]
) -> None:
    assert file_and_lines(uri) == found


def test_content_blocks_become_one_text_and_images() -> None:
    prompt = read_prompt(
        [
            {"type": "text", "text": "Look at"},
            {"type": "resource_link", "uri": "file:///p/a.py#L3-9", "name": "a.py"},
            {"type": "resource", "resource": {"uri": "file:///p/b.py", "text": "key sk-1 ```"}},
            {"type": "resource_link", "uri": "https://example.org", "name": "Example"},
            {"type": "image", "mimeType": "image/png", "data": PIXEL},
            {"type": "hologram", "x": 1},
        ],
        clean=lambda text: text.replace("sk-1", "[removed]"),
    )
    assert "File: /p/a.py, lines 3 to 9" in prompt.text
    assert "Attached: /p/b.py\n````\nkey [removed] ```\n````" in prompt.text
    assert "Link: Example: https://example.org" in prompt.text
    assert "hologram" in prompt.text
    assert len(prompt.images) == 1


@pytest.mark.parametrize(
    ("uri", "thing"),
    [
        ("zed:///agent/terminal-selection?lines=3", "the terminal selection"),
        ("zed:///agent/diagnostics", "the diagnostics"),
        ("zed:///agent/rule/5f?name=style", "the rule style"),
    ],
)
def test_a_link_to_a_thing_inside_of_the_editor_is_told_to_user_and_model(uri: str, thing: str) -> None:
    prompt = read_prompt(
        [{"type": "text", "text": "Look"}, {"type": "resource_link", "uri": uri, "name": "x"}]
    )
    assert uri not in prompt.text and thing in prompt.text
    (words,) = prompt.unread
    assert thing in words


def test_a_link_to_a_symbol_is_a_file_with_lines() -> None:
    uri = "zed:///agent/symbol/f?path=/p/a.py#L3:9"
    prompt = read_prompt([{"type": "resource_link", "uri": uri, "name": "f"}])
    assert "File: /p/a.py, lines 3 to 9" in prompt.text and not prompt.unread


async def test_the_user_reads_that_an_attached_thing_did_not_arrive(project: Path) -> None:
    blocks = [{"type": "resource_link", "uri": "zed:///agent/terminal-selection", "name": "t"}]
    with AnthropicServer(["ok"]) as provider:
        async with acp_ready(project, provider) as client:
            assert await client.prompt(await client.new_session(), blocks) == "end_turn"
            assert "terminal selection" in client.text("agent_thought_chunk")


async def test_a_typed_name_of_a_missing_file_is_named_but_not_one_in_an_attached_text(project: Path) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "Compare @src/none.py"},
        {"type": "resource", "resource": {"uri": "file:///p/b.md", "text": "see @other.md"}},
    ]
    with AnthropicServer(["ok"]) as provider:
        async with acp_ready(project, provider) as client:
            assert await client.prompt(await client.new_session(), blocks) == "end_turn"
            said = client.text("agent_thought_chunk")
            assert "@src/none.py" in said and "@other.md" not in said


def test_an_attached_ignored_file_is_not_sent_to_the_model() -> None:
    blocks = [{"type": "resource", "resource": {"uri": "file:///p/secret", "text": "hidden"}}]
    prompt = read_prompt(blocks, is_ignored=lambda path: path == "/p/secret")
    assert "hidden" not in prompt.text and "blocked by policy" in prompt.text


BAD: list[Any] = [
    None, "text", [], [{}], [1], [{"type": "text"}], [{"type": "text", "text": 5}], [{"type": "text", "text": "  "}],
    [{"type": "image", "mimeType": "image/bmp", "data": "Qk0="}],
    [{"type": "image", "mimeType": "image/png", "data": "%"}],
    [{"type": "image"}], [{"type": "resource_link"}], [{"type": "resource", "resource": None}],
]  # fmt: skip


@pytest.mark.parametrize("blocks", BAD, ids=range(len(BAD)))
def test_empty_blocks_are_left_out_and_malformed_ones_refused(blocks: Any) -> None:
    try:
        prompt = read_prompt(blocks)
    except RpcError as error:
        assert error.code == -32602 and str(error)
    else:
        assert prompt.text.startswith("[A part of the message was left out")


async def test_an_image_reaches_the_model(project: Path) -> None:
    with AnthropicServer(["A pixel."]) as server:
        async with acp_ready(project, server) as client:
            blocks = [
                {"type": "text", "text": "What is it?"},
                {"type": "image", "mimeType": "image/png", "data": PIXEL},
            ]
            assert await client.prompt(await client.new_session(), blocks) == "end_turn"
        assert PIXEL in str(server.requests[0].body)


async def test_a_question_is_asked_with_a_form(project: Path) -> None:
    async def answer(params: dict[str, Any]) -> Any:
        assert params["message"] == "Which colour?"
        return {"action": "accept", "content": {"answer": "blue"}}

    with AnthropicServer([[ASK], "Blue it is."]) as server:
        async with acp_client(project, server) as client:
            client.on["elicitation/create"] = answer
            await client.initialize("zed", {"elicitation": {"form": {}}})
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert client.text() == "Blue it is."
        assert "blue" in str(server.requests[1].body["messages"][-1])


@pytest.mark.parametrize(
    "action", [{"action": "decline"}, {"action": "cancel"}, {"action": "accept"}, {}, None, []]
)
async def test_a_cancelled_form_counts_as_declined(project: Path, action: Any) -> None:
    async def answer(params: dict[str, Any]) -> Any:
        return action

    with AnthropicServer([[ASK], "I decide."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            client.on["elicitation/create"] = answer
            await client.initialize("zed", {"elicitation": {"form": {}}})
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert client.text() == "I decide."


async def test_if_the_client_has_no_forms_the_next_prompt_answers_the_models_question(project: Path) -> None:
    with AnthropicServer([[ASK], "Red it is."]) as server:
        async with acp_session(project, server) as (client, session_id):
            assert await client.prompt(session_id) == "end_turn"
            assert "Which colour?" in client.text() and "- red" in client.text()
            assert await client.prompt(session_id, "red") == "end_turn"
            assert client.text().endswith("Red it is.")
        assert len(server.requests) == 2


async def test_a_plan_is_sent_completely_each_time(project: Path) -> None:
    steps = [{"text": "Look", "status": "done"}, {"text": "Change", "status": "active"}]
    plan = ToolCall("plan", {"items": steps})
    with AnthropicServer([[plan], "Planned."]) as server:
        async with acp_ready(project, server) as client:
            await client.prompt(await client.new_session())
            assert client.of_kind("plan")[-1]["entries"] == [
                {"content": "Look", "priority": "medium", "status": "completed"},
                {"content": "Change", "priority": "medium", "status": "in_progress"},
            ]


async def test_a_client_that_keeps_plans_gets_the_plan_with_an_id_and_its_removal(project: Path) -> None:
    plan = ToolCall("plan", {"items": [{"text": "Look", "status": "done"}]})
    with AnthropicServer([[plan], [ToolCall("plan", {"items": []})], "Planned."]) as server:
        async with acp_ready(project, server, capabilities={"plan": {}}) as client:
            await client.prompt(await client.new_session())
            (shown,) = client.of_kind("plan_update")
            assert [it["status"] for it in shown["plan"]["entries"]] == ["completed"]
            assert shown["plan"]["type"] == "items" and not client.of_kind("plan")
            (removed,) = client.of_kind("plan_removed")
            assert removed["planId"] == shown["plan"]["planId"]


async def test_steering_reaches_the_running_turn(project: Path) -> None:
    gate = Gate()
    look = ToolCall("read_file", {"file_path": "a.py"})
    with AnthropicServer([[Text("Working", gate), look], "As you said."]) as server:
        async with acp_client(project, server) as client:
            result = await client.initialize()
            assert result["_meta"] == {"steering": {"supported": True}}
            session_id = await client.new_session()
            words = [{"type": "text", "text": "Use tabs."}]
            steering = {"sessionId": session_id, "prompt": words}
            idle = {"_meta": {"steering": {"idleBehavior": "promptRequired"}}}
            assert await client.request("_session/steering", **steering, **idle) == {
                "outcome": "promptRequired"
            }
            running = await client.start_prompt(session_id)
            await anyio.to_thread.run_sync(gate.wait_reached)
            assert await client.request("_session/steering", **steering) == {"outcome": "injected"}
            gate.open()
            assert await client.answer(running) == {"stopReason": "end_turn"}
        assert "Use tabs." in str(server.requests[1].body["messages"][-1])


async def test_steering_of_an_idle_session_starts_a_turn(project: Path) -> None:
    with AnthropicServer(["Started."]) as server:
        async with acp_session(project, server) as (client, session_id):
            words = [{"type": "text", "text": "Go."}]
            answer = await client.request("_session/steering", sessionId=session_id, prompt=words)
            assert answer == {"outcome": "startedNewTurn"}
            await client.wait_for(lambda: client.text() == "Started.")


async def test_extension_methods_list_and_undo_hunks_and_list_and_remove_rules(project: Path) -> None:
    edit = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
    with AnthropicServer([[ToolCall("read_file", {"file_path": "a.py"})], [edit], "Done."]) as server:
        async with acp_ready(project, server, permission="allow_always") as client:
            session_id = await client.new_session()
            await client.prompt(session_id)
            found = (await client.request("_agent-ls/hunks", sessionId=session_id))["hunks"]
            assert [it["lines"] for it in found] == [["x = 2\n"]]
            assert found[0]["reason"] == "for “go”, step 2" and not found[0]["looked"]
            ids = [found[0]["id"], "no such hunk"]
            result = await client.request(
                "_agent-ls/review", sessionId=session_id, verdict="undo", hunkIds=ids
            )
            assert [it["state"] for it in result["changed"]] == ["undone"]
            assert [it["id"] for it in result["refused"]] == ["no such hunk"]
            rules = (await client.request("_agent-ls/rules", sessionId=session_id))["rules"]
            assert len(rules) == 1
            assert (await client.request("_agent-ls/rules", sessionId=session_id, remove=rules[0]["id"]))[
                "rules"
            ] == []
            assert (await client.request("_agent-ls/queue", sessionId=session_id)) == {"queue": []}
            assert (await client.refused("_agent-ls/unsteer", sessionId=session_id)).code == -32602
    assert (project / "a.py").read_text() == "x = 1\n"
