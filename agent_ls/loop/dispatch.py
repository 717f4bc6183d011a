"""One tool call from its JSON to its result: lookup, validate, prepare, approve, run, truncate, emit (T1).

Whatever goes wrong becomes an error result that the model can act on. Nothing is raised but cancellation, and
that only after the call has got its result and its end event.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from anyio import get_cancelled_exc_class

from agent_ls.environments.base import Attribution, ExecutionEnvironment, OutputSink, Stream
from agent_ls.environments.effects import CallEffect, CommandEffect, NoEffect, ReadEffect, WriteEffect
from agent_ls.environments.errors import EnvError, OutsideBoundsError
from agent_ls.llm.messages import ToolCallPart, ToolResultPart
from agent_ls.llm.requests import Usage
from agent_ls.loop.approval import ApprovalQuestion, Approver, Denied
from agent_ls.loop.arguments import ArgumentsError, parse_arguments
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.editor_events import EditDiagnosed
from agent_ls.loop.emission import Voice, output_part
from agent_ls.loop.events import (
    ApprovalRequested,
    PlanChanged,
    PlanItem,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.loop.ids import SessionId, ToolCallId
from agent_ls.loop.reads import ShownFiles
from agent_ls.loop.redaction import Known, StreamRedaction, none_known, redacted
from agent_ls.loop.restored import EndedCall, SuspendedCall
from agent_ls.loop.seams import Clock, Recorder, Reviews, Surroundings
from agent_ls.loop.summaries import INPUT_CHARS, call_summary, one_line, output_summary
from agent_ls.loop.terminals import Terminals
from agent_ls.loop.truncation import printed, truncate_tool_output
from agent_ls.profiles.base import ProviderProfile
from agent_ls.text import back_on_screen
from agent_ls.tools.base import (
    Arguments,
    Prepared,
    Questions,
    ShellLimits,
    SubagentSpawner,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
)
from agent_ls.tools.planned import as_reviewed

logger = logging.getLogger(__name__)

EVENT_OUTPUT_BYTES = 64 * 1024  # E3: more than that goes to the store, and the event names it
EVENT_SHARE_CHARS = 8 * 1024  # of head and of tail, which then stand in the event
LIVE_OUTPUT_CHARS = 4 * 1024 * 1024
"""Of a call's output, told while it comes."""
NOT_LIVE = "\n[... what is printed from here on is not shown as it comes ...]\n"
MAX_ASKS = 5  # a file that moved each time while a person was asked is being written by something else

INTERRUPTED = "Interrupted by the user before it finished."
INTERRUPTED_EFFECT = f"{INTERRUPTED} It may have had part of its effect: look before you rely on it."
NOT_RUN = "Not run: interrupted by the user."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. `ends_loop`: a terminal tool has done its work, or a failure is fatal (002 7.1). `usage` as

    in ToolOutput.
    """

    result: ToolResultPart
    was_denied: bool = False
    had_effect: bool = False
    ends_loop: Literal["completed", "error"] | None = None
    usage: Usage | None = None


@dataclass(slots=True)
class Call:
    """A call of a round. `index` is its place in the response, `event_id` its id in events.

    `outcome` is set exactly once, also when the call is interrupted; not when it is suspended. `is_alone` in its
    round. `known` is what an earlier process left of it.
    """

    part: ToolCallPart
    event_id: ToolCallId
    index: int
    is_alone: bool = True
    known: SuspendedCall | None = None
    outcome: Outcome | None = None
    landed: ToolOutput | None = None
    """Of an edit that is done, while what it brought is waited for."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Lookup and validation. Without `arguments`, `refusal` says what is wrong."""

    tool: Tool[Any] | None
    arguments: Arguments | None
    refusal: ToolOutput


