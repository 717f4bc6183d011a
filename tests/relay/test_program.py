"""The relay's loop, where the end of one side meets what the other has still to say."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_ls.relay import program
from agent_ls.relay.frames import EXIT, OUTPUT, RUN, STARTED, Frames, words, words_frame
from agent_ls.relay.program import FULL_BYTES, Relay
from agent_ls.relay.screen import Screen
from tests.support.processes import LIMIT_SECONDS

pytestmark = pytest.mark.req("H5", "T5")


class Looking(Relay):
    """`looked` is told how long each wait may last at most that begins when the command has ended."""

    looked: Callable[[int | None], None] | None = None

    def _timeout_ms(self) -> int | None:
        milliseconds = super()._timeout_ms()
        if self.looked and self._command and self._command.code is not None:
            self.looked(milliseconds)
        return milliseconds


class Stage:
    """A relay in a thread, and the server's side of it."""

    def __init__(self) -> None:
        self.server, theirs = socket.socketpair(socket.AF_UNIX)
        theirs.setblocking(False)
        self.server.settimeout(LIMIT_SECONDS)
        self._theirs = theirs
        self._reading, self._writing = os.pipe()
        self.relay = Looking(theirs, Screen(), self._reading)
        self._thread = threading.Thread(target=self.relay.run, daemon=True)

    def start(self, command: str) -> None:
        self.server.sendall(words_frame(RUN, "/", "title", 3, "/bin/sh", "-c", command, "PATH=/usr/bin:/bin"))
        self.run()

    def run(self) -> None:
        self._thread.start()

    def signal(self, number: signal.Signals) -> None:
        """As it arrives at the relay's process."""
        os.write(self._writing, bytes([number]))

    def until(self, kind: bytes) -> list[tuple[bytes, bytes]]:
        """What the relay says, up to the first of this kind."""
        frames, found = Frames(), list[tuple[bytes, bytes]]()
        while not any(said == kind for said, _ in found):
            found += frames.feed(self.server.recv(65536))
        return found

    def ends(self) -> bool:
        self._thread.join(LIMIT_SECONDS)
        return not self._thread.is_alive()

    def close(self) -> None:
        self.server.close()
        self._thread.join(LIMIT_SECONDS)
        if not self._thread.is_alive():  # else it would wait for what others open next
            self._theirs.close()
            os.close(self._reading)
            os.close(self._writing)


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def test_it_ends_with_its_server_also_when_that_has_left_much_untaken(stage: Stage, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    stage.relay.tell(bytes(2 * FULL_BYTES))
    stage.start(f"echo > {tmp_path / 'begun'}; exec sleep 600")
    (tmp_path / "begun").read_bytes()
    stage.server.close()

    assert stage.ends()


def test_it_does_not_spin_while_the_server_takes_nothing_of_a_command_that_was_ended(
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


def test_what_was_not_taken_yet_when_the_terminal_is_closed_is_told_before_it_ends(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "GRACE_SECONDS", LIMIT_SECONDS)
    for _ in range(20):
        stage.relay.tell(words_frame(OUTPUT, "x" * 100_000))
    stage.relay.tell(words_frame(EXIT, 7, 0))
    stage.signal(signal.SIGHUP)
    stage.run()
    *printed, (_, code) = stage.until(EXIT)

    assert [len(text) for _, text in printed] == [100_000] * 20 and words(code) == ["7", "0"]
    assert stage.ends()


def test_the_last_words_of_a_command_that_had_let_go_of_its_terminal_are_read(stage: Stage) -> None:
    stage.start("exec < /dev/null > /dev/null 2>&1; sleep 0.1; echo last > /dev/tty; exit 7")
    said = stage.until(EXIT)

    assert [kind for kind, _ in said] == [STARTED, OUTPUT, EXIT]
    assert said[1][1] == b"last\r\n" and words(said[2][1]) == ["7", "0"]
