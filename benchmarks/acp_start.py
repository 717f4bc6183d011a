"""Measure the time from the start of `agent-ls acp` to its answer to `initialize`, alternately with `agent-ls serve`.

`python -m benchmarks.acp_start [RUNS]` prints both medians and their ratio, and fails if it is above 1.2.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from agent_ls.server.transport.framing import frame

MOST = 1.2
RUNS = 15
HELLO_LSP: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}
HELLO_ACP = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}},
}


def request(params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()


def spawn_to_answer_ms(arguments: Sequence[str], message: bytes, state: Path) -> float:
    environ = {
        **os.environ,
        "ANTHROPIC_API_KEY": "no-real-key",
        "AGENT_LS_STATE_DIR": str(state),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "agent-ls-bench-pyc"),
    }
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "agent_ls", *arguments],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin and process.stdout
    process.stdin.write(message)
    process.stdin.flush()
    assert os.read(process.stdout.fileno(), 1)
    took = time.monotonic() - begun
    process.kill()
    process.communicate()
    return took * 1000


def main(runs: int) -> int:
    ways = {
        "serve": (("serve", "--stdio"), frame(request(HELLO_LSP))),
        "acp": (("acp",), request(HELLO_ACP) + b"\n"),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs + 1):
            for name, (arguments, message) in ways.items():
                took[name].append(spawn_to_answer_ms(arguments, message, Path(folder)))
    # Leave out the first run of each command, because it compiles the modules that it imports.
    medians = {name: statistics.median(values[1:]) for name, values in took.items()}
    ratio = medians["acp"] / medians["serve"]
    for name, median in medians.items():
        print(f"{name:6} {median:7.1f} ms")
    print(f"ratio  {ratio:7.2f} (at most {MOST})")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
