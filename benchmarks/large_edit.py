"""Measure the change of one line in a file of 100,000 lines: python -m benchmarks.large_edit.

The floor is to read, split and join the file.

`computed`: read the file, and compute the new text and its hunks. `prepared`: read the file, and prepare a tool call
for approval, with diff and digest. `filed`: record the edit in the review ledger, without reading the file.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from agent_ls.environments.base import Attribution
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.patch.replace import replace
from agent_ls.patch.v4a_apply import parse, plan
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.ledger import open_ledger
from agent_ls.text import split_lines
from agent_ls.tools.apply_patch import APPLY_PATCH, ApplyPatchArguments
from agent_ls.tools.base import ToolContext
from agent_ls.tools.edit_file import EDIT_FILE, EditFileArguments
from tests.support.tool_calls import Reads

LINES, RUNS, CHANGED = 100_000, 7, 75_001

LINE = "    value_{0} = compute({0}, 'text number {0}')  # line {0}\n"
TEXT = "".join(LINE.format(at) if at % 4 else "\n" for at in range(LINES))
OLD, NEW = LINE.format(CHANGED), "    changed = True\n"
PATCH = f"*** Begin Patch\n*** Update File: large.py\n@@\n \n-{OLD}+{NEW}*** End Patch"


def floor(path: Path) -> bytes:
    lines = split_lines(path.read_bytes().decode())
    lines[CHANGED] = NEW
    return "".join(lines).encode()


def by_patch(path: Path) -> bytes | None:
    return plan(parse(PATCH), {"large.py": path.read_bytes()}).changes[0].after


def by_replacement(path: Path) -> bytes | None:
    return replace(path.read_bytes(), OLD, NEW).content


async def prepared(path: Path, tool: str) -> None:
    environment = LocalEnvironment(str(path.parent))
    reads = Reads({str(path): ""})
    context = ToolContext(environment, Attribution(), lambda stream, text: None, reads)
    if tool == "patch":
        await APPLY_PATCH.prepare(ApplyPatchArguments(patch=PATCH), context)
    else:
        arguments = EditFileArguments(file_path=path.name, old_string=OLD, new_string=NEW)
        await EDIT_FILE.prepare(arguments, context)


def filed(before: str, after: str) -> None:
    apply_agent_edit(open_ledger("/large.py", before), after, Attribution("s", "t", "c"))


async def median_ms(work: Callable[[], Awaitable[object]]) -> float:
    found = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        await work()
        found.append((time.perf_counter() - begin) * 1000)
    return statistics.median(found)


async def measure(path: Path) -> dict[str, float]:
    async def later(work: Callable[[], object]) -> None:
        work()

    after = floor(path).decode()
    assert by_patch(path) == by_replacement(path) == floor(path)
    return {
        "read, split and joined (floor)": await median_ms(lambda: later(lambda: floor(path))),
        "computed, by patch": await median_ms(lambda: later(lambda: by_patch(path))),
        "computed, by replacement": await median_ms(lambda: later(lambda: by_replacement(path))),
        "prepared, by patch": await median_ms(lambda: prepared(path, "patch")),
        "prepared, by replacement": await median_ms(lambda: prepared(path, "replacement")),
        "filed in the ledger": await median_ms(lambda: later(lambda: filed(TEXT, after))),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.py"
        path.write_text(TEXT)
        found = anyio.run(measure, path)
    lowest = next(iter(found.values()))
    print("| one line of 100,000 | ms | ratio |\n| --- | --: | --: |")
    for name, ms in found.items():
        print(f"| {name} | {ms:.0f} | {ms / lowest:.1f} |")


if __name__ == "__main__":
    main()
