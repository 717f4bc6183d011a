"""A simulated editor that types, delays, drops stale edits and reports false results, and a small host for it.

Everything runs on a virtual clock that jumps from event to event, so a run takes no real time and is repeatable by
its seed. The host uses `review.in_flight_edit` and the ledger like the server's host, without a protocol.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Literal

import anyio.lowlevel

from agent_ls.environments.base import Attribution
from agent_ls.environments.editor_host import AppliedEdit, LineEdit, OpenDocument, apply_edits, ignore_paths
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.review import in_flight_edit
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.ledger import FileLedger, LedgerChange, open_ledger
from agent_ls.review.user_edits import apply_user_edit
from agent_ls.text import split_lines
from tests.support.ledger_checks import problems
from tests.support.ledger_decisions import undo_hunks

USER_MARKS = 0x4E00
"""The first character that the user types; each key types the next one. Agents use characters from AGENT_MARKS on."""
AGENT_MARKS = 0xAC00


class VirtualClock:
    """A clock that runs events in the order of their times."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()

    def after(self, delay_ms: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now_ms + delay_ms, next(self._order), event))

    def step(self) -> bool:
        """Run the next event; return False if there is none."""
        if not self._events:
            return False
        self.now_ms, _, event = heapq.heappop(self._events)
        event()
        return True

    def run_for(self, duration_ms: int) -> None:
        end = self.now_ms + duration_ms
        while self._events and self._events[0][0] <= end:
            self.step()
        self.now_ms = end


@dataclass(frozen=True, slots=True)
class Quirks:
    """The behaviour of an editor.

    `tells`: when it sends didChange. `stale_answer`: its answer to an edit that it dropped. `mute`: the share of
    edits that it never answers. `answer_ms`: the longest time until an answer.
    """

    name: str
    tells: Literal["at once", "every 150 ms", "when idle for 500 ms"]
    stale_answer: Literal["applied", "not applied", "error"]
    answers_first: bool = True
    mute: float = 0.0
    answer_ms: int = 20

    def __str__(self) -> str:
        return self.name


NEOVIM = Quirks("neovim", "every 150 ms", "applied")
VSCODE = Quirks("vscode", "at once", "not applied", answers_first=False)
EGLOT = Quirks("eglot", "when idle for 500 ms", "error")
WORST = Quirks("worst", "every 150 ms", "applied", mute=0.2, answer_ms=900)


class SimulatedEditor:
    """One open document with a typing user. Messages keep their order, and each takes time.

    `typed` are the user's characters that must be in the text; `by_undo` are those that the user's undo added
    or removed.
    """

    def __init__(self, clock: VirtualClock, random: Random, quirks: Quirks, text: str) -> None:
        self.clock, self.random, self.quirks = clock, random, quirks
        self.text = text
        self.version = 1
        self.on_change: Callable[[int, str], None] = lambda version, text: None
        self.typed: set[str] = set()
        self.by_undo: set[str] = set()
        self._undo_stack: list[str] = []
        self._keys = 0
        self._line = 0
        self._telling = 0
        self._arrives_ms = 0

    # --- the user

    def type_for(self, keys: int) -> None:
        if keys:
            self.clock.after(self.random.choice((5, 40, 90, 160, 400)), lambda: self._key(keys))

    def _key(self, keys: int) -> None:
        lines = split_lines(self.text) or [""]
        if self.random.random() < 0.2:
            self._line = self.random.randrange(len(lines))
        at = min(self._line, len(lines) - 1)
        column = self.random.randrange(len(lines[at].rstrip("\n")) + 1)
        start = sum(map(len, lines[:at])) + column
        dice = self.random.random()
        if dice < 0.04 and self._undo_stack:
            self._undo()
        elif dice < 0.2:
            self._change(self.text[:start] + "\n" + self.text[start:])
        else:
            mark = chr(USER_MARKS + self._keys)
            self._keys += 1
            self.typed.add(mark)
            self._change(self.text[:start] + mark + self.text[start:])
        self.type_for(keys - 1)

    def _undo(self) -> None:
        """Undo the last change, of the user or the agent."""
        text = self._undo_stack.pop()
        self.by_undo |= set(self.text) ^ set(text)
        self.typed &= set(text)
        self._show(text)

    def _change(self, text: str) -> None:
        self._undo_stack.append(self.text)
        self._show(text)

    def _show(self, text: str) -> None:
        self.text = text
        self.version += 1
        self._tell_soon()

    # --- the wire

    def receive_edit(
        self, version: int, edits: Sequence[LineEdit], answer: Callable[[in_flight_edit.Answered], None]
    ) -> None:
        self.clock.after(self.random.randrange(1, 30), lambda: self._apply(version, edits, answer))

    def _apply(
        self, version: int, edits: Sequence[LineEdit], answer: Callable[[in_flight_edit.Answered], None]
    ) -> None:
        is_mute = self.random.random() < self.quirks.mute
        if version != self.version:
            said = in_flight_edit.Answered(self.quirks.stale_answer == "applied", "stale version")
            if not is_mute:
                self._send(lambda: answer(said))
            return
        if self.quirks.answers_first and not is_mute:
            self._send(lambda: answer(in_flight_edit.Answered(True)))
        self._change(apply_edits(self.text, edits))
        if not self.quirks.answers_first and not is_mute:
            self._send(lambda: answer(in_flight_edit.Answered(True)))

    def _tell_soon(self) -> None:
        match self.quirks.tells:
            case "at once":
                self._tell()
            case "every 150 ms":
                if not self._telling:
                    self._telling = 1
                    self.clock.after(150, self._tell)
            case "when idle for 500 ms":
                self._telling += 1
                turn = self._telling
                self.clock.after(500, lambda: self._tell() if self._telling == turn else None)

    def _tell(self) -> None:
        if self.quirks.tells == "every 150 ms":
            self._telling = 0
        version, text = self.version, self.text
        self._send(lambda: self.on_change(version, text))

    def _send(self, message: Callable[[], None]) -> None:
        delay = self.random.randrange(1, self.quirks.answer_ms)
        self._arrives_ms = max(self._arrives_ms, self.clock.now_ms + delay)
        self.clock.after(self._arrives_ms - self.clock.now_ms, message)


