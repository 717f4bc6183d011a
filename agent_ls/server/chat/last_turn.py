"""Pure: find the part of the last turn that is missing in a chat document, because the document was closed or
not saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.display.words import INTERRUPTED
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    AssistantTextStart,
    Envelope,
    ProcessingEnd,
    QuestionAnswered,
    UserInput,
)
from agent_ls.server.chat.transcript import ChatTranscript

_INPUT = b'"kind":"user_input"'


@dataclass(frozen=True, slots=True)
class LastTurn:
    """The last turn of a session: the user's message (`message`), and then the answer so far, as the chat
    renders it.

    `last` is the sequence number of the newest event. `open_parts` are the ids of streamed texts that begin in
    the log but do not end there.
    """

    message: str
    answer: str
    last: int
    open_parts: frozenset[str]
    is_over: bool


def last_turn(events: Sequence[bytes], transcript: ChatTranscript) -> LastTurn | None:
    """Read the last turn from a session's encoded events, and feed its events to `transcript`. Return None if
    the session contains no user message yet.
    """
    start = _last_input(events)
    if start is None:
        return None
    message, answer, last, is_over, parts = "", "", 0, False, set[str]()
    for data in events[start:]:
        envelope = event_codec.decode(data)
        if envelope is None or envelope.agent_id:
            continue
        answer += transcript.feed(envelope)
        last = max(last, envelope.seq or 0)
        match envelope.event:
            case UserInput(text=text):
                message = text
            case AssistantTextStart(part_id=part):
                parts.add(part)
            case AssistantTextEnd(part_id=part):
                parts.discard(part)
            # after a reply of the user, the answer continues under a new heading
            case QuestionAnswered(answers=(reply, *_)):
                message, answer = reply, ""
            case ProcessingEnd():
                is_over = True
                parts.clear()
            case _:
                pass
    return LastTurn(message, answer, last, frozenset(parts), is_over)


def _last_input(events: Sequence[bytes]) -> int | None:
    for at in reversed(range(len(events))):
        if _INPUT in events[at] and _is_input(event_codec.decode(events[at])):
            return at
    return None


def _is_input(envelope: Envelope | None) -> bool:
    return envelope is not None and isinstance(envelope.event, UserInput) and not envelope.agent_id


def split_answer(shown: str, answer: str) -> tuple[str, str]:
    """Split `shown`, the text of the document below an answer's heading. The second argument is the whole
    answer.

    Return the prefix of `shown` that belongs to the answer, and the rest of the answer, which the document
    lacks. The user wrote the text after that prefix. If `shown` differs from the answer in another way, returns
    all of `shown` and a line break.
    """
    whole, here = f"\n{answer}".split("\n"), shown.rstrip().split("\n")
    same = 0
    while same < min(len(whole), len(here)) and whole[same].rstrip() == here[same].rstrip():
        same += 1
    ours, theirs = (lines[same] if same < min(len(whole), len(here)) else "" for lines in (whole, here))
    logged = ours.removesuffix(INTERRUPTED)
    if logged.strip() and theirs.startswith(logged):  # after a crash the log may lack the last events
        return "\n".join(here), "\n".join(["", *whole[same + 1 :]])
    if theirs.strip() and ours.startswith(theirs):  # the document has only the beginning of this line
        same += 1
        missing = [whole[same - 1][len(here[same - 1]) :], *whole[same:]]
    else:
        while same and not whole[same - 1].strip():
            same -= 1
        missing = ["", *whole[same:]] if same else whole
    behind = _lines("\n".join(here[same:]))
    if shown.strip() and (not same or behind & _lines("\n".join(missing))):
        # `shown` is another answer or was changed by the user, so the missing part is unknown
        return "\n".join(here), "\n"
    return "\n".join(here[:same]), "\n".join(missing)


def has_answer(written: str, answer: str) -> bool:
    """Return whether the text `written` below a heading contains the whole answer."""
    return bool(answer.strip()) and _lines(answer) <= _lines(written)


def _lines(text: str) -> set[str]:
    return {line.rstrip() for line in text.split("\n")} - {""}
