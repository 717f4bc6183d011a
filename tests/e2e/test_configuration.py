"""Settings that the server requests from the client over real stdio: when it requests them, and which of them apply.

Also: the problems that are shown to the user, and invalid answers.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from agent_ls.services.settings.layers import SETTINGS_VARIABLE
from tests.support.editor import Editor, new_key
from tests.support.framed_client import CAPABILITIES, DEADLINE_S, FramedClient, ResponseError, server_process
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H2")

ASKED = "workspace/configuration"
CHANGED = "workspace/didChangeConfiguration"


def capabilities(*, pull: bool = True, register: bool = False) -> dict[str, Any]:
    known = CAPABILITIES["vscode"]
    workspace = {
        **known["workspace"],
        "configuration": pull,
        "didChangeConfiguration": {"dynamicRegistration": register},
    }
    return {**known, "workspace": workspace}


class Answering:
    """A client that answers requests for its settings."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def __call__(self, params: Any) -> Any:
        self.asked.append(params)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@asynccontextmanager
async def configured(
    folder: Path, answering: Answering, *, trusted: bool = True, **first: Any
) -> AsyncIterator[FramedClient]:
    env = {} if trusted else {TRUST_VARIABLE: ""}
    async with server_process(env=env) as server:
        server.client.handlers[ASKED] = answering
        options = {"agentLs": {"walkthroughPauseMs": 0, "provider": "walkthrough", **first}}
        await server.client.initialize(
            folder=folder, capabilities=capabilities(), initializationOptions=options
        )
        yield server.client


async def new_session(client: FramedClient) -> dict[str, Any]:
    session: dict[str, Any] = (await client.request("agent/newSession", {"clientKey": new_key()}))["session"]
    return session


def shown(client: FramedClient) -> Sequence[str]:
    return [m["params"]["message"] for m in client.received if m.get("method") == "window/showMessage"]


async def test_the_first_session_uses_the_pulled_settings_over_those_of_initialize(
    tmp_path: Path,
) -> None:
    answering = Answering([{"mode": "plan", "effort": None, "userInstructions": "Be brief."}])
    async with configured(tmp_path, answering, mode="edits", effort="high") as client:
        session = await new_session(client)
        assert (session["mode"], session["effort"]) == ("plan", "high")
        assert answering.asked == [{"items": [{"section": "agentLs"}]}]
        assert not shown(client)


async def test_the_users_settings_file_has_lower_priority_than_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"mode": "plan", "effort": "high", "review": "before", "maxTurn": 1}')
    monkeypatch.setenv(SETTINGS_VARIABLE, str(own))
    answering = Answering([{"effort": "low"}])
    async with configured(tmp_path, answering, review="after") as client:
        session = await new_session(client)
        assert (session["mode"], session["effort"], session["review"]) == ("plan", "low", "after")
        (message,) = shown(client)
        assert str(own) in message and "maxTurns?" in message


@pytest.mark.report("anthropics/claude-code#7273")
async def test_an_invalid_users_settings_file_is_reported_and_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"mode": "plan"')
    monkeypatch.setenv(SETTINGS_VARIABLE, str(own))
    async with configured(tmp_path, Answering([{}])) as client:
        assert (await new_session(client))["mode"] == "ask"
        (message,) = shown(client)
        assert str(own) in message and "not JSON" in message
    assert own.read_text() == '{"mode": "plan"' and [it for it in os.listdir(tmp_path) if "own" in it] == [
        "own.json"
    ]


async def test_the_settings_are_pulled_again_after_a_change_notification(tmp_path: Path) -> None:
    answering = Answering([{"mode": "plan"}], [{"mode": "edits"}], [{}])
    async with configured(tmp_path, answering) as client:
        assert (await new_session(client))["mode"] == "plan"
        await client.notify(CHANGED, {"settings": None})
        assert (await new_session(client))["mode"] == "edits"
        await client.notify(CHANGED, {"settings": {"other": {}}})
        assert (await new_session(client))["mode"] == "ask"
        assert len(answering.asked) == 3


async def test_settings_in_a_change_notification_are_used_without_a_configuration_request(
    tmp_path: Path,
) -> None:
    answering = Answering([None])
    async with configured(tmp_path, answering) as client:
        await client.notify(CHANGED, {"settings": {"agentLs": {"mode": "plan"}}})
        assert (await new_session(client))["mode"] == "plan"
        await client.notify(CHANGED, {"settings": {"agentLs": {}}})
        assert (await new_session(client))["mode"] == "ask"
        assert len(answering.asked) == 1


@pytest.mark.req("R5")
async def test_an_invalid_setting_is_reported_once_with_the_allowed_values_and_keeps_the_last_value(
    tmp_path: Path,
) -> None:
    wrong = [{"mode": "yolo", "maxTurns": "many", "mood": 1}]
    answering = Answering([{"mode": "plan"}], wrong, wrong, [{"mode": 3}])
    async with configured(tmp_path, answering) as client:
        assert (await new_session(client))["mode"] == "plan"
        for _ in range(2):
            await client.notify(CHANGED, {"settings": None})
            assert (await new_session(client))["mode"] == "plan"
        messages = shown(client)
        assert [one.split(":")[0] for one in messages] == ["agentLs.mode", "agentLs.maxTurns", "agentLs.mood"]
        assert '"yolo"' in messages[0] and "'plan'" in messages[0] and '"many"' in messages[1]
        await client.notify(CHANGED, {"settings": None})
        assert (await new_session(client))["mode"] == "plan"
        assert len(shown(client)) == 4