@dataclass(slots=True)
class _Flight:
    attribution: Attribution
    machine: in_flight_edit.InFlightEdit
    outcome: in_flight_edit.Outcome = field(default_factory=in_flight_edit.Undecided)
    is_answered: bool = False
    has_grace: bool = False


class ThinHost:
    """An EditorHost of one document with its ledger, which is checked after each step."""

    notebooks = None

    def __init__(self, clock: VirtualClock, editor: SimulatedEditor, path: str) -> None:
        self.clock, self.editor = clock, editor
        self.document = OpenDocument(path, editor.version, editor.text)
        self.ledger: FileLedger = open_ledger(path, editor.text)
        self.undoing: tuple[str, ...] = ()
        self.tries = 0
        self._flight: _Flight | None = None
        editor.on_change = self._changed

    @property
    def reloads(self) -> bool:
        return False

    def open_document(self, path: str) -> OpenDocument | None:
        return self.document if path == self.document.path else None

    def open_documents(self) -> Sequence[OpenDocument]:
        return [self.document]

    def is_unknown(self, path: str) -> bool:
        return False

    def blocked(self, path: str) -> str:
        return ""

    async def rename_file(self, document: OpenDocument, path: str) -> None:
        return None

    async def delete_file(self, document: OpenDocument) -> str:
        return document.text

    async def files_changed(self, paths: Sequence[str]) -> None:
        return None

    async def save_undone(self, paths: Sequence[str]) -> Sequence[str]:
        return ()

    async def save_before_command(self, report: Callable[[Sequence[str]], None] = ignore_paths) -> str:
        return ""

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> AppliedEdit:
        await anyio.lowlevel.checkpoint()
        self.tries += 1
        if document.version != self.document.version:
            raise StaleFileError(document.path)
        expected = apply_edits(document.text, edits)
        machine = in_flight_edit.start_edit(document.text, expected, document.version)
        flight = self._flight = _Flight(attribution, machine)
        self.editor.receive_edit(document.version, edits, lambda said: self._answered(flight, said))
        self.clock.after(in_flight_edit.TIMEOUT_MS, lambda: self._time_out(flight))
        while isinstance(flight.outcome, in_flight_edit.Undecided):
            assert self.clock.step(), "nothing can happen any more, and the edit is not decided"
        match flight.outcome:
            case in_flight_edit.Applied(ours):
                return AppliedEdit(flight.machine.old, ours, self.document)
            case in_flight_edit.Refused(reason):
                raise EditRefusedError(document.path, reason)
            case _:
                raise StaleFileError(document.path)

    def _answered(self, flight: _Flight, said: in_flight_edit.Answered) -> None:
        flight.is_answered = True
        self.clock.after(in_flight_edit.TIMEOUT_MS, lambda: self._feed(flight, in_flight_edit.TimedOut()))
        self._feed(flight, said)

    def _time_out(self, flight: _Flight) -> None:
        if not flight.is_answered:
            self._feed(flight, in_flight_edit.TimedOut())

    def _changed(self, version: int, text: str) -> None:
        self.document = OpenDocument(self.document.path, version, text)
        if self._flight:
            self._feed(self._flight, in_flight_edit.Observed(version, text))
        else:
            self._turn_page(apply_user_edit(self.ledger, text))

    def _feed(self, flight: _Flight, happening: in_flight_edit.EditEvent) -> None:
        if self._flight is not flight:
            return
        flight.machine, flight.outcome = in_flight_edit.advance_edit(flight.machine, happening)
        if isinstance(flight.outcome, in_flight_edit.Undecided):
            if flight.outcome.in_grace and not flight.has_grace:
                flight.has_grace = True
                self.clock.after(
                    in_flight_edit.GRACE_MS, lambda: self._feed(flight, in_flight_edit.GraceEnded())
                )
            return
        self._flight = None
        if isinstance(flight.outcome, in_flight_edit.Applied):
            self._turn_page(apply_user_edit(self.ledger, flight.machine.old))  # typed before the edit arrived
            if flight.attribution.call_id:
                self._turn_page(apply_agent_edit(self.ledger, flight.outcome.ours, flight.attribution))
            else:
                self._turn_page(undo_hunks(self.ledger, self.undoing))
                assert self.ledger.current_text == flight.outcome.ours
        self._turn_page(apply_user_edit(self.ledger, self.document.text))

    def _turn_page(self, change: LedgerChange) -> None:
        self.ledger = change.ledger
        assert problems(self.ledger) == []
