"""The servers with the Chat Completions API and their differences, one table row for each server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

EffortParameter: TypeAlias = Literal["reasoning_effort", "reasoning", "thinking"]
"""The request field for the effort: `reasoning_effort`, OpenRouter's `reasoning: {effort}`, or `thinking: {type}` to
enable or disable reasoning, beside `reasoning_effort`.
"""

ReasoningReplay: TypeAlias = Literal["never", "details", "content"]
"""The form in which reasoning is sent back: not at all, as unchanged `reasoning_details`, or as
`reasoning_content` with calls of the current turn.
"""

ToolChoiceSupport: TypeAlias = Literal["all", "words"]
"""The tool choices that a server accepts. `words`: "auto", "none" and "required", but no tool name."""


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server. `local`: the server runs on the user's machine and accepts requests without a key.

    `efforts` are the names that efforts have on this server. `asks_usage`: a stream contains token counts only on
    request. `short_ids`: call ids are nine letters and digits. `caches`: the server passes cache marks on to
    Anthropic's models. `json_schema` False: the server supports JSON mode, but no schema.
    """

    title: str
    base_url: str
    local: bool = False
    max_tokens_key: str = "max_tokens"
    system_role: str = "system"
    effort: EffortParameter = "reasoning_effort"
    efforts: Mapping[str, str] = field(default_factory=dict)
    replay: ReasoningReplay = "never"
    choice: ToolChoiceSupport = "all"
    asks_usage: bool = True
    short_ids: bool = False
    caches: bool = False
    json_schema: bool = True


_THREE = {"minimal": "low", "medium": "high", "xhigh": "max"}  # of low, high and max
_ONE = dict.fromkeys(("minimal", "low", "medium", "xhigh", "max"), "high")

SERVERS: Mapping[str, Server] = {
    "openrouter": Server(
        "OpenRouter", "https://openrouter.ai/api/v1", effort="reasoning", replay="details", caches=True
    ),
    "deepseek": Server(
        "DeepSeek",
        "https://api.deepseek.com",
        effort="thinking",
        efforts=_THREE,
        replay="content",
        json_schema=False,
    ),
    "groq": Server("Groq", "https://api.groq.com/openai/v1"),
    "mistral": Server("Mistral", "https://api.mistral.ai/v1", efforts=_ONE, asks_usage=False, short_ids=True),
    "xai": Server("xAI", "https://api.x.ai/v1"),
    "together": Server("Together", "https://api.together.xyz/v1"),
    "moonshot": Server(
        "Moonshot", "https://api.moonshot.ai/v1", effort="thinking", efforts=_THREE, replay="content"
    ),
    "zai": Server(
        "Z.ai", "https://api.z.ai/api/paas/v4", effort="thinking", efforts=_THREE, json_schema=False
    ),
    "cerebras": Server("Cerebras", "https://api.cerebras.ai/v1"),
    # servers on the user's machine
    "ollama": Server("Ollama", "http://localhost:11434/v1", local=True, choice="words"),
    "lmstudio": Server("LM Studio", "http://localhost:1234/v1", local=True, choice="words"),
    "llamacpp": Server("llama.cpp", "http://localhost:8080/v1", local=True, choice="words"),
    "vllm": Server("vLLM", "http://localhost:8000/v1", local=True),
    # any other server, at the base URL in the settings
    "compatible": Server("OpenAI-compatible server", ""),
}
