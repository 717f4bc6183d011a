"""The tools of Gemini's models."""

from __future__ import annotations

from agent_ls.profiles.shared_tools import with_shared_tools
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.list_dir import LIST_DIR
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.read_many_files import READ_MANY_FILES
from agent_ls.tools.registry import ToolRegistry
from agent_ls.tools.shell import shell_tool
from agent_ls.tools.write_file import WRITE_FILE

SHELL_TIMEOUT_MS = 10_000  # the default time limit of commands in all sessions


def build_toolset(*, background: bool) -> ToolRegistry:
    """Return the tools. `background`: add background commands, and a tool to monitor them."""
    shell = shell_tool(default_timeout_ms=SHELL_TIMEOUT_MS, background=background)
    own = ToolRegistry((READ_FILE, READ_MANY_FILES, WRITE_FILE, EDIT_FILE, shell, GREP, GLOB, LIST_DIR))
    return with_shared_tools(own, background=background)
