"""Execute one tool call from its JSON arguments to its result.

The steps are: look up, validate, prepare, approve, run, truncate, emit. Every failure becomes an error
result for the model. Only cancellation is re-raised, after the call has got its result and its end event.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from anyio import get_cancelled_exc_class, move_on_after

from agent_ls.environments.base import Attribution, DroppedOutput, OutputSink
from agent_ls.environments.effects import (
    CallEffect,
    CommandEffect,
    Effect,
    NoEffect,
    ReadEffect,
    WriteEffect,
    touched_files,
)
from agent_ls.environments.errors import EnvError
from agent_ls.environments.read_once import files_read_once
from agent_ls.llm.messages import ToolCallPart, ToolResultPart
from agent_ls.long_texts import run_for_text
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, Decision, Denied
from agent_ls.loop.calls.arguments import (
    ArgumentsError,
    parse_arguments,
)
from agent_ls.loop.calls.call_approval import CallApproval
from agent_ls.loop.calls.command_limits import command_limits
from agent_ls.loop.calls.hooks import HookedCall
from agent_ls.loop.calls.outcome import (
    CallOutcome,
    changes_of,
    error_output,
    had_effect,
    make_denied,
    outcome_of,
    output_of,
    was_denied,
    without_images,
)
from agent_ls.loop.calls.output_tap import OutputTap
from agent_ls.loop.calls.reads import ReadFiles
from agent_ls.loop.calls.redaction import StreamRedaction, redacted
from agent_ls.loop.calls.summaries import call_summary, output_summary, summary_of
from agent_ls.loop.calls.truncation import KeptOutput, render_output, truncate_tool_output
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.emission import Emitter, output_part
from agent_ls.loop.events.editor import EditDiagnosed
from agent_ls.loop.events.types import (
    ApprovalRequested,
    PlanChanged,
    PlanItem,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.loop.ids import ToolCallId
from agent_ls.loop.ports import Ports, Shared
from agent_ls.loop.restored import EndedCall, SuspendedCall
from agent_ls.own_code import error_words, exits_as_errors, is_cancelled
from agent_ls.profiles.base import ProviderProfile
from agent_ls.text import leave_alternate_screen
from agent_ls.tools.base import (
    Arguments,
    Prepared,
    SubagentSpawner,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
)
from agent_ls.tools.file_commits import describe_review
from agent_ls.tools.freshness import read_changes
from agent_ls.tools.look import UNKNOWN

logger = logging.getLogger(__name__)

# a longer output is stored as a file, and the end event contains a reference to the file
EVENT_OUTPUT_BYTES = 64 * 1024
# of a longer output, the end event contains this many characters from the start and from the end
EVENT_SHARE_CHARS = 8 * 1024

BY_USER = "the user"
BY_CLOSING = "the closing of the session"
BY_TIME_LIMIT = "a time limit"
INTERRUPTED = "Interrupted by {who} before it finished."
MAY_HAVE_ACTED = "The call may have had part of its effect: check before you rely on the result."
NOT_RUN = "Not run: interrupted by {who}."


@dataclass(slots=True)
class Call:
    """A call of a round. `index` is its position in the response, `event_id` its id in events. `outcome` is
    set exactly once, even after an interrupt, but not if the call is suspended. `is_alone` is True if the
    round has no other call. `known` is the call's state recorded by an earlier process.
    """

    part: ToolCallPart
    event_id: ToolCallId
    index: int
    is_alone: bool = True
    known: SuspendedCall | None = None
    outcome: CallOutcome | None = None
    summary: str = ""
    """One-line summary of the arguments, as in the start event."""
    completed_edit: ToolOutput | None = None
    """The result of a completed edit, set while the call waits for the diagnostics of the edit."""
    hooked: HookedCall | None = None
    """The call in the form that the hooks received before it ran; None if the call did not run."""
    touched: tuple[str, ...] = ()
    """The files that the call was allowed to read or change."""
    instructions: str = ""
    """The project's instructions for the folders of the `touched` files; the model gets them with the result.
    """
    decided_ms: int = 0
    """Time spent on the policy check and on waiting for approvals. It is not part of the call's duration."""
    early: EarlyCall | None = None
    """Set if the call was started before the model's response was complete."""
    parsed: ParsedCall | None = None
    """Result of `parse_call`, so that the arguments are parsed once."""
    has_begun: bool = False  # it was approved, and may have had an effect


