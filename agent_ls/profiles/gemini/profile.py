"""The profile of Gemini's models.

Safety settings and search grounding are provider options (`provider_options["gemini"]`). `safetySettings`, and
`tools` with `{"googleSearch": {}}`, are added to the request unchanged. The setting `providers.gemini.options`
overrides or extends these options. Not every model accepts grounding together with functions, so `webSearch` sends a
separate request.
"""

from __future__ import annotations

from agent_ls.llm.messages import JsonObject
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt
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
DEFAULT_MODEL = "gemini-4-argon"
CONTEXT_WINDOW_TOKENS = 1_048_576  # the same for all current models

HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
# Only probable harm is blocked, because programming terms such as "kill child" or "attack" exceed lower thresholds.
SAFETY: JsonObject = {
    "safetySettings": [
        {"category": f"HARM_CATEGORY_{harm}", "threshold": "BLOCK_ONLY_HIGH"} for harm in HARMS
    ]
}


def gemini_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    return ProviderProfile(
        id="gemini",
        model=model or DEFAULT_MODEL,
        base_prompt=options.base_prompt or load_base_prompt("gemini"),
        registry=build_toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
        project_documents=("GEMINI.md",),
        provider_options={"gemini": SAFETY},
    )


def build_toolset(*, background: bool) -> ToolRegistry:
    """Return the tools. `background`: add background commands, and a tool to monitor them."""
    shell = shell_tool(default_timeout_ms=SHELL_TIMEOUT_MS, background=background)
    own = ToolRegistry((READ_FILE, READ_MANY_FILES, WRITE_FILE, EDIT_FILE, shell, GREP, GLOB, LIST_DIR))
    return with_shared_tools(own, background=background)