class Dispatcher:
    def __init__(
        self,
        *,
        session_id: SessionId,
        environment: ExecutionEnvironment,
        approver: Approver,
        recorder: Recorder,
        clock: Clock,
        hub: Voice,
        shown: Mapping[str, str],
        surroundings: Surroundings,
        secrets: Known = none_known,
        reviews: Reviews,
        terminals: Terminals,
        subagents: SubagentSpawner,
        questions: Questions,
        plan: PlanChanged | None = None,
    ) -> None:
        self._session_id = session_id
        self._environment = environment
        self._approver = approver
        self._recorder = recorder
        self._clock = clock
        self._hub = hub
        self._reads = ShownFiles(shown, recorder.shown)
        self.terminals = terminals
        self._subagents = subagents
        self._questions = questions
        self._secrets = secrets
        self._surroundings = surroundings
        self._reviews = reviews
        self.plan = plan
        """As the model last gave it; None before it does."""

    async def dispatch(self, call: Call, profile: ProviderProfile, config: SessionConfig) -> None:
        """Runs the call and sets its outcome; not when it is cancelled while a person is asked about it.

        Nor while what it proposes waits for verdicts.
        """
        parsed = parse_call(call.part, profile)
        self._start(call, parsed)
        started_ms = self._clock.monotonic_ms()
        tap = _OutputTap(self._hub, output_part(call.event_id), StreamRedaction(self._secrets))
        context = self._context(call, profile, config, tap)
        try:
            output = await self._guarded(call, parsed, context)
        except get_cancelled_exc_class():
            if self.is_asked(call):
                raise
            tap.close()
            output = call.landed or self._interrupted(call, parsed)
            self._end(call, output, parsed.tool, config, started_ms)
            raise
        finally:
            tap.close()
        self._end(call, output, parsed.tool, config, started_ms)

    async def is_free(self, call: Call, profile: ProviderProfile, config: SessionConfig) -> bool:
        """Whether the call only looks, and may do so without anyone being asked. It tells nothing of itself yet."""
        parsed = parse_call(call.part, profile)
        if parsed.tool is None or parsed.arguments is None:
            return False
        context = self._context(call, profile, config, lambda stream, text: None)
        try:
            prepared = await parsed.tool.prepare(parsed.arguments, context)
        except Exception:  # told in its own turn, by whoever catches it there
            return False
        summary = _summary(call.part, parsed.tool, parsed.arguments)
        effect = prepared.effect
        category = parsed.tool.category
        question = ApprovalQuestion(
            call.event_id, self._hub.turn_id, call.part.name, summary, effect, category=category
        )
        return isinstance(effect, ReadEffect | NoEffect) and await self._approver.is_free(question)

    def _context(
        self, call: Call, profile: ProviderProfile, config: SessionConfig, on_output: OutputSink
    ) -> ToolContext:
        return ToolContext(
            environment=self._environment,
            attribution=Attribution(self._session_id, self._hub.turn_id, call.event_id),
            on_output=on_output,
            reads=self._reads,
            shell_limits=shell_limits(profile, config),
            refuse_ambiguous=config.refuse_ambiguous_edits,
            subagents=self._subagents,
            questions=self._questions,
            read_first=config.read_first,
            terminal=self.terminals.watcher(call.event_id),
        )

    def drop(self, call: Call, reason: str) -> None:
        """Of a call that ran early in a response that did not end well: the model is told that its result is gone."""
        result = ToolResultPart(call.part.id, call.part.name, reason, is_error=True)
        call.outcome = Outcome(result)

    def answer(
        self, call: Call, profile: ProviderProfile, config: SessionConfig, reason: str, kind: str
    ) -> None:
        """Gives a call that will not run its start, its end and its result."""
        self._start(call, parse_call(call.part, profile))
        self._end(call, _error(reason, kind), None, config, self._clock.monotonic_ms())

    def is_asked(self, call: Call) -> bool:
        """Whether a person is asked about it: after a cancellation, the question stands."""
        return call.event_id in self._hub.asked

    def take_up(self, call: Call, ended: EndedCall, profile: ProviderProfile) -> None:
        """Sets the outcome of a call that ended in an earlier process."""
        tool = profile.registry.lookup(call.part.name)
        call.outcome = _outcome(ended.result, _output_of(ended.end), tool)

    def was_denied_and_had_effect(self, end: ToolCallEnd, profile: ProviderProfile) -> tuple[bool, bool]:
        """Of a call that ended in an earlier process."""
        output = _output_of(end)
        return _was_denied(output), _had_effect(output, profile.registry.lookup(end.name))

    async def _guarded(self, call: Call, parsed: Parsed, context: ToolContext) -> ToolOutput:
        allowed: tuple[ApprovalRequested, ...] = ()
        command = ""
        if call.known and call.known.asked:
            decision = await self._approver.resume(call.known.asked)
            if isinstance(decision, Denied):
                return _denied(decision)
            command = decision.command or call.known.command
            # With a command of the user's own, what was asked about is not what he allowed.
            allowed = call.known.allowed if decision.command else (*call.known.allowed, call.known.asked)
        if parsed.tool is None or parsed.arguments is None:
            return parsed.refusal
        name = call.part.name
        try:
            if call.known and call.known.is_in_review:
                return await self._reviewed(call, parsed, context)
            prepared = await self._approved(call, parsed.tool, parsed.arguments, context, allowed, command)
            return prepared if isinstance(prepared, ToolOutput) else await self._run(call, prepared)
        except ToolError as error:
            words = f"Tool error ({name}): {error}"
            return _error(f"{error.output}\n\n{words}" if error.output else words, error.kind)
        except EnvError as error:
            return _error(f"Tool error ({name}): {error}", error.kind)
        except Exception as error:  # the boundary between tools and the loop: a result, never an exception
            logger.exception("tool %s failed", name)
            return _error(f"Tool error ({name}): {type(error).__name__}: {error}", "internal")

    async def _approved(
        self,
        call: Call,
        tool: Tool[Any],
        arguments: Arguments,
        context: ToolContext,
        allowed: tuple[ApprovalRequested, ...],
        command: str,
    ) -> Prepared | ToolOutput:
        """The prepared call, or why it may not run. `allowed` as in ApprovalQuestion, `command` as in SuspendedCall.

        When a person was asked, time has passed: the effect is computed again, and asked again if it moved. A command
        that the person wrote instead is a new action: it is validated, judged and, where that is so, asked about anew.
        """
        note, as_asked = "", arguments
        summary = _summary(call.part, tool, arguments)
        question = ApprovalQuestion(
            call.event_id, self._hub.turn_id, tool.name, summary, NoEffect(), allowed, category=tool.category
        )
        if command:
            note, arguments = replaced_note(as_asked, command), _with_command(arguments, command)
            question = replace(question, summary=_summary_of(tool, arguments) or summary, is_users_own=True)
        prepared = await self._prepared(question, tool, arguments, context)
        for _ in range(MAX_ASKS):
            if isinstance(prepared, ToolOutput):
                return prepared
            decision = await self._approver.decide(replace(question, effect=prepared.effect))
            if isinstance(decision, Denied):
                return _denied(decision)
            if decision.command and isinstance(prepared.effect, CommandEffect):
                note, arguments = (
                    replaced_note(as_asked, decision.command),
                    _with_command(arguments, decision.command),
                )
                question = replace(
                    question, summary=_summary_of(tool, arguments) or summary, is_users_own=True
                )
                prepared = await self._prepared(question, tool, arguments, context)
                continue
            if not decision.asked:
                return _noted(prepared, note)
            digest = prepared.effect.digest
            prepared = await self._prepared(question, tool, arguments, context)
            if isinstance(prepared, Prepared) and prepared.effect.digest == digest:
                return _noted(prepared, note)
        return _error(
            "What this would change kept moving while it was approved. Look again, then retry.", "stale"
        )

    async def _prepared(
        self, question: ApprovalQuestion, tool: Tool[Any], arguments: Arguments, context: ToolContext
    ) -> Prepared | ToolOutput:
        """Looking is an effect too, where it leads out of bounds: then that is asked about first."""
        for _ in range(MAX_ASKS):
            try:
                prepared: Prepared = await tool.prepare(arguments, context)
                return prepared
            except OutsideBoundsError as error:
                decision = await self._approver.decide(replace(question, effect=ReadEffect((error.path,))))
                if isinstance(decision, Denied):
                    return _denied(decision)
        return _error("This needs to look at too many places outside the workspace.", "permission_denied")

    async def _run(self, call: Call, prepared: Prepared) -> ToolOutput:
        effect = prepared.effect
        if isinstance(effect, WriteEffect):
            return await self._edit(call, prepared, effect)
        command = effect.runs if isinstance(effect, CallEffect) else effect
        if not isinstance(command, CommandEffect) or command.input_of:
            return await prepared.run()
        return await self.terminals.run(call.event_id, command, prepared.run)

    async def _reviewed(self, call: Call, parsed: Parsed, context: ToolContext) -> ToolOutput:
        """What became of changes that waited for verdicts when the process before ended."""
        known = call.known.allowed if call.known else ()
        summary = _summary(call.part, parsed.tool, parsed.arguments)
        question = ApprovalQuestion(
            call.event_id, self._hub.turn_id, call.part.name, summary, NoEffect(), known
        )
        states = await self._reviews.resume(question, context.attribution)
        return _denied(states) if isinstance(states, Denied) else as_reviewed(states, context)

    async def _edit(self, call: Call, prepared: Prepared, effect: WriteEffect) -> ToolOutput:
        """The edit, and what the tools around it say of it (H12). Who stops the waiting does not undo the edit."""
        news = self._surroundings.watch_edit([file.path for file in effect.files])
        output = call.landed = await prepared.run()
        if output.is_error or not output.files:
            return output
        told = await news()
        if told.files:
            self._hub.emit(EditDiagnosed(call.event_id, told.files))
        return replace(output, text=f"{output.text}\n\n{told.text}") if told.text else output

    def _start(self, call: Call, parsed: Parsed) -> None:
        if call.known and call.known.has_started:
            return
        part = call.part
        summary = _summary(part, parsed.tool, parsed.arguments)
        self._hub.emit(ToolCallStart(call.event_id, call.index, part.name, part.arguments, summary))

    def _interrupted(self, call: Call, parsed: Parsed) -> ToolOutput:
        is_read = parsed.tool is None or parsed.tool.category == "read"
        words = INTERRUPTED if is_read else INTERRUPTED_EFFECT
        so_far = self._hub.text_of(output_part(call.event_id))
        return _error(f"{back_on_screen(so_far)}\n\n{words}" if so_far else words, "interrupted")

    def _end(
        self, call: Call, output: ToolOutput, tool: Tool[Any] | None, config: SessionConfig, started_ms: int
    ) -> None:
        name = call.part.name
        # Here text from outside enters the session: all that follows, and all who see it, have the same bytes.
        known = self._secrets()
        output = replace(output, text=redacted(output.text, known), summary=redacted(output.summary, known))
        shown, ref = self._for_event(call.event_id, output.text)
        # What a terminal colours or writes over is noise to a model; the event keeps it (PROTOCOL, Terminal).
        is_printed = output.exit_code is not None or (tool and tool.category == "admin")
        text = printed(output.text, known) if is_printed else output.text
        content = truncate_tool_output(text, tool.kind if tool else name, config)
        result = ToolResultPart(call.part.id, name, content, output.is_error, output.images)
        if not call.is_alone and (content != shown or output.images):
            self._recorder.result(call.event_id, result)
        call.outcome = _outcome(result, output, tool)
        if output.plan:
            items = tuple(PlanItem(item.text, item.status) for item in output.plan.items)
            self.plan = PlanChanged(output.plan.explanation, items)
            self._hub.emit(self.plan)
        self._hub.emit(
            ToolCallEnd(
                call_id=call.event_id,
                name=name,
                output=shown,
                summary=output_summary(output.summary or output.text),
                is_error=output.is_error,
                error_kind=output.error_kind or ("tool_error" if output.is_error else ""),
                duration_ms=self._clock.monotonic_ms() - started_ms,
                output_chars=len(output.text),
                output_ref=ref,
                exit_code=output.exit_code,
                model_chars=len(content),
            )
        )

    def _for_event(self, call_id: str, text: str) -> tuple[str, str]:
        """The output as its event carries it, and the reference of the whole where that is too long (E3)."""
        if len(text) * 4 <= EVENT_OUTPUT_BYTES or len(text.encode("utf-8", "replace")) <= EVENT_OUTPUT_BYTES:
            return text, ""
        left_out = len(text) - 2 * EVENT_SHARE_CHARS
        shown = f"{text[:EVENT_SHARE_CHARS]}\n[... {left_out} characters ...]\n{text[-EVENT_SHARE_CHARS:]}"
        return shown, self._recorder.output(call_id, text)


