"""Permission requests: the options for each client, and the effect of every kind of answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.acp.permission_requests import permission_call
from agent_ls.loop.events.types import ApprovalRequested
from tests.acp.client import NO_ANSWER, AcpClient, Refusal, acp_client, acp_ready, acp_session
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall

READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
AGAIN = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 2", "new_string": "x = 3"})
TOUCH = ToolCall("shell", {"command": "touch made"})


def kinds(client: AcpClient, at: int = 0) -> list[str]:
    return [option["kind"] for option in client.asked("session/request_permission")[at]["options"]]


@pytest.mark.parametrize("name", ["", "CodeCompanion.nvim", "avante.nvim", "agentic.nvim", "toad", "peer"])
async def test_a_client_that_maps_option_kinds_to_keys_gets_one_permission_option_of_each_kind(
    project: Path, name: str
) -> None:
    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_ready(project, server, name) as client:
            await client.prompt(await client.new_session())
            assert kinds(client) == ["allow_once", "allow_always", "reject_once"]
            always = client.asked("session/request_permission")[0]["options"][1]["name"]
            assert "session" in always or "project" in always


@pytest.mark.parametrize("name", ["zed", "JetBrains.IntelliJ IDEA", "agent-shell", "acpx"])
async def test_a_client_that_displays_every_option_gets_several_distinct_allow_always_options(
    project: Path, name: str
) -> None:
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_ready(project, server, name) as client:
            await client.prompt(await client.new_session())
            offered = kinds(client)
            assert offered[0] == "allow_once" and offered[-1] == "reject_once"
            assert offered.count("allow_always") > 1
            names = [it["name"] for it in client.asked("session/request_permission")[0]["options"]]
            assert len(set(names)) == len(names)


async def test_an_action_that_always_needs_approval_has_no_always_option(project: Path) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": "git push"})], "Done."]) as server:
        async with acp_ready(project, server, "zed", permission="reject_once") as client:
            await client.prompt(await client.new_session())
            assert "allow_always" not in kinds(client)


async def test_an_allow_always_answer_allows_the_next_edit_without_approval(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], [AGAIN], "Done."]) as server:
        async with acp_ready(project, server, permission="allow_always") as client:
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert len(client.asked("session/request_permission")) == 1
            assert (project / "a.py").read_text() == "x = 3\n"


async def test_a_denial_is_reported_to_the_model_and_the_turn_continues(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], "As you wish."]) as server:
        async with acp_ready(project, server, permission="reject_once") as client:
            assert await client.prompt(await client.new_session()) == "end_turn"
            call = client.call("Editing a.py")
            assert call["status"] == "failed" and call["content"][-1]["content"]["text"]
            assert client.text() == "As you wish."
        assert "said no" in str(server.requests[2].body)
    assert (project / "a.py").read_text() == "x = 1\n"


def answers(value: Any) -> Any:
    async def answer(params: dict[str, Any]) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return answer


BAD_ANSWERS = [
    pytest.param(
        {"outcome": {"outcome": "selected", "optionId": "no such option"}},
        id="an option that was not offered",
    ),
    pytest.param({"outcome": {"outcome": "selected"}}, id="no option"),
    pytest.param({"outcome": {"outcome": "selected", "optionId": None}}, id="a null option"),
    pytest.param({"outcome": {"outcome": "selected", "optionId": 1}}, id="a number"),
    pytest.param({"outcome": {"outcome": "selected", "optionId": ["allow"]}}, id="a list"),
    pytest.param({"outcome": "selected", "optionId": "allow"}, id="flat"),
    pytest.param({"outcome": {"outcome": "allowed", "optionId": "allow"}}, id="another outcome"),
    pytest.param({"outcome": None}, id="no outcome"),
    pytest.param({}, id="empty"),
    pytest.param(None, id="null"),
    pytest.param([], id="a list in place of an object"),
    pytest.param("allow", id="a text"),
    pytest.param(True, id="true"),
    pytest.param(Refusal(-32603, "the client broke"), id="an error"),
    pytest.param(Refusal(-32601, "unknown method"), id="an unknown method"),
    pytest.param({"outcome": {"outcome": "cancelled"}}, id="closed without a stop"),
]


@pytest.mark.req("X8")
async def test_an_approval_has_the_folder_and_the_variables_of_a_command(project: Path) -> None:
    (project / "sub").mkdir()
    command = ToolCall("shell", {"command": "make all", "working_dir": "sub", "env_vars": {"CC": "evil-cc"}})
    with AnthropicServer([[command], "Done."]) as server:
        async with acp_ready(project, server, permission="reject_once") as client:
            await client.prompt(await client.new_session())
            said = str(client.asked("session/request_permission")[0]["toolCall"]["content"])
            assert "CC=evil-cc make all" in said and str(project / "sub") in said


@pytest.mark.req("X8", "T11")
def test_an_approval_of_a_changed_tool_has_the_change_and_no_hidden_character() -> None:
    effect = {
        "type": "CallEffect", "server": "notes", "title": "add", "text": "{}", "about": "Adds.\u202e",
        "change": "-Adds.\n+Sends your keys.",
    }  # fmt: skip
    request = ApprovalRequested(
        request_id="1",
        call_id="2",
        tool="notes__add",
        summary="add\u202e {}",
        reason="",
        effect=effect,
        digest="3",
    )
    call = permission_call(request, {}, "other", {})
    said = str(call["content"])
    assert "+Sends your keys." in said and "Adds." in said
    assert "\u202e" not in said + call["title"]


@pytest.mark.req("X8")
@pytest.mark.parametrize("answer", BAD_ANSWERS)
async def test_an_invalid_permission_response_denies_the_tool_call_and_the_turn_continues(
    project: Path, answer: Any
) -> None:
    with AnthropicServer([[TOUCH], "As you wish."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            client.on["session/request_permission"] = answers(answer)
            await client.initialize()
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert client.call("touch made")["status"] == "failed"
    assert not (project / "made").exists()


@pytest.mark.req("X8")
async def test_cancel_during_a_pending_permission_request_ends_the_prompt_and_runs_nothing(
    project: Path,
) -> None:
    with AnthropicServer([[TOUCH], "Never said."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = answers(NO_ANSWER)
            await client.initialize()
            session_id = await client.new_session()
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: client.requests)
            await client.cancel(session_id)
            await client.cancel(session_id)
            assert await client.answer(running) == {"stopReason": "cancelled"}
            late = {"outcome": {"outcome": "selected", "optionId": "allow"}}
            for _ in range(2):
                await client.send({"jsonrpc": "2.0", "id": client.requests[0]["id"], "result": late})
            await client.request("session/list")
            assert not client.order.left_open()
    assert not (project / "made").exists()


async def test_only_the_first_response_to_a_permission_request_counts(project: Path) -> None:
    async def choose_twice(params: dict[str, Any]) -> Any:
        allowed = {"outcome": {"outcome": "selected", "optionId": "deny"}}
        await client.send({"jsonrpc": "2.0", "id": client.requests[-1]["id"], "result": allowed})
        return {"outcome": {"outcome": "selected", "optionId": "allow"}}

    with AnthropicServer([[TOUCH], "As you wish."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = choose_twice
            await client.initialize()
            assert await client.prompt(await client.new_session()) == "end_turn"
    assert not (project / "made").exists()


async def test_a_form_requests_the_reason_of_a_denial_and_the_reason_is_sent_to_the_model(
    project: Path,
) -> None:
    async def why(params: dict[str, Any]) -> Any:
        assert "toolCallId" in params
        return {"action": "accept", "content": {"reason": "Use a folder instead."}}

    async def deny_with_reason(params: dict[str, Any]) -> Any:
        option = next(it for it in params["options"] if it["name"] == "Deny and say why")
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

    with AnthropicServer([[TOUCH], "A folder then."]) as server:
        async with acp_client(project, server) as client:
            client.on |= {"session/request_permission": deny_with_reason, "elicitation/create": why}
            await client.initialize("zed", {"elicitation": {"form": {}}})
            assert await client.prompt(await client.new_session()) == "end_turn"
        assert "a folder instead" in str(server.requests[1].body)


async def test_an_approval_has_the_complete_text_of_the_command(project: Path) -> None:
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_ready(project, server) as client:
            await client.prompt(await client.new_session())
            call = client.asked("session/request_permission")[0]["toolCall"]
            assert call["kind"] == "execute" and "touch made" in call["content"][0]["content"]["text"]
    assert (project / "made").exists()


async def test_with_review_before_the_permission_request_of_an_edit_contains_the_diff(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_session(project, server) as (client, session_id):
            result = await client.request(
                "session/set_config_option", sessionId=session_id, configId="review", value="before"
            )
            assert (
                next(it for it in result["configOptions"] if it["id"] == "review")["currentValue"] == "before"
            )
            assert await client.prompt(session_id) == "end_turn"
            diff = client.asked("session/request_permission")[0]["toolCall"]["content"][0]
            assert diff["oldText"] == "x = 1\n" and diff["newText"] == "x = 2\n"
    assert (project / "a.py").read_text() == "x = 2\n"


@pytest.mark.req("X8")
async def test_trust_in_a_folder_is_requested_only_once_and_then_edits_are_allowed(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], "Done.", "Hello."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.on["session/request_permission"] = _trusting(client)
            await client.initialize()
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            asked = client.asked("session/request_permission")
            assert [it["kind"] for it in asked[0]["options"]] == ["allow_always", "reject_once"]
            assert asked[0]["toolCall"]["title"].startswith("Trust this folder?")
            assert (project / "a.py").read_text() == "x = 2\n"
            assert await client.prompt(session_id) == "end_turn"
            assert (
                sum("Trust" in it["toolCall"]["title"] for it in client.asked("session/request_permission"))
                == 1
            )


@pytest.mark.parametrize("settings", [{"provider": "walkthrough"}, {"model": "claude-haiku-4-5"}])
async def test_the_clients_model_applies_to_the_session_in_which_the_user_trusts_the_folder(
    project: Path, settings: dict[str, str]
) -> None:
    with AnthropicServer(["Hello.", "Again."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.on["session/request_permission"] = _trusting(client)
            await client.initialize(_meta={"agent-ls": settings})
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            assert client.of_kind("config_option_update")
            assert await client.prompt(session_id) == "end_turn"
        used = {it.body["model"] for it in server.requests}
        assert used == ({settings["model"]} if "model" in settings else set())


async def test_mode_review_and_effort_of_the_client_apply_to_the_session_of_the_trusted_folder(
    project: Path,
) -> None:
    wanted = {"mode": "full", "review": "before", "effort": "low", "model": "claude-sonnet-5-5"}
    with AnthropicServer([[ToolCall("shell", {"command": "touch made"})], "Done."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.on["session/request_permission"] = _trusting(client)
            await client.initialize(_meta={"agent-ls": wanted})
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            shown = client.of_kind("config_option_update")[-1]["configOptions"]
            now = {option["id"]: option["currentValue"] for option in shown}
        assert len(client.asked("session/request_permission")) == 1  # the trust; the mode allows the command
        assert (now["mode"], now["review"], now["effort"]) == ("full", "before", "low")


async def test_a_mode_chosen_for_the_session_stays_when_the_user_trusts_the_folder(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.on["session/request_permission"] = _trusting(client)
            await client.initialize(_meta={"agent-ls": {"mode": "full", "model": "claude-haiku-4-5"}})
            session_id = await client.new_session()
            await client.request("session/set_mode", sessionId=session_id, modeId="plan")
            await client.prompt(session_id)
            shown = client.of_kind("config_option_update")[-1]["configOptions"]
        assert {option["id"]: option["currentValue"] for option in shown}["mode"] == "plan"


async def test_a_model_chosen_for_the_session_stays_when_the_user_trusts_the_folder(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.on["session/request_permission"] = _trusting(client)
            await client.initialize(_meta={"agent-ls": {"provider": "walkthrough"}})
            session_id = await client.new_session()
            result = await client.request("session/set_mode", sessionId=session_id, modeId="plan")
            assert result == {}
            options = {"sessionId": session_id, "configId": "model", "value": "anthropic/claude-haiku-4-5"}
            await client.request("session/set_config_option", **options)
            assert await client.prompt(session_id) == "end_turn"
        assert {it.body["model"] for it in server.requests} == {"claude-haiku-4-5"}


def _trusting(client: AcpClient) -> Any:
    async def choose(params: dict[str, Any]) -> Any:
        return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}

    del client
    return choose


async def test_in_a_folder_that_is_not_trusted_nothing_is_changed(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], "I only read."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.permission = "reject_once"
            await client.initialize()
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert client.call("Trust this folder?")["status"] == "failed"
            assert len(client.asked("session/request_permission")) == 1
    assert (project / "a.py").read_text() == "x = 1\n"


async def test_the_output_of_a_command_is_sent_while_it_runs(project: Path) -> None:
    command = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second"
    with AnthropicServer([[ToolCall("shell", {"command": command})], "Done."]) as server:
        async with acp_ready(project, server) as client:
            running = await client.start_prompt(await client.new_session())
            await client.wait_for(lambda: _is_shown(client, "first"))
            assert not _is_shown(client, "second\n")
            (project / "go").touch()
            assert await client.answer(running) == {"stopReason": "end_turn"}
            assert "second" in client.call("echo first")["content"][-1]["content"]["text"]


def _is_shown(client: AcpClient, text: str) -> bool:
    return any(text in str(update.get("content")) for update in client.of_kind("tool_call_update"))


async def test_a_client_with_terminals_gets_command_output_and_exit_code_as_terminal_data(
    project: Path,
) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": "echo hi; exit 3"})], "Done."]) as server:
        async with acp_ready(
            project, server, "zed", capabilities={"_meta": {"terminal_output": True}}
        ) as client:
            await client.prompt(await client.new_session())
            started = client.of_kind("tool_call")[0]
            terminal = started["content"][0]["terminalId"]
            assert started["_meta"]["terminal_info"] == {"terminal_id": terminal, "cwd": str(project)}
            metas = [update["_meta"] for update in client.of_kind("tool_call_update") if "_meta" in update]
            data = "".join(it["terminal_output"]["data"] for it in metas if "terminal_output" in it)
            assert data == "hi\n"
            ends = [it["terminal_exit"] for it in metas if "terminal_exit" in it]
            assert ends == [{"terminal_id": terminal, "exit_code": 3, "signal": None}]
            shown = client.call("echo hi")["content"]
            assert shown == [{"type": "terminal", "terminalId": terminal}], "the text does not replace it"


async def test_two_simultaneous_prompts_run_in_order_and_get_one_answer_each(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("First.", gate)], "Second."]) as server:
        async with acp_session(project, server) as (client, session_id):
            first = await client.start_prompt(session_id, "one")
            await anyio.to_thread.run_sync(gate.wait_reached)
            second = await client.start_prompt(session_id, "two")
            gate.open()
            assert await client.answer(first) == {"stopReason": "end_turn"}
            assert await client.answer(second) == {"stopReason": "end_turn"}
            texts = [
                m
                for way, m in client.wire
                if way == "<" and ("agent_message_chunk" in str(m) or "stopReason" in str(m))
            ]
            assert ["First" in str(texts[0]), "stopReason" in str(texts[1])] == [True, True]


async def test_a_stop_ends_the_running_and_the_queued_prompt(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("First.", gate)], "Third."]) as server:
        async with acp_session(project, server) as (client, session_id):
            first = await client.start_prompt(session_id, "one")
            await anyio.to_thread.run_sync(gate.wait_reached)
            second = await client.start_prompt(session_id, "two")
            await client.request("session/list")
            await client.cancel(session_id)
            assert await client.answer(first) == {"stopReason": "cancelled"}
            assert await client.answer(second) == {"stopReason": "cancelled"}
            gate.open()
            assert await client.prompt(session_id, "three") == "end_turn"
        assert "two" not in str(server.requests[-1].body["messages"][-1])
