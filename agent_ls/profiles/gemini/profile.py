"""The profile of Gemini's models.

Safety settings and search grounding are provider options (`provider_options["gemini"]`). `safetySettings`, and
`tools` with `{"googleSearch": {}}`, are added to the request unchanged. The setting `providers.gemini.options`
overrides or extends these options. Not every model accepts grounding together with functions, so `webSearch` sends a
separate request.
"""

from __future__ import annotations

from dataclasses import replace

from agent_ls.llm.messages import JsonObject
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions
from agent_ls.profiles.shared_tools import family_profile
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.list_dir import LIST_DIR
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.read_many_files import READ_MANY_FILES
from agent_ls.tools.write_file import WRITE_FILE

DEFAULT_MODEL = "gemini-4-argon"
CONTEXT_WINDOW_TOKENS = 1_048_576  # the same for all current models

HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
# Only probable harm is blocked, because programming terms such as "kill child" or "attack" exceed lower thresholds.
SAFETY: JsonObject = {
    "safetySettings": [
        {"category": f"HARM_CATEGORY_{harm}", "threshold": "BLOCK_ONLY_HIGH"} for harm in HARMS
    ]
}


def build_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    profile = family_profile(
        "gemini",
        model or DEFAULT_MODEL,
        facts,
        options,
        lambda shell: (READ_FILE, READ_MANY_FILES, WRITE_FILE, EDIT_FILE, shell, GREP, GLOB, LIST_DIR),
        window_tokens=CONTEXT_WINDOW_TOKENS,
    )
    return replace(profile, project_documents=("GEMINI.md",), provider_options={"gemini": SAFETY})
