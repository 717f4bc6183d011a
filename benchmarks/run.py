"""Measures agent-ls against a floor in the same run: python -m benchmarks.run [--quick] [--json FILE].

The floor is a bare Python server that tells the same stories without an agent (bare_server.py); start-up is set
against a plain pygls server too. Each figure is the median over the runs; machines differ, so quote the ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import AGENT_LS, BARE, PYGLS, Model, Server
from benchmarks.scenarios import Figures, Scale, conversing, editing, starting

RUNS, QUICK_RUNS = 7, 3
QUICK = Scale(turns=40, rounds=100, deltas=2_000, paced_deltas=100, edits=3, keystrokes=10)
SERVERS = {"floor": BARE, "agent-ls": AGENT_LS, "pygls": PYGLS}


def told(story: str, server: str, model: Model, scale: Scale) -> Figures:
    """One story, told to a fresh process in a fresh folder."""
    with tempfile.TemporaryDirectory() as base:
        folder, state = Path(base) / "work", Path(base) / "state"
        for made in (folder, state):
            made.mkdir()
        with Server(SERVERS[server], model, state) as process:
            if story == "starting":
                return starting(process, model, folder)
            return (conversing if story == "conversing" else editing)(process, model, folder, scale)


def measure(runs: int, scale: Scale) -> dict[str, dict[str, list[float]]]:
    """Figure -> server -> one value per run. The servers take turns, so that a drift of the machine hits both."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with Model() as model:
        for _ in range(runs):
            for story in ("starting", "conversing", "editing"):
                for server in SERVERS if story == "starting" else ("floor", "agent-ls"):
                    for figure, value in told(story, server, model, scale).items():
                        found[figure][server].append(value)
    return found


def table(found: dict[str, dict[str, list[float]]]) -> str:
    rows = [f"{'figure':16} {'floor':>9} {'agent-ls':>9} {'ratio':>7} {'pygls':>9}"]
    for figure, by_server in found.items():
        middle = {server: statistics.median(values) for server, values in by_server.items()}
        floor, ours = middle.get("floor", 0.0), middle["agent-ls"]
        ratio = f"{ours / floor:7.1f}" if floor > 0.05 else f"{'-':>7}"
        pygls = f"{middle['pygls']:9.2f}" if "pygls" in middle else f"{'':>9}"
        rows.append(f"{figure:16} {floor:9.2f} {ours:9.2f} {ratio} {pygls}")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three runs at a small scale")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value too")
    options = parser.parse_args(arguments)
    runs, scale = (QUICK_RUNS, QUICK) if options.quick else (RUNS, Scale())
    found = measure(runs, scale)
    print(f"median of {runs} runs; times in ms, sizes in MiB, round_growth in µs a round\n")
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
