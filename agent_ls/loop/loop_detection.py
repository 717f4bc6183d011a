"""ENGINE: do the last calls go round in circles? (000 section 2.10, REQUIREMENTS L9)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from agent_ls.llm.messages import ToolCallPart
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, Turn

PATTERN_LENGTHS = (1, 2, 3)


def signature(call: ToolCallPart) -> str:
    """Name and arguments of a call as one hash; the order of keys and white space do not count."""
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return hashlib.sha256(f"{call.name}\0{arguments}".encode("utf-8", "surrogatepass")).hexdigest()


def detect_loop(signatures: Sequence[str], window: int) -> bool:
    """True when the last `window` signatures repeat a pattern of one, two or three calls.

    A pattern length that does not divide the window is tested on the most recent whole repetitions: length 3
    on the last 9 of 10. A pattern counts when it stands there at least twice.
    """
    recent = signatures[-window:] if window > 0 else ()
    if len(recent) < window or not recent:
        return False
    return any(_repeats(recent[-(window // length * length) :], length) for length in PATTERN_LENGTHS)


def calls_since_warning(turns: Iterable[Turn]) -> list[str]:
    """Signatures of all calls since the last loop warning: a warned model gets a whole window to change."""
    found: list[str] = []
    for turn in turns:
        if isinstance(turn, AssistantTurn):
            found += map(signature, turn.tool_calls)
        elif isinstance(turn, SteeringTurn) and turn.source == "loop_detection":
            found.clear()
    return found


def warning(window: int) -> str:
    return (
        f"Loop detected: the last {window} tool calls follow a repeating pattern. Try a different approach."
    )


def _repeats(calls: Sequence[str], length: int) -> bool:
    pattern = list(calls[:length])
    repetitions = len(calls) // length
    return repetitions >= 2 and list(calls) == pattern * repetitions