@dataclass(frozen=True, slots=True)
class EarlyCall:
    """A call that was prepared and allowed before the response was complete. `tap` receives the output of the call."""

    prepared: Prepared
    tap: OutputTap


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """Result of lookup and validation. If `arguments` is None, `refusal` is the error for the model."""

    tool: Tool[Any] | None
    arguments: Arguments | None
    refusal: ToolOutput


class Dispatcher:
    """Executes the tool calls of one agent. `plan` is the latest plan of the model.

    `stopped_by` says who or what stops the agent, for the results of the calls that are cut.
    """

    def __init__(
        self,
        ports: Ports,
        shared: Shared,
        emitter: Emitter,
        subagents: SubagentSpawner,
        *,
        shown: Mapping[str, str],
        plan: PlanChanged | None = None,
        stopped_by: Callable[[], str] = lambda: BY_USER,
    ) -> None:
        self._session_id = shared.session_id
        self._ports = ports
        self._emitter = emitter
        self._reads = ReadFiles(shown, ports.recorder.record_read)
        self.terminals = shared.terminals
        self._subagents = subagents
        self._log_guard = shared.log_guard
        self._time_left_ms = shared.budget.time_left_ms
        self._stopped_by = stopped_by
        self.plan = plan
        """The latest plan of the model; None if there is none."""

    @property
    def not_run(self) -> str:
        """The result of a call that did not run, because its turn was stopped."""
        return NOT_RUN.format(who=self._stopped_by())

    async def dispatch(self, call: Call, profile: ProviderProfile, config: SessionConfig) -> None:
        """Run the call and set its outcome. If the call is cancelled while it waits for an approval, an
        answer or decisions about hunks, the call is suspended and has no outcome.
        """
        parsed = reuse_parsed(call, profile)
        self._start(call, parsed)
        started_ms = self._ports.clock.monotonic_ms()
        tap = call.early.tap if call.early else self._tap(call)
        context = self._context(call, profile, config, tap)
        try:
            output = await self._run_guarded(call, parsed, context, config)
        except get_cancelled_exc_class():
            if self.is_asked(call):
                raise
            tap.close()
            output = call.completed_edit or self._make_interrupted(call, parsed)
            await self._finish(call, output, parsed.tool, config, started_ms)
            raise
        finally:
            tap.close()
        try:
            if call.hooked:
                notes = await self._after(call.hooked, output, context)
                output = replace(output, text="\n\n".join((output.text, *notes)))
            if call.touched and not output.is_error:
                with files_read_once():
                    call.instructions = await self._ports.documents.for_paths(
                        call.touched, profile.project_documents
                    )
        finally:  # If the turn is stopped while the hooks run, the call has run already and still needs its end event.
            seen = output if profile.supports_images else without_images(output)
            await self._finish(call, seen, parsed.tool, config, started_ms)

    async def _after(self, hooked: HookedCall, output: ToolOutput, context: ToolContext) -> Sequence[str]:
        """Run the hooks after a call; return what they say, and what they changed in the files of the call."""
        said = await self._ports.hooks.after_call(hooked, output.text, is_error=output.is_error)
        files = hooked.effect.files if isinstance(hooked.effect, WriteEffect) and not output.is_error else ()
        changes = await read_changes([file.path for file in files], context)
        text = (
            "While the hooks of the user ran after this call, its files changed. You know these changes now:"
        )
        return [*filter(None, (said, changes and f"{text}\n\n{changes}"))]

    async def prepare_early(self, call: Call, profile: ProviderProfile, config: SessionConfig) -> bool:
        """Prepare a read-only call that needs no approval. Returns whether the call was prepared. The caller
        must then call `dispatch` next, without an await in between. Emits no event.
        """
        parsed = reuse_parsed(call, profile)
        if parsed.tool is None or parsed.arguments is None or self._ports.hooks.watches_calls:
            return False
        tap = self._tap(call)
        prepared = await self._try_prepare(parsed, self._context(call, profile, config, tap))
        if prepared is None:
            return False  # `dispatch` prepares the call again and reports the error
        question = self._question(call, parsed, prepared.effect)
        is_reading = isinstance(prepared.effect, ReadEffect | NoEffect)
        if is_reading and await self._ports.approver.allow_unasked(question):
            call.early = EarlyCall(prepared, tap)
        return call.early is not None

    async def _try_prepare(self, parsed: ParsedCall, context: ToolContext) -> Prepared | None:
        """Return the prepared call, None if it cannot be prepared."""
        if parsed.tool is None or parsed.arguments is None:
            return None
        try:
            with exits_as_errors():
                prepared: Prepared = await parsed.tool.prepare(parsed.arguments, context)
                return prepared
        except (Exception, get_cancelled_exc_class()) as error:
            if not isinstance(error, Exception) and is_cancelled():
                raise
            return None

    def _question(
        self,
        call: Call,
        parsed: ParsedCall,
        effect: Effect,
        allowed: tuple[ApprovalRequested, ...] = (),
    ) -> ApprovalQuestion:
        return ApprovalQuestion(
            call.event_id,
            self._emitter.turn_id,
            parsed.tool.name if parsed.tool else call.part.name,
            _summary(call.part, parsed.tool, parsed.arguments),
            effect,
            allowed,
            category=parsed.tool.category if parsed.tool else None,
        )

    def _tap(self, call: Call) -> OutputTap:
        return OutputTap(self._emitter, output_part(call.event_id), StreamRedaction(self._ports.secrets))

    def _context(
        self, call: Call, profile: ProviderProfile, config: SessionConfig, on_output: OutputSink
    ) -> ToolContext:
        return ToolContext(
            environment=self._ports.environment,
            attribution=Attribution(self._session_id, self._emitter.turn_id, call.event_id),
            on_output=on_output,
            reads=self._reads,
            shell_limits=command_limits(profile, config, self._time_left_ms(config.limits)),
            refuse_ambiguous=config.refuse_ambiguous_edits,
            subagents=self._subagents,
            questions=self._ports.questions,
            read_first=config.read_first,
            terminal=self.terminals.watcher(call.event_id),
        )

    def fail_early_call(self, call: Call, reason: str) -> None:
        """Set `reason` as the error result of an early call, because the response is incomplete."""
        result = ToolResultPart(call.part.id, call.part.name, reason, is_error=True)
        call.outcome = CallOutcome(result)

    def answer(
        self, call: Call, profile: ProviderProfile, config: SessionConfig, reason: str, kind: str
    ) -> None:
        """Emit start and end of a call that will not run, and use `reason` as its result."""
        self._start(call, reuse_parsed(call, profile))
        ended = _clean(error_output(reason, kind), None, self._ports.secrets())
        self._end(call, ended, None, config, self._ports.clock.monotonic_ms())

    def is_asked(self, call: Call) -> bool:
        """Return whether the call waits for the user. If it does, its question stays open after a
        cancellation.
        """
        return call.event_id in self._emitter.waiting_calls

    def take_up(self, call: Call, ended: EndedCall, profile: ProviderProfile) -> None:
        """Set the outcome of a call that ended in an earlier process."""
        tool = profile.registry.lookup(call.part.name)
        call.outcome = outcome_of(ended.result, output_of(ended.end), tool)

    def was_denied_and_had_effect(self, end: ToolCallEnd, profile: ProviderProfile) -> tuple[bool, bool]:
        """Return whether a call that ended in an earlier process was denied, and whether it had an effect."""
        output = output_of(end)
        return was_denied(output), had_effect(output, profile.registry.lookup(end.name))

    async def _run_guarded(
        self, call: Call, parsed: ParsedCall, context: ToolContext, config: SessionConfig
    ) -> ToolOutput:
        """Approve and run the call. Every failure except cancellation is returned as an error output."""
        allowed: tuple[ApprovalRequested, ...] = ()
        command = ""
        if call.known and call.known.asked:
            decision = await self._resume(call, call.known.asked, parsed, context)
            if not isinstance(decision, Allowed):
                return make_denied(decision)
            command = decision.command or call.known.command
            # A replacement of the command, for example, does not approve the original effect (`asked`).
            asked = (call.known.asked,) if decision.is_for_effect else ()
            allowed = (*call.known.allowed, *asked)
        if parsed.tool is None or parsed.arguments is None:
            return parsed.refusal
        name = call.part.name
        try:
            with exits_as_errors():
                if call.known and call.known.is_in_review:
                    return await self._reviewed(call, parsed, context)
                if call.early:
                    prepared: Prepared | ToolOutput = call.early.prepared
                else:
                    prepared = await self._approved(
                        call, parsed.tool, parsed.arguments, context, allowed, command
                    )
                if isinstance(prepared, ToolOutput):
                    return prepared
                call.touched = touched_files(prepared.effect)
                # ask_user may wait without limit; the time limit is checked after the answer.
                left_ms = None if parsed.tool.name == "ask_user" else self._time_left_ms(config.limits)
                return await self._run(call, prepared, left_ms)
        except ToolError as error:
            words = f"Tool error ({name}): {error}"
            return error_output(f"{error.output}\n\n{words}" if error.output else words, error.kind)
        except EnvError as error:
            return error_output(f"Tool error ({name}): {error}", error.kind)
        except (Exception, get_cancelled_exc_class()) as error:
            if not isinstance(error, Exception) and is_cancelled():
                raise
            # Last resort at the boundary between tools and loop: any exception becomes a result.
            logger.exception("tool %s failed", name)
            return error_output(f"Tool error ({name}): {error_words(error)}", "internal")

    async def _resume(
        self, call: Call, asked: ApprovalRequested, parsed: ParsedCall, context: ToolContext
    ) -> Decision:
        """Wait for the answer to a request of an earlier process, unless the policy refuses the same effect now."""
        now = await self._try_prepare(parsed, context)
        is_same = now and now.effect.digest == asked.digest  # no hook or user has replaced the call
        question = self._question(call, parsed, now.effect) if now and is_same else None
        return await self._await_decision(call, self._ports.approver.resume(asked, question))

    async def _approved(
        self,
        call: Call,
        tool: Tool[Any],
        arguments: Arguments,
        context: ToolContext,
        allowed: tuple[ApprovalRequested, ...],
        command: str,
    ) -> Prepared | ToolOutput:
        """Return the prepared call, or the error for the model.

        `allowed` are approvals that the user has already given for this call. `command` is the user's
        replacement for the model's command, "" for none.
        """
        approval = CallApproval(
            tool,
            context,
            self._ports.hooks,
            lambda question: self._await_decision(call, self._ports.approver.decide(question)),
            self._question(call, ParsedCall(tool, arguments, ToolOutput("")), NoEffect(), allowed),
            arguments,
            as_asked=arguments,
            summary=_summary(call.part, tool, arguments),
        )
        prepared = await approval.approve(command)
        if isinstance(prepared, Prepared):
            call.hooked = approval.hooked
        return prepared

    async def _await_decision(self, call: Call, deciding: Awaitable[Decision]) -> Decision:
        began_ms = self._ports.clock.monotonic_ms()
        try:
            return await deciding
        finally:
            call.decided_ms += self._ports.clock.monotonic_ms() - began_ms

    async def _run(self, call: Call, prepared: Prepared, left_ms: int | None = None) -> ToolOutput:
        """Run an approved call. `left_ms` is the time left until a time limit. It is ignored for commands,
        because their own timeout already takes it into account.
        """
        effect = prepared.effect
        if not isinstance(effect, ReadEffect | NoEffect) and not await self._log_guard.may_act():
            return error_output("Not run: the log of this session cannot be written.", "fatal")
        call.has_begun = True
        if isinstance(effect, WriteEffect):
            return await self._edit(call, prepared, effect)
        command = effect.runs if isinstance(effect, CallEffect) else effect
        if not isinstance(command, CommandEffect) or command.input_of:
            with move_on_after(math.inf if left_ms is None else left_ms / 1000):
                output = await prepared.run()
                self.terminals.note_ends(output.processes)
                return output
            return error_output(f"{call.part.name} was stopped: the time limit is reached.", "time_limit")
        return await self.terminals.run(call.event_id, command, prepared.run)

    async def _reviewed(self, call: Call, parsed: ParsedCall, context: ToolContext) -> ToolOutput:
        """Continue a call whose changes were waiting for the user's decisions when the earlier process ended."""
        call.has_begun = True
        known = call.known.allowed if call.known else ()
        question = self._question(call, parsed, NoEffect(), known)
        states = await self._ports.reviews.resume(question, context.attribution)
        return make_denied(states) if isinstance(states, Denied) else describe_review(states, context)

    async def _edit(self, call: Call, prepared: Prepared, effect: WriteEffect) -> ToolOutput:
        """Run an edit, and add the diagnostics it caused to its output. If the wait for diagnostics is
        cancelled, the edit stays applied.
        """
        news = self._ports.editor_context.watch_edit([file.path for file in effect.files])
        output = call.completed_edit = await prepared.run()
        if output.is_error or not output.files:
            return output
        caused = await news()
        if caused.files:
            self._emitter.emit(EditDiagnosed(call.event_id, caused.files))
        return replace(output, text=f"{output.text}\n\n{caused.text}") if caused.text else output

    def _start(self, call: Call, parsed: ParsedCall) -> None:
        if call.known and call.known.has_started:
            return
        part = call.part
        summary = _summary(part, parsed.tool, parsed.arguments)
        call.summary = summary
        look = (parsed.tool.look if parsed.tool else UNKNOWN).in_event
        self._emitter.emit(
            ToolCallStart(call.event_id, call.index, part.name, part.arguments, summary, *look)
        )

    def _make_interrupted(self, call: Call, parsed: ParsedCall) -> ToolOutput:
        if not call.has_begun:
            return error_output(self.not_run, "interrupted")
        words = INTERRUPTED.format(who=self._stopped_by())
        if not parsed.tool or parsed.tool.category != "read":
            words = f"{words} {MAY_HAVE_ACTED}"
        so_far = self._emitter.text_of(output_part(call.event_id))
        return error_output(
            f"{leave_alternate_screen(so_far)}\n\n{words}" if so_far else words, "interrupted"
        )

    async def _finish(
        self, call: Call, output: ToolOutput, tool: Tool[Any] | None, config: SessionConfig, started_ms: int
    ) -> None:
        """Redact the output, store it if it is long, and end the call. A cancellation waits: each call has a result."""
        clean = partial(_clean, output, tool, self._ports.secrets())
        ended = await run_for_text(len(output.text), clean)
        if ended.size_bytes > EVENT_OUTPUT_BYTES:
            missing_bytes = ended.output.dropped.missing_bytes
            ref = await self._ports.recorder.output(call.event_id, ended.output.text, missing_bytes)
            ended = replace(ended, ref=ref)
        self._end(call, ended, tool, config, started_ms)

    def _end(
        self, call: Call, ended: Ended, tool: Tool[Any] | None, config: SessionConfig, started_ms: int
    ) -> None:
        """Truncate the output for the model, set the outcome, and emit the end event."""
        name, output = call.part.name, ended.output
        shown = ended.shown
        content = truncate_tool_output(ended.printed, tool.kind if tool else name, config)
        if call.instructions:
            content = f"{content}\n\n{redacted(call.instructions, self._ports.secrets())}"
        result = ToolResultPart(call.part.id, name, content, output.is_error, output.images)
        if not call.is_alone and (content != shown or output.images):
            self._ports.recorder.result(call.event_id, result)
        call.outcome = outcome_of(result, output, tool)
        if output.plan:
            items = tuple(PlanItem(item.text, item.status) for item in output.plan.items)
            self.plan = PlanChanged(output.plan.explanation, items)
            self._emitter.emit(self.plan)
        self._emitter.emit(
            ToolCallEnd(
                call_id=call.event_id,
                name=name,
                output=shown,
                summary=output_summary(output.summary or output.text),
                is_error=output.is_error,
                error_kind=output.error_kind or ("tool_error" if output.is_error else ""),
                duration_ms=self._ports.clock.monotonic_ms() - started_ms - call.decided_ms,
                output_chars=len(output.text) + output.dropped.missing_chars,
                output_ref=ended.ref,
                exit_code=output.exit_code,
                model_chars=len(content),
                index=call.index,
                input_summary=call.summary or _summary(call.part, tool, None),
                output_bytes=ended.size_bytes + output.dropped.missing_bytes,
                changes=changes_of(output),
            )
        )


