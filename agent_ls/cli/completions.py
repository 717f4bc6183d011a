"""agent-ls completions: print a script that completes the commands and options in a shell."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)
    parser.epilog = (
        "bash: agent-ls completions bash > ~/.local/share/bash-completion/completions/agent-ls\n"
        "zsh: agent-ls completions zsh > FOLDER/_agent-ls, with FOLDER in $fpath\n"
        "fish: agent-ls completions fish > ~/.config/fish/completions/agent-ls.fish"
    )


def run(options: argparse.Namespace) -> int:
    import shtab  # imported here, because only this command needs it

    from agent_ls.cli.main import build_parser

    print(shtab.complete(build_parser(lambda name: True), shell=options.shell))
    return 0
