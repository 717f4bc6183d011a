"""Frames of a hostile far end: reading them ends with messages or an error, and never keeps more than the limits."""

from __future__ import annotations

import io
import os
import random
import struct

import pytest

from agent_ls.environments.remote import frames
from agent_ls.environments.remote.frames import RemoteFrameError, RemoteMessage, encode, read_messages
from tests.attacks import IS_WHOLE, seeded

pytestmark = pytest.mark.req("X3", "X4")
TRIES = 20_000 if IS_WHOLE else 300


def attack(choices: random.Random, piece_bytes: int) -> bytes:
    whole = encode(RemoteMessage({"kind": choices.choice("ab"), "id": choices.randint(-1, 2**70)}, b"x" * 9))
    made = []
    for _ in range(choices.randint(1, 100)):
        piece = choices.choice(
            [whole, bytes(piece_bytes), b"", whole[: choices.randint(0, 20)], os.urandom(0)]
        )
        length = choices.choice([len(piece)] * 6 + [0, 1, piece_bytes, 2**32 - 1])
        number = choices.choice([0, 1, choices.randint(0, 2**64 - 1)])
        made.append(struct.pack(">IQB", length, number, choices.choice([0, 0, 1, 1, 2, 255])) + piece)
    return b"".join(made)[: choices.choice([None, choices.randint(0, 400)])]


def test_hostile_frames_end_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "PIECE_BYTES", 64)
    monkeypatch.setattr(frames, "MESSAGE_LIMIT_BYTES", 64 * 8)
    choices = random.Random(seeded(40))
    endings = set()
    for _ in range(TRIES):
        try:
            for message in read_messages(io.BytesIO(attack(choices, 64))):
                assert isinstance(message.header, dict) and len(message.body) <= 64 * 8
            endings.add("end")
        except RemoteFrameError:
            endings.add("refused")
    assert endings == {"end", "refused"}
