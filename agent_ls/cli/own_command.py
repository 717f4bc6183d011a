"""The command that starts this program from the user's shell: `agent-ls`, its path, or `uvx --from … agent-ls`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from agent_ls.installation import install_source

_UV_CACHE = re.compile(r"(archive|environments|builds)-v\d+")


def own_command() -> str:
    """Return words for a shell that start this program, whatever the current folder is."""
    if command := temporary_command():
        return command
    if shutil.which("agent-ls"):
        return "agent-ls"
    program = Path(sys.argv[0])
    if program.name == "agent-ls" and program.is_file():
        return shlex.quote(str(program.absolute()))
    return f"{shlex.quote(sys.executable)} -m agent_ls"


def temporary_command() -> str:
    """Return the command of uv or pipx that made the environment of this process for one run; "" if none did.

    uv adds such an environment to PATH for this process, so `agent-ls` is found here but not in the user's shell.
    """
    uv, pipx = shutil.which("uvx"), shutil.which("pipx")
    tool = _tool_of(Path(sys.prefix))
    source = install_source()
    if tool == "uv" and (uv or os.environ.get("UV")):
        run = "uvx" if uv else f"{shlex.quote(os.environ['UV'])} tool run"
        return f"{run} --from {shlex.quote(source)} agent-ls" if source else f"{run} agent-ls"
    if tool == "pipx" and pipx:
        return f"pipx run --spec {shlex.quote(source)} agent-ls" if source else "pipx run agent-ls"
    return ""


def path_note() -> str:
    """Return the line that explains `agent-ls` in messages of this process; "" if the shell finds the command."""
    command = own_command()
    return "" if command == "agent-ls" else f"(agent-ls is not on PATH: start it as {command})\n"


def _tool_of(prefix: Path) -> str:
    """Return "uv" or "pipx" if the environment is in that tool's cache, otherwise ""."""
    for folder in prefix.parents:
        if (folder / "CACHEDIR.TAG").is_file():
            if _UV_CACHE.fullmatch(prefix.relative_to(folder).parts[0]):
                return "uv"
            return "pipx" if folder.name == "pipx" and folder == prefix.parent else ""
    return ""
