"""One session of an ACP client: updates in order, prompts and their answers, approvals and questions.

Updates between prompts are held until the next prompt, because some clients ignore updates outside a prompt.
Titles, usage, commands and options are sent at once. The response to a prompt is sent after the last update
of its turn.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from agent_ls.acp.client import ClientFacts
from agent_ls.acp.errors import AUTH_REQUIRED, INTERNAL, RpcError
from agent_ls.acp.requests import UserRequests, text_now
from agent_ls.acp.subagents import Sent, SessionMappers
from agent_ls.acp.updates import Update, UpdateMapper, chunk, message_id
from agent_ls.acp.wire import AcpWire
from agent_ls.llm.messages import ImagePart
from agent_ls.loop.events import codec
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    Error,
    FileChange,
    HunkStateChanged,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    StateChanged,
    TurnLimit,
    UserInput,
)
from agent_ls.loop.ids import new_id
from agent_ls.loop.inbox import QueueRemoval, StartNow
from agent_ls.services.review.service import ReviewService
from agent_ls.sessions.live import LiveSession
from agent_ls.text import join_sentences

log = logging.getLogger(__name__)

OUTPUT_EVERY_S = 0.25
MAX_HELD = 2_000
"""Maximum number of updates that wait to be sent; when there are more, the oldest are dropped."""

_UNASKED_KINDS = frozenset(
    (
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
    )
)
_CLOSED = "The session was closed, or another process has taken it over"
_KEY_KINDS = frozenset(("authentication", "configuration"))


class NotBegunError(RpcError):
    """The session was closed before the turn of this message began. The message can be sent again with the
    same `key`.
    """

    def __init__(self, key: str) -> None:
        super().__init__(INTERNAL, _CLOSED, f"{_CLOSED}. Load the session again to continue.")
        self.key = key


@dataclass(slots=True, eq=False)
class _Prompt:
    """A prompt request that has no response yet. `error` and `limit` are the error and the limit that the
    turn reported. `is_work`: the turn has no user message, so no event announces its start.
    """

    key: str
    is_work: bool = False
    queued_id: str = ""
    is_cancelled: bool = False
    error: Error | None = None
    limit: bool = False
    outcome: str | RpcError = ""
    done: anyio.Event = field(default_factory=anyio.Event)

    def finish(self, outcome: str | RpcError) -> None:
        if not self.done.is_set():
            self.outcome = outcome
            self.done.set()


class AcpConversation:
    """One session of the client: sends the events of `live` to the client. `tasks` runs background tasks."""

    def __init__(
        self,
        live: LiveSession,
        wire: AcpWire,
        client: ClientFacts,
        client_id: str,
        tasks: TaskGroup,
        review: ReviewService,
        *,
        on_end: Callable[[AcpConversation], object],
    ) -> None:
        self.live = live
        self.id = live.id
        self.is_over = False
        self._successor: AcpConversation | None = None
        self.listed_prompts: tuple[str, ...] = ()
        """Names of MCP prompts in the list of commands that the client was sent."""
        self._wire = wire
        self._tasks = tasks
        self._on_end = on_end
        self._texts: dict[str, str | None] = {}
        self._prompts: deque[_Prompt] = deque()
        self._current: _Prompt | None = None
        self._steered = False
        self._steering: set[str] = set()
        self._held: deque[Sent] = deque(maxlen=MAX_HELD)
        self._ticking = False
        folder = live.summary().workspace_folder
        self.mappers = SessionMappers(
            live.id,
            lambda id_: UpdateMapper(id_, self._kind_of, client, text_of=self._texts.get, folder=folder),
            follows_subagents=client.follows_subagents,
        )
        self._requests = UserRequests(live, wire, client, client_id, tasks, review, self)
        self._events = live.session.subscribe()
        self._after = 0

    def start(self, *, after: int) -> None:
        """Start sending events. Events up to number `after` were replayed already. Call once."""
        self._after = after
        if self.is_sending:
            self._requests.ask_pending()
        self._tasks.start_soon(self._follow)

    def stop_sending(self) -> None:
        """Stop sending, because another conversation replaces this one, or its events could not be replayed."""
        self.is_over = True
        self._events.close()
        self._end_prompts()

    def replace(self, other: AcpConversation) -> None:
        """Continue the open prompt requests of another conversation with this session, which sends nothing more."""
        other._successor = self
        other.stop_sending()
        self._prompts, self._current, self._steered = other._prompts, other._current, other._steered
        self._steering = other._steering

    @property
    def is_closing(self) -> bool:
        """Whether the session is about to end, so that a prompt must open it again."""
        return self.is_over or self.live.session.is_closing or self.live.scope.cancel_called

    @contextmanager
    def sending_at_once(self) -> Iterator[None]:
        """Send updates at once during this block, for a command that starts no turn."""
        prompt = _Prompt(new_id("acp"))
        self._prompts.append(prompt)
        try:
            self._send_held()
            yield
        finally:
            self._prompts.remove(prompt)

    # --- what the client does

    @property
    def is_sending(self) -> bool:
        """Whether updates are sent at once, not held for the next prompt."""
        return bool(self._prompts) or self._steered

    async def prompt(self, text: str, images: Sequence[ImagePart] = (), key: str = "") -> str:
        """Run the turn of a user message and return the stop reason.

        `key` is the client key of a message that was sent before, so that it is not run twice; "" for a new
        message.

        Raises:
            NotBegunError: the session was closed before the turn began.
            RpcError: the turn failed.
        """
        prompt = _Prompt(key or new_id("acp"))
        self._prompts.append(prompt)
        self._send_held()
        try:
            is_reply = bool(self.live.session.questions.pending())
            answer = self.live.session.submit(text, images=images, client_key=prompt.key)
            prompt.queued_id = answer.queued_id
            if is_reply and answer.turn_id:
                self._current = prompt  # the prompt answers a question, so no event announces its start
            elif key and answer.queued_id and not self.live.session.is_busy:
                self.live.session.change_queue(StartNow(answer.queued_id))
            self._requests.ask_pending()
            await prompt.done.wait()
        except BaseException:
            self._give_up(prompt)
            raise
        finally:
            if prompt in self._prompts:
                self._prompts.remove(prompt)
        if isinstance(prompt.outcome, RpcError):
            raise prompt.outcome
        return prompt.outcome

    async def run_turn(self, start: Callable[[], object]) -> str:
        """Run a turn that has no user message (`/compact`) to its end, and return the stop reason."""
        prompt = _Prompt(new_id("acp"), is_work=True)
        self._prompts.append(prompt)
        self._current = self._current or prompt
        self._send_held()
        try:
            start()
            await prompt.done.wait()
        finally:
            self._prompts.remove(prompt)
            if self._current is prompt:
                self._current = None
        if isinstance(prompt.outcome, RpcError):
            raise prompt.outcome
        return prompt.outcome

    def cancel(self) -> None:
        """Stop the turn. Every open prompt request gets the response `cancelled`, after its last update."""
        session = self.live.session
        ids = {item.queued_id for item in session.queue}
        for prompt in tuple(self._prompts):
            prompt.is_cancelled = True
            if prompt.queued_id in ids and prompt is not self._current:
                session.change_queue(QueueRemoval(prompt.queued_id))
                if not session.is_busy:
                    prompt.finish("cancelled")
        turn_id = session.turn_id
        session.interrupt()
        if turn_id:
            session.terminals.end_turn(turn_id)

    def steer(self, text: str, images: Sequence[ImagePart]) -> Literal["injected", "startedNewTurn"]:
        """Add a message to the running turn, or start a turn. Returns `injected` or `startedNewTurn`."""
        key = new_id("acp")
        answer = self.live.session.submit(text, images=images, when_busy="steer", client_key=key)
        if not answer.steer_id:
            self._steering.add(key)
        if answer.turn_id and not self._prompts:
            self._steered = True
            self._send_held()
        return "injected" if answer.steer_id or self._prompts else "startedNewTurn"

    # --- what is sent

    def send(self, *updates: Update) -> None:
        """Send updates. Updates that some clients ignore between prompts are held until the next prompt."""
        self.send_for((self.id, update) for update in updates)

    def send_for(self, updates: Iterable[Sent]) -> None:
        """Send updates like `send`, each for its session: this one, or that of a subagent."""
        for session_id, update in updates:
            is_unasked = self._wire.takes_updates_always or update["sessionUpdate"] in _UNASKED_KINDS
            if self.is_sending or is_unasked:
                self._notify(session_id, update)
            else:
                self._held.append((session_id, update))

    def send_text(self, text: str, kind: str = "agent_message_chunk") -> None:
        """Send the user a text that does not come from the model."""
        self.send(chunk(kind, text, message_id(self.id, new_id("said"))))

    def replay(self, encoded: Sequence[bytes]) -> None:
        """Send updates for all events in `encoded`, the stored transcript of a session that the client loads."""
        self.mappers.set_replay(True)
        for line in encoded:
            envelope = codec.decode(line)
            if envelope is not None:
                self._requests.store_event_parts(envelope)
                for session_id, update in self.mappers.feed(envelope):
                    self._notify(session_id, update)
        self.mappers.set_replay(False)
        has_open = self.live.approver.pending() or self.live.session.questions.pending()
        if has_open and not self.is_sending:
            waits = (
                "This session waits for your answer to an earlier request. Send a message, and the request "
                "appears again.\n"
            )
            self._notify(self.id, chunk("agent_thought_chunk", waits, message_id(self.id, "waits")))

    def _notify(self, session_id: str, update: Update) -> None:
        self._wire.notify("session/update", {"sessionId": session_id, "update": update})

    def _send_held(self) -> None:
        while self._held:
            self._notify(*self._held.popleft())

    # --- events

    async def _follow(self) -> None:
        try:
            with self._events:
                async for item in self._events:
                    if (item.envelope.seq or self._after + 1) > self._after:
                        await self._handle_event(item.envelope)
                        await self._wire.drain()
        except Exception:
            log.exception("events of session %s can no longer be read", self.id)
        finally:
            self.is_over = True
            self._events.close()
            self._end_prompts()
            self._requests.withdraw()
            self._on_end(self)

    def _end_prompts(self) -> None:
        """Answer the open prompt requests, because no more events are read. A successor answers them itself."""
        if self._successor:
            return
        why = self._why_closed
        ended = RpcError(INTERNAL, why, f"{why}. Load the session again to continue.")
        for prompt in tuple(self._prompts):
            if prompt.queued_id and prompt is not self._current and not prompt.is_cancelled:
                prompt.finish(NotBegunError(prompt.key))
            prompt.finish("cancelled" if prompt.is_cancelled else self._failure(prompt) or ended)

    async def _handle_event(self, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, FileChange) and event.action == "modify":
            self._texts[event.path] = await anyio.to_thread.run_sync(text_now, event.path)
        self._requests.store_event_parts(envelope)
        if isinstance(event, UserInput) and not envelope.agent_id:
            await self._begin(event)
        self.send_for(self.mappers.feed(envelope))
        match event:
            case FileChange(path=path):
                self._texts.pop(path, None)
            case HunkStateChanged(hunks=hunks):
                for hunk in hunks:
                    if hunk.state == "proposed":
                        self._requests.proposal(hunk.call_id)
            case ApprovalRequested():
                self._requests.approval(event)
            case ApprovalResolved(request_id=request_id, decision=decision):
                self._requests.close_request(request_id, decision)
            case QuestionAsked():
                if not self._requests.question(event) and (current := self._current):
                    # The client's next prompt is the answer to the question, so end the current prompt request
                    # now.
                    self._current = None
                    current.finish("end_turn")
            case QuestionAnswered(question_id=question_id):
                self._requests.close_question(question_id)
            case Error() if self._current and not envelope.agent_id:
                self._current.error = event
            case TurnLimit() if self._current and not envelope.agent_id:
                self._current.limit = True
            case StateChanged(state="PROCESSING") if self._current:
                self._current.limit = False
            case ProcessingEnd(reason=reason):
                await self._end(reason)
        self._schedule_output()

    async def _begin(self, event: UserInput) -> None:
        """Handle the event that starts the turn of a user message.

        If the client still waits for the response to the previous prompt, send this response first.
        """
        prompt = next((it for it in self._prompts if it.key == event.client_key), None)
        if self._current and self._current is not prompt:
            await self._answer(self._current, "completed")
        # A steering message has no prompt request. Send the updates of its turn at once, not with the next
        # prompt.
        if event.client_key in self._steering:
            self._steering.discard(event.client_key)
            self._steered = True
            self._send_held()
        self._current = prompt

    async def _end(self, reason: str) -> None:
        self._requests.withdraw()
        self.send_for(self.mappers.outputs())
        self._steered = False
        if current := self._current:
            self._current = None
            await self._answer(current, reason)
        waiting = {item.queued_id for item in self.live.session.queue}
        for prompt in tuple(self._prompts):
            if prompt.is_work or (prompt.is_cancelled and prompt.queued_id):
                prompt.finish("cancelled" if prompt.is_cancelled else "end_turn")
            elif prompt.queued_id in waiting and not prompt.done.is_set() and not self.live.session.is_busy:
                # The previous prompt failed, so the queue is paused. The client waits for its response, so start
                # its turn.
                self.live.session.change_queue(StartNow(prompt.queued_id))
                break

    async def _answer(self, prompt: _Prompt, reason: str) -> None:
        if self.live.taken_by:
            self.send_text(f"{self._why_closed}. Continue there, or load the session here again.")
        prompt.finish(self._outcome(prompt, reason))
        # Respond to this prompt before sending any update of the next turn.
        for _ in range(3):
            await checkpoint()

    def _outcome(self, prompt: _Prompt, reason: str) -> str | RpcError:
        if prompt.is_cancelled or reason in ("interrupted", "aborted"):
            return "cancelled"
        if failure := self._failure(prompt):
            return failure
        return "max_turn_requests" if reason == "limit" or prompt.limit else "end_turn"

    @property
    def _why_closed(self) -> str:
        return f"{self.live.taken_by} has taken this session over" if self.live.taken_by else _CLOSED

    def _failure(self, prompt: _Prompt) -> RpcError | None:
        error = prompt.error
        if error is None:
            return None
        needs_key = error.action == "setKey" or error.error_kind in _KEY_KINDS
        words = join_sentences(error.message, error.hint)
        return RpcError(AUTH_REQUIRED if needs_key else INTERNAL, error.message, words)

    def _give_up(self, prompt: _Prompt) -> None:
        """Interrupt the turn of a prompt request that the client cancelled, or remove its message from the queue.

        Do nothing if the client has disconnected or the process is ending.
        """
        if self._wire.is_over:
            return
        if self._successor:
            return self._successor._give_up(prompt)
        session = self.live.session
        if prompt is self._current:
            session.interrupt()
        elif prompt.queued_id:
            with suppress(Exception):
                session.change_queue(QueueRemoval(prompt.queued_id))

    # --- output of commands

    def _schedule_output(self) -> None:
        if self.mappers.has_output and not self._ticking:
            self._ticking = True
            self._tasks.start_soon(self._send_output)

    async def _send_output(self) -> None:
        """After a delay, send the latest output of running commands, to clients that display no terminals.

        The delay limits how often output is sent.
        """
        await anyio.sleep(OUTPUT_EVERY_S)
        self._ticking = False
        if not self.is_over:
            self.send_for(self.mappers.outputs())

    def _kind_of(self, name: str) -> str:
        """Return the agent-ls name of a tool. `name` is the model's name for the tool."""
        tool = self.live.session.profile.registry.lookup(name)
        return tool.kind if tool else name
