"""Convert events of a session to ACP's session updates. Pure.

One `UpdateMapper` follows one session. It remembers what was sent to the client: a call is announced once, its status
never goes back, and a text is sent once, as deltas or as a whole.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agent_ls.acp.client import ClientFacts
from agent_ls.acp.diffs import diff_content, first_line
from agent_ls.acp.replayed_prompts import blocks_of
from agent_ls.display.words import remark
from agent_ls.loop.events.origin import Noted
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    Compaction,
    Delta,
    Envelope,
    Error,
    FileChange,
    PlanChanged,
    QuestionAnswered,
    QuestionAsked,
    ReasoningEnd,
    Retry,
    Reverted,
    SteeringInjected,
    SubagentChanged,
    TerminalExit,
    TerminalOpen,
    Title,
    ToolCallEnd,
    ToolCallStart,
    TurnFacts,
    UsageReport,
    UserInput,
)
from agent_ls.text import format_code_block, join_sentences

Update: TypeAlias = dict[str, Any]

FIELD_CHARS = 64 * 1024
OUTPUT_TAIL_CHARS = 16 * 1024
TITLE_CHARS = 200

_PLAN_STATUS = {"pending": "pending", "active": "in_progress", "done": "completed"}
_PLAN_ID = "plan"  # a session has one plan
_COMPACTION_STATUS = {
    "started": "in_progress", "done": "completed", "failed": "failed", "interrupted": "cancelled",
}  # fmt: skip
_ORDER = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}
_NAMESPACE = uuid.UUID("6b0a3c0e-6c55-4f4c-9d2f-5a1f5c1f0b11")


def text_content(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def chunk(kind: str, text: str, message_id: str) -> Update:
    return {"sessionUpdate": kind, "content": text_content(text), "messageId": message_id}


def text_entry(text: str) -> dict[str, Any]:
    """Return an entry of a tool call's `content` with this text."""
    return {"type": "content", "content": text_content(text)}


def truncate_middle(text: str) -> str:
    """Return head and tail of a long text, with a line between them that says how much was left out."""
    if len(text) <= FIELD_CHARS:
        return text
    half = FIELD_CHARS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def message_id(session_id: str, part: str) -> str:
    """Return the UUID of a message, which is the same when the message is replayed."""
    return str(uuid.uuid5(_NAMESPACE, f"{session_id}/{part}"))


@dataclass(slots=True)
class _Call:
    """A tool call: the parts that were sent to the client, and the output of its command.

    `is_dirty`: the latest output was not sent yet. `done` is the title of the completed call. `has_terminal`: the
    client displays the output of the command as a terminal. `has_run` and `has_exited` are about its command.
    """

    name: str
    status: str = "pending"
    done: str = ""
    diffs: list[dict[str, Any]] = field(default_factory=list)
    locations: list[dict[str, Any]] = field(default_factory=list)
    has_terminal: bool = False
    has_run: bool = False
    has_exited: bool = False
    output: str = ""
    is_dirty: bool = False


