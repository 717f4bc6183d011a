"""Run a folder of tasks in memory and print a table: python examples/evaluation.py TASKS [PROVIDER]

Each task is a JSON file: {"files": {…}, "task": "…", "expect": {path: text}}. Nothing is stored, and nothing of the
account that runs the evaluation is used.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import agent_ls


def read_tasks(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


async def solve(task: dict[str, Any], provider: str) -> tuple[bool, int, str]:
    """Return whether the files are as expected, the tokens, and the cost, with + if a part of it is unknown."""
    place = agent_ls.MemoryEnvironment(task["files"], working_directory="/task")
    async with agent_ls.open_session(
        environment=place, provider=provider, mode="full", trusted=True, stored=False
    ) as session:
        try:
            await session.ask(task["task"])
        except RuntimeError as error:
            print(error, file=sys.stderr)
        usage = session.usage
        wrong = [
            path
            for path, text in task["expect"].items()
            if not await place.file_exists(path) or await place.read_bytes(path) != text.encode()
        ]
        cost = f"{session.known_cost_usd:.4f}{'+' if session.cost_usd is None else ''} USD"
        return not wrong, usage.input_tokens + usage.output_tokens, cost


async def main(folder: str, provider: str = "") -> None:
    solved = 0
    tasks = read_tasks(Path(folder))
    for name, task in tasks.items():
        is_solved, tokens, cost = await solve(task, provider)
        solved += is_solved
        print(f"{name:20} {'solved' if is_solved else 'failed':8} {tokens:8} tokens  {cost}")
    print(f"{solved} of {len(tasks)} solved")


asyncio.run(main(*sys.argv[1:]))
