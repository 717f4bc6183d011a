"""The profile of Gemini's models (000 section 3.6).

Safety settings and search grounding are options of the provider (`provider_options["gemini"]`): `safetySettings`, and
`tools` with `{"googleSearch": {}}`, reach the request unchanged (U13). The setting `providers.gemini.options` changes
and adds to those here; grounding beside functions of ours is not taken everywhere, so `webSearch` makes a request of
its own for it.
"""

from __future__ import annotations

from agent_ls.llm.messages import JsonObject
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.family import ModelFacts, ProfileOptions, base_prompt
from agent_ls.profiles.gemini.toolset import toolset

DEFAULT_MODEL = "gemini-4-argon"
CONTEXT_WINDOW_TOKENS = 1_048_576  # of every current model

HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
# Programs speak of attacks, of killing children and of masters: only what is most probably meant as harm is stopped.
SAFETY: JsonObject = {
    "safetySettings": [
        {"category": f"HARM_CATEGORY_{harm}", "threshold": "BLOCK_ONLY_HIGH"} for harm in HARMS
    ]
}


def gemini_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    return ProviderProfile(
        id="gemini",
        model=model or DEFAULT_MODEL,
        base_prompt=options.base_prompt or base_prompt("gemini"),
        registry=toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
        project_documents=("GEMINI.md",),
        provider_options={"gemini": SAFETY},
        supports_reasoning=facts.supports_reasoning,
        display_name=facts.display_name,
        knowledge_cutoff=facts.knowledge_cutoff,
    )
