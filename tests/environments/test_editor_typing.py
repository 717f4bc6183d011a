"""The user types into the file while the agent edits it: no text is lost, whatever results the editor reports."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import pytest

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.text import split_lines
from tests.environments.simulated_editor import (
    AGENT_MARKS,
    EGLOT,
    NEOVIM,
    USER_MARKS,
    VSCODE,
    WORST,
    Quirks,
    SimulatedEditor,
    ThinHost,
    VirtualClock,
)
from tests.support.ledger_checks import problems
from tests.support.ledger_decisions import keep_hunks, undo_hunks

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
RUNS = 50 if IS_WHOLE else 15  # per editor
PATH = "/project/a.py"
TEXT = "".join(f"line {n}\n" if n % 3 else "\n" for n in range(25))


@dataclass(slots=True)
class Agent:
    """An agent whose edits avoid the user's text that it has read. Each edit adds a unique mark.

    `certain` marks must be in the document once; `possible` marks belong to edits with an unknown outcome.
    """

    random: Random
    certain: set[str] = field(default_factory=set)
    possible: set[str] = field(default_factory=set)
    _marks: int = 0

    def edit(self, text: str) -> tuple[str, str]:
        lines = split_lines(text)
        mark = chr(AGENT_MARKS + self._marks)
        self._marks += 1
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(lines) + 1)
            if at < len(lines) and not any(is_user_mark(char) for char in lines[at]):
                lines[at : at + 1] = self.random.choice(([], [f"agent {lines[at]}"], [lines[at], "more\n"]))
        lines.insert(self.random.randrange(len(lines) + 1), f"mark {mark}\n")
        return "".join(lines), mark

    def learn(self, before: str, after: str) -> None:
        """Record that the edit was applied: it added and removed marks."""
        self.certain -= marks(before) - marks(after)
        self.certain |= marks(after) - marks(before)

    def doubt(self, before: str, after: str) -> None:
        """Record that the edit may have been applied."""
        unsure = marks(before) ^ marks(after)
        self.certain -= unsure
        self.possible |= unsure


def marks(text: str) -> set[str]:
    return {char for char in text if ord(char) >= AGENT_MARKS}


def is_user_mark(char: str) -> bool:
    return USER_MARKS <= ord(char) < AGENT_MARKS


@dataclass(slots=True)
class Play:
    """One run: a typing user, an agent whose edits are partly undone, and an editor with its quirks."""

    random: Random
    clock: VirtualClock
    editor: SimulatedEditor
    host: ThinHost
    environment: EditorEnvironment
    agent: Agent

    async def one_call(self, call_id: str) -> None:
        before = (await self.environment.read_bytes(PATH)).decode()
        self.clock.run_for(self.random.choice((0, 0, 30, 200)))  # the time in which the model generates
        after, mark = self.agent.edit(before)
        try:
            await self.commit(before, after, call_id)
        except StaleFileError:
            assert mark not in self.editor.text
        assert self.editor.text.count(mark) <= 1

    async def one_undo(self) -> None:
        """Undo some hunks in which the user has not typed."""
        ledger = self.host.ledger
        pending = [hunk.id for hunk in ledger.open_hunks if hunk.state == "pending"]
        self.host.undoing = tuple(id_ for id_ in pending if self.random.random() < 0.5)
        expected = undo_hunks(ledger, self.host.undoing).ledger.current_text
        with suppress(StaleFileError):
            await self.commit(ledger.current_text or "", expected or "", "")

    async def commit(self, before: str, after: str, call_id: str) -> None:
        write = FileWrite(PATH, after.encode(), before.encode())
        try:
            await self.environment.commit([write], Attribution("s1", "t1", call_id))
        except EditRefusedError:
            self.agent.doubt(before, after)
        else:
            self.agent.learn(before, after)


async def play(seed: int, quirks: Quirks) -> Play:
    random, clock = Random(seed), VirtualClock()
    editor = SimulatedEditor(clock, random, quirks, TEXT)
    host = ThinHost(clock, editor, PATH)
    environment = EditorEnvironment(MemoryEnvironment({PATH: TEXT}), host)
    played = Play(random, clock, editor, host, environment, Agent(random))
    editor.type_for(60)
    for call in range(12):
        clock.run_for(random.choice((0, 50, 300)))
        await (played.one_undo() if random.random() < 0.2 else played.one_call(f"c{call}"))
    while clock.step():
        pass
    return played


@pytest.mark.req("H4", "H6")
@pytest.mark.sweep
@pytest.mark.parametrize("quirks", [NEOVIM, VSCODE, EGLOT, WORST], ids=str)
@pytest.mark.parametrize("seed", range(RUNS))
async def test_a_user_who_types_while_the_agent_edits_loses_no_character(seed: int, quirks: Quirks) -> None:
    played = await play(seed, quirks)
    text, ledger = played.editor.text, played.host.ledger
    assert ledger.current_text == played.host.document.text == text
    assert [char for char in played.editor.typed if text.count(char) != 1] == []
    agent = played.agent
    assert [mark for mark in agent.certain - played.editor.by_undo if text.count(mark) != 1] == []
    assert marks(text) <= agent.certain | agent.possible | played.editor.by_undo

    untouched = [hunk.id for hunk in ledger.open_hunks if hunk.state == "pending"]
    without_agent = undo_hunks(ledger, untouched).ledger
    assert problems(without_agent) == []
    assert [char for char in played.editor.typed if char not in (without_agent.current_text or "")] == []
    kept = keep_hunks(ledger, [hunk.id for hunk in ledger.open_hunks]).ledger
    assert kept.base == kept.current == ledger.current
