"""Clients that connect by WebSocket: each needs the token and gets its own server, which ends with the connection."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from agent_ls.server.transport.framing import MAX_BODY_BYTES
from agent_ls.server.transport.websocket import TOKEN_SUBPROTOCOL, AccessRules, KeepAlive, listen_websocket
from tests.e2e import frame_echo
from tests.e2e.two_clients import one_has_a_session_until_it_leaves
from tests.e2e.websocket_client import bearer, connected, opened
from tests.support import commands
from tests.support.editor import Editor
from tests.support.framed_client import DEADLINE_S, ServerProcess, server_process
from tests.support.processes import eventually

pytestmark = pytest.mark.req("H1")

ORIGIN = "https://editor.example"


@asynccontextmanager
async def listening(token: Path, *words: str) -> AsyncIterator[tuple[ServerProcess, int]]:
    """Run a real `agent-ls serve --ws`, which starts a real server for each client."""
    command = (sys.executable, "-m", "agent_ls", "serve", "--ws", "0", "--token-file", str(token), *words)
    async with server_process(command) as server:
        log = await server.logged("listening on")
        yield server, int(log.partition("ws://127.0.0.1:")[2].partition("/")[0])


@dataclass(frozen=True, slots=True)
class Place:
    """A listener in this process that starts echo programs as servers."""

    port: int
    token: Path
    folder: Path

    def started(self) -> int:
        return len([path for path in self.folder.iterdir() if path.name.isdigit()])

    def count_ended(self) -> int:
        """Return how many programs have ended because their input ended."""
        return len([*self.folder.glob("*.ended")])

    async def nobody_is_left(self) -> None:
        """Wait until all started processes have ended."""
        names = [path.name for path in self.folder.iterdir() if path.name.isdigit()]
        await eventually(lambda: not any(_is_alive(int(name)) for name in names))


@asynccontextmanager
async def echoing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keep_alive: KeepAlive | None = None
) -> AsyncIterator[Place]:
    folder, token = tmp_path / "programs", tmp_path / "token"
    folder.mkdir()
    token.write_text("t" * 40)
    token.chmod(0o600)
    command = (sys.executable, "-I", "-S", frame_echo.__file__, str(folder))
    access_rules = AccessRules(token, (ORIGIN,))
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            await listen_websocket(("127.0.0.1", 0), access_rules, command=command, keep_alive=keep_alive)

        tasks.start_soon(listen)
        printed = ""
        with anyio.fail_after(DEADLINE_S):
            while not (found := re.search(r"ws://127\.0\.0\.1:(\d+)/", printed)):
                await anyio.lowlevel.checkpoint()
                printed += capsys.readouterr().err
        yield Place(int(found[1]), token, folder)
        tasks.cancel_scope.cancel()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def closed_with(socket: ClientConnection) -> int | None:
    """Return the code with which the other side closes the connection."""
    with anyio.fail_after(DEADLINE_S):
        await socket.wait_closed()
    return socket.close_code


async def test_each_websocket_client_has_its_own_server_and_gets_session_messages_as_text_frames(
    tmp_path: Path,
) -> None:
    token, project = tmp_path / "token", tmp_path / "project"
    project.mkdir()
    async with listening(token) as (_, port):
        assert token.stat().st_mode & 0o777 == 0o600
        async with connected(port, token) as one, connected(port, token) as two:
            first, second = Editor(one), Editor(two)
            for editor in (first, second):
                await editor.start(project)
            await one_has_a_session_until_it_leaves(first, second, "What is here? ✓")


@pytest.mark.req("R5")
async def test_a_message_that_is_not_json_is_answered_and_the_connection_continues(tmp_path: Path) -> None:
    token = tmp_path / "token"
    async with listening(token) as (_, port), opened(port, bearer(token)) as socket:
        initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
        await socket.send(json.dumps(initialize))
        assert json.loads(await socket.recv())["id"] == 1
        await socket.send("{")
        assert json.loads(await socket.recv())["error"]["code"] == -32700
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}))
        while json.loads(await socket.recv()).get("id") != 2:
            pass
        await socket.send(json.dumps({"jsonrpc": "2.0", "method": "exit"}))
        assert await closed_with(socket) == 1000


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer " + "x" * 40},
        {"Authorization": "Bearer tttttttttt"},
        {"Authorization": "Basic " + "t" * 40},
        {"Sec-WebSocket-Protocol": "agent-ls"},
        {"Sec-WebSocket-Protocol": f"agent-ls, {TOKEN_SUBPROTOCOL}wrong"},
    ],
    ids=str,
)
async def test_a_websocket_without_the_token_is_refused_and_starts_no_server(
    headers: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place:
        with pytest.raises(InvalidStatus) as refused:
            async with opened(place.port, headers):
                pass
        assert refused.value.response.status_code == 401
        assert b"token" in refused.value.response.body and b"Bearer" in refused.value.response.body
        async with opened(place.port, bearer(place.token)) as socket:  # other clients are still served
            await socket.send('"hello"')
            assert await socket.recv() == '"hello"'
        assert place.started() == 1


async def test_a_token_in_the_websocket_url_is_not_accepted_and_not_logged(tmp_path: Path) -> None:
    token = tmp_path / "token"
    async with listening(token) as (server, port):
        secret = token.read_text().strip()
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(handshake(f"/?token={secret}"))
            assert b" 401 " in await stream.receive()
        async with opened(port, bearer(token)) as socket:
            await socket.send("{")
            assert "error" in json.loads(await socket.recv())
        assert secret not in server.log


async def test_a_web_page_needs_a_listed_origin_and_a_subprotocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place:
        names = [Subprotocol("agent-ls"), Subprotocol(TOKEN_SUBPROTOCOL + place.token.read_text())]
        for origin in ("https://evil.example", "null", f"{ORIGIN}.evil.example", "http://editor.example"):
            with pytest.raises(InvalidStatus) as refused:
                async with opened(place.port, {}, origin=origin, subprotocols=names):
                    pass
            assert refused.value.response.status_code == 403
        async with opened(place.port, {}, origin=ORIGIN, subprotocols=names) as socket:
            assert socket.subprotocol == "agent-ls"  # the server does not return the token
            await socket.send('"hello"')
            assert await socket.recv() == '"hello"'
        assert place.started() == 1


def handshake(path: str = "/", *more: str) -> bytes:
    lines = (
        f"GET {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
        *more,
        "\r\n",
    )
    return "\r\n".join(lines).encode()


def masked(first_byte: int, length: int) -> bytes:
    """Return the header of a masked client frame; its data may be missing."""
    return struct.pack(">BBQ", first_byte, 0x80 | 127, length) + b"\0\0\0\0"


@pytest.mark.req("R5")
async def test_fragmented_frames_are_joined_and_pings_between_them_are_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place, opened(place.port, bearer(place.token)) as socket:
        said = '"' + "täglich ✓ " * 20_000 + '"'

        async def pieces() -> AsyncIterator[str]:
            yield ""
            for start in range(0, len(said), 50_000):
                yield said[start : start + 50_000]
                with anyio.fail_after(DEADLINE_S):
                    await (await socket.ping())

        await socket.send(pieces())
        assert await socket.recv() == said


@pytest.mark.req("R5")
@pytest.mark.parametrize(
    "fault", ["binary", "no utf-8", "huge", "huge in fragments", "unmasked", "no opcode"]
)
async def test_invalid_frames_close_the_connection_with_a_reason_and_end_its_server(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place:
        async with opened(place.port, bearer(place.token)) as socket:
            await socket.send('"before"')
            assert await socket.recv() == '"before"'
            match fault:
                case "binary":
                    await socket.send(b'"bytes"')
                    code = 1003
                case "no utf-8":
                    await socket.send(b'"\xff"', text=True)
                    code = 1007
                case "huge":
                    socket.transport.write(masked(0x81, MAX_BODY_BYTES + 1))
                    code = 1009
                case "huge in fragments":
                    socket.transport.write(masked(0x01, 4) + b"1234" + masked(0x80, MAX_BODY_BYTES))
                    code = 1009
                case "unmasked":
                    socket.transport.write(b"\x81\x02{}")
                    code = 1002
                case _:
                    socket.transport.write(b"\x83\x80\0\0\0\0")
                    code = 1002
            assert await closed_with(socket) == code
        await place.nobody_is_left()
        async with opened(place.port, bearer(place.token)) as other:
            await other.send('"after"')
            assert await other.recv() == '"after"'


@pytest.mark.req("R5")
@pytest.mark.parametrize(
    "first",
    [
        b"\x00\xff\x00\xff\r\n\r\n",
        b"Content-Length: 2\r\n\r\n{}",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000 + b"\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
        handshake("/", "Authorization: Bearer " + "t" * 40) + b"\x88\x80\0\0\0\0",
    ],
    ids=["noise", "a frame of stdio", "many headers", "a long address", "another method", "too early"],
)
async def test_a_connection_with_an_invalid_websocket_handshake_is_closed(
    first: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place:
        async with await anyio.connect_tcp("127.0.0.1", place.port) as stream:
            await stream.send(first)
            with anyio.fail_after(DEADLINE_S):
                try:
                    while True:
                        await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    pass
        assert place.started() == 0


@pytest.mark.req("R4")
async def test_the_server_of_a_vanished_client_ends_and_others_continue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place:
        async with opened(place.port, bearer(place.token)) as stays:
            await stays.send('"one"')
            assert await stays.recv() == '"one"'
            async with opened(place.port, bearer(place.token)) as vanishes:
                await vanishes.send('"two"')
                assert await vanishes.recv() == '"two"'
                vanishes.transport.abort()
            await eventually(lambda: place.count_ended() == 1)
            await stays.send('"three"')
            assert await stays.recv() == '"three"'
        await place.nobody_is_left()
        assert place.started() == 2


@pytest.mark.req("R4")
async def test_a_client_that_neither_reads_nor_answers_pings_is_disconnected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys, KeepAlive(every_s=0.2, missed=2)) as place:
        async with await anyio.connect_tcp("127.0.0.1", place.port) as stream:
            await stream.send(handshake("/", "Authorization: Bearer " + "t" * 40))
            assert b" 101 " in await stream.receive()
            # A masked text frame that requests more output than all buffers hold; the test reads nothing from here on.
            await stream.send(b'\x81\x87\0\0\0\0"flood"')
            await eventually(lambda: place.started() == 1)
            await place.nobody_is_left()


async def test_an_idle_client_that_answers_pings_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_alive = KeepAlive(every_s=0.2, missed=1000)
    async with echoing(tmp_path, capsys, keep_alive) as place:
        async with await anyio.connect_tcp("127.0.0.1", place.port) as stream:
            await stream.send(handshake("/", "Authorization: Bearer " + "t" * 40))
            answer = await stream.receive()
            with anyio.fail_after(DEADLINE_S):
                while b"\x89\x00" not in answer:  # a ping
                    answer += await stream.receive()
            await stream.send(b'\x8a\x80\0\0\0\0\x81\x87\0\0\0\0"still"')
            with anyio.fail_after(DEADLINE_S):
                while b'"still"' not in answer:
                    answer += await stream.receive()


@pytest.mark.parametrize(("word", "code"), [("exit", 1000), ("fail", 1011)])
async def test_the_close_frame_code_reports_whether_the_server_exited_or_failed(
    word: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place, opened(place.port, bearer(place.token)) as socket:
        await socket.send(f'"{word}"')
        assert await closed_with(socket) == code


async def test_the_last_messages_of_the_server_arrive_while_the_client_keeps_sending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place, opened(place.port, bearer(place.token)) as socket:
        await socket.send('"last"')
        await eventually((place.folder / "go").exists)
        with anyio.fail_after(DEADLINE_S):
            for _ in range(3):
                await socket.send('"more"')
                await (await socket.ping())  # once the ping is answered, the frame before it has been handled
            await anyio.Path(place.folder / "go").write_bytes(b"")
            assert await socket.recv() == '"last"'
        assert await closed_with(socket) == 1000


async def test_a_close_frame_is_answered_and_the_server_ends_cleanly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place:
        async with opened(place.port, bearer(place.token)) as socket:
            await socket.send('"hello"')
            assert await socket.recv() == '"hello"'
            await socket.close(1000)
            assert socket.close_code == 1000
            with pytest.raises(ConnectionClosed):
                await socket.recv()
        await place.nobody_is_left()
        assert place.count_ended() == 1


@pytest.mark.req("R2")
async def test_a_terminated_listener_informs_its_clients_and_ends_their_servers(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    async with listening(token) as (server, port), connected(port, token) as client:
        await client.initialize()
        server.process.send_signal(signal.SIGTERM)
        with anyio.fail_after(DEADLINE_S):
            await client.ended.wait()
        assert await server.exit_code() == 0


async def test_a_connection_above_the_connection_limit_is_closed_and_existing_connections_continue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with echoing(tmp_path, capsys) as place, anyio.create_task_group() as tasks:
        held = [await anyio.connect_tcp("127.0.0.1", place.port) for _ in range(16)]
        async with await anyio.connect_tcp("127.0.0.1", place.port) as late:
            with anyio.fail_after(DEADLINE_S), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await late.receive()
        for stream in held:
            tasks.start_soon(stream.aclose)


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["--ws", "0"], "--token-file"),
        (["--ws", "0.0.0.0:0", "--token-file", "t"], "not this machine"),
        (["--ws", "0", "--token-file", "open"], "chmod 600"),
        (["--tcp", "0"], "--token-file"),
        (["--tcp", "example.org:80", "--token-file", "t"], "not this machine"),
        (["--tcp", "many", "--token-file", "t"], "is not an address"),
        (["--tcp", "0", "--token-file", "short"], "shorter"),
        (["--ws", "0", "--token-file", "t", "--origin", "*"], "is not the origin"),
        (["--ws", "0", "--token-file", "t", "--origin", "null"], "is not the origin"),
        (["--ws", "0", "--token-file", "t", "--origin", "https://a.example/path"], "is not the origin"),
        (["--tcp", "0", "--token-file", "t", "--origin", "https://a.example"], "needs --ws"),
        (["--ws", "0", "--tcp", "0", "--token-file", "t"], "not allowed with"),
    ],
)
async def test_unsafe_addresses_and_tokens_are_refused(words: list[str], phrase: str, tmp_path: Path) -> None:
    (tmp_path / "open").write_text("x" * 40)
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "short").write_text("x")
    (tmp_path / "short").chmod(0o600)
    environ = commands.environment(tmp_path / "home")
    done = await anyio.run_process(commands.command("serve", *words), env=environ, cwd=tmp_path, check=False)

    assert done.returncode != 0 and phrase in done.stderr.decode()