class _OutputTap:
    """Output of a running call as deltas; what comes after the call has ended is not told.

    Nor is what comes after LIVE_OUTPUT_CHARS: it would be kept for all who come late. The end of the call has it.
    """

    def __init__(self, hub: Voice, part_id: str, redaction: StreamRedaction) -> None:
        self._hub = hub
        self._part_id = part_id
        self._redaction = redaction
        self._stream: Stream = "stdout"
        self._is_open = True
        self._room = LIVE_OUTPUT_CHARS

    def __call__(self, stream: Stream, text: str) -> None:
        if self._is_open:
            if stream != self._stream:
                self._tell(self._redaction.end())
            self._stream = stream
            self._tell(self._redaction.feed(text))

    def close(self) -> None:
        """May be called again."""
        if self._is_open:
            self._tell(self._redaction.end())
        self._is_open = False

    def _tell(self, text: str) -> None:
        if len(text) > self._room > 0:
            text = text[: self._room] + NOT_LIVE
        if self._room > 0:
            self._room -= len(text)
            self._hub.append("tool_call_output_delta", self._part_id, text, self._stream)


def replaced_note(as_asked: Arguments, after: str) -> str:
    before = str(getattr(as_asked, "command", ""))
    return (
        "[The user changed this command before it ran. Yours, which did not run:\n"
        f"{before}\nWhat ran instead:\n{after}]"
    )


