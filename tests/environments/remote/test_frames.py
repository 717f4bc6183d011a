"""Messages and values between the two ends of a connection. Data from the remote end is not trusted."""

from __future__ import annotations

import io
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.environments import errors
from agent_ls.environments.base import DirEntry, ExecResult, FileWrite, GrepOptions
from agent_ls.environments.remote import frames
from agent_ls.environments.remote.frames import (
    PIECE_BYTES,
    RemoteFrameError,
    RemoteMessage,
    RemoteOutbox,
    encode,
    read_messages,
)
from agent_ls.environments.remote.values import ValueFault, pack, pack_error, unpack, unpack_error

pytestmark = pytest.mark.req("X3")


def sent(*messages: RemoteMessage) -> bytes:
    written = bytearray()
    outbox = RemoteOutbox(lambda data: written.extend(data), lambda reason: None)
    for message in messages:
        outbox.send(message)
    outbox.close(30)
    return bytes(written)


@given(st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=400)), max_size=5))
def test_remote_messages_are_decoded_as_they_were_encoded(given_messages: list[tuple[str, bytes]]) -> None:
    messages = [RemoteMessage({"kind": kind}, body) for kind, body in given_messages]
    assert list(read_messages(io.BytesIO(sent(*messages)))) == messages


def test_a_small_message_does_not_wait_for_a_large_one() -> None:
    release, written = threading.Event(), bytearray()

    def write(data: bytes) -> None:
        release.wait(30)
        written.extend(data)

    outbox = RemoteOutbox(write, lambda reason: None)
    outbox.send(RemoteMessage({"kind": "large"}, bytes(5_000_000)))
    outbox.send(RemoteMessage({"kind": "small"}))
    release.set()
    outbox.close(30)
    assert [message.kind for message in read_messages(io.BytesIO(bytes(written)))] == ["small", "large"]


@given(st.data())
def test_a_connection_that_ends_at_any_byte_yields_only_complete_messages(data: st.DataObject) -> None:
    messages = [RemoteMessage({"kind": "a"}, b"x" * 300), RemoteMessage({"kind": "b"})]
    whole = sent(*messages)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert list(read_messages(io.BytesIO(whole[:cut]))) in ([], messages[:1])


@given(st.binary(max_size=200))
def test_random_bytes_raise_no_exception_except_a_remote_frame_error(noise: bytes) -> None:
    try:
        list(read_messages(io.BytesIO(noise)))
    except RemoteFrameError:
        return


VALUES: list[tuple[Any, Any]] = [
    (b"\x00\xff", bytes),
    ("caf\udce9", str),
    ((FileWrite("a", b"1", None), FileWrite("b", None, b"2" * 10)), Sequence[FileWrite]),
    (GrepOptions(multiline=True), GrepOptions),
    ((DirEntry("a", True, None),), Sequence[DirEntry]),
    (("text", 5), tuple[str, int]),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_packed_values_are_unpacked_to_equal_values(value: Any, expected: Any) -> None:
    packed, body = pack(value)
    assert encode(RemoteMessage({"value": packed}, body))
    assert unpack(packed, body, expected) == value


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        ("text", bytes),
        ({"$bytes": [0, 100]}, bytes),
        ({"$bytes": [-1, 1]}, bytes),
        ({"$bytes": "all"}, bytes),
        ({"$type": "subprocess.Popen", "args": ["sh"]}, ExecResult),
        ({"$type": "ExecResult"}, ExecResult),
        ({"$type": "DirEntry", "name": 5, "is_dir": False, "size_bytes": None}, DirEntry),
        ([{"$type": "DirEntry", "name": "a", "is_dir": False, "size_bytes": None}], Sequence[str]),
        ([1, 2], tuple[str, int]),
        (True, int),
    ],
)
def test_packed_values_of_an_unexpected_type_are_refused(packed: Any, expected: Any) -> None:
    with pytest.raises(ValueFault):
        unpack(packed, b"1234", expected)


def test_packed_errors_keep_their_class_message_and_path() -> None:
    error = unpack_error(pack_error(errors.FileTooLargeError("a", 5, 3)))
    assert isinstance(error, errors.FileTooLargeError) and error.path == "a"
    assert str(error) == "File too large: a has 5 bytes, the limit is 3"
    unknown = unpack_error({"class": "SystemExit", "text": "bye"})
    assert type(unknown) is errors.EnvError and str(unknown) == "bye"


def frame(number: int, piece: bytes, *, is_last: bool) -> bytes:
    return struct.pack(">IQB", len(piece), number, is_last) + piece


PIECE = bytes(PIECE_BYTES)
ENDLESS: dict[str, Callable[[int], bytes]] = {
    "many messages": lambda number: frame(number, PIECE, is_last=False),
    "one long message": lambda number: frame(1, PIECE, is_last=False),
    "small pieces": lambda number: frame(1, b"x", is_last=False),
    "empty pieces": lambda number: frame(number, b"", is_last=False),
    "long messages in turn": lambda number: frame(number % 60, PIECE, is_last=False),
}


@pytest.mark.req("X4")
@pytest.mark.parametrize("make", ENDLESS.values(), ids=ENDLESS.keys())
def test_unfinished_messages_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[int], bytes]
) -> None:
    monkeypatch.setattr(frames, "MESSAGE_LIMIT_BYTES", 20 * PIECE_BYTES)

    class Endless(io.RawIOBase):
        def __init__(self) -> None:
            self.number, self.held, self.given = 0, b"", 0

        def read(self, size: int = -1) -> bytes:
            while len(self.held) < size:
                self.number += 1
                self.held += make(self.number)
            found, self.held = self.held[:size], self.held[size:]
            self.given += size
            return found

    source = Endless()
    with pytest.raises(RemoteFrameError):
        list(read_messages(source))  # type: ignore[arg-type]
    assert source.given < 30 * PIECE_BYTES


def test_sixty_four_messages_may_be_unfinished() -> None:
    begun = b"".join(frame(number, PIECE, is_last=False) for number in range(64))
    found = read_messages(io.BytesIO(begun + frame(99, encode(RemoteMessage({"kind": "x"})), is_last=True)))
    assert next(found).kind == "x"