@dataclass(frozen=True, slots=True)
class Ended:
    """The redacted output of a call, and its forms for the model (`printed`) and for the end event (`shown`).

    `size_bytes` is the size of the text, `ref` names its file, "" for none.
    """

    output: ToolOutput
    printed: KeptOutput
    shown: str
    size_bytes: int
    ref: str = ""


def _clean(output: ToolOutput, tool: Tool[Any] | None, known: Collection[str]) -> Ended:
    """Redact an output where it enters the session, so that log, events and model get the same bytes. Takes long for
    a long text.
    """
    text = redacted(output.text, known)
    # The model gets the text without terminal colours and overwritten lines; the event has the original text.
    is_printed = output.exit_code is not None or (tool and tool.category == "admin")
    printed = render_output(text, known, output.dropped) if is_printed else KeptOutput(text)
    size_bytes = len(text.encode("utf-8", "replace"))
    cleaned = replace(output, text=text, summary=redacted(output.summary, known))
    return Ended(cleaned, printed, _shown(text, size_bytes, output.dropped), size_bytes)


def _shown(text: str, size_bytes: int, dropped: DroppedOutput) -> str:
    """Return the output for the end event: of a long one, the beginning and the end."""
    if size_bytes <= EVENT_OUTPUT_BYTES:
        return text
    left_out = len(text) - 2 * EVENT_SHARE_CHARS + dropped.missing_chars
    return f"{text[:EVENT_SHARE_CHARS]}\n[... {left_out} characters ...]\n{text[-EVENT_SHARE_CHARS:]}"


