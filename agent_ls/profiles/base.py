"""SEAM ProviderProfile (000 section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.requests import Usage
from agent_ls.tools.base import ShellLimits
from agent_ls.tools.registry import ToolRegistry


def unknown_cost(usage: Usage) -> float | None:
    return None


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """How to speak to one model.

    `id` is the provider's name in Request.provider. `base_prompt` is the first layer of the system prompt.
    `project_documents` names the instruction files that this family reads besides AGENTS.md (000 section 6.5).
    `shell_limits` None: the session's own hold. `registry` is this session's own copy: tools may be added
    and removed (000 section 3.7). `cost_usd` tells what one call cost, None when that is not known.
    """

    id: str
    model: str
    base_prompt: str
    registry: ToolRegistry
    context_window_tokens: int
    project_documents: tuple[str, ...] = ()
    provider_options: Mapping[str, JsonObject] = field(default_factory=dict)
    shell_limits: ShellLimits | None = None
    supports_reasoning: bool = True
    supports_streaming: bool = True
    supports_parallel_tool_calls: bool = True
    display_name: str = ""
    knowledge_cutoff: str = ""
    cost_usd: Callable[[Usage], float | None] = unknown_cost
