"""Our tools with few parameters, because small models call such tools more reliably."""

from __future__ import annotations

from types import MappingProxyType

from agent_ls.profiles.tool_presentation import FamilyPresentation, Parameter, ToolPresentation

PRESENTATION = FamilyPresentation(
    "compatible",
    MappingProxyType(
        {
            "read_file": ToolPresentation(parameters=("file_path", "offset", "limit")),
            "write_file": ToolPresentation(
                parameters=("file_path", Parameter("content", description="The whole text of the file."))
            ),
            "edit_file": ToolPresentation(parameters=("file_path", "old_string", "new_string", "occurrence")),
            "shell": ToolPresentation(
                parameters=("command", "description", "timeout_ms", "working_dir", "background")
            ),
            "grep": ToolPresentation(
                parameters=("pattern", "path", "glob_filter", "case_insensitive", "max_results")
            ),
            "list_dir": ToolPresentation(parameters=("path", "depth", "hidden")),
            "plan": ToolPresentation(parameters=("items",)),
            "web_fetch": ToolPresentation(parameters=("url", "offset")),
        }
    ),
    MappingProxyType({}),
)
