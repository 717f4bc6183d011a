"""agent-ls demo: open a copy of the sample project in Neovim, or print a session as a transcript."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agent_ls.cli.nvim_path import find_plugin
from agent_ls.cli.own_command import own_command
from agent_ls.program_lookup import find_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--headless", action="store_true", help="print the session instead of opening Neovim")
    parser.add_argument(
        "--folder", type=Path, help="where to put the sample project (default: a temporary folder)"
    )


def run(options: argparse.Namespace) -> int:
    made = None if options.folder else Path(tempfile.mkdtemp(prefix="agent-ls-demo-"))
    try:
        return _show(options, made / "shop" if made else options.folder)
    except BaseException:  # the place of the sample project was not printed
        if made:
            shutil.rmtree(made, ignore_errors=True)
        raise


def _show(options: argparse.Namespace, target: Path) -> int:
    from agent_ls.cli.sample import copy_sample_project

    try:
        folder = copy_sample_project(target.absolute())
    except FileExistsError:
        print(f"agent-ls demo: {target} already exists; name a new folder", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"agent-ls demo: {target} cannot be created: {error.strerror or error}", file=sys.stderr)
        return 2
    # Delete the sessions when the demo ends, even if a server that is still shutting down writes to the folder.
    with tempfile.TemporaryDirectory(prefix="agent-ls-demo-state-", ignore_cleanup_errors=True) as state:
        nvim, why = _maybe_neovim(options)
        code = _open_neovim(*nvim, folder, Path(state)) if nvim else _transcript(why, folder, Path(state))
    print(_format_farewell(folder))
    return code


def _maybe_neovim(options: argparse.Namespace) -> tuple[tuple[str, Path] | None, str]:
    """Return the paths of Neovim and of the agent-ls plugin, or None and the reason why Neovim is not opened."""
    if options.headless:
        return None, "printed as a transcript; without --headless the demo opens in Neovim"
    if not sys.stdin.isatty() or not sys.stdout.isatty() or "CI" in os.environ:
        return (
            None,
            "printed as a transcript, because there is no terminal; in a terminal the demo opens in Neovim",
        )
    nvim, plugin = _neovim(), find_plugin()
    if plugin is None:
        return None, "printed as a transcript, because the Neovim plugin is not installed with this package"
    if not nvim:
        return None, "printed as a transcript, because Neovim 0.11 or newer is not on PATH"
    return (nvim, plugin), ""


def _transcript(why: str, folder: Path, state: Path) -> int:
    from agent_ls.headless import demo as face

    print(f"agent-ls demo: a whole session on a copy of a sample project\n({why})\n", flush=True)
    return face.main(folder, state)


def _format_farewell(folder: Path) -> str:
    command = own_command()
    return "\n".join(
        (
            "",
            f"The sample project stays in {folder}, with the changes of this session.",
            "",
            "Next, with a key (ANTHROPIC_API_KEY or OPENAI_API_KEY) and in a folder of your own:",
            f'  {command} exec "what does this project do?"',
            f'  {command} exec --trust --mode edits "find a bug and fix it"',
            f'  {command} exec --ask "run the tests and fix what fails"',
        )
    )


def _open_neovim(nvim: str, plugin: Path, folder: Path, state: Path) -> int:
    environ = {
        **os.environ,
        "AGENT_LS_STATE_DIR": str(state),
        # the sample project is trusted, because it is part of agent-ls
        "AGENT_LS_TRUSTED_FOLDERS": str(folder),
        "AGENT_LS_COMMAND": sys.executable,
        # The demo neither uses nor changes the user's own configuration and history.
        **{f"XDG_{kind}_HOME": str(state / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")},
    }
    start = "lua require('agent_ls.demo').start()"
    argv = [nvim, "--clean", "-n", "--cmd", f"set runtimepath^={plugin}", "-c", start, "shop/cart.py"]
    return subprocess.call(argv, cwd=folder, env=environ)


def _neovim() -> str:
    """Return the path of nvim if version 0.11 or newer is on PATH, otherwise ""."""
    found = find_program("nvim")
    if not found:
        return ""
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"NVIM v(\d+)\.(\d+)", version)
    return found if match and (int(match[1]), int(match[2])) >= (0, 11) else ""
