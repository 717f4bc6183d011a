"""agent-ls tools: the tools that the user defined in YAML, and what is wrong with a definition."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cd", type=Path, default=Path(), metavar="FOLDER", help="with those of the project in this folder"
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.app.cli_tools import has_project_tools, load_cli_tools
    from agent_ls.app.clock import SystemClock
    from agent_ls.app.state_folder import state_folder
    from agent_ls.app.trust import WorkspaceTrust
    from agent_ls.store.trust import TrustStore

    folder = options.cd.resolve()
    trust = WorkspaceTrust(TrustStore(state_folder()), SystemClock(), "kept")
    is_trusted = trust.standing(str(folder)) == "trusted"
    found = load_cli_tools(state_folder(), folder, trusted=is_trusted)
    for tool in found.tools:
        print(f"{tool.name}  ({tool.category})  {tool.description}")
        print(f"    {tool.usage}")
        print(f"    {tool.source}")
    for problem in found.problems:
        print(f"✗ {problem}", file=sys.stderr)
    if not found.tools and not found.problems:
        print(f"no tools are defined: write {state_folder() / 'tools.yaml'} (docs/adding-a-tool.md)")
    if not is_trusted and has_project_tools(folder):
        print("the project in this folder brings tools of its own: they are left out until you trust it")
    return 1 if found.problems else 0
