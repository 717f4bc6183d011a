"""The garbage collector is off while the server loads, because loading makes no garbage, and on afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gc, json, os, sys
import anyio
from agent_ls.server.backend import AgentBackend
from agent_ls.server.transport.framing import FrameParser
from agent_ls.server.server import AgentServer, ClientStreams

initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
ends, of_editor = os.pipe()
answers, ours = os.pipe()

async def main() -> None:
    gc.disable()
    first = () if sys.argv[1] == "silent" else (json.dumps(initialize).encode(),)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(AgentServer(AgentBackend()).serve, ClientStreams(ends, ours, FrameParser(), first))
        if first:
            with anyio.fail_after(240):
                while not gc.isenabled():
                    await anyio.sleep(0.01)
            print("on, frozen" if gc.get_freeze_count() > 10_000 else "on")
        os.close(of_editor)
    print("on" if gc.isenabled() else "off")

anyio.run(main)
"""


def collector(editor: str, state: Path) -> list[str]:
    environ = {**os.environ, "AGENT_LS_STATE_DIR": str(state)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, editor],
        capture_output=True,
        text=True,
        timeout=240,
        env=environ,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_garbage_collection_starts_after_loading_and_skips_loaded_objects(
    tmp_path: Path,
) -> None:
    assert collector("speaks", tmp_path) == ["on, frozen", "on"]


def test_garbage_collection_is_on_if_the_editor_disconnects_before_initialize(tmp_path: Path) -> None:
    assert collector("silent", tmp_path) == ["on"]
