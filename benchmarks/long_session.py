"""Measure a session of 1,000 rounds in one process: python -m benchmarks.long_session [ROUNDS].

A scripted model replaces the adapter of the provider. The figures therefore do not contain the time to encode and send
requests, which depends on their size. Tools, events and the log on disk are real. The time of a round is the CPU time
of this process (all threads) from the end of an answer with a tool call to the next request. Each printed time is the
median over five sessions.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio

from agent_ls.llm.credentials import Credentials
from agent_ls.llm.messages import TextPart, ToolCallPart
from agent_ls.llm.requests import FinishReason, Request, Response, Usage
from agent_ls.llm.stream import (
    StreamEvent,
    StreamFinish,
    StreamStart,
    TextEnd,
    TextStart,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.loop.events.types import ProcessingEnd
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.host import ClientState, ProgramParts
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec

ROUNDS = 1000
SESSIONS = 5
SHARE = 25  # each time is a median over this many rounds: the last ones, or those after the first five (they load code)
FILES = 10
MIB = 1024 * 1024


class Model:
    """A model that calls read_file a given number of times, and records the times of requests and answers."""

    name = "anthropic"

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.asked_ns: list[int] = []
        self.answered_ns: list[int] = []
        self.heap: list[int] = []
        self.history_chars: list[int] = []

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self.asked_ns.append(time.process_time_ns())
        number = len(self.asked_ns)
        yield StreamStart(f"r{number}", request.model)
        if number > self.rounds:
            yield TextStart(0)
            yield TextEnd(0, TextPart("Done."))
        else:
            arguments = json.dumps({"file_path": f"note{number % FILES}.txt", "offset": 1 + number // FILES})
            yield ToolCallStart(0, f"c{number}", "read_file")
            yield ToolCallEnd(0, ToolCallPart(f"c{number}", "read_file", arguments))
        if number in (self.rounds // 10, self.rounds):
            gc.collect()
            self.heap.append(tracemalloc.get_traced_memory()[0])
            self.history_chars.append(sum(_size(request)))
        reason = "stop" if number > self.rounds else "tool_calls"
        yield StreamFinish(
            FinishReason("stop" if number > self.rounds else "tool_calls", reason), Usage(1, 1), {}
        )
        self.answered_ns.append(time.process_time_ns())

    async def complete(self, request: Request) -> Response:
        raise NotImplementedError

    async def close(self) -> None:
        return None


def _size(request: Request) -> list[int]:
    return [len(repr(part)) for message in request.messages for part in message.parts]


async def played(rounds: int, base: Path) -> Model:
    folder = base / "work"
    await anyio.to_thread.run_sync(_prepare, folder, rounds)
    model = Model(rounds)
    workbench = SessionManager(
        settings=Settings(),
        credentials=Credentials(),
        state_dir=base / "state",
        program=ProgramParts(adapters={"anthropic": model}),
        client=ClientState(trusting="trusted"),
    )
    async with anyio.create_task_group() as group:
        await group.start(workbench.run)
        live = await workbench.new_session(
            SessionSpec(workspace_folder=str(folder), provider="anthropic", mode="full")
        )
        with live.session.subscribe() as events:
            live.session.submit("go")
            async for item in events:
                if isinstance(item.envelope.event, ProcessingEnd):
                    break
        group.cancel_scope.cancel()
    return model


def _prepare(folder: Path, rounds: int) -> None:
    folder.mkdir()
    for number in range(FILES):
        lines = "".join(f"line {line} of an ordinary length\n" for line in range(rounds // FILES + 40))
        (folder / f"note{number}.txt").write_text(lines)


def rounds_ms(model: Model) -> list[float]:
    pairs = zip(model.answered_ns, model.asked_ns[1:], strict=False)
    return [(asked - answered) / 1e6 for answered, asked in pairs]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    found: list[tuple[float, float]] = []
    for _ in range(SESSIONS):
        with tempfile.TemporaryDirectory() as base:
            times = rounds_ms(anyio.run(played, rounds, Path(base)))
        found.append((statistics.median(times[5 : 5 + SHARE]), statistics.median(times[-SHARE:])))
    early, late = (statistics.median(column) for column in zip(*found, strict=True))
    print(
        f"a round, ms: around round 10 {early:.2f}, around round {rounds} {late:.2f}, ratio {late / early:.2f}"
    )
    print(f"resident at its largest: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as base:
        model = anyio.run(played, rounds, Path(base))
    grown, history = (values[1] - values[0] for values in (model.heap, model.history_chars))
    print(
        f"from round {rounds // 10} to {rounds}: {grown / MIB:.2f} MiB more, {history / MIB:.2f} of the history"
    )


if __name__ == "__main__":
    main()
