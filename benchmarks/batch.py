"""Measure the time that `agent-ls batch` adds to each task: python -m benchmarks.batch.

The floor is a shell loop of `agent-ls exec`.

In each task, a scripted model gives one answer without delay. The loop creates the work tree and the patch of a task
with git, as `agent-ls batch` does. Loop and batch run alternately; the printed times are medians. Machines differ, so
quote the ratio to the floor. The row "each further task" leaves out the start of the batch: it is the difference
between a batch of MORE_TASKS and one of TASKS, per task.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.processes import Model

TASKS, MORE_TASKS, RUNS, JOBS = 6, 18, 3, 2
EXEC = [sys.executable, "-m", "agent_ls", "exec", "--json", "--trust", "--approve", "edits"]
BATCH = [sys.executable, "-m", "agent_ls", "batch", "tasks.jsonl", "--trust"]
PROMPT = "Say that you are done."
LOOP = f"""
for id in {" ".join(f"t{number}" for number in range(TASKS))}; do
  git -C repo worktree add -q --detach ../work/$id HEAD
  mkdir -p out/$id
  {shlex.join(EXEC)} --cd work/$id -- {shlex.quote(PROMPT)} > out/$id/events.jsonl < /dev/null
  git -C work/$id add --all
  git -C work/$id diff --cached --binary > out/$id/change.patch
  git -C repo worktree remove --force ../work/$id
done
"""


def prepare(folder: Path, count: int) -> None:
    (folder / "repo").mkdir()
    (folder / "work").mkdir()
    (folder / "repo" / "a.py").write_text("x = 1\n")
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", "repo", *arguments], cwd=folder, check=True)
    tasks = ({"id": f"t{n}", "prompt": PROMPT, "repo": "repo", "commit": "HEAD"} for n in range(count))
    (folder / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))


def seconds(command: Sequence[str], folder: Path, base_url: str, count: int) -> tuple[float, float]:
    """Run the command, which does `count` tasks. Return how long it takes and its CPU time.

    Raises:
        SystemExit: the command failed, or a task left no events or no patch.
    """
    environ = {
        **os.environ,
        "HOME": str(folder),
        "PYTHONPATH": os.getcwd(),
        "PYTHONDONTWRITEBYTECODE": "",
        "AGENT_LS_STATE_DIR": str(folder / "state"),
        "ANTHROPIC_API_KEY": "key-of-a-benchmark",
        "ANTHROPIC_BASE_URL": base_url,
    }
    begun, before = time.perf_counter(), os.times()
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    took, after = time.perf_counter() - begun, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    ended = [path for path in folder.glob("out/**/events.jsonl") if '"Done."' in path.read_text()]
    if done.returncode or len(ended) != count or len([*folder.glob("out/**/change.patch")]) != count:
        raise SystemExit(f"{len(ended)} of {count} tasks are done:\n{done.stdout}{done.stderr}")
    return took, used


def main() -> None:
    batch = [*BATCH, "--out", "out"]
    ways: Mapping[str, tuple[Sequence[str], int]] = {
        "shell loop": (["sh", "-c", LOOP], TASKS),
        "batch, 1 job": (batch, TASKS),
        f"batch, {JOBS} jobs": ([*batch, "--jobs", str(JOBS)], TASKS),
        "longer batch": (batch, MORE_TASKS),
    }
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    with Model() as model:
        for _ in range(RUNS):
            for way, (command, count) in ways.items():
                with tempfile.TemporaryDirectory() as name:
                    prepare(Path(name), count)
                    model.play({"text": "Done.", "times": count})
                    found[way].append(seconds(command, Path(name), model.base_url, count))
    middle = {
        way: [statistics.median(values) / ways[way][1] for values in zip(*runs, strict=True)]
        for way, runs in found.items()
    }
    longer, shorter = middle.pop("longer batch"), middle["batch, 1 job"]
    middle["each further task"] = [
        (more * MORE_TASKS - fewer * TASKS) / (MORE_TASKS - TASKS)
        for more, fewer in zip(longer, shorter, strict=True)
    ]
    floor, floor_cpu = middle["shell loop"]
    for way, (took, used) in middle.items():
        print(
            f"{way:18} {took:6.2f} s a task, ratio {took / floor:.2f}   "
            f"{used:6.2f} s of CPU time a task, ratio {used / floor_cpu:.2f}"
        )


if __name__ == "__main__":
    main()
