"""agent-ls nvim-path: print the folder of the Neovim plugin that belongs to this installation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent_ls.cli.own_command import temporary_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command takes no arguments."""


def run(options: argparse.Namespace) -> int:
    folder = find_plugin()
    if folder is None:
        print("agent-ls: this installation has no Neovim plugin; install agent-ls again", file=sys.stderr)
        return 1
    print(folder)
    if temporary_command():
        print(
            "agent-ls: this folder is in a cache and can be deleted; for a lasting one install agent-ls, "
            "for example with `uv tool install` or `pipx install`",
            file=sys.stderr,
        )
    return 0


def find_plugin() -> Path | None:
    """Return the plugin's folder in the installed package or in the checkout; None if it does not exist."""
    package = Path(__file__).resolve().parents[1]
    places = (package / "editors" / "nvim", package.parent / "editors" / "nvim")
    return next((place for place in places if (place / "plugin").is_dir()), None)
