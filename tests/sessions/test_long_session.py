"""The work that a round costs does not grow with the length of the session (L12). Calls are counted, not time."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agent_ls.llm.requests import Request
from agent_ls.llm.stream import StreamEvent
from tests.support.fake_provider import FakeProvider, Piece, text, tool_call
from tests.support.session_rig import running

ROUNDS, SHARE = 300, 20
GROWTH = 1.2


class Counting(FakeProvider):
    """A fake provider that counts function calls on the event loop from the end of each response to the next
    request.
    """

    def __init__(self, script: list[Piece]) -> None:
        super().__init__(script)
        self.calls: list[int] = []
        self._count = 0

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        sys.setprofile(None)
        self.calls.append(self._count)
        async for event in super().stream(request):
            yield event
        self._count = 0
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        self._count += event in ("call", "c_call")


def _read(number: int) -> Piece:
    arguments = {"file_path": "a.txt", "offset": 1 + number}
    return tool_call("read_file", json.dumps(arguments), f"c{number}")


@pytest.mark.req("L12", "L5")
async def test_the_work_per_model_call_does_not_grow_with_the_session_length(tmp_path: Path) -> None:
    model = Counting([*map(_read, range(ROUNDS)), text("Done.")])
    async with running(tmp_path, model=model) as rig:
        (rig.folder / "a.txt").write_text("line\n" * (ROUNDS + 10))
        talk = await rig.talk("full")
        try:
            await talk.say("go")
        finally:
            sys.setprofile(None)
    assert len(model.calls) == ROUNDS + 1
    early, late = statistics.median(model.calls[5 : 5 + SHARE]), statistics.median(model.calls[-SHARE:])
    assert 100 < late < early * GROWTH
