"""Pure: detect repeating patterns in the last tool calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from agent_ls.llm.messages import ToolCallPart
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, Turn

PATTERN_LENGTHS = (1, 2, 3)


def signature(call: ToolCallPart) -> str:
    """Return a hash of a call's name and arguments. It does not depend on white space or the order of the
    arguments.
    """
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return hashlib.sha256(f"{call.name}\0{arguments}".encode("utf-8", "surrogatepass")).hexdigest()


def detect_loop(signatures: Sequence[str], window: int) -> bool:
    """Return whether the last `window` signatures repeat a pattern of one, two or three calls.

    If the pattern length does not divide the window, only the most recent whole repetitions are tested, for
    example the last 9 of 10 calls for length 3. A pattern must occur at least twice.
    """
    recent = signatures[-window:] if window > 0 else ()
    if len(recent) < window or not recent:
        return False
    return any(_repeats(recent[-(window // length * length) :], length) for length in PATTERN_LENGTHS)


def calls_since_warning(turns: Iterable[Turn]) -> list[str]:
    """Return the signatures of all calls since the last loop warning.

    Calls before the warning are left out, so that the model has a whole window to change its behaviour.
    """
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
