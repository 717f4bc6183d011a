"""A long run that ends itself with SIGKILL after its Nth event: python -m tests.durability.killed_run ROOT N...

Each run is a separate process, forked before anything runs, so it leaves the same files as a server that is killed
there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import anyio

from agent_ls.loop.events.types import Envelope
from tests.support.fake_provider import Piece, reasoning, text, tool_call
from tests.support.session_rig import running

TURNS = 28


def script() -> list[Piece | Sequence[Piece]]:
    """Return the model's script: in each turn it reads a file and changes one line of it."""
    numbers = count()

    def call(name: str, **arguments: object) -> Piece:
        return tool_call(name, json.dumps(arguments), f"c{next(numbers)}")

    answers: list[Piece | Sequence[Piece]] = []
    for turn in range(TURNS):
        edit = {"old_string": f"{turn}\n", "new_string": f"{turn + 1}\n"}
        answers += [
            [reasoning("Hm."), text("I look."), call("read_file", file_path="a.txt")],
            call("edit_file", file_path="a.txt", **edit),
            text("Done."),
        ]
    return answers


async def run(root: Path, kill_at: int) -> list[str]:
    """Run the session in `root` up to the event number `kill_at` (0: to its end). Return the kinds of its events."""
    async with running(root, script()) as rig:
        (rig.folder / "a.txt").write_text("0\n")
        talk = await rig.talk(mode="full")
        with talk.live.session.subscribe() as events:
            for turn in range(TURNS):
                talk.live.session.submit(f"turn {turn}")
                async for item in events:
                    _maybe_die(item.envelope, kill_at)
                    if item.envelope.kind == "processing_end":
                        break
        return [envelope.kind for envelope in talk.envelopes]


def _maybe_die(envelope: Envelope, kill_at: int) -> None:
    if kill_at and (envelope.seq or 0) >= kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


def split_off(root: Path, kill_at: int) -> None:
    root.mkdir(parents=True)
    pid = os.fork()
    if not pid:
        anyio.run(run, root, kill_at)
        os._exit(3)  # the process should have been killed
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, f"{kill_at}: {status}"


if __name__ == "__main__":
    for number in map(int, sys.argv[2:]):
        split_off(Path(sys.argv[1]) / str(number), number)
