"""The hardened transport over real stdio: invalid messages, signals, cancellations, and clients that stop reading."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from agent_ls.server.transport.framing import frame
from agent_ls.server.transport.jsonrpc import PARSE_ERROR
from tests.support.framed_client import FramedClient, ResponseError, ServerProcess, server_process

WIRE_SERVER = (sys.executable, "-m", "tests.support.wire_server")


@asynccontextmanager
async def wire(editor: str = "vscode") -> AsyncIterator[ServerProcess]:
    async with server_process(WIRE_SERVER) as server:
        await server.client.initialize(editor)
        yield server


async def error_of(client: FramedClient, method: str, params: Any = None) -> ResponseError:
    with pytest.raises(ResponseError) as caught:
        await client.request(method, params)
    return caught.value


async def assert_alive(client: FramedClient) -> None:
    assert await client.request("agent/echo", {"still": "here"}) == {"still": "here"}


NO_MESSAGES: list[tuple[bytes, int]] = [
    (b"", -32700),
    (b"{", -32700),
    (b"\xff\xfe", -32700),
    (b"[" * 100_000, -32700),
    (b"[]", -32600),
    (b'"text"', -32600),
    (b"null", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"agent/echo"}', -32600),
    (b'{"id":1,"method":"agent/echo"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"agent/echo"}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"agent/echo"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"agent/echo"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
]


@pytest.mark.req("R5")
async def test_an_invalid_body_is_answered_with_an_error_and_the_server_continues() -> None:
    async with wire() as server:
        for body, code in NO_MESSAGES:
            before = len(server.client.received)
            await server.client.send_raw(frame(body))
            answer = await server.client.wait_for(lambda m: "error" in m, after=before)
            assert (body[:80], answer["id"], answer["error"]["code"]) == (body[:80], None, code)
        await assert_alive(server.client)


FITS_NOTHING = [
    b'{"jsonrpc":"2.0","id":"never asked","result":{}}',
    b'{"jsonrpc":"2.0","id":"never asked","error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}',
    b'{"jsonrpc":"2.0","id":[],"result":{}}',
    b'{"jsonrpc":"2.0","error":"x"}',
    b'{"jsonrpc":"2.0","method":"nobody/knows","params":[]}',
    b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}',
    b'{"jsonrpc":"2.0","method":"$/cancelRequest"}',
    b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":7}}',
    b'{"jsonrpc":"2.0","method":"textDocument/didOpen"}',
    b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///x","version":1},"contentChanges":[{"text":"x"}]}}',
    b'{"jsonrpc":"2.0","method":"agent/fail","params":{}}',
    b'{"jsonrpc":"2.0","method":"agent/unknown"}',
]


@pytest.mark.req("R5")
async def test_an_unknown_notification_or_response_is_ignored_without_an_answer() -> None:
    async with wire() as server:
        for body in FITS_NOTHING:
            before = len(server.client.received)
            await server.client.send_raw(frame(body))
            await assert_alive(server.client)
            assert server.client.received[before + 1 :] == [], body


@pytest.mark.req("R5", "R4")
@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
        b"Content-Type: text\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/json; charset=utf-16\r\n\r\n",
        b"Content-Length: 2\n\n{}",
        b"no header\r\n\r\n",
        b"x" * 5000,
    ],
)
async def test_a_bad_header_is_answered_with_an_error_and_the_next_message_is_read(header: bytes) -> None:
    async with wire() as server:
        before = len(server.client.received)
        await server.client.send_raw(header)
        await assert_alive(server.client)
        refused = [it["error"]["code"] for it in server.client.received[before:] if "error" in it]
        assert PARSE_ERROR in refused
        assert "Traceback" not in server.log


@pytest.mark.req("R5")
async def test_a_bad_header_before_the_first_message_is_answered_too() -> None:
    async with server_process() as server:
        await server.client.send_raw(b"Content-Type: text\r\n\r\n")
        assert (await server.client.initialize())["serverInfo"]
        assert server.client.received[0]["error"]["code"] == PARSE_ERROR


@pytest.mark.req("R4")
async def test_closing_stdin_ends_the_server_after_running_requests_have_ended() -> None:
    async with wire() as server:
        await server.client.start("agent/wait")
        await server.client.hang_up()
        assert await server.exit_code() == 1
        await server.client.ended.wait()
        await server.logged("settled")


@pytest.mark.req("R4")
async def test_the_server_exits_when_the_editor_process_ends_although_stdin_is_still_open() -> None:
    async with await anyio.open_process([sys.executable, "-c", "input()"]) as editor:
        async with server_process(WIRE_SERVER) as server:
            await server.client.initialize(processId=editor.pid)
            await assert_alive(server.client)  # the server has started to watch the editor's process
            editor.kill()
            await editor.wait()
            assert await server.exit_code() == 1


@pytest.mark.parametrize(("shutdown", "code"), [(True, 0), (False, 1)])
async def test_the_exit_code_is_0_only_if_shutdown_precedes_exit(shutdown: bool, code: int) -> None:
    async with wire() as server:
        if shutdown:
            await server.client.request("shutdown")
            error = await error_of(server.client, "agent/echo")
            assert error.code == -32600
        await server.client.notify("exit")
        assert await server.exit_code() == code


@pytest.mark.req("R2")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_server_cleanly(number: signal.Signals) -> None:
    async with wire() as server:
        server.process.send_signal(number)
        assert await server.exit_code() == 0
        await server.client.ended.wait()
        await server.logged("settled")


async def test_before_initialize_requests_are_refused_and_notifications_dropped() -> None:
    async with server_process(WIRE_SERVER) as server:
        assert (await error_of(server.client, "agent/echo")).code == -32002
        await server.client.notify("initialized", {})
        await server.client.initialize()
        await assert_alive(server.client)
        assert (await error_of(server.client, "initialize", {"capabilities": {}})).code == -32600


@pytest.mark.parametrize("params", [None, [], 7])
async def test_initialize_without_an_object_is_refused_and_may_be_sent_again(params: object) -> None:
    async with server_process(WIRE_SERVER) as server:
        assert (await error_of(server.client, "initialize", params)).code == -32602
        assert await server.client.initialize()


async def test_an_unknown_method_or_invalid_parameters_are_answered_with_an_error() -> None:
    async with wire() as server:
        assert (await error_of(server.client, "textDocument/documentColor", {})).code == -32601
        assert (await error_of(server.client, "workspace/executeCommand", [])).code == -32602
        assert (await error_of(server.client, "workspace/executeCommand")).code == -32602
        assert (await error_of(server.client, "workspace/executeCommand", {"command": "none"})).code == -32602


AS_SENT: list[object] = [
    None,
    7,
    [1, "a"],
    {"jsonrpc": "2.0", "id": 1},
    {"a-b": {"class": [{"jsonrpc": None}]}},
    {"x": "\ud83d"},
]


async def test_params_of_custom_methods_reach_the_handler_unchanged() -> None:
    async with wire() as server:
        for params in AS_SENT:
            assert await server.client.request("agent/echo", params) == params


async def test_a_request_without_params_is_handled() -> None:
    async with wire() as server:
        await server.client.send({"jsonrpc": "2.0", "id": 77, "method": "agent/echo"})
        assert await server.client.result(77) is None


async def test_an_internal_error_is_answered_without_traceback_or_content() -> None:
    async with wire() as server:
        error = await error_of(server.client, "agent/fail", {"key": "hunter2"})
        assert (error.code, error.data["kind"]) == (-32603, "internal")
        assert "hunter2" not in json.dumps([error.message, error.data])
        assert "Traceback" not in json.dumps([error.message, error.data])


async def test_a_cancelled_request_is_answered_as_cancelled() -> None:
    async with wire() as server:
        message_id = await server.client.start("agent/wait")
        await server.client.notify("$/cancelRequest", {"id": message_id})
        with pytest.raises(ResponseError, match="-32800"):
            await server.client.result(message_id)


async def test_a_command_that_ends_by_cancellation_is_answered_as_cancelled() -> None:
    async with wire() as server:
        error = await error_of(server.client, "workspace/executeCommand", {"command": "test.cancelled"})
        assert error.code == -32800


async def test_shutdown_while_a_command_runs_cancels_the_command_and_exits_with_0() -> None:
    async with wire() as server:
        running = await server.client.start("workspace/executeCommand", {"command": "test.forever"})
        await server.client.shut_down()
        with pytest.raises(ResponseError, match="-32800"):
            await server.client.result(running)
        assert await server.exit_code() == 0


async def test_cancelling_a_request_cancels_its_client_request_and_ignores_a_late_response() -> None:
    async with wire() as server:
        client = server.client
        answering = anyio.Event()

        async def late(params: object) -> object:
            await answering.wait()
            return {"title": "late"}

        client.handlers["window/showMessageRequest"] = late
        asking = await client.start("agent/ask")
        question = await client.wait_for(lambda m: m.get("method") == "window/showMessageRequest")
        await client.notify("$/cancelRequest", {"id": asking})
        cancelled = await client.wait_for(lambda m: m.get("method") == "$/cancelRequest")
        assert cancelled["params"]["id"] == question["id"]
        answering.set()
        await assert_alive(client)


async def test_an_invalid_client_response_fails_only_the_request_that_needs_the_response() -> None:
    async with wire() as server:

        async def closed(params: object) -> object:
            return {}  # Kate sends this answer if the user closes the dialog

        server.client.handlers["window/showMessageRequest"] = closed
        assert (await error_of(server.client, "agent/ask")).code == -32602
        await assert_alive(server.client)


async def test_an_encoded_result_is_sent_before_the_events_that_it_causes() -> None:
    async with wire() as server:
        assert await server.client.request("agent/raw") == {"text": "é"}
        await server.client.wait_for(lambda m: m.get("method") == "agent/event")
        assert [m.get("method") for m in server.client.received[-2:]] == [None, "agent/event"]


@pytest.mark.req("R4")
async def test_a_client_that_stops_reading_does_not_keep_the_server_alive() -> None:
    async with wire() as server:
        server.client.stop_reading()
        await server.client.start("agent/flood", {"count": 100_000, "pad": "x" * 4000})
        await server.client.hang_up()
        assert await server.exit_code() == 1


async def test_prints_are_logged_instead_of_sent_to_the_client_and_message_contents_are_not_logged() -> None:
    async with wire() as server:
        await error_of(server.client, "workspace/executeCommand", {"command": "hunter2", "arguments": 7})
        await server.client.notify("textDocument/didOpen", {"textDocument": {"uri": "hunter2"}})
        await assert_alive(server.client)
        await server.client.shut_down()
        await server.exit_code()
        await server.client.ended.wait()
        await server.logged("this must not reach the wire")
        assert "hunter2" not in server.log


@pytest.mark.req("R5")
async def test_a_server_that_cannot_start_sessions_reports_it_and_still_syncs_documents() -> None:
    async with server_process((*WIRE_SERVER, "broken")) as server:
        await server.client.initialize()
        error = await error_of(server.client, "agent/sessions", {})
        assert error.data["kind"] == "start_failed"
        await server.logged("the state folder cannot be made")
        await server.client.shut_down()
        assert await server.exit_code() == 0