@pytest.mark.req("R5")
async def test_an_invalid_configuration_response_leaves_the_settings_unchanged(tmp_path: Path) -> None:
    answers: list[Any] = [
        None, {}, [], [None], [7], [[]], "words", [{}, {}], [{"agentLs": {"mode": "full"}}],
        ResponseError({"code": -1, "message": "no"}),
    ]  # fmt: skip
    answering = Answering(*answers)
    async with configured(tmp_path, answering, mode="plan") as client:
        for count, answer in enumerate(answers, start=1):
            assert (await new_session(client))["mode"] == "plan", answer
            assert len(answering.asked) == count
            await client.notify(CHANGED, {"settings": None})


@pytest.mark.req("R5")
async def test_a_session_starts_if_the_client_never_answers_the_configuration_request(tmp_path: Path) -> None:
    never = anyio.Event()

    class Silent(Answering):
        async def __call__(self, params: Any) -> Any:
            await never.wait()

    async with configured(tmp_path, Silent(None), mode="plan") as client:
        assert (await new_session(client))["mode"] == "plan"
        never.set()


@pytest.mark.parametrize(("pull", "options"), [(True, None), (False, {"section": "agentLs"})])
async def test_change_notifications_are_registered_if_the_client_supports_it(
    pull: bool, options: Any, tmp_path: Path
) -> None:
    registered: list[Any] = []

    async def register(params: Any) -> None:
        registered.extend(params["registrations"])

    async with server_process() as server:
        server.client.handlers["client/registerCapability"] = register
        server.client.handlers[ASKED] = Answering([None])
        await server.client.initialize(folder=tmp_path, capabilities=capabilities(pull=pull, register=True))
        await server.client.wait_for(lambda m: m.get("method") == "client/registerCapability")
        with anyio.fail_after(DEADLINE_S):
            while not registered:
                await anyio.lowlevel.checkpoint()
    (one,) = registered
    assert (one["method"], one.get("registerOptions")) == (CHANGED, options)


async def test_a_client_without_pull_support_gets_no_configuration_request(tmp_path: Path) -> None:
    async with server_process() as server:
        await server.client.initialize(folder=tmp_path, capabilities=capabilities(pull=False))
        await server.client.notify(CHANGED, {"settings": None})
        await new_session(server.client)
        methods = {message.get("method") for message in server.client.received}
    assert not methods & {ASKED, "client/registerCapability"}


@pytest.mark.req("X8")
async def test_permissive_settings_of_an_untrusted_folder_apply_only_after_the_folder_is_trusted(
    tmp_path: Path,
) -> None:
    answering = Answering([{"mode": "full", "review": "before", "webFetch": True}])
    async with configured(tmp_path, answering, trusted=False) as client:
        session = await new_session(client)
        assert (session["mode"], session["review"]) == ("ask", "before")
        assert sorted(one.split(":")[0] for one in shown(client)) == ["agentLs.mode", "agentLs.webFetch"]
        await client.notify(CHANGED, {"settings": None})
        assert (await new_session(client))["mode"] == "ask"
        assert len(shown(client)) == 2
        await client.request("agent/trust", {"clientKey": new_key(), "decision": "trust"})
        assert (await new_session(client))["mode"] == "full"


@pytest.mark.req("H8", "E1")
async def test_a_change_of_the_save_setting_applies_to_an_open_session(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("old\n")
    look = [ToolCall("shell", {"command": "cat a.py"})]
    with AnthropicServer([look, "One.", look, "Two."]) as provider:
        env = {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
        async with server_process(env=env) as server, anyio.create_task_group() as tasks:
            editor = Editor(server.client)
            await editor.start(project, save="never")
            await editor.open(project / "a.py")
            await editor.type(project / "a.py", 0, "# mine\n")
            tasks.start_soon(editor.do_as_asked)
            session_id = await editor.new_session(provider="anthropic")
            outputs = []
            for count, save in enumerate(("never", "auto")):
                await server.client.notify(CHANGED, {"settings": {"agentLs": {"save": save}}})
                await editor.new_session()  # waits until the settings are applied
                await editor.submit(session_id, "go")
                await server.client.wait_for(ended(count + 1))
                saves = [e["data"] for e in server.client.events if e["kind"] == "save_requested"]
                assert [save["paths"] for save in saves] == [[str(project / "a.py")]] * count
                outputs.append(
                    [e["data"]["output"] for e in server.client.events if e["kind"] == "tool_call_end"][-1]
                )
            tasks.cancel_scope.cancel()
    assert outputs[0].startswith("old\n") and outputs[1].startswith("# mine\nold\n")


def ended(count: int) -> Callable[[dict[str, Any]], bool]:
    """Return a predicate for the end of this many turns."""
    seen: set[int] = set()

    def fits(message: dict[str, Any]) -> bool:
        params = message.get("params") or {}
        if message.get("method") == "agent/event" and params.get("kind") == "processing_end":
            seen.add(params["seq"])
        return len(seen) >= count

    return fits
