"""agent-ls serve: arguments only."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="the only transport, and the default")


def run(options: argparse.Namespace) -> int:
    from agent_ls.server.start import main

    return main()
