"""Present our tools with the names and parameters of the tools of codex."""

from __future__ import annotations

from types import MappingProxyType

from agent_ls.profiles.openai.native_tools import (
    LIST_OR_GLOB,
    WAIT_FOR_ALL,
    build_exec_command,
    build_write_stdin,
)
from agent_ls.profiles.plan_variants import StepsArguments, adapt_plan
from agent_ls.profiles.tool_presentation import FamilyPresentation, Parameter, ToolPresentation
from agent_ls.tools.ask_user import ASK_QUESTIONS

PRESENTATION = FamilyPresentation(
    "openai",
    MappingProxyType(
        {
            "read_file": ToolPresentation("read_file", ("file_path", "offset", "limit")),
            "apply_patch": ToolPresentation("apply_patch"),
            "write_file": ToolPresentation(
                "write_file", ("file_path", Parameter("content", description="The whole text of the file."))
            ),
            "shell": ToolPresentation(
                "exec_command",
                (
                    "command",
                    Parameter("working_dir", "workdir"),
                    "timeout_ms",
                    Parameter("description", "justification"),
                    "background",
                ),
            ),
            "grep": ToolPresentation(
                "grep_files",
                (
                    "pattern",
                    Parameter("glob_filter", "include"),
                    "path",
                    Parameter("max_results", "limit"),
                    "output_mode",
                    "case_insensitive",
                    "context_lines",
                ),
            ),
            "glob": ToolPresentation("list_dir", ("pattern", "path")),
            "plan": ToolPresentation(
                "update_plan", ("explanation", "items"), variant=lambda _: adapt_plan(StepsArguments)
            ),
            "ask_user": ToolPresentation("request_user_input", variant=lambda _: ASK_QUESTIONS),
            "web_fetch": ToolPresentation(parameters=("url", "raw", "offset")),
        }
    ),
    MappingProxyType(
        {
            "apply_patch": (ToolPresentation("apply_patch", (Parameter("patch", "input"),)),),
            "shell": (
                ToolPresentation(
                    "exec_command",
                    (
                        Parameter("command", "cmd"),
                        Parameter("working_dir", "workdir"),
                        "yield_time_ms",
                        "max_output_tokens",
                        "timeout_ms",
                        Parameter("description", "justification"),
                    ),
                    variant=build_exec_command,
                ),
            ),
            "glob": (
                ToolPresentation(
                    "list_dir",
                    (Parameter("path", "dir_path"), "offset", "limit", "depth", "pattern"),
                    variant=lambda _: LIST_OR_GLOB,
                ),
            ),
            "processes": (
                ToolPresentation(
                    "write_stdin",
                    (
                        Parameter("process_id", "session_id"),
                        Parameter("text", "chars"),
                        "yield_time_ms",
                        "max_output_tokens",
                        "offset",
                    ),
                    variant=build_write_stdin,
                ),
            ),
            "spawn_agent": (
                ToolPresentation(
                    "spawn_agent",
                    (
                        Parameter("task", "message"),
                        "model",
                        Parameter("with_history", "fork_context"),
                        "working_dir",
                        "max_turns",
                    ),
                ),
            ),
            "send_input": (ToolPresentation("send_input", (Parameter("agent_id", "id"), "message")),),
            "wait": (ToolPresentation("wait", ("ids", "timeout_ms"), variant=lambda _: WAIT_FOR_ALL),),
            "close_agent": (ToolPresentation("close_agent", (Parameter("agent_id", "id"),)),),
        }
    ),
)
