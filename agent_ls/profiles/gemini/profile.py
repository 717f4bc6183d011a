"""The profile of Gemini's models.

Safety settings and search grounding are provider options (`provider_options["gemini"]`). `safetySettings`, and
`tools` with `{"googleSearch": {}}`, are added to the request unchanged. The setting `providers.gemini.options`
overrides or extends these options. Not every model accepts grounding together with functions, so `webSearch` sends a
separate request.
"""

from __future__ import annotations

from agent_ls.llm.messages import JsonObject
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.gemini.toolset import build_toolset
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt

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
