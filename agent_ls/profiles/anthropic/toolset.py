"""Which tools Anthropic's models get, and in which words (000 section 3.5, REQUIREMENTS P3)."""

from __future__ import annotations

from dataclasses import replace

from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP, GrepModesArguments
from agent_ls.tools.processes import PROCESSES
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.registry import ToolRegistry
from agent_ls.tools.shell import shell_tool
from agent_ls.tools.write_file import WRITE_FILE

SHELL_TIMEOUT_MS = 120_000  # 000 section 3.5


def toolset(*, background: bool) -> ToolRegistry:
    """`background`: commands may be started in the background, with the tool to follow them."""
    shell = shell_tool(default_timeout_ms=SHELL_TIMEOUT_MS, background=background)
    grep = replace(GREP, arguments=GrepModesArguments)
    registry = ToolRegistry((READ_FILE, WRITE_FILE, EDIT_FILE, shell, grep, GLOB))
    if background:
        registry.register(PROCESSES)
    return registry
