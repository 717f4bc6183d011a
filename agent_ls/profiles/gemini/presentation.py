"""Present our tools with the names and parameters of the tools of gemini-cli."""

from __future__ import annotations

from types import MappingProxyType

from agent_ls.profiles.gemini.native_tools import build_gemini_grep, save_memory
from agent_ls.profiles.plan_variants import DescribedArguments, adapt_plan
from agent_ls.profiles.tool_presentation import FamilyPresentation, Parameter, ToolPresentation
from agent_ls.tools.ask_user import ASK_QUESTIONS

FOLDER = "The folder; default: the working directory."

PRESENTATION = FamilyPresentation(
    "gemini",
    MappingProxyType(
        {
            "read_file": ToolPresentation(
                "read_file",
                (
                    "file_path",
                    Parameter("offset", "start_line", "The first line to return, from 1."),
                    Parameter("end_line", description="The last line to return."),
                ),
            ),
            "read_many_files": ToolPresentation(
                "read_many_files", (Parameter("paths", "include"), "exclude", "limit")
            ),
            "write_file": ToolPresentation(
                "write_file", ("file_path", Parameter("content", description="The whole text of the file."))
            ),
            "edit_file": ToolPresentation(
                "replace",
                (
                    "file_path",
                    "instruction",
                    "old_string",
                    "new_string",
                    Parameter("replace_all", "allow_multiple"),
                    "expected_replacements",
                ),
            ),
            "shell": ToolPresentation(
                "run_shell_command",
                (
                    "command",
                    "description",
                    Parameter("working_dir", "dir_path"),
                    Parameter("background", "is_background"),
                    "timeout_ms",
                ),
            ),
            "grep": ToolPresentation(
                "search_file_content",
                (
                    "pattern",
                    Parameter("path", "dir_path"),
                    Parameter("glob_filter", "include"),
                    "exclude_pattern",
                    "names_only",
                    "case_sensitive",
                    Parameter("literal", "fixed_strings"),
                    Parameter("context_lines", "context"),
                    Parameter("before_lines", "before"),
                    Parameter("after_lines", "after"),
                    Parameter("max_results", "total_max_matches"),
                ),
                variant=build_gemini_grep,
            ),
            "glob": ToolPresentation("glob", ("pattern", Parameter("path", "dir_path", FOLDER))),
            "list_dir": ToolPresentation(
                "list_directory",
                (
                    Parameter("path", "dir_path", FOLDER),
                    Parameter("exclude", "ignore"),
                    "depth",
                    "hidden",
                    "ignored",
                ),
            ),
            "plan": ToolPresentation(
                "write_todos", ("items",), variant=lambda _: adapt_plan(DescribedArguments)
            ),
            "ask_user": ToolPresentation("ask_user", variant=lambda _: ASK_QUESTIONS),
            "web_search": ToolPresentation("google_web_search"),
            "web_fetch": ToolPresentation("web_fetch", ("prompt", "url", "offset")),
        }
    ),
    MappingProxyType({}),
    added=(save_memory,),
)
