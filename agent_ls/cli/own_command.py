"""Find the command with which the user can start this program: `agent-ls`, its path, or `uvx --from … agent-ls`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agent_ls.installation import install_source, shell_words, temporary_tool
from agent_ls.program_lookup import find_on


def own_command() -> str:
    """Return the shell command that starts this program from any folder."""
    if command := temporary_command():
        return command
    if find_on("agent-ls"):
        return "agent-ls"
    program = Path(sys.argv[0])
    if program.name == "agent-ls" and program.is_file():
        return shell_words([str(program.absolute())])
    return shell_words([sys.executable, "-P", "-m", "agent_ls"])


def temporary_command() -> str:
    """Return the `uvx` or `pipx run` command that created the temporary environment of this process; "" for a
    permanent installation, or if `uvx` or `pipx` is not found.

    uv adds a temporary environment to PATH for this process. Therefore this process finds `agent-ls` on PATH,
    but the user's shell does not.
    """
    uv, pipx = find_on("uvx"), find_on("pipx")
    tool = temporary_tool(Path(sys.prefix))
    source = install_source()
    if tool == "uv" and (uv or os.environ.get("UV")):
        run = ["uvx"] if uv else [os.environ["UV"], "tool", "run"]
        return shell_words([*run, "--from", source, "agent-ls"] if source else [*run, "agent-ls"])
    if tool == "pipx" and pipx:
        return shell_words(["pipx", "run", *(["--spec", source] if source else []), "agent-ls"])
    return ""


def path_note() -> str:
    """Return a line that explains how to start `agent-ls`, or "" if the user's shell finds the command on
    PATH.
    """
    command = own_command()
    return "" if command == "agent-ls" else f"(agent-ls is not on PATH: start it as {command})\n"
