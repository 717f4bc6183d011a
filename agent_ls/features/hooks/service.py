"""Run the hooks of one session at their events, combine the hooks' results, and report failures."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.to_thread

from agent_ls.background import TaskStarter
from agent_ls.environments.base import CommandOptions, ExecResult
from agent_ls.environments.errors import EnvError
from agent_ls.features.base import SessionFeature
from agent_ls.features.hooks.answers import MAX_PRINTED, HookAnswer, combine_decisions, parse_answer
from agent_ls.features.hooks.conditions import Subject, subject_of
from agent_ls.features.hooks.config import Hook, hook_files, load_hooks
from agent_ls.features.hooks.confirmed import ConfirmedHooks, state_of
from agent_ls.features.hooks.payload import call_rows, cut, named_as_in, odd_path, payload, tool_names
from agent_ls.features.hooks.scripts import script_rows
from agent_ls.loop.calls.hooks import CallHookDecision, HookedCall, Hooks, PromptHookDecision
from agent_ls.loop.calls.redaction import Known, redacted
from agent_ls.loop.events.types import RecordedEvent, Warning
from agent_ls.services.clock import SystemClock
from agent_ls.services.permissions.command_files import VARIABLES
from agent_ls.services.settings.model import HookSettings
from agent_ls.services.turn_reads import TurnReads

logger = logging.getLogger(__name__)

RunCommand: TypeAlias = Callable[[str, CommandOptions, str], Awaitable[ExecResult]]
"""Runs a command. The last argument is the path of the file to use as standard input."""
_OF_CALLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_OBSERVED = {
    b'"kind":"approval_requested"': "approval_requested",
    b'"kind":"question_asked"': "question_asked",
    b'"kind":"subagent"': "subagent",
    b'"kind":"compaction"': "compaction",
    b'"kind":"session_end"': "session_end",
}


@dataclass(frozen=True, slots=True)
class HookedSession:
    """The session that the hooks belong to. `transcript` is the path of the session's log.

    `mode` returns the current approval mode. `is_trusted` returns whether the user trusts the
    project's files; it blocks. `is_resumed`: the session was begun by an earlier process.
    """

    session_id: str
    folder: str
    transcript: str
    mode: Callable[[], str]
    is_trusted: Callable[[], bool]
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class HookActions:
    """Functions of the session that SessionHooks calls.

    `run` runs a command without a terminal, and ends child processes that are still running when it exits.
    `deny` denies a pending approval; its arguments are the request id and a reason. `start` starts a background
    task. `emit` records an event. `notify` sends the model a notice. `guard` makes changes of files need approval; it
    replaces the files of the previous call.
    """

    run: RunCommand
    deny: Callable[[str, str], None]
    start: TaskStarter
    emit: Callable[[RecordedEvent], object]
    notify: Callable[[str], None]
    guard: Callable[[Collection[str]], None]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The hooks of a session. `changed` are those that the user confirmed in another version: they do not run, and a
    tool call that they would check needs approval. `waiting`: the number of hooks that need a confirmation.
    """

    hooks: Sequence[Hook]
    changed: frozenset[Hook]
    problems: Sequence[str]
    waiting: int