class UpdateMapper:
    """Maps the events of one session.

    `kind_of` returns the agent-ls name of a tool; models may use another name. `client` says which updates the
    client knows. `is_replay`: the user's messages are sent too. `text_of` returns the current text of a file.
    """

    def __init__(
        self,
        session_id: str,
        kind_of: Callable[[str], str],
        client: ClientFacts,
        *,
        is_replay: bool = False,
        text_of: Callable[[str], str | None] = lambda path: None,
        folder: str = "",
    ) -> None:
        self.session_id = session_id
        self._kind_of = kind_of
        self._client = client
        self.is_replay = is_replay
        self._text_of = text_of
        self._folder = folder
        self._calls: dict[str, _Call] = {}
        self._sent: dict[str, int] = {}
        self._agents: dict[str, str] = {}

    # --- properties

    @property
    def has_output(self) -> bool:
        """Whether output of a command waits to be sent by `outputs`."""
        return any(call.is_dirty for call in self._calls.values())

    def knows(self, call_id: str) -> bool:
        """Whether the tool call was announced."""
        return call_id in self._calls

    # --- events

    def feed(self, envelope: Envelope) -> list[Update]:
        event, agent = envelope.event, envelope.agent_id
        match event:
            case Delta():
                return self._delta(event, agent)
            case AssistantTextEnd(part_id=part, text=text):
                return self._make_rest_updates("agent_message_chunk", part, text, agent)
            case ReasoningEnd(part_id=part, text=text):
                return [] if agent else self._make_rest_updates("agent_thought_chunk", part, text, "")
            case UserInput(text=text) | SteeringInjected(text=text):
                return self._user(envelope, text)
            case ToolCallStart():
                return self.announce(event)
            case ToolCallEnd():
                return self._end(event)
            case FileChange():
                return self._file(event)
            case TerminalOpen(call_id=call_id):
                if call := self._calls.get(call_id):
                    call.has_run = True
                return self.make_status_updates(call_id, "in_progress")
            case TerminalExit(terminal_id=call_id, exit_code=code):
                return self._exit(call_id, code)
            case ApprovalRequested(call_id="", request_id=request_id, reason=reason):
                return self._trust(request_id, event, reason)
            case ApprovalResolved(request_id=request_id, decision=decision) if request_id in self._calls:
                return self.make_status_updates(request_id, "completed" if decision == "allow" else "failed")
            case PlanChanged() if not agent:
                return [_plan(event, has_id=self._client.keeps_plans)]
            case Compaction() if self._client.shows_compactions and not agent:
                return _compaction(event, is_replay=self.is_replay)
            case Noted() | Retry() if self._client.shows_notices and not agent:
                words = "" if self.is_replay else _words(event)  # a notice is not part of the history
                return [_notice(event, words)] if words else []
            case UsageReport() if not agent:
                return [_usage(event)]
            case Title(title=title):
                return [{"sessionUpdate": "session_info_update", "title": title}]
            case SubagentChanged():
                return self._agent(event)
            case QuestionAsked():
                return self._question(event)
            case QuestionAnswered(answers=answers) if self.is_replay and answers:
                return self._user(envelope, "\n".join(answers))
            case Error(message=message, hint=hint) if self.is_replay:
                return [self._make_thought(envelope, join_sentences(message, hint))]
            case _:
                words = _words(event)
                return [self._make_thought(envelope, words)] if words and not agent else []

    def outputs(self) -> list[Update]:
        """Return an update for each command that printed text since the last call of this method.

        Each update replaces the output that the client displays with the latest output. Only clients that
        display no terminals need these updates.
        """
        found = []
        for call_id, call in self._calls.items():
            if call.is_dirty:
                call.is_dirty = False
                found.append(
                    {
                        "sessionUpdate": "tool_call_update", "toolCallId": call_id,
                        "content": [text_entry(format_code_block(call.output))],
                    }
                )  # fmt: skip
        return found

    def make_status_updates(self, call_id: str, status: str) -> list[Update]:
        """Return an update with the new status of a tool call.

        Returns no update if the client already has this status or a later one.
        """
        call = self._calls.get(call_id)
        if call is None or _ORDER[status] <= _ORDER[call.status]:
            return []
        call.status = status
        return [{"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status}]

    # --- texts

    def _delta(self, delta: Delta, agent: str) -> list[Update]:
        match delta.kind:
            case "assistant_text_delta":
                if agent:
                    return []
                return self._piece("agent_message_chunk", delta)
            case "reasoning_delta":
                return [] if agent else self._piece("agent_thought_chunk", delta)
            case "tool_call_output_delta":
                return self._output(delta.part_id.removesuffix(":out"), delta.text)
        return []

    def _piece(self, kind: str, delta: Delta) -> list[Update]:
        sent = self._sent.get(delta.part_id, 0)
        text = delta.text[max(sent - delta.offset, 0) :]
        # If an earlier delta was missed, the missing text is sent when the part ends.
        if not text or delta.offset > sent:
            return []
        self._sent[delta.part_id] = sent + len(text)
        return [chunk(kind, text, message_id(self.session_id, delta.part_id))]

    def _make_rest_updates(self, kind: str, part: str, text: str, agent: str) -> list[Update]:
        if agent:
            return self._agent_text(agent, text)
        rest = text[self._sent.get(part, 0) :]
        self._sent[part] = len(text)
        return [chunk(kind, rest, message_id(self.session_id, part))] if rest else []

    def _user(self, envelope: Envelope, text: str) -> list[Update]:
        if not self.is_replay or not text or envelope.agent_id:
            return []
        about = {
            "sessionUpdate": "user_message_chunk",
            "messageId": message_id(self.session_id, f"e{envelope.seq}"),
        }
        return [{**about, "content": block} for block in blocks_of(text)]

    def _make_thought(self, envelope: Envelope, words: str) -> Update:
        return chunk("agent_thought_chunk", f"{words}\n", message_id(self.session_id, f"e{envelope.seq}"))

    # --- calls

    def announce(self, event: ToolCallStart) -> list[Update]:
        if event.call_id in self._calls:
            return []
        call = self._calls[event.call_id] = _Call(event.name, done=_title(event, event.done))
        kind, arguments = self.kind_and_input(event)
        if self._kind_of(event.name) == "shell":
            call.has_terminal = self._client.shows_terminals and not self.is_replay
        update: Update = {
            "sessionUpdate": "tool_call",
            "toolCallId": event.call_id,
            "title": self.title_of(event),
            "kind": kind,
            "status": "pending",
            "rawInput": arguments,
        }
        if locations := self._locations(arguments):
            call.locations = update["locations"] = locations
        if call.has_terminal:
            update["content"] = [{"type": "terminal", "terminalId": event.call_id}]
            update["_meta"] = {"terminal_info": {"terminal_id": event.call_id, "cwd": self._folder}}
        return [update]

    def title_of(self, event: ToolCallStart) -> str:
        return _title(event, event.doing)

    def kind_and_input(self, event: ToolCallStart) -> tuple[str, Any]:
        """Return the kind of a tool call in ACP (`read`, `edit` and so on), and the arguments of the call."""
        return event.look, _arguments(event.arguments)

    def _locations(self, arguments: Any) -> list[dict[str, Any]]:
        if not isinstance(arguments, dict):
            return []
        path = next(
            (arguments[name] for name in ("file_path", "path", "absolute_path") if name in arguments), None
        )
        if not isinstance(path, str) or not path or "\0" in path:
            return []
        if not path.startswith("/") and path[1:3] not in (":\\", ":/"):
            path = f"{self._folder}/{path}"
        return [{"path": path}]

    def _file(self, event: FileChange) -> list[Update]:
        call = self._calls.get(event.call_id)
        if call is None or _ORDER[call.status] == 2:
            return []
        text = None if self.is_replay else self._text_of(event.path)
        call.diffs += diff_content(event.path, event.diff, event.action, text, is_new=True)
        line = first_line(event.diff)
        place = {"path": event.path} | ({"line": line} if line else {})
        call.locations = [it for it in call.locations if it["path"] != event.path] + [place]
        ours = self._kind_of(call.name)
        update: Update = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": event.call_id,
            "content": self._content(event.call_id, call),
            "locations": call.locations,
        }
        if event.action == "delete" and ours != "shell":
            update["kind"] = "delete"
        return [*self.make_status_updates(event.call_id, "in_progress"), update]

    def _content(self, call_id: str, call: _Call) -> list[dict[str, Any]]:
        """Return the content of a call. Diffs come first, because some clients read only the first entry."""
        terminal = [{"type": "terminal", "terminalId": call_id}] if call.has_terminal else []
        output = [text_entry(format_code_block(call.output))] if call.output and not call.has_terminal else []
        return [*call.diffs, *terminal, *output]

    def _output(self, call_id: str, text: str) -> list[Update]:
        call = self._calls.get(call_id)
        if call is None:
            return []
        started = self.make_status_updates(call_id, "in_progress")
        if call.has_terminal:
            meta = {"terminal_output": {"terminal_id": call_id, "data": text}}
            return [*started, {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "_meta": meta}]
        call.output = (call.output + text)[-OUTPUT_TAIL_CHARS:]
        call.is_dirty = True
        return started

    def _exit(self, call_id: str, code: int | None) -> list[Update]:
        call = self._calls.get(call_id)
        if call is None or not call.has_terminal or call.has_exited:
            return []
        call.has_exited = True
        meta = {"terminal_exit": {"terminal_id": call_id, "exit_code": code, "signal": None}}
        return [{"sessionUpdate": "tool_call_update", "toolCallId": call_id, "_meta": meta}]

    def _end(self, event: ToolCallEnd) -> list[Update]:
        call = self._calls.get(event.call_id)
        if call is None or _ORDER[call.status] == 2:
            return []
        status = "failed" if event.is_error else "completed"
        update: Update = {"sessionUpdate": "tool_call_update", "toolCallId": event.call_id}
        call.status = update["status"] = status
        if not event.is_error and call.done:
            update["title"] = call.done
        call.is_dirty = False
        raw = {"summary": event.summary, "exitCode": event.exit_code, "errorKind": event.error_kind}
        update["rawOutput"] = {name: value for name, value in raw.items() if value not in (None, "")}
        had_terminal = call.has_terminal and not call.has_exited
        call.output = truncate_middle(event.output) if event.output else call.output
        is_refusal = event.error_kind == "permission_denied" or event.is_error
        is_in_background = call.has_run and event.exit_code is None and not event.is_error
        if event.exit_code is None and not is_in_background:
            # the call never ran a command, or its command was stopped: only its text can be displayed
            call.has_terminal = False
        shown = self._content(event.call_id, call)
        if is_refusal and event.output and not call.has_terminal:
            shown = [*call.diffs, text_entry(truncate_middle(event.output))]
        if is_in_background and call.has_terminal:  # its output is read by the model, on demand
            shown.append(text_entry(format_code_block(call.output)))
        if shown:
            update["content"] = shown
        call.diffs, call.output = [], ""
        if had_terminal and not is_in_background:
            call.has_exited = True
            exit_ = {"terminal_id": event.call_id, "exit_code": event.exit_code, "signal": None}
            update["_meta"] = {"terminal_exit": exit_}
        return [update]

    def _trust(self, request_id: str, event: ApprovalRequested, reason: str) -> list[Update]:
        self._calls[request_id] = _Call("trust")
        return [
            {
                "sessionUpdate": "tool_call", "toolCallId": request_id, "title": f"Trust this folder? {_folder(event)}",
                "kind": "other", "status": "pending", "content": [text_entry(reason)],
            }
        ]  # fmt: skip

    # --- subagents and questions

    def _agent(self, event: SubagentChanged) -> list[Update]:
        status = {"running": "in_progress", "completed": "completed", "failed": "failed"}[event.status]
        call_id = self._agents.get(event.agent_id, "")
        known = self._calls.get(call_id)
        # The client is sent a subagent as a tool call. A subagent that was started again is sent as a new call.
        if known is None or (_ORDER[known.status] == 2 and status == "in_progress"):
            number = sum(key.startswith(f"{event.agent_id}#") for key in self._calls) + 1
            call_id = self._agents[event.agent_id] = f"{event.agent_id}#{number}"
            self._calls[call_id] = _Call("agent", status)
            update: Update = {
                "sessionUpdate": "tool_call", "toolCallId": call_id, "kind": "think", "status": status,
                "title": f"Subagent: {event.task}"[:TITLE_CHARS],
            }  # fmt: skip
            if event.output:
                update["content"] = [text_entry(truncate_middle(event.output))]
            return [update]
        updates = self.make_status_updates(call_id, status)
        if updates and event.output:
            updates[0]["content"] = [text_entry(truncate_middle(event.output))]
        if updates and event.reason == "stopped":
            updates[0]["rawOutput"] = {"errorKind": event.reason}
        return updates

    def _agent_text(self, agent: str, text: str) -> list[Update]:
        call = self._calls.get(call_id := self._agents.get(agent, ""))
        if call is None or _ORDER[call.status] == 2 or not text:
            return []
        call.output = f"{call.output}\n\n{text}".strip()[-FIELD_CHARS:]
        return [
            {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "content": [text_entry(call.output)]}
        ]

    def _question(self, event: QuestionAsked) -> list[Update]:
        if self._client.asks_forms and not self.is_replay:
            return []
        return [
            chunk("agent_message_chunk", question_text(event), message_id(self.session_id, event.question_id))
        ]


def question_text(event: QuestionAsked) -> str:
    """Return a question as text, for clients without forms."""
    choices = "".join(f"\n- {choice}" for choice in event.choices)
    how = "Answer with your next message" + (", several are possible." if event.multiple else ".")
    return f"\n\n**{event.question}**{choices}\n\n{how}\n"


def _words(event: object) -> str:
    """Return a sentence, to be sent as a thought, for an event that has no ACP update; "" for none."""
    match event:
        case Compaction(status="started", message=""):
            return "The conversation is being summarised to make room in the context window."
        case Noted() | TurnFacts() | Retry() | Compaction() | Reverted():
            line = remark(event)
            return line.text if line else ""
        case _:
            return ""


def _notice(event: Noted | Retry, words: str) -> Update:
    """Return a sentence that clients display apart from the conversation."""
    severity = "info" if isinstance(event, Retry) else "warning"
    return {"sessionUpdate": "notice", "severity": severity, "title": words}


def _title(event: ToolCallStart, verb: str) -> str:
    """Return the title of a call. The title of a command is the command itself."""
    words = event.summary or event.name
    is_bare = not verb or event.look == "execute" or words.startswith(f"{event.name}:")
    return (words if is_bare else f"{verb} {words}")[:TITLE_CHARS]


def _plan(event: PlanChanged, *, has_id: bool) -> Update:
    """Return the plan. `has_id`: the client knows plans with an id, which can also be removed."""
    entries = [
        {"content": item.text, "priority": "medium", "status": _PLAN_STATUS[item.status]}
        for item in event.items
    ]
    if not has_id:
        return {"sessionUpdate": "plan", "entries": entries}
    if not entries:
        return {"sessionUpdate": "plan_removed", "planId": _PLAN_ID}
    plan = {"type": "items", "planId": _PLAN_ID, "entries": entries}
    return {"sessionUpdate": "plan_update", "plan": plan}


def _compaction(event: Compaction, *, is_replay: bool) -> list[Update]:
    """Return the new state of a compaction. A replay has only its last state."""
    if is_replay and event.status == "started":
        return []
    update: Update = {
        "sessionUpdate": "compaction_update",
        "compactionId": event.compaction_id,
        "status": _COMPACTION_STATUS[event.status],
    }
    if event.status == "done" and event.summary:
        update["summary"] = [text_content(truncate_middle(event.summary))]
    if event.status == "failed" and event.message:
        update["error"] = event.message
    return [update]


def _usage(event: UsageReport) -> Update:
    update: Update = {
        "sessionUpdate": "usage_update",
        "used": max(event.context_tokens, 0),
        "size": max(event.context_window_tokens, 0),
    }
    if event.total_cost_usd is not None:
        update["cost"] = {"amount": event.total_cost_usd, "currency": "USD"}
    return update


def _arguments(text: str) -> Any:
    try:
        value = json.loads(text) if len(text) <= FIELD_CHARS else truncate_middle(text)
    except (ValueError, RecursionError):
        value = text
    return value


def _folder(event: ApprovalRequested) -> str:
    folder = event.effect.get("folder")
    return folder if isinstance(folder, str) else ""