def _with_command(arguments: Arguments, command: str) -> Arguments:
    """
    Raises:
        ToolError: the tool does not take this command.
    """
    raw = {**arguments.model_dump(exclude_unset=True), "command": command}
    try:
        return parse_arguments(json.dumps(raw), type(arguments))
    except ArgumentsError as error:
        raise ToolError(
            f"The user changed this command to one that cannot be run: {error}", kind="validation"
        ) from None


def _noted(prepared: Prepared, note: str) -> Prepared:
    """The call with `note` before whatever it answers."""
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


def parse_call(part: ToolCallPart, profile: ProviderProfile) -> Parsed:
    tool = profile.registry.lookup(part.name)
    if tool is None:
        names = ", ".join(profile.registry.names()) or "none"
        refusal = _error(f"Unknown tool: {part.name}. The tools are: {names}.", "unknown_tool")
        return Parsed(None, None, refusal)
    try:
        return Parsed(tool, parse_arguments(part.arguments, tool.arguments), ToolOutput(""))
    except ArgumentsError as error:
        text = f"Invalid arguments for tool: {part.name}\n{error}"
        return Parsed(
            tool, None, ToolOutput(text, is_error=True, error_kind="validation", summary=str(error))
        )


def shell_limits(profile: ProviderProfile, config: SessionConfig) -> ShellLimits:
    """A profile's own default stands in for the session's; the session's cap holds for both (000 section 3.5)."""
    cap = config.max_command_timeout_ms
    own = profile.shell_limits
    default = own.default_timeout_ms if own else config.default_command_timeout_ms
    return ShellLimits(min(default, cap), min(own.max_timeout_ms, cap) if own else cap)


