"""Rules over real stdio: stored with an approval, listed, counted and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import environment, run
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import served_session


@pytest.mark.req("H7")
async def test_a_stored_approval_rule_is_listed_by_the_server_and_the_command_line_and_can_be_deleted(
    tmp_path: Path,
) -> None:
    calls = [ToolCall("shell", {"command": f"touch {name}"}) for name in ("a", "b")]
    with AnthropicServer([[calls[0]], "One.", [calls[1]], "Two."]) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            request = await found.client.event("approval_requested")
            rule = next(rule for rule in request["data"]["rules"] if rule["scope"] == "project")
            assert rule["id"] == "words:touch" and rule["allows"] and rule["stillAsked"]
            await found.editor.approve(request, scope="project", ruleId=rule["id"])
            await found.client.event("processing_end")

            folder = found.project.as_uri()
            (held,) = (await found.client.request("agent/rules", {"workspaceFolder": folder}))["rules"]
            assert (held["id"], held["scope"], held["workspace"]) == (
                rule["id"],
                "project",
                str(found.project),
            )
            home = environment(tmp_path / "home", AGENT_LS_STATE_DIR=str(found.state))
            listed = run("policy", "list", cwd=found.project, environ=home)
            assert rule["id"] in listed.out and listed.code == 0
            assert (
                "your rule"
                in run("policy", "explain", "touch c", "--mode", "ask", cwd=found.project, environ=home).out
            )

            removed = run("policy", "remove", "1", cwd=found.project, environ=home)
            assert removed.code == 0 and "removed" in removed.out
            assert (await found.client.request("agent/rules", {}))["rules"] == []
            assert run("policy", "remove", "1", cwd=found.project, environ=home).code == 1
            taken = await found.change("removeRule", session_id, ruleId=rule["id"])
            assert taken == {"removed": 0}
