"""Get one call allowed: by the hooks, the policy and the user.

After each of these answers, the call goes on as follows. At most MAX_ASKS answers are followed:

| answer | next |
| --- | --- |
| a hook denies the call, or the user or the policy does | the error for the model |
| a hook replaces the arguments, or the user the command | prepare the new action, and ask again from the start |
| the policy allows it without a question | run, confined if the policy says so |
| the user allows it | prepare again: run if the effect is still the same, else ask again |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from agent_ls.environments.effects import CommandEffect, ReadEffect
from agent_ls.environments.errors import EnvError, OutsideBoundsError
from agent_ls.environments.sandbox import requiring_confinement
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, Decision
from agent_ls.loop.calls.arguments import replaced_note, with_command
from agent_ls.loop.calls.hooks import CHANGED_BY_HOOK, HookedCall, Hooks, changed_arguments, hooked_call
from agent_ls.loop.calls.outcome import error_output, make_denied
from agent_ls.loop.calls.summaries import summary_of
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput

# maximum number of approval requests for a call whose effect keeps changing (another program writes the files)
MAX_ASKS = 5


@dataclass(slots=True)
class CallApproval:
    """The approval of one call. `decide` asks the policy and the user.

    `question` and `arguments` describe the action that would run now; `as_asked` are the arguments of the model.
    """

    tool: Tool[Any]
    context: ToolContext
    hooks: Hooks
    decide: Callable[[ApprovalQuestion], Awaitable[Decision]]
    question: ApprovalQuestion
    arguments: Arguments
    as_asked: Arguments
    summary: str
    """The summary of the call as the model asked for it."""
    hooked: HookedCall | None = None
    """The call in the form that the hooks received last."""
    note: str = ""
    """What the model must know about replaced arguments, "" for nothing."""

    async def approve(self, command: str) -> Prepared | ToolOutput:
        """Return the prepared call, or the error for the model.

        `command` is the user's replacement for the model's command from an earlier process, "" for none.
        """
        if command:
            self._replace_command(command)
        prepared = await self._prepare()
        for _ in range(MAX_ASKS):
            if isinstance(prepared, ToolOutput):
                return prepared
            heard = await self._ask_hooks(prepared)
            if isinstance(heard, ToolOutput):
                return heard
            if heard:
                prepared = await self._prepare()
                continue
            decision = await self.decide(replace(self.question, effect=prepared.effect))
            if not isinstance(decision, Allowed):
                return make_denied(decision)
            if decision.command and isinstance(prepared.effect, CommandEffect):
                self._replace_command(decision.command)
                prepared = await self._prepare()
                continue
            if not decision.asked:
                return _add_note(_confine(prepared) if decision.is_confined else prepared, self.note)
            digest = prepared.effect.digest
            prepared = await self._prepare()
            if isinstance(prepared, Prepared) and prepared.effect.digest == digest:
                return _add_note(prepared, self.note)
        return error_output(
            "The files of this call changed each time while approval was pending: read these files again, then retry.",
            "stale",
        )

    async def _ask_hooks(self, prepared: Prepared) -> ToolOutput | bool:
        """Return the error if a hook refuses the call, else whether a hook has replaced the arguments."""
        if not self.hooks.watches_calls:
            return False
        hooked = self.hooked = hooked_call(self.question, self.tool, self.arguments, prepared.effect)
        decision = await self.hooks.before_call(hooked)
        if decision.kind not in ("none", "ask"):
            return error_output(
                f"A hook that the user configured refused this call: {decision.reason}", "permission_denied"
            )
        if decision.arguments is not None and decision.arguments != hooked.arguments:
            changed = changed_arguments(self.tool, decision.arguments)
            if isinstance(changed, str):
                return error_output(changed, "validation")
            self.note, self.arguments = CHANGED_BY_HOOK, changed
            summary = summary_of(self.tool, changed)
            self.question = replace(self.question, summary=summary, is_users_own=False)
            return True
        self.question = replace(self.question, must_ask="" if decision.kind == "none" else decision.reason)
        return False

    def _replace_command(self, command: str) -> None:
        """Use the user's command. The policy checks it as a new action."""
        self.note = replaced_note(self.as_asked, command)
        self.arguments = with_command(self.arguments, command)
        summary = summary_of(self.tool, self.arguments) or self.summary
        self.question = replace(self.question, summary=summary, is_users_own=True)

    async def _prepare(self) -> Prepared | ToolOutput:
        """Prepare the call. If the preparation must read a path outside the allowed folders, first ask for
        approval of that read.
        """
        for _ in range(MAX_ASKS):
            try:
                prepared: Prepared = await self.tool.prepare(self.arguments, self.context)
                return prepared
            except OutsideBoundsError as error:
                decision = await self.decide(replace(self.question, effect=ReadEffect((error.path,))))
                if not isinstance(decision, Allowed):
                    return make_denied(decision)
        return error_output(
            "The call uses too many paths outside the workspace: give fewer files.", "permission_denied"
        )


def _confine(prepared: Prepared) -> Prepared:
    """Return a copy of the call whose command runs confined, or not at all."""

    async def run() -> ToolOutput:
        with requiring_confinement():
            return await prepared.run()

    return replace(prepared, run=run)


def _add_note(prepared: Prepared, note: str) -> Prepared:
    """Return a copy of the call that puts `note` before its output."""
    if not note:
        return prepared

    async def run() -> ToolOutput:
        try:
            output = await prepared.run()
        except ToolError as error:
            raise ToolError(f"{error}\n\n{note}", kind=error.kind, output=error.output) from error
        except EnvError as error:
            raise ToolError(f"{error}\n\n{note}", kind=error.kind) from error
        return replace(output, text=f"{note}\n\n{output.text}")

    return Prepared(prepared.effect, run)
