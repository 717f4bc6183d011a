"""Our MCP client in the form that the official conformance kit starts: it logs in if needed, and calls every tool
once.

Start: python -m tests.mcp.conformance_client URL

The kit's login page redirects without any input, so the client plays the user with one request for that page.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2

from agent_ls.environments.base import Attribution
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.mcp.asking import ANSWER, ask_user
from agent_ls.mcp.config import HttpTarget, OAuthClient
from agent_ls.mcp.descriptions import Elicitation, ElicitationReply
from agent_ls.mcp.elicitation import SKIP
from agent_ls.mcp.login_store import LoginStore
from agent_ls.mcp.oauth import Login
from agent_ls.mcp.session import ConnectionCallbacks, by_http
from agent_ls.mcp.session_errors import McpServerError
from agent_ls.tools.base import Question, QuestionReply, ToolContext
from tests.support.tool_calls import Reads

CONTEXT: Mapping[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
DOCUMENT = "https://conformance-test.local/client-metadata.json"


class Kept:
    """A secret store in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def secret(self, name: str) -> str:
        return self.kept.get(name, "")

    def put(self, name: str, secret: str) -> None:
        self.kept[name] = secret

    def remove(self, name: str) -> bool:
        return self.kept.pop(name, None) is not None


class TakesDefaults:
    """A user who accepts each form and leaves out each field, so the defaults apply."""

    async def ask(self, question: Question, call_id: str) -> QuestionReply:
        choice = ANSWER if ANSWER in question.choices else SKIP
        return QuestionReply((choice,)) if choice in question.choices else QuestionReply((), declined=True)


async def elicit(asked: Elicitation) -> ElicitationReply:
    context = ToolContext(
        environment=MemoryEnvironment({}),
        attribution=Attribution(),
        on_output=lambda stream, text: None,
        reads=Reads(),
        questions=TakesDefaults(),
    )
    return await ask_user("conformance", context, asked)


async def open_page(address: str) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(address)


async def near(host: str) -> str:
    return "" if host not in ("localhost", "127.0.0.1") else "its address is in a private network"


async def main(url: str) -> None:
    secrets = Kept()
    client_id = str(CONTEXT.get("client_id", "")) or DOCUMENT
    store = LoginStore(url, secrets, lambda values: None)
    client = OAuthClient(client_id, str(CONTEXT.get("client_secret") or ""))
    login = Login(url, client, store, open_page)
    listener = await login.listen()
    callbacks = ConnectionCallbacks(lambda kind: None, elicit, tuple)
    async with anyio.create_task_group() as group:
        group.start_soon(login.serve, listener)
        opened = by_http(HttpTarget(url), callbacks, auth=login, judge=near, is_legacy=False, timeout_s=20)
        async with opened as connection:
            facts = await connection.describe(20)
            for tool in facts.tools:
                arguments = {"a": 2, "b": 3} if "a" in tool.schema.get("properties", {}) else {}
                try:
                    await connection.call(tool.name, arguments, 20, lambda text: None)
                except McpServerError as error:
                    sys.stderr.write(f"{tool.name}: {error}\n")
        group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
