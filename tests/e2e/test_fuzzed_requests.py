"""Every message of the protocol with wrong, huge and deeply nested values: each request is answered, and none
approves.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ls.cli.sample import copy_sample_project
from agent_ls.server.features.routes import ROUTES
from tests.support.editor import Editor, new_key
from tests.support.framed_client import ResponseError, ServerProcess, server_process
from tests.test_protocol_golden import REQUESTS

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
SEED, SHARE, WHOLE = 11, 400, 12_000
BATCH = 40
"""The number of requests that are sent before their answers are awaited."""

NOTIFICATIONS = ("agent/draft", "agent/editorState", "agent/diagnostics")
STANDARD = (
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "window/workDoneProgress/cancel",
    "$/cancelRequest",
    "$/setTrace",
)
"""Notifications of LSP itself."""

INTERNAL = -32603


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = {"a": [value]}
    return value


WRONG: list[Any] = [
    None, True, 0, -1, 2**63, 1e308, "", " ", "\0", "\ud83d", "../../etc/passwd", "file:///\0", "x" * 100_000,
    [], [None], [[]], {}, {"": ""}, {"type": "text"}, nested(3), nested(100), [7] * 10_000, "allow", "user",
]  # fmt: skip

TEXTS = [json.dumps(value) for value in WRONG]
METHODS = sorted(route.params.method for route in ROUTES.values())
EXAMPLES = {example["method"]: example["params"] for example in REQUESTS}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def spoilt(rng: random.Random, params: Any) -> Any:
    """Return a copy of the parameters with one to three wrong or missing values."""
    spoilt = copy.deepcopy(params)
    for _ in range(rng.randint(1, 3)):
        *above, last = rng.choice(list(places(spoilt))) or (None,)
        if last is None:
            return json.loads(rng.choice(TEXTS))
        holder = spoilt
        for key in above:
            holder = holder[key]
        if isinstance(holder, dict) and rng.random() < 0.2:
            del holder[last]
        else:
            holder[last] = json.loads(rng.choice(TEXTS))
    return spoilt


@asynccontextmanager
async def waiting_for_approval(tmp_path: Path) -> AsyncIterator[tuple[Editor, ServerProcess, dict[str, Any]]]:
    """Run an editor whose session waits for an approval; yield it, its server and the approval request."""
    project = copy_sample_project(tmp_path / "project")
    async with server_process(env={"AGENT_LS_STATE_DIR": str(tmp_path / "state")}) as server:
        editor = Editor(server.client)
        await editor.start(project)
        session_id = await editor.new_session()
        await editor.submit(session_id, "Please fix the discount.")
        yield editor, server, await editor.client.event("approval_requested")


def meant(rng: random.Random, method: str, asked: dict[str, Any]) -> Any:
    """Return valid parameters for a method, in about half of the cases for the session that waits for an approval.

    A method that would end the turn of that session gets another one. Only the parameters of agent/approve are not
    valid: they name the pending approval, but have an invalid decision.
    """
    params = copy.deepcopy(EXAMPLES[method])
    if method == "agent/approve":
        ids = {"sessionId": asked["sessionId"], "requestId": asked["data"]["requestId"]}
        return {
            **params,
            **ids,
            "clientKey": str(rng.random()),
            "decision": rng.choice([None, 7, "", "Allow", {}]),
        }
    ends = (
        "abort",
        "interrupt",
        "closeSession",
        "deleteSession",
        "queue",
        "submit",
        "steer",
        "configure",
        "revert",
    )
    if "sessionId" in params and rng.random() < 0.5 and method.removeprefix("agent/") not in ends:
        params["sessionId"] = asked["sessionId"]
    if "clientKey" in params:
        params["clientKey"] = str(rng.random())
    return params


@pytest.mark.req("R5", "H7", "H2")
@pytest.mark.sweep
async def test_requests_with_wrong_types_are_each_answered_and_allow_nothing(
    tmp_path: Path,
) -> None:
    rng = random.Random(SEED)
    async with waiting_for_approval(tmp_path) as (editor, server, asked):
        client = editor.client
        left = WHOLE if IS_WHOLE else SHARE
        order = (METHODS * (left // len(METHODS) + 1))[:left]
        rng.shuffle(order)
        for start in range(0, left, BATCH):
            sent: dict[int, tuple[str, Any]] = {}
            for method in order[start : start + BATCH]:
                params = (
                    spoilt(rng, meant(rng, method, asked))
                    if method != "agent/approve"
                    else meant(rng, method, asked)
                )
                sent[await client.start(method, params)] = (method, params)
                notification = rng.choice((*NOTIFICATIONS, *STANDARD))
                await client.notify(
                    notification, spoilt(rng, EXAMPLES.get(notification, {"textDocument": {}}))
                )
            for message_id, (method, params) in sent.items():
                try:
                    await client.result(message_id)
                except ResponseError as error:
                    said = json.dumps([error.message, error.data])
                    assert error.code != INTERNAL and "Traceback" not in said, (
                        method,
                        str(params)[:500],
                        said,
                    )
        resolved = [event for event in client.events if event["kind"] == "approval_resolved"]
        assert resolved == []
        found = await editor.subscribe(asked["sessionId"])
        pending = [request["requestId"] for request in found["pending"]["approvals"]]
        assert asked["data"]["requestId"] in pending
        assert (await editor.approve(asked, "deny"))["decision"] == "deny"
        assert "Traceback" not in server.log, server.log[-3000:]


@pytest.mark.req("R5")
async def test_requests_before_initialize_or_after_shutdown_are_each_refused(
    tmp_path: Path,
) -> None:
    async with server_process() as server:
        client = server.client

        async def codes() -> set[int]:
            sent = [await client.start(method, EXAMPLES[method]) for method in METHODS]
            found = set()
            for message_id in sent:
                with pytest.raises(ResponseError) as refused:
                    await client.result(message_id)
                found.add(refused.value.code)
            return found

        assert await codes() == {-32002}
        await client.initialize(folder=tmp_path)
        assert await client.request("agent/sessions", {}) is not None
        await client.request("shutdown")
        assert await codes() == {-32600}
        await client.notify("exit")
        assert await server.exit_code() == 0


@pytest.mark.req("R5", "H2")
async def test_requests_with_used_or_unusual_ids_are_each_answered(tmp_path: Path) -> None:
    async with server_process() as server:
        client = server.client
        await client.initialize(folder=tmp_path)
        for message_id in (0, -1, 2**53, "", "x" * 10_000, "1"):
            before = len(client.received)
            wanted = {
                "jsonrpc": "2.0",
                "id": message_id,
                "method": "agent/sessions",
                "params": {"limit": new_key()},
            }
            await client.send(wanted)
            answer = await client.wait_for(lambda m: "error" in m, after=before)
            assert answer["id"] == message_id
        before = len(client.received)
        for _ in range(3):  # the same id three times at once gets three answers
            await client.send({"jsonrpc": "2.0", "id": 7, "method": "agent/models", "params": {}})
        await client.wait_for(
            lambda m: [it.get("id") for it in client.received[before:]].count(7) == 3, after=before
        )
