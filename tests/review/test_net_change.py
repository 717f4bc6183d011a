"""The net change of a session has its own lines only, whatever others type and whatever is rolled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st

from agent_ls.review.net_change import SessionWrite, net_change
from agent_ls.review.rewind import AgentChange, FileVersion, Rewound, rewind

pytestmark = pytest.mark.req("X10")


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@dataclass
class Story:
    """A file with the lines o0 to o5, its writes, and the turns and roll backs by number. Each new line is unique."""

    lines: list[str] = field(default_factory=lambda: [f"o{number}" for number in range(6)])
    writes: list[SessionWrite] = field(default_factory=list)
    count: int = 0

    def _changed(self, by: str, at: int, *, is_removal: bool) -> list[str]:
        self.count += 1
        at %= len(self.lines) + 1
        new = [] if is_removal else [f"{by}{self.count}"]
        return [*self.lines[:at], *new, *self.lines[at + 1 if is_removal else at :]]

    def agent(self, at: int, *, is_removal: bool) -> None:
        new = self._changed("a", at, is_removal=is_removal)
        if new != self.lines:
            self._write(new)

    def human(self, at: int, *, is_removal: bool) -> None:
        place = at % (len(self.lines) + 1)
        is_agents = self.lines[place : place + 1][:1] and self.lines[place].startswith("a")
        if not (is_removal and is_agents):  # a line of the agent that a person rewrites is by both
            self.lines = self._changed("h", at, is_removal=is_removal)

    def roll_back(self, to: int) -> None:
        at = to % len(self.writes) if self.writes else 0
        since = self.writes[at:]
        steps = [AgentChange(_version(it.before), _version(it.after)) for it in since]
        match rewind(_version(text(self.lines)), steps):
            case Rewound(bytes(data)) if since:
                self._write(data.decode().split("\n")[:-1], at)
            case _:
                pass

    def _write(self, lines: list[str], reverts: int | None = None) -> None:
        number = f"{len(self.writes)}"
        self.writes.append(SessionWrite(text(self.lines), text(lines), number, number, reverts))
        self.lines = lines


def _version(content: str | None) -> FileVersion:
    return FileVersion("" if content is None else content, None if content is None else content.encode())


places = st.integers(0, 9)
edits = st.tuples(st.sampled_from(["agent", "human"]), places, st.booleans())
steps = st.one_of(edits, st.tuples(st.just("roll back"), places, st.just(False)))


def play(story: Sequence[tuple[str, int, bool]]) -> Story:
    played = Story()
    for who, at, is_removal in story:
        match who:
            case "agent":
                played.agent(at, is_removal=is_removal)
            case "human":
                played.human(at, is_removal=is_removal)
            case _:
                played.roll_back(at)
    return played


@given(st.lists(steps, max_size=9))
def test_a_net_change_has_every_line_of_the_session_and_no_line_that_only_others_typed(
    story: list[tuple[str, int, bool]],
) -> None:
    played = play(story)
    if not played.writes:
        return
    before, after = net_change("/a.txt", played.writes)
    assert before is not None and after is not None
    assert after == played.writes[-1].after
    old, new = before.splitlines(), after.splitlines()
    assert not [line for line in new if line.startswith("h") and line not in old]
    assert not [line for line in new if line.startswith("a") and line in old]
