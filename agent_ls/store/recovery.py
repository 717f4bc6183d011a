"""Compute the records that complete an interrupted turn of a resumed session: texts, results, end events.

A turn that waited for the user is suspended: its open questions and proposals stay open, calls that were running
end as interrupted, and calls that had not begun stay pending. Any other unfinished turn ends as `interrupted`: its
partial text is kept, and each of its calls gets a result. Nothing is restarted automatically.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from agent_ls.llm.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.loop.calls.approval import asks_for_trust
from agent_ls.loop.calls.summaries import call_summary, output_summary
from agent_ls.loop.calls.truncation import truncate_tool_output
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.emission import output_part
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    ReasoningEnd,
    RecordedEvent,
    StateChanged,
    SteeringInjected,
    TerminalExit,
    ToolCallEnd,
    ToolCallStart,
    UserInput,
    Warning,
)
from agent_ls.loop.ids import ToolCallId, TurnId
from agent_ls.loop.inbox import Inbox, Input
from agent_ls.loop.model.call_ids import CallIds
from agent_ls.loop.restored import EndedCall, MissingRecords, RestoredSession, SuspendedCall, SuspendedTurn
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn
from agent_ls.store.agents import CUT
from agent_ls.store.reader import StoredSession
from agent_ls.store.session_state import Round, SessionState
from agent_ls.text import to_display_line

OF_TURN = ""
"""The call id of what no call asked: whether a turn continues past a limit, or whether its folder is trusted."""
UNRECORDED_COMMAND = "unrecorded_command"
UNRECORDED = (
    "agent-ls ended while a command ran, so what the command did to files is unknown, and can be neither reviewed nor "
    "rolled back here. Check the files, for example with git status. The command: {command}"
)
NEVER_RUN = "Not run: agent-ls ended before this call began."


def recover(
    stored: StoredSession,
    now: str,
    found: Sequence[RecordedEvent] = (),
    proposed: Mapping[str, str] = MappingProxyType({}),
) -> RestoredSession:
    """Return the state from which the live session continues. `now` (ISO 8601) is the time of the added turns.

    `found` contains events that the log lacks: file changes of the interrupted turn, and warnings. The caller has
    found them by comparing the files with the log. File changes precede the end events of the calls that made them.
    `proposed` maps each undecided proposed hunk to its call.
    """
    state = stored.state
    asked = _find_open_approvals(state)
    waiting = _find_running(state) if state.round else {OF_TURN}
    questions = {it.call_id: it for it in state.questions.values() if it.call_id in waiting}
    proposed = {id_: call_id for id_, call_id in proposed.items() if call_id in _find_running(state)}
    call_ids = CallIds(state.call_ids)
    restored_calls = (
        list(_restore_calls(state, state.round, asked, questions, set(proposed.values()), call_ids))
        if state.round
        else []
    )
    events = (
        *_make_missing_events(state, asked, questions),
        *found,
        *(event for _, added in restored_calls for event in added),
    )
    ends = tuple(event for event in events if not isinstance(event, Warning))
    calls = tuple(call for call, _ in restored_calls)
    agents = tuple(state.agents.make_end_events(state.outputs))
    cut_agents = tuple(state.agents.find_cut_calls(state.outputs))
    if questions or asked or (state.round and proposed):
        suspended = _make_suspended(state, calls, asked, proposed, tuple(questions.values()))
        missing = MissingRecords(state.turn_id, agents, ends, cut_agents=cut_agents)
    else:
        suspended = None
        results = tuple(call.ended.result for call in calls if call.ended)
        turns: list[Turn] = [*_restore_answer(state, now)]
        if state.round:
            turns.append(ToolResultsTurn(results, now))
        last, cut_chars = _make_end_events(state), _find_cut_call(state)
        missing = MissingRecords(state.turn_id, agents, ends, tuple(turns), last, cut_chars, cut_agents)
    return RestoredSession(
        turns=tuple(state.turns),
        last_seq=stored.last_seq,
        usage=state.usage,
        queue=_queue(state),
        steers=tuple(state.steers),
        prefix=replace(state.prefix, text=state.prompt),
        calibration=state.calibration,
        call_ids=call_ids.used_ids,
        answers=dict(state.answers),
        missing=missing,
        was_closed=state.is_closed,
        cost_usd=state.cost_usd,
        known_usd=state.known_usd,
        inherited=state.inherited,
        plan=state.plan,
        suspended=suspended,
        shown=dict(state.shown),
        agents=state.agents.restored(),
        warnings=tuple(event for event in events if isinstance(event, Warning)),
    )


def _find_open_approvals(state: SessionState) -> dict[str, ApprovalRequested]:
    """Return the open approval requests of calls that have begun, by call id. A turn before its first model call may
    wait for the trust of its folder.
    """
    if state.turn_id and not (state.round or state.early):
        return {it.call_id: it for it in state.approvals.values() if asks_for_trust(it)}
    waiting = _find_running(state)
    return {request.call_id: request for request in state.approvals.values() if request.call_id in waiting}


def _find_running(state: SessionState) -> set[str]:
    """Return the calls of the last answer that have begun and not ended."""
    round_ = state.round
    return {start.call_id for start in round_.starts.values()} - round_.ends.keys() if round_ else set()


def _make_suspended(
    state: SessionState,
    calls: tuple[SuspendedCall, ...],
    asked: Mapping[str, ApprovalRequested],
    proposed: Mapping[str, str],
    questions: tuple[QuestionAsked, ...],
) -> SuspendedTurn:
    """Return the turn that waited for the user when the log ended.

    `proposed` maps each undecided proposed hunk to its call.
    """
    round_, rounds = state.round, 0
    for turn in reversed(state.turns):
        if isinstance(turn, UserTurn):
            break
        rounds += isinstance(turn, ToolResultsTurn)
    before = tuple(end for end in state.ends if not round_ or end.call_id not in round_.ends)
    return SuspendedTurn(
        TurnId(state.turn_id),
        round_.answer if round_ else None,
        calls,
        tuple(asked.values()),
        rounds,
        before,
        proposed,
        questions,
    )


def _restore_answer(state: SessionState, now: str) -> Iterator[AssistantTurn]:
    """Yield a turn with the texts of a model answer that was interrupted before it was recorded. Yield
    nothing if there is no text.

    Only texts are kept, because items that a provider signed are valid only as a whole.
    """
    texts = tuple(TextPart(said.text) for said in state.said.values() if said.kind == "text" and said.text)
    if texts:
        yield AssistantTurn(
            message=Message(Role.ASSISTANT, texts),
            usage=Usage(),
            response_id="",
            provider=state.provider,
            model=state.model,
            finish_reason=FinishReason("other", "interrupted"),
            timestamp=now,
        )


def _make_missing_events(
    state: SessionState, asked: Mapping[str, ApprovalRequested], questions: Mapping[str, QuestionAsked]
) -> Iterator[RecordedEvent]:
    """Yield the events that the log lacks: about user messages, and the end events of open items.

    The open items are texts, calls of an incomplete answer, terminals, a compaction, and the approvals and
    questions that are neither in `asked` nor in `questions`.
    """
    if item := state.begun_from_queue:
        yield UserInput(item.text, item.client_key, item.queued_id)
        yield Inbox(queue=_queue(state)).make_event()
    elif state.unrecorded_input:
        yield UserInput(state.unrecorded_input.content)
    for steer in state.unrecorded_steers:
        yield SteeringInjected(steer.id, steer.text)
    for part_id, said in state.said.items():
        if not said.has_ended:
            end = AssistantTextEnd if said.kind == "text" else ReasoningEnd
            yield end(part_id, said.text, interrupted=True)
    early = state.early
    for start in early.starts.values() if early else ():  # calls of an answer that was interrupted
        if early and start.call_id not in early.ends:
            yield _end(start.call_id, start.name, CUT)
    for request in state.approvals.values():
        if request not in asked.values():
            reason = "agent-ls ended before this request was answered."
            yield ApprovalResolved(request.request_id, "deny", "once", "interrupt", reason)
    for question in state.questions.values():
        if question.call_id not in questions:
            yield QuestionAnswered(question.question_id, (), declined=True, decided_by="interrupt")
    for terminal_id, terminal in state.terminals.items():
        yield TerminalExit(terminal_id, None)
        yield Warning(UNRECORDED.format(command=to_display_line(terminal.title)), UNRECORDED_COMMAND)
    if compaction := state.compaction:
        words = "Compaction was interrupted, because agent-ls ended."
        is_done = compaction.status == "done"  # the summary was recorded, only the event is missing
        yield compaction if is_done else replace(compaction, status="interrupted", message=words)


def _queue(state: SessionState) -> tuple[Input, ...]:
    begun = state.begun_from_queue
    return tuple(item for item in state.queue if not begun or item.queued_id != begun.queued_id)


def _make_end_events(state: SessionState) -> tuple[RecordedEvent, ...]:
    return (StateChanged("IDLE"), ProcessingEnd("interrupted")) if state.turn_id else ()


def _find_cut_call(state: SessionState) -> int | None:
    """Return the number of characters of the answer that the model was writing when the log ended, None if no model
    call ran. The arguments of a call that had not begun are not in the log.
    """
    if not state.turn_id or state.round or (state.turns and isinstance(state.turns[-1], AssistantTurn)):
        return None
    calls = state.early.starts.values() if state.early else ()
    return sum(len(said.text) for said in state.said.values()) + sum(len(it.arguments) for it in calls)


def _restore_calls(
    state: SessionState,
    round_: Round,
    asked: Mapping[str, ApprovalRequested],
    questions: Mapping[str, QuestionAsked],
    reviewed: Collection[str],
    call_ids: CallIds,
) -> Iterator[tuple[SuspendedCall, tuple[RecordedEvent, ...]]]:
    """Yield each call of the last answer in its state after the resume, with the events that the log lacks.

    `asked`, `questions` and `reviewed` (call ids) contain the calls that still wait for the user. Calls that
    were running end as interrupted. If no call waits for the user, calls that had not begun end as well.
    """
    for index, call in enumerate(round_.answer.tool_calls):
        start = round_.starts.get(index)
        call_id = ToolCallId(start.call_id) if start else call_ids.unique(call.id)
        if start and (end := round_.ends.get(call_id)):
            result = round_.results.get(call_id) or _result(call, end.output, is_error=end.is_error)
            yield SuspendedCall(call_id, ended=EndedCall(end, result)), ()
        elif call_id in asked:
            allowed = tuple(round_.allowed.get(call_id, ()))
            yield SuspendedCall(call_id, asked[call_id], allowed, round_.commands.get(call_id, "")), ()
        elif call_id in questions:
            yield SuspendedCall(call_id, question=questions[call_id]), ()
        elif call_id in reviewed:
            allowed = tuple(round_.allowed.get(call_id, ()))
            yield SuspendedCall(call_id, allowed=allowed, is_in_review=True), ()
        elif start:
            so_far = state.outputs.get(output_part(call_id), "")
            text = f"{so_far}\n\n{CUT}" if so_far else CUT
            end = _end(call_id, call.name, text)
            yield SuspendedCall(call_id, ended=EndedCall(end, _result(call, text))), (end,)
        elif asked or questions or reviewed:
            yield SuspendedCall(call_id), ()
        else:
            summary = call_summary(call.name, call.arguments)
            began = ToolCallStart(call_id, index, call.name, call.arguments, summary)
            end = _end(call_id, call.name, NEVER_RUN)
            yield SuspendedCall(call_id, ended=EndedCall(end, _result(call, NEVER_RUN))), (began, end)


def _result(call: ToolCallPart, text: str, *, is_error: bool = True) -> ToolResultPart:
    content = truncate_tool_output(text, call.name, SessionConfig())
    return ToolResultPart(call.id, call.name, content, is_error)


def _end(call_id: str, name: str, text: str) -> ToolCallEnd:
    return ToolCallEnd(
        call_id=call_id,
        name=name,
        output=text,
        summary=output_summary(text),
        is_error=True,
        error_kind="interrupted",
        duration_ms=0,
        output_chars=len(text),
    )
