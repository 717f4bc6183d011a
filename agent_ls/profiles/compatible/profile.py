"""The profile of models with the Chat Completions API: OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and others."""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions
from agent_ls.profiles.shared_tools import family_profile
from agent_ls.tools.edit_file import EDIT_OCCURRENCE
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.list_dir import LIST_DIR
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.write_file import WRITE_FILE

CONTEXT_WINDOW_TOKENS = 128_000  # a guess for servers that do not report the window; the user can set it


def build_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    return family_profile(
        "compatible",
        model,
        facts,
        options,
        lambda shell: (READ_FILE, WRITE_FILE, EDIT_OCCURRENCE, shell, GREP, GLOB, LIST_DIR),
        window_tokens=CONTEXT_WINDOW_TOKENS,
    )