def reuse_parsed(call: Call, profile: ProviderProfile) -> ParsedCall:
    """Return the stored result of `parse_call`; parse again only if the name now belongs to another tool."""
    if call.parsed is None or call.parsed.tool is not profile.registry.lookup_called(call.part.name):
        call.parsed = parse_call(call.part, profile)
    return call.parsed


def parse_call(part: ToolCallPart, profile: ProviderProfile) -> ParsedCall:
    tool = profile.registry.lookup_called(part.name)
    if tool is None:
        names = ", ".join(profile.registry.names()) or "none"
        refusal = error_output(f"Unknown tool: {part.name}. The tools are: {names}.", "unknown_tool")
        return ParsedCall(None, None, refusal)
    try:
        return ParsedCall(tool, parse_arguments(part.arguments, tool.arguments), ToolOutput(""))
    except ArgumentsError as error:
        text = f"Invalid arguments for tool: {part.name}\n{error}"
        return ParsedCall(
            tool,
            None,
            ToolOutput(text, is_error=True, error_kind="validation", summary=str(error).removeprefix("- ")),
        )


def _summary(part: ToolCallPart, tool: Tool[Any] | None, arguments: Arguments | None) -> str:
    said = summary_of(tool, arguments) if tool and arguments else ""
    return said or call_summary(part.name, part.arguments)
