"""The relay's loop when one side ends while the other still has output."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_ls.relay import program
from agent_ls.relay.frames import EXIT, OUTPUT, RUN, STARTED, FrameDecoder, decode_words, encode_words
from agent_ls.relay.program import FULL_BYTES, Relay
from agent_ls.relay.screen import Screen
from tests.support.processes import LIMIT_SECONDS

pytestmark = pytest.mark.req("H5", "T5")


class Looking(Relay):
    """A relay that calls `looked` with the time limit of each wait that starts after the command has ended."""

    looked: Callable[[int | None], None] | None = None

    def _timeout_ms(self) -> int | None:
        milliseconds = super()._timeout_ms()
        if self.looked and self._command and self._command.code is not None:
            self.looked(milliseconds)
        return milliseconds


class Stage:
    """A relay that runs in a thread. `server` is the server's end of its connection."""

    def __init__(self) -> None:
        self.server, theirs = socket.socketpair(socket.AF_UNIX)
        theirs.setblocking(False)
        self.server.settimeout(LIMIT_SECONDS)
        self._theirs = theirs
        self._reading, self._writing = os.pipe()
        self.relay = Looking(theirs, Screen(), self._reading)
        self._thread = threading.Thread(target=self.relay.run, daemon=True)

    def start(self, command: str) -> None:
        self.server.sendall(
            encode_words(RUN, "/", "title", "", "", 3, "/bin/sh", "-c", command, "PATH=/usr/bin:/bin")
        )
        self.run()

    def run(self) -> None:
        self._thread.start()

    def signal(self, number: signal.Signals) -> None:
        """Deliver a signal as the relay's process receives it."""
        os.write(self._writing, bytes([number]))

    def until(self, kind: bytes) -> list[tuple[bytes, bytes]]:
        """Return the relay's messages up to the first of this kind."""
        frames, found = FrameDecoder(), list[tuple[bytes, bytes]]()
        while not any(said == kind for said, _ in found):
            found += frames.feed(self.server.recv(65536))
        return found

    def ends(self) -> bool:
        self._thread.join(LIMIT_SECONDS)
        return not self._thread.is_alive()

    def close(self) -> None:
        self.server.close()
        self._thread.join(LIMIT_SECONDS)
        if not self._thread.is_alive():  # otherwise it would wait for descriptors that other tests open
            self._theirs.close()
            os.close(self._reading)
            os.close(self._writing)


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def test_relay_ends_when_its_server_disconnects_even_with_much_unread_output(
    stage: Stage, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "begun")
    stage.relay.tell(bytes(2 * FULL_BYTES))
    stage.start(f"echo > {tmp_path / 'begun'}; exec sleep 600")
    (tmp_path / "begun").read_bytes()
    stage.server.close()

    assert stage.ends()


def test_relay_does_not_spin_while_the_server_does_not_read_output_of_an_ended_command(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "GRACE_SECONDS", 0.01)
    waits: list[int | None] = []

    def looked(milliseconds: int | None) -> None:
        waits.append(milliseconds)
        if len(waits) == 4:
            stage.server.close()

    stage.relay.tell(bytes(2 * FULL_BYTES))
    stage.relay.looked = looked
    stage.start("exec sleep 600")
    stage.signal(signal.SIGHUP)

    assert stage.ends()
    assert all(waits[:4])


def test_relay_sends_unread_output_before_the_exit_code_after_the_terminal_closes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "GRACE_SECONDS", LIMIT_SECONDS)
    for _ in range(20):
        stage.relay.tell(encode_words(OUTPUT, "x" * 100_000))
    stage.relay.tell(encode_words(EXIT, 7, 0))
    stage.signal(signal.SIGHUP)
    stage.run()
    *printed, (_, code) = stage.until(EXIT)

    assert [len(text) for _, text in printed] == [100_000] * 20 and decode_words(code) == ["7", "0"]
    assert stage.ends()


def test_the_last_output_of_a_command_that_closed_its_terminal_is_read(stage: Stage) -> None:
    stage.start("exec < /dev/null > /dev/null 2>&1; sleep 0.1; echo last > /dev/tty; exit 7")
    said = stage.until(EXIT)

    assert [kind for kind, _ in said] == [STARTED, OUTPUT, EXIT]
    assert said[1][1] == b"last\r\n" and decode_words(said[2][1]) == ["7", "0"]
