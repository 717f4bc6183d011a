"""The tools that every model family offers in the same form, after its own tools."""

from __future__ import annotations

from agent_ls.tools.processes import PROCESSES
from agent_ls.tools.registry import ToolRegistry


def with_shared_tools(registry: ToolRegistry, *, background: bool) -> ToolRegistry:
    """Add the tools to the tools of a family. `background`: commands can run in the background."""
    if background:
        registry.register(PROCESSES)
    return registry
