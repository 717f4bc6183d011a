"""The profile of OpenAI's models with the Responses API.

The reasoning effort needs no provider option, because it is a field of the request.
"""

from __future__ import annotations

from dataclasses import replace

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions
from agent_ls.profiles.shared_tools import family_profile
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.write_file import WRITE_FILE

DEFAULT_MODEL = "gpt-6.1-sol"
CONTEXT_WINDOW_TOKENS = 272_000  # the smallest input window of the family; newer models have more


def build_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    profile = family_profile(
        "openai",
        model or DEFAULT_MODEL,
        facts,
        options,
        lambda shell: (READ_FILE, APPLY_PATCH, WRITE_FILE, shell, GREP, GLOB),
        window_tokens=CONTEXT_WINDOW_TOKENS,
    )
    return replace(profile, project_documents=(".codex/instructions.md",), supports_custom_tools=True)