class SessionHooks(SessionFeature):
    """Runs the hooks of one session. Implements the interface Hooks of the agent loop.

    `state` is the state folder. `secrets` returns the keys that hooks must not get. `reads` are the blocking reads
    that run together at the start of a turn: `before_prompt` starts all of them.
    """

    def __init__(
        self,
        session: HookedSession,
        actions: HookActions,
        *,
        state: Path,
        settings: Callable[[], HookSettings],
        secrets: Known,
        reads: TurnReads,
    ) -> None:
        self._session = session
        self._actions = actions
        self._state = state
        self._settings = settings
        self._secrets = secrets
        self._reads = reads
        self._found = reads.add(lambda: self._load, self._looks)
        self._changed: frozenset[Hook] = frozenset()
        self._hooks: Sequence[Hook] | None = None
        """None until the hook files are first read."""
        self._has_begun = False
        self._is_compacted = False
        """Whether the model has lost what the hooks of the start had said."""
        self._reported: set[str] = set()
        self._ends: dict[str, str] = {}
        """Why a hook ends the turn of an agent, by the id of the agent; "" is the main one."""

    def hooks(self, hooks: Hooks) -> Hooks:
        """Return the user's hooks, which come first: `hooks` are none."""
        return self

    @property
    def watches_calls(self) -> bool:
        # While the hooks have not been read, assume that a hook exists.
        return self._hooks is None or any(hook.event in _OF_CALLS for hook in self._hooks)

    # -- the events of the loop

    async def before_prompt(self, text: str) -> PromptHookDecision:
        await self._reads.begin()
        await self._refresh()
        self._ends.pop("", None)
        contexts: list[str] = []
        if not self._has_begun:
            self._has_begun = True
            contexts += await self._start("resume" if self._session.is_resumed else "startup")
        contexts += await self._start_again()
        answers = await self._answers("UserPromptSubmit", {"prompt": text})
        self._note_end(answers)
        stop = self.take_end() or next((answer.reason for answer in answers if answer.blocks), "")
        contexts += [answer.context for answer in answers]
        return PromptHookDecision(stop, "\n\n".join(filter(None, contexts)))

    async def _start(self, source: str) -> list[str]:
        """Run the hooks of a start, and return their texts for the model."""
        answers = await self._answers("SessionStart", {"source": source}, (source,))
        self._note_end(answers)
        return [it.context for it in answers]

    async def _start_again(self) -> list[str]:
        """Run the hooks of a start once after a compaction."""
        due, self._is_compacted = self._is_compacted, False
        return await self._start("compact") if due else []

    async def before_call(self, call: HookedCall) -> CallHookDecision:
        for context in filter(None, await self._start_again()):
            self._actions.notify(context)
        if ended := self._ends.get(call.agent_id):
            return CallHookDecision("deny", ended)
        subject = subject_of(call.effect, self._session.folder)
        answers = await self._answers(
            "PreToolUse", call_rows(call, self._session.folder), tool_names(call), subject
        )
        for context in filter(None, (answer.context for answer in answers)):
            self._actions.notify(context)
        self._note_end(answers, call.agent_id)
        return combine_decisions(answers)

    async def after_call(self, call: HookedCall, output: str, *, is_error: bool) -> str:
        event = "PostToolUseFailure" if is_error else "PostToolUse"
        rows = {
            **call_rows(call, self._session.folder),
            "tool_response": {"output": cut(output), "is_error": is_error},
        }
        subject = subject_of(call.effect, self._session.folder)
        answers = await self._answers(event, rows, tool_names(call), subject)
        self._note_end(answers, call.agent_id)
        messages = [answer.reason for answer in answers if answer.blocks]
        messages += [answer.context for answer in answers if answer.context]
        return "\n".join(f"[Message from a hook that the user configured: {text}]" for text in messages)

    async def before_stop(self, text: str, *, again: bool) -> str:
        rows = {"stop_hook_active": again, "last_assistant_message": cut(text)}
        answers = await self._answers("Stop", rows)
        self._note_end(answers)
        if ended := self.take_end():
            self._report(f"One of your hooks ended this turn: {ended}")
            return ""
        reasons = [message for it in answers if (message := it.reason if it.blocks else it.context)]
        return (
            "A hook that the user configured asks you to continue: " + "\n".join(reasons) if reasons else ""
        )

    # -- events that hooks cannot block

    def observe(self, encoded: bytes) -> None:
        """Run the hooks of a recorded event in the background.

        `encoded` is the event's log line. Must not raise.
        """
        if not self._hooks:
            return
        kind = next((kind for mark, kind in _OBSERVED.items() if mark in encoded[:400]), "")
        if not kind:
            return
        data = json.loads(encoded).get("data", {})
        match kind:
            case "approval_requested":
                self._actions.start(lambda: self._permission(data))
            case "question_asked":
                self._tell("Notification", {"message": data.get("question", ""), "notification_type": kind})
            case "subagent":
                event = "SubagentStart" if data.get("status") == "running" else "SubagentStop"
                self._tell(event, {"agent_id": data.get("agentId", ""), "task": data.get("task", "")})
            case "compaction":
                event = "PreCompact" if data.get("status") == "started" else "PostCompact"
                self._tell(event, {"trigger": "manual" if data.get("trigger") == "request" else "auto"})
                self._is_compacted |= data.get("status") == "done"
            case _:
                self._tell("SessionEnd", {"reason": data.get("reason", "")})

    def _tell(self, event: str, rows: Mapping[str, Any]) -> None:
        """Run the hooks of an event in the background. Their contexts become notices; they can prevent nothing."""

        async def run() -> None:
            for answer in await self._answers(event, rows):
                if answer.context:
                    self._actions.notify(answer.context)
                if answer.blocks:
                    self._report(f"A hook wants to prevent {event}, which hooks cannot: {answer.reason}")

        if any(hook.event == event for hook in self._hooks or ()):
            self._actions.start(run)

    async def _permission(self, request: Mapping[str, Any]) -> None:
        """Run the hooks of an approval request while it waits for the user's answer.

        A hook can only deny the request. The first decision counts, whether by a hook or by the
        user.
        """
        names = (str(request.get("tool", "")),)
        rows = {
            "tool_name": names[0],
            "tool_input": request.get("effect", {}),
            "message": request.get("reason", ""),
        }
        await self._answers(
            "Notification", {"message": rows["message"], "notification_type": "permission_prompt"}
        )
        for answer in await self._answers("PermissionRequest", rows, names):
            if answer.decision == "deny":
                self._note_end([answer], str(request.get("agentId", "")))
                self._actions.deny(str(request.get("requestId", "")), answer.reason)
                return

    def take_end(self, agent_id: str = "") -> str:
        return self._ends.pop(agent_id, "")

    def _note_end(self, answers: Sequence[HookAnswer], agent_id: str = "") -> None:
        if ended := next((it.ends_turn for it in answers if it.ends_turn), ""):
            self._ends[agent_id] = cut(ended)

    # -- running them

    async def _answers(
        self,
        event: str,
        rows: Mapping[str, Any],
        names: Sequence[str] = (),
        subject: Subject | None = None,
    ) -> Sequence[HookAnswer]:
        if self._hooks is None:
            await self._refresh()
        hooks = [hook for hook in self._hooks or () if hook.event == event]
        hooks = [hook for hook in hooks if not names or hook.matches(names, subject)]
        for hook in hooks:
            if hook.is_async:
                self._actions.start(partial(self._run_async, hook, rows))
        return [await self._answer(hook, rows) for hook in hooks if not hook.is_async]

    async def _run_async(self, hook: Hook, rows: Mapping[str, Any]) -> None:
        await self._answer(hook, rows)

    async def _answer(self, hook: Hook, rows: Mapping[str, Any]) -> HookAnswer:
        if hook.is_script:
            rows = script_rows(hook.event, rows, self._session.session_id, self._session.folder)
        else:
            rows = named_as_in(hook.path, rows)
        text = payload(
            hook.event,
            session_id=self._session.session_id,
            transcript=self._session.transcript,
            folder=self._session.folder,
            mode=self._session.mode(),
            rows=rows,
        )
        if hook.coverage.takes_path and (path := odd_path(rows)):
            answer = HookAnswer(problem=f"it did not run, because its programs may read {path!r} as options")
        else:
            answer = await self._run_hook(hook, redacted(text, self._secrets()))
        if answer.problem:
            self._report(f"The hook `{hook.command}` ({hook.event}) failed: {answer.problem}.")
        if answer.message:
            self._actions.emit(Warning(f"Message from a hook: {cut(answer.message)}", "hook"))
        return answer

    async def _run_hook(self, hook: Hook, text: str) -> HookAnswer:
        if change := await anyio.to_thread.run_sync(self._find_change, hook):
            return HookAnswer(
                problem=f"it did not run, because {change} changed after you confirmed the hook; `agent-ls hooks` "
                "in the project folder shows it"
            )
        given = await anyio.to_thread.run_sync(_write_input, text)
        variables = dict.fromkeys(VARIABLES, self._session.folder)
        options = CommandOptions(
            timeout_ms=hook.timeout_s * 1000,
            working_dir=self._session.folder,
            env_vars=variables,
            inherit="minimal",
        )
        try:
            done = await self._actions.run(hook.command, options, given)
        except EnvError as error:
            return HookAnswer(problem=f"the hook could not be started: {error}")
        finally:
            self._reads.discard()  # the hook may have changed the files read
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(os.unlink, given)
        logger.info(
            "hook %s of %s ended with %s after %d ms", hook.event, hook.path, done.exit_code, done.duration_ms
        )
        if done.timed_out:
            return HookAnswer(problem=f"the hook took longer than {hook.timeout_s} seconds")
        known = self._secrets()
        stdout, stderr = redacted(done.stdout[:MAX_PRINTED], known), redacted(cut(done.stderr), known)
        return parse_answer(done.exit_code, stdout, stderr, hook.event)

    async def _refresh(self) -> None:
        """Update the hooks from the hook files. Warn about invalid hooks, and about hooks that are not confirmed."""
        found = await self._found.get()
        self._hooks, self._changed, waiting = found.hooks, found.changed, found.waiting
        self._actions.guard([path for hook in found.hooks for path, _ in hook.coverage.files])
        for problem in found.problems:
            self._report(f"A hook is ignored: {problem}")
        if waiting:
            noun = "hook" if waiting == 1 else "hooks"
            self._report(
                f"This project has {waiting} {noun} that you have not confirmed and that do not run until you "
                "do. `agent-ls hooks` in the project folder lists them."
            )

    def _load(self) -> _Loaded:
        """Return the hooks that may run. Blocks.

        A hook in a file of the user that runs no file of a project is confirmed by its first use.
        """
        folder = self._session.folder
        workspace = folder if self._session.is_trusted() else None
        found = load_hooks(self._settings(), str(self._state), workspace, folder=folder)
        store = ConfirmedHooks(self._state)
        confirmed = store.read() if found.hooks else ()
        states = [(hook, state_of(hook, folder, confirmed)) for hook in found.hooks]
        first = [hook for hook, state in states if state == "new" and not hook.is_of_project]
        if first:
            with suppress(OSError):  # then they count as new again at the next message
                store.confirm(first, folder, SystemClock().now(), by="first use")
        hooks = [hook for hook, state in states if state != "new" or hook in first]
        changed = frozenset(hook for hook, state in states if state == "changed")
        return _Loaded(hooks, changed, found.problems, len(found.hooks) - len(hooks) + len(changed))

    def _looks(self) -> Sequence[str] | None:
        """Return the files of hooks, None if there are hooks: then the files that they run are read too."""
        if self._hooks is None or self._hooks or self._changed:
            return None
        return [*hook_files(self._settings(), str(self._state), self._session.folder)]

    def _find_change(self, hook: Hook) -> str:
        """Return what has changed since a hook was confirmed, "" if it may run now. Blocks."""
        now = hook.covered_now()
        if hook not in self._changed and now.digest == hook.coverage.digest:
            return ""
        confirmed = ConfirmedHooks(self._state).read()
        if state_of(replace(hook, coverage=now), self._session.folder, confirmed) == "confirmed":
            return ""
        differing = set(now.files) ^ set(hook.coverage.files)
        return next(iter(sorted(path for path, _ in differing)), "a file of the folder, or the hook itself,")

    def _report(self, message: str) -> None:
        """Warn the user, once per message."""
        if message not in self._reported:
            self._reported.add(message)
            self._actions.emit(Warning(message, "hook"))


def _write_input(text: str) -> str:
    """Write the input of a hook to a private file, and return its path. Blocks."""
    descriptor, path = tempfile.mkstemp(prefix="agent-ls-hook-")
    with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return path
