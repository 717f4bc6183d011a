"""Interface to the user's hooks: programs that are informed of a session's actions and can block them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from agent_ls.environments.effects import Effect
from agent_ls.loop.calls.approval import ApprovalQuestion
from agent_ls.tools.base import Arguments, Tool


@dataclass(frozen=True, slots=True)
class HookedCall:
    """A tool call as hooks receive it. `kind` is the tool's name in agent-ls, `name` is the name that the model
    uses.
    """

    call_id: str
    turn_id: str
    name: str
    kind: str
    arguments: Mapping[str, Any]
    effect: Effect
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class CallHookDecision:
    """The combined decision of all hooks on a call, which is their most restrictive decision. `reason` is for
    the model or the user.

    With kind `ask` the user is asked in every mode. `arguments` replace the model's arguments, None for no
    change. Changed arguments are prepared and checked by the policy again.
    """

    kind: Literal["none", "ask", "deny"] = "none"
    reason: str = ""
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PromptHookDecision:
    """The decision of the hooks on a user's message.

    `stop` is the reason not to start the turn, "" to start it; `context` is text for the model. `who` stopped it.
    """

    stop: str = ""
    context: str = ""
    who: str = "One of your hooks"


CHANGED_BY_HOOK = "[A hook that the user configured changed the arguments of this call before it ran.]"


def hooked_call(
    question: ApprovalQuestion, tool: Tool[Any], arguments: Arguments, effect: Effect
) -> HookedCall:
    return HookedCall(
        question.call_id,
        question.turn_id,
        tool.name,
        tool.kind,
        arguments.model_dump(exclude_unset=True),
        effect,
        question.agent_id,
    )


def changed_arguments(tool: Tool[Any], raw: Mapping[str, Any]) -> Arguments | str:
    """Return the arguments that a hook sets instead of the model's, or an error message if they are invalid."""
    try:
        found: Arguments = tool.arguments.model_validate(raw)
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"]
        return f"A hook that the user configured changed this call so that it is no longer valid: {words}"
    return found


class Hooks(Protocol):
    """The hooks of one session. No method raises; each takes a bounded time and may be cancelled."""

    @property
    def watches_calls(self) -> bool:
        """Whether a hook runs before tool calls. If so, no call may start early."""
        ...

    async def before_prompt(self, text: str) -> PromptHookDecision:
        """Run the hooks for a user's message before it starts a turn."""
        ...

    async def before_call(self, call: HookedCall) -> CallHookDecision:
        """Run the hooks for a prepared call, before the policy checks the call."""
        ...

    async def after_call(self, call: HookedCall, output: str, *, is_error: bool) -> str:
        """Run the hooks for a call before the model gets its result. Returns text to add to the result, ""
        for none.
        """
        ...

    async def before_stop(self, text: str, *, again: bool) -> str:
        """Run the hooks when a turn is about to end with the answer `text`. Returns a reason to continue, ""
        for none.

        If `again`, a hook already made this turn continue once. In that case the returned value is ignored.
        """
        ...

    def take_end(self, agent_id: str = "") -> str:
        """Return, once, why a hook ends the turn of this agent, "" if none does."""
        ...


class NoHooks:
    """Hooks of a session without configured hooks: they do nothing."""

    @property
    def watches_calls(self) -> bool:
        return False

    async def before_prompt(self, text: str) -> PromptHookDecision:
        return PromptHookDecision()

    async def before_call(self, call: HookedCall) -> CallHookDecision:
        return CallHookDecision()

    async def after_call(self, call: HookedCall, output: str, *, is_error: bool) -> str:
        return ""

    async def before_stop(self, text: str, *, again: bool) -> str:
        return ""

    def take_end(self, agent_id: str = "") -> str:
        return ""


NO_HOOKS = NoHooks()


class AgentHooks(NoHooks):
    """The session's hooks for one subagent. Only hooks on tool calls run; they receive the subagent's id."""

    def __init__(self, hooks: Hooks, agent_id: str) -> None:
        self._hooks = hooks
        self._agent_id = agent_id

    @property
    def watches_calls(self) -> bool:
        return self._hooks.watches_calls

    async def before_call(self, call: HookedCall) -> CallHookDecision:
        return await self._hooks.before_call(replace(call, agent_id=self._agent_id))

    async def after_call(self, call: HookedCall, output: str, *, is_error: bool) -> str:
        return await self._hooks.after_call(replace(call, agent_id=self._agent_id), output, is_error=is_error)

    def take_end(self, agent_id: str = "") -> str:
        return self._hooks.take_end(agent_id or self._agent_id)
