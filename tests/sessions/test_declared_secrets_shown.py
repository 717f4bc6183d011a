"""Values that the user declares are in no message to an ACP client, and in nothing that a page of the panel gets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_ls.panel.page import PageMissingError, load_page
from tests.acp.client import acp_client
from tests.features.hooks.test_session import write_hooks
from tests.sessions.test_declared_secrets import DECLARED, VALUE
from tests.support.commands import provider_variables
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.panel import panel

pytestmark = [
    pytest.mark.req("T10", "X9"),
    pytest.mark.group("processes"),
    pytest.mark.skipif(os.name == "nt", reason="the hook and the tool are POSIX commands"),
]
JOINED = f"printf '%s%s\\n' {VALUE[:9]} {VALUE[9:]}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "home" / "state").mkdir(parents=True)
    return tmp_path / "home"


def declare(declared: dict[str, Any], state: Path) -> None:
    """Write the files of a user who has declared the value, and a hook and a tool that print it."""
    write_hooks(state / "hooks.json", PostToolUse=f"{JOINED} >&2; exit 2")
    tool = {"name": "show", "description": "Show.", "category": "read", "cmd": "env"}
    (state / "tools.yaml").write_text(yaml.safe_dump({"tools": [{**tool, "env": declared.get("tool", {})}]}))
    if "server" in declared:
        (state / "mcp.json").write_text(json.dumps({"mcpServers": {"one": declared["server"]}}))


@pytest.mark.parametrize("declared", DECLARED.values(), ids=DECLARED.keys())
async def test_no_client_and_no_page_is_shown_a_declared_value(declared: dict[str, Any], home: Path) -> None:
    declare(declared, home / "state")
    script: list[Any] = [
        [ToolCall("show", {})],
        [ToolCall("shell", {"command": JOINED})],
        f"It is {VALUE}.",
        "Done.",
    ]
    outputs: dict[str, str] = {}
    with AnthropicServer(script) as provider:
        variables = {"DECLARED": VALUE, **provider_variables(provider)}
        async with acp_client(
            home.parent / "project", provider, home=home, is_silent=False, DECLARED=VALUE
        ) as client:
            await client.initialize(_meta={"agent-ls": declared.get("settings", {})})
            session = await client.new_session()
            await client.prompt(session)
            if has_page():
                async with panel(home / "state", home.parent / "project", **variables) as running:
                    async with running.page(await running.log_in()) as page:
                        outputs["sessions"] = str(await page.request("panel/sessions"))
                        outputs["page"] = str(await page.subscribe(session))
                        outputs["messages of the page"] = str(page.received)
            outputs["messages of the client"] = json.dumps([it for way, it in client.wire if way == "<"])
        outputs["errors"] = client.stderr.decode()
    assert len(provider.requests) >= 3
    assert "[secret removed]" in outputs["messages of the client"]
    assert "[secret removed]" in outputs.get("page", "[secret removed]")
    assert not [name for name, shown in outputs.items() if VALUE in shown]


def has_page() -> bool:
    try:
        load_page()
    except PageMissingError:
        return False
    return True
