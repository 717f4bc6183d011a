"""Offer the user's kinds of subagents to the model.

The system prompt lists them, and the tool that starts a subagent has a parameter for the kind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from agent_ls.features.skills.agents import AgentKind, AgentKinds
from agent_ls.features.skills.catalogue import list_within
from agent_ls.llm.requests import CHARS_PER_TOKEN
from agent_ls.tools.base import (
    AgentState,
    AgentTask,
    Arguments,
    Prepared,
    SubagentSpawner,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
)

if TYPE_CHECKING:
    from agent_ls.profiles.base import ProviderProfile

MAX_CHARS = 4_000
WINDOW_SHARE = 0.01

_INTRODUCTION = (
    "# Kinds of agents\n"
    "When a part of your task fits one of these descriptions, name it as the agent's kind when you start an agent."
)
_DESCRIPTION = "A kind of agent from the list in your instructions. Default: an agent like you."

LoadKinds = Callable[[], Awaitable[AgentKinds]]


def kinds_text(kinds: AgentKinds, window_tokens: int) -> str:
    """Return an introduction and one line for each kind, for the system prompt; "" without kinds.

    The lines take at most the share WINDOW_SHARE of the model's context window, and at most MAX_CHARS
    characters.
    """
    if not kinds.found:
        return ""
    limit = min(MAX_CHARS, int(window_tokens * WINDOW_SHARE * CHARS_PER_TOKEN))
    return f"{_INTRODUCTION}\n" + "\n".join(list_within(list(kinds.found.values()), limit))


def add_kinds(profile: ProviderProfile, load: LoadKinds, is_usable: Callable[[str, str], bool]) -> None:
    """Add a parameter for the kind of subagent to the profile's tool that starts subagents.

    `is_usable` returns whether a provider has a model; its arguments are the provider's id and the model's id.
    """
    tool = profile.registry.lookup("spawn_agent")
    if tool is not None:
        profile.registry.register(_with_kind(tool, load, lambda name: is_usable(profile.id, name)))


def _with_kind(tool: Tool[Any], load: LoadKinds, is_usable: Callable[[str], bool]) -> Tool[Any]:
    name = "subagent_type" if "subagent_type" in tool.arguments.model_fields else "kind"
    if name == "kind" and name in tool.arguments.model_fields:
        return tool  # it has the parameter already
    fields: dict[str, Any] = {name: (str, Field(default="", description=_DESCRIPTION))}
    arguments: type[Arguments] = create_model(tool.arguments.__name__, __base__=tool.arguments, **fields)

    async def prepare(given: Arguments, context: ToolContext) -> Prepared:
        wanted = str(getattr(given, name)).strip()
        kinds = await load()
        kind = kinds.find(wanted)
        # Some models always pass the default type from their own vendor's agent, which is not a kind of agent-ls.
        if kind is None and wanted and not (name == "subagent_type" and wanted == "general-purpose"):
            known = ", ".join(kinds.found) or "none"
            raise ToolError(f"There is no kind of agent named {wanted!r}. Kinds: {known}.", kind="validation")
        if kind is None:
            return await tool.prepare(given, context)
        starter = _OfKind(context.subagents, kind, is_usable)
        prepared = await tool.prepare(given, replace(context, subagents=starter))

        async def run() -> ToolOutput:
            output = await prepared.run()
            return replace(output, text=f"{output.text}\n{starter.note}") if starter.note else output

        return replace(prepared, run=run)

    return replace(tool, arguments=arguments, prepare=prepare)


@dataclass(slots=True)
class _OfKind:
    """Implements SubagentSpawner: starts subagents of the kind `kind` with `inner`.

    If the kind's file names only models that cannot be used, `note` is a sentence about this for the model that
    starts the subagent.
    """

    inner: SubagentSpawner
    kind: AgentKind
    is_usable: Callable[[str], bool]
    note: str = ""

    async def spawn(self, task: AgentTask, call_id: str) -> AgentState:
        kind = self.kind
        model = task.model or next(filter(self.is_usable, kind.models), "")
        if kind.models and not model:
            self.note = (
                f"[{kind.name} asks for the model {kind.models[0]}, which is unknown here, so this "
                "agent uses your model.]"
            )
        turns = min(filter(None, (task.max_turns, kind.max_turns)), default=0)
        wanted = replace(
            task,
            model=model,
            max_turns=turns,
            kind=kind.name,
            instructions=kind.instructions,
            keeps_tool=kind.keeps,
        )
        return await self.inner.spawn(wanted, call_id)

    def send(self, agent_id: str, message: str) -> AgentState:
        return self.inner.send(agent_id, message)

    async def wait(self, agent_id: str) -> AgentState:
        return await self.inner.wait(agent_id)

    async def close(self, agent_id: str) -> AgentState:
        return await self.inner.close(agent_id)
