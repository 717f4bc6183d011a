"""agent-ls demo: a copy of the sample project, in Neovim where there is a terminal, else as a transcript."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--headless", action="store_true", help="print the session instead of opening Neovim")
    parser.add_argument(
        "--folder", type=Path, help="where to put the sample project (default: a temporary folder)"
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.app.sample import copy_sample_project

    base = Path(tempfile.mkdtemp(prefix="agent-ls-demo-"))
    try:
        folder = copy_sample_project((options.folder or base / "shop").resolve())
    except FileExistsError:
        print(f"agent-ls demo: {options.folder} is there already; name a folder that is not", file=sys.stderr)
        return 2
    in_terminal = (
        sys.stdin.isatty() and sys.stdout.isatty() and not options.headless and "CI" not in os.environ
    )
    why = "" if in_terminal else "no terminal"
    if in_terminal:
        nvim, plugin = _neovim(), _plugin()
        if nvim and plugin:
            return _open_neovim(nvim, plugin, folder, base / "state")
        why = (
            "Neovim 0.11 or newer is not on PATH"
            if plugin
            else "the Neovim plugin is not beside this package"
        )
    print(f"agent-ls demo ({why}: shown as a transcript). The project is a copy in {folder}\n")
    from agent_ls.headless import demo as face

    code = face.main(folder, base / "state")
    print(f"\nThe changed project stays in {folder}. With a key (ANTHROPIC_API_KEY or OPENAI_API_KEY), try:")
    print('  agent-ls exec --approve edits "explain what this project does"')
    return code


# Neovim would look for a Python with its own module at the first .py file, which takes seconds.
_QUICK = ("--cmd", "let g:loaded_python3_provider=0")


def _open_neovim(nvim: str, plugin: Path, folder: Path, state: Path) -> int:
    environ = {
        **os.environ,
        "AGENT_LS_STATE_DIR": str(state),
        "AGENT_LS_COMMAND": sys.executable,
        # The demo must not touch, or be changed by, the user's own configuration and history.
        **{f"XDG_{kind}_HOME": str(state / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")},
    }
    start = "lua require('agent_ls.demo').start()"
    argv = [
        nvim,
        "--clean",
        "-n",
        *_QUICK,
        "--cmd",
        f"set runtimepath^={plugin}",
        "-c",
        start,
        "shop/cart.py",
    ]
    return subprocess.call(argv, cwd=folder, env=environ)


def _neovim() -> str:
    """The first nvim on PATH that is new enough, "" when there is none."""
    found = shutil.which("nvim")
    if not found:
        return ""
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"NVIM v(\d+)\.(\d+)", version)
    return found if match and (int(match[1]), int(match[2])) >= (0, 11) else ""


def _plugin() -> Path | None:
    plugin = Path(__file__).resolve().parents[2] / "editors" / "nvim"
    return plugin if plugin.is_dir() else None
