"""Present our tools with the names and parameters of the tools of Claude Code."""

from __future__ import annotations

from types import MappingProxyType

from agent_ls.profiles.anthropic.native_tools import BASH_OUTPUT, KILL_SHELL, TASK, TASK_OUTPUT
from agent_ls.profiles.plan_variants import TodoArguments, adapt_plan
from agent_ls.profiles.tool_presentation import FamilyPresentation, Parameter, ToolPresentation
from agent_ls.tools.ask_user import ASK_QUESTIONS

PRESENTATION = FamilyPresentation(
    "anthropic",
    MappingProxyType(
        {
            "read_file": ToolPresentation("Read", ("file_path", "offset", "limit")),
            "write_file": ToolPresentation(
                "Write", ("file_path", Parameter("content", description="The whole text of the file."))
            ),
            "edit_file": ToolPresentation("Edit", ("file_path", "old_string", "new_string", "replace_all")),
            "shell": ToolPresentation(
                "Bash",
                (
                    "command",
                    Parameter("timeout_ms", "timeout"),
                    "description",
                    Parameter("background", "run_in_background"),
                    "working_dir",
                ),
            ),
            "grep": ToolPresentation(
                "Grep",
                (
                    "pattern",
                    "path",
                    Parameter("glob_filter", "glob"),
                    Parameter("file_type", "type"),
                    "output_mode",
                    Parameter("before_lines", "-B"),
                    Parameter("after_lines", "-A"),
                    Parameter("context_lines", "-C"),
                    Parameter("line_numbers", "-n"),
                    Parameter("case_insensitive", "-i"),
                    "multiline",
                    Parameter("max_results", "head_limit", "The maximum number of lines, files or counts."),
                    "offset",
                ),
            ),
            "glob": ToolPresentation("Glob", ("pattern", "path")),
            "plan": ToolPresentation("TodoWrite", ("items",), variant=lambda _: adapt_plan(TodoArguments)),
            "ask_user": ToolPresentation("AskUserQuestion", variant=lambda _: ASK_QUESTIONS),
            "web_fetch": ToolPresentation("WebFetch", ("url", "prompt", "offset")),
            "web_search": ToolPresentation("WebSearch"),
            "edit_notebook": ToolPresentation(
                "NotebookEdit",
                (
                    Parameter("file_path", "notebook_path"),
                    Parameter("action", "edit_mode"),
                    Parameter("cell", "cell_id"),
                    Parameter("source", "new_source"),
                    Parameter("kind", "cell_type"),
                    "old_string",
                ),
            ),
        }
    ),
    MappingProxyType(
        {
            "processes": (
                ToolPresentation("BashOutput", variant=lambda _: BASH_OUTPUT),
                ToolPresentation("KillShell", variant=lambda _: KILL_SHELL),
            ),
            "spawn_agent": (
                ToolPresentation(
                    "Task",
                    ("description", "task", "subagent_type", "model", "run_in_background", "max_turns"),
                    variant=lambda _: TASK,
                ),
            ),
            "wait": (ToolPresentation("TaskOutput", variant=lambda _: TASK_OUTPUT),),
            "send_input": (ToolPresentation("SendMessage", (Parameter("agent_id", "to"), "message")),),
            "close_agent": (ToolPresentation("TaskStop", (Parameter("agent_id", "task_id"),)),),
        }
    ),
)