def _summary(part: ToolCallPart, tool: Tool[Any] | None, arguments: Arguments | None) -> str:
    said = _summary_of(tool, arguments) if tool and arguments else ""
    return said or call_summary(part.name, part.arguments)


def _summary_of(tool: Tool[Any], arguments: Arguments) -> str:
    try:
        return one_line(tool.summarize(arguments), INPUT_CHARS)
    except Exception:  # as in _guarded: a tool of the host's own may be wrong here
        logger.exception("tool %s has no summary for its arguments", tool.name)
        return ""


def _outcome(result: ToolResultPart, output: ToolOutput, tool: Tool[Any] | None) -> Outcome:
    return Outcome(
        result, _was_denied(output), _had_effect(output, tool), _ends_loop(output, tool), output.usage
    )


def _output_of(end: ToolCallEnd) -> ToolOutput:
    """As far as its outcome depends on it."""
    return ToolOutput("", is_error=end.is_error, error_kind=end.error_kind, exit_code=end.exit_code)


def _was_denied(output: ToolOutput) -> bool:
    return output.error_kind == "permission_denied"


def _ends_loop(output: ToolOutput, tool: Tool[Any] | None) -> Literal["completed", "error"] | None:
    if output.is_error:
        return "error" if output.error_kind == "fatal" else None
    return "completed" if tool and tool.terminal else None


def _had_effect(output: ToolOutput, tool: Tool[Any] | None) -> bool:
    """A command that ran and failed has done something all the same."""
    ran = not output.is_error or output.exit_code is not None
    return ran and tool is not None and tool.category != "read"


def _denied(decision: Denied) -> ToolOutput:
    return _error(f"Permission denied: {decision.reason}", "permission_denied")


def _error(text: str, kind: str) -> ToolOutput:
    return ToolOutput(text, is_error=True, error_kind=kind)
