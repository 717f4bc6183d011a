"""agent-ls sessions: what is stored, newest first."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="of every folder, not only this one")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="at most N (default 20)")


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.app.settings import Settings
    from agent_ls.app.workbench import Workbench
    from agent_ls.llm.credentials import Credentials

    bench = Workbench(settings=Settings(), credentials=Credentials.from_environment({}))
    folder = None if options.all else str(Path().resolve())
    summaries, more = anyio.run(bench.list_sessions, folder, None, options.limit)
    for summary in summaries:
        print(f"{summary.id}  {summary.updated}  {summary.provider}/{summary.model}  {summary.title}")
    if not summaries:
        print("no stored sessions" + ("" if options.all else " for this folder (--all lists every folder's)"))
    if more:
        print(f"(more: --limit {options.limit * 2})")
    return 0
