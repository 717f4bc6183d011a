"""Compare agent-ls with a floor in the same run: python -m benchmarks.run [--quick] [--json FILE] [--record].

The floor is a bare Python server that plays the same scenarios without an agent (bare_server.py); start-up is compared
with a plain pygls server too. Each figure is the median over the runs. Machines differ, so compare ratios: the last
column has the ratio of the recorded run (recorded.json), and names the figures that have become worse. Times are
printed only if little else used the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.machine import MAX_OTHER_CORES, OtherLoad, precedence
from benchmarks.processes import AGENT_LS, BARE, PYGLS, Model, Server
from benchmarks.scenarios import Figures, Scale, beginning, conversing, editing, starting
from benchmarks.single import body_of_a_late_round, one_prompt

RUNS, QUICK_RUNS = 7, 3
QUICK = Scale(turns=40, rounds=100, deltas=2_000, paced_deltas=100, edits=3, keystrokes=10)
STORIES = {"beginning": beginning, "conversing": conversing, "editing": editing}
SERVERS = {"floor": BARE, "agent-ls": AGENT_LS, "pygls": PYGLS}
RECORD = Path(__file__).with_name("recorded.json")
NOISE = 1.2
"""Ratios of two runs of the same code on one machine differ by up to this factor. A larger growth is reported."""
LEAST_FLOOR = 0.05  # ms or MiB; a ratio to a smaller value has no meaning


def measure_story(story: str, server: str, model: Model, scale: Scale) -> Figures:
    """Run the scenario `story` with a new process of `server` in a new folder. Return its figures."""
    with tempfile.TemporaryDirectory() as base:
        folder, state = Path(base) / "work", Path(base) / "state"
        for made in (folder, state):
            made.mkdir()
        if story == "single":
            return {**one_prompt(model, server, folder, state), **body_of_a_late_round(server, scale.rounds)}
        with Server(SERVERS[server], model, state) as process:
            if story == "starting":
                return starting(process, model, folder)
            return STORIES[story](process, model, folder, scale)


def measure(runs: int, scale: Scale) -> dict[str, dict[str, list[float]]]:
    """Run all scenarios `runs` times. Return the values of each figure, by figure and then by server.

    The servers run alternately, so that a slow phase of the machine affects all of them.
    """
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with Model() as model:
        for _ in range(runs):
            for story in ("starting", "single", *STORIES):
                for server in SERVERS if story == "starting" else ("floor", "agent-ls"):
                    for figure, value in measure_story(story, server, model, scale).items():
                        found[figure][server].append(value)
    return found


def ratios(found: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """Return the ratio of agent-ls to the floor for each figure whose floor is larger than LEAST_FLOOR."""
    medians = {
        figure: {server: statistics.median(values) for server, values in by_server.items()}
        for figure, by_server in found.items()
    }
    return {
        figure: round(middle["agent-ls"] / middle["floor"], 2)
        for figure, middle in medians.items()
        if middle.get("floor", 0.0) > LEAST_FLOOR
    }


def worse(now: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """Return the figures whose ratio has grown by more than the factor NOISE, in the order of `now`."""
    return [figure for figure, ratio in now.items() if ratio > NOISE * recorded.get(figure, math.inf)]


def table(
    found: Mapping[str, Mapping[str, Sequence[float]]], recorded: Mapping[str, float], *, with_times: bool
) -> str:
    now = ratios(found)
    slower = worse(now, recorded)
    times = f" {'floor':>9} {'agent-ls':>9} {'pygls':>9}" if with_times else ""
    rows = [f"{'figure':18}{times} {'ratio':>7} {'recorded':>9}"]
    for figure, by_server in found.items():
        row = f"{figure:18}"
        if with_times:
            middle = {server: statistics.median(values) for server, values in by_server.items()}
            row += "".join(
                f" {_number(middle.get(server), 2):>9}" for server in ("floor", "agent-ls", "pygls")
            )
        row += f" {_number(now.get(figure), 1):>7} {_number(recorded.get(figure), 1):>9}"
        rows.append(row + ("  worse" if figure in slower else ""))
    return "\n".join(rows)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three runs at a small scale")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value too")
    parser.add_argument(
        "--record", action="store_true", help="later runs of this size are compared with this one"
    )
    options = parser.parse_args(arguments)
    runs, scale = (QUICK_RUNS, QUICK) if options.quick else (RUNS, Scale())
    with precedence() as has_precedence:
        load = OtherLoad()
        found = measure(runs, scale)
        others = load.cores()
    is_quiet = not others > MAX_OTHER_CORES
    size = "quick" if options.quick else "whole"
    records = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    print(f"median of {runs} runs; times in ms, sizes in MiB, round_growth in µs a round")
    print(f"other work used {others:.2f} cores; precedence over it: {'yes' if has_precedence else 'no'}")
    if not is_quiet:
        print("Too much other work for times to be results: only ratios are printed.")
    print("\n" + table(found, records.get(size, {}), with_times=is_quiet))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.record:
        RECORD.write_text(json.dumps({**records, size: ratios(found)}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
