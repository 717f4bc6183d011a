"""Trust over real stdio: every client gets the question, decisions are listed and revoked, and an editor can report
trust.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from agent_ls.cli.sample import copy_sample_project
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.e2e.stock import chatting
from tests.support.commands import environment, run
from tests.support.editor import new_key
from tests.support.framed_client import CAPABILITIES, server_process
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import served_session

pytestmark = pytest.mark.req("X8", "H7")

EDIT = ToolCall("write_file", {"file_path": "made.txt", "content": "x"})


@pytest.fixture(autouse=True)
def _undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)


async def test_a_folder_is_trusted_by_an_approval_listed_by_all_clients_and_revoked(tmp_path: Path) -> None:
    with AnthropicServer([[EDIT], "Done.", [EDIT], "Refused."]) as provider:
        async with served_session(tmp_path, provider, say="go", mode="edits") as (found, session_id):
            request = await found.client.event("approval_requested", tool="trust")
            assert request["data"]["effect"]["folder"] == str(found.project)
            assert not provider.requests
            await found.editor.approve(request)
            await found.client.event("processing_end")
            assert (found.project / "made.txt").exists()

            folder = {"workspaceFolder": found.project.as_uri()}
            result = await found.client.request("agent/trust", folder)
            assert result["trust"] == "trusted" and result["workspaceFolder"] == found.project.as_uri()
            assert [kept["path"] for kept in result["folders"]] == [str(found.project)]
            home = environment(tmp_path / "home", AGENT_LS_STATE_DIR=str(found.state))
            home.pop(TRUST_VARIABLE)
            listed = run("trust", "list", cwd=found.project, environ=home)
            assert "trusted" in listed.out and str(found.project) in listed.out and listed.code == 0
            doctor = run("doctor", "--offline", cwd=found.project, environ=home)
            assert "is trusted" in doctor.out

            restricted = run("trust", "restrict", cwd=found.project, environ=home)
            assert restricted.code == 0 and "restricted" in restricted.out
            (found.project / "made.txt").unlink()
            await found.editor.submit(session_id, "go")
            await found.client.event("warning", code="restricted")
            await found.client.event("tool_call_end", errorKind="permission_denied")
            assert not (found.project / "made.txt").exists()

            forget = {**folder, "clientKey": new_key(), "decision": "forget"}
            assert (await found.client.request("agent/trust", forget))["trust"] == "unknown"
            assert run("trust", "forget", cwd=found.project, environ=home).code == 1


async def test_a_trust_request_answers_the_pending_approval(tmp_path: Path) -> None:
    with AnthropicServer(["Hello."]) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, _):
            await found.client.event("approval_requested", tool="trust")
            decided = {"clientKey": new_key(), "decision": "trust"}
            assert (await found.client.request("agent/trust", decided))["trust"] == "trusted"
            await found.client.event("approval_resolved", decision="allow")
            await found.client.event("processing_end", reason="completed")


@pytest.mark.parametrize("reported", [True, "yes", 1, None])
async def test_a_folder_that_the_editor_reports_as_trusted_is_trusted_but_not_stored(
    tmp_path: Path, reported: object
) -> None:
    project = tmp_path / "project"
    copy_sample_project(project)
    capabilities = deepcopy(CAPABILITIES["vscode"])
    capabilities["experimental"]["agentLs"]["workspaceTrusted"] = reported
    async with server_process(env={"AGENT_LS_STATE_DIR": str(tmp_path / "state")}) as server:
        # a setting with this name may come from a file of the folder, so it counts as an unknown setting
        options = {"agentLs": {"workspaceTrusted": True}}
        await server.client.initialize(
            folder=project, capabilities=capabilities, initializationOptions=options
        )
        here = await server.client.request("agent/trust", {})
        assert here["trust"] == ("trusted" if reported is True else "unknown") and here["folders"] == []
        elsewhere = await server.client.request("agent/trust", {"workspaceFolder": str(tmp_path)})
        assert elsewhere["trust"] == "unknown"


@pytest.mark.req("H8")
@pytest.mark.parametrize(
    ("title", "is_trusted"), [("Trust this folder", True), ("Do not trust it", False)], ids=str
)
async def test_an_editor_without_a_plugin_asks_for_folder_trust_in_a_prompt(
    tmp_path: Path, title: str, is_trusted: bool
) -> None:
    project = tmp_path / "project"
    copy_sample_project(project)
    before = (project / "shop" / "cart.py").read_bytes()
    shown: list[list[str]] = []

    def choose(titles: list[str]) -> str:
        shown.append(titles)
        return title if title in titles else "Allow once"

    async with chatting(project / "chat.agent.md") as editor:
        editor.on_prompt = choose
        await editor.say("Please fix the discount.")
        await editor.chat_until("## you\n\n", after="## agent")
        assert shown[0] == ["Do not trust it", "Trust this folder"]
        assert (len(shown) > 1) == is_trusted, "what is refused is not asked about"
    assert ((project / "shop" / "cart.py").read_bytes() != before) == is_trusted
