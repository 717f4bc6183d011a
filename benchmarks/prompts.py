"""Count the approvals in everyday sessions, with and without rules (python -m benchmarks.prompts).

The policy decides again about each tool call of the recorded sessions (sessions/, made by record_sessions.py), in mode
`ask`. Each column counts the calls that need approval. `no rules`: the user stores no rules. `exact`: the user stores
only rules for one exact command, and the rule for edits. `learned`: the user always stores the first rule that is
offered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.environments.effects import CommandEffect, Effect, PlannedWrite, ReadEffect, WriteEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.rules import Rule
from agent_ls.policy.situation import Ask, Situation

SESSIONS = Path(__file__).with_name("sessions")


@dataclass(frozen=True, slots=True)
class Session:
    """A recorded session. `effects` are the effects of its calls, in order."""

    name: str
    folder: str
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Prompts:
    calls: int
    without: int
    exact: int
    learned: int


def recorded_sessions() -> list[Session]:
    return [_session(path) for path in sorted(SESSIONS.glob("*/recording.jsonl"))]


def _session(path: Path) -> Session:
    header, *rest = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    folder = str(header["workspaceFolder"])
    events = [line["event"] for line in rest if "event" in line]
    starts = [event["data"] for event in events if event["kind"] == "tool_call_start"]
    effects = [_effect(start["name"], json.loads(start["arguments"]), folder) for start in starts]
    name = json.loads(path.with_name("session.json").read_text(encoding="utf-8"))["name"]
    return Session(name, folder, tuple(effects))


def _effect(tool: str, arguments: dict[str, str], folder: str) -> Effect:
    path = f"{folder}/{arguments.get('file_path', '')}".rstrip("/")
    if tool == "shell":
        return CommandEffect(arguments["command"], folder)
    if tool in ("edit_file", "write_file"):
        return WriteEffect((PlannedWrite(path, "modify", "", ""),))
    return ReadEffect((path,))


Choose = Callable[[Sequence[Rule]], Iterator[Rule]]


def counted(session: Session, choose: Choose) -> int:
    """Return how many effects of the session need approval.

    After each approval, `choose` gets the offered rules and returns the rules to store.
    """
    places = Places((session.folder,), "/home/ada")
    grants: frozenset[str] = frozenset()
    asked = 0
    for effect in session.effects:
        judged = judge(effect, Situation("ask", places, grants))
        if isinstance(judged, Ask):
            asked += 1
            grants |= {rule.id for rule in choose(judged.rules)}
    return asked


def measured() -> dict[str, Prompts]:
    return {
        session.name: Prompts(
            len(session.effects),
            counted(session, lambda rules: iter(())),
            counted(session, lambda rules: (r for r in rules if r.id.startswith(("command:", "edits")))),
            counted(session, lambda rules: iter(rules[:1])),
        )
        for session in recorded_sessions()
    }


def main() -> None:
    print(f"{'session':40}{'calls':>10}{'no rules':>10}{'exact':>10}{'learned':>10}")
    for name, found in measured().items():
        print(f"{name:40}{found.calls:>10}{found.without:>10}{found.exact:>10}{found.learned:>10}")


if __name__ == "__main__":
    main()
