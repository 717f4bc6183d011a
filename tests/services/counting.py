"""Counts the calls of chosen functions, in all threads, between two requests to the model."""

from __future__ import annotations

import dis
import re
import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import anyio

from agent_ls.llm.requests import Request
from agent_ls.llm.stream import StreamEvent
from tests.support import REPOSITORY
from tests.support.fake_provider import FakeProvider, Piece

LARGE = 200_000
_PACKAGES = Path(anyio.__file__).parent.parent

_BACKGROUND = ("watch_handovers",)
"""What runs several times a second, whatever a session does: its own calls are not counted."""

_BELOW = re.compile("/(?:agent_ls|site-packages)/")


@cache
def _start(code: CodeType) -> int:
    """Return the bytecode offset at which a call begins. A coroutine that resumes after an `await` has a larger
    offset.
    """
    return next(step.offset for step in dis.get_instructions(code) if step.opname == "RESUME")


class CountingProvider(FakeProvider):
    """A fake provider that counts the calls of the `watched` functions.

    `watched` maps a file (below agent_ls/ or site-packages/) and a function name to an argument name. A call counts
    only if that argument is longer than LARGE; with "", each call counts. `rounds` has the counts before each request.
    """

    def __init__(self, script: Sequence[Piece], watched: Mapping[tuple[str, str], str]) -> None:
        super().__init__(script)
        for file, name in watched:
            folder = REPOSITORY / "agent_ls" if (REPOSITORY / "agent_ls" / file).exists() else _PACKAGES
            assert f"def {name}(" in (folder / file).read_text(), f"{file} has no function {name}"
        self.rounds: list[Counter[str]] = []
        self._watched = watched
        self.count: Counter[str] = Counter()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self.rounds.append(self.count)
        self.count = Counter()
        async for event in super().stream(request):
            yield event

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the calls of this thread and of threads that are started inside the block."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        file, name = _BELOW.split(frame.f_code.co_filename.replace("\\", "/"))[-1], frame.f_code.co_name
        argument_name = self._watched.get((file, name))
        if argument_name is None or frame.f_lasti > _start(frame.f_code):
            return
        if frame.f_back and frame.f_back.f_code.co_name in _BACKGROUND:
            return
        if not argument_name or len(frame.f_locals[argument_name]) > LARGE:
            self.count[name] += 1
