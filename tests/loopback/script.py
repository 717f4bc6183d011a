"""Scripted answers of a loopback provider: parts, gates that pause a stream, and ways to fail. No wire format."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]

DEADLINE_S = 240.0


class Gate:
    """Pauses a stream at one point until the test opens it. Usable from any thread and from async tests.

    `reached` is set when the stream has arrived at the gate. An opened gate stays open.
    """

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._lock = threading.Lock()
        self._is_open = False
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def open(self) -> None:
        with self._lock:
            self._is_open = True
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            loop.call_soon_threadsafe(event.set)

    def wait_reached(self) -> None:
        """Block until the stream is at the gate; in async code: `await anyio.to_thread.run_sync(gate.wait_reached)`."""
        assert self.reached.wait(DEADLINE_S), "the stream never came to the gate"

    async def passed(self) -> None:
        """Return when the gate is open; called by the server."""
        event = asyncio.Event()
        with self._lock:
            if self._is_open:
                event.set()
            else:
                self._waiters.append((asyncio.get_running_loop(), event))
        self.reached.set()
        await event.wait()


class Text:
    """A text part. Each string is one delta; a Gate between two strings pauses the stream there."""

    def __init__(self, *pieces: str | Gate) -> None:
        self.pieces = pieces


class Reasoning:
    """A reasoning part that must be sent back unchanged. `redacted`: its text is not readable."""

    def __init__(self, *pieces: str | Gate, redacted: bool = False) -> None:
        self.pieces = pieces
        self.redacted = redacted


@dataclass(frozen=True)
class ToolCall:
    """A tool call. `arguments` given as a string are sent unchanged (for example broken JSON). Without `id`
    it gets a new one.

    `unfinished`: the output limit cuts the arguments and ends the response.
    """

    name: str
    arguments: Json | str = field(default_factory=dict)
    id: str = ""
    unfinished: bool = False


@dataclass(frozen=True)
class Event:
    """A raw provider event, sent unchanged; its `type` names the SSE event."""

    data: Json


@dataclass(frozen=True)
class CutStream:
    """End the stream here: the socket closes cleanly without a terminal event, and the part before stays
    open. An unstreamed answer is cut in the middle of its JSON.
    """


@dataclass(frozen=True)
class DropConnection:
    """Reset the connection here; as a whole reply, before any byte. The part before it stays open."""


@dataclass(frozen=True)
class MidStreamError:
    """Send an error event after status 200; the part before it stays open."""

    kind: str = ""
    message: str = "Overloaded"


Item: TypeAlias = Text | Reasoning | ToolCall | Event | Gate | CutStream | DropConnection | MidStreamError
FAILURES = (CutStream, DropConnection, MidStreamError)


@dataclass(frozen=True)
class Reply:
    """One successful answer. `stop` is the wire's stop reason ("": the one that fits the items); `usage`
    overrides token counts.
    """

    items: Sequence[Item]
    stop: str = ""
    usage: Json = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorReply:
    """An HTTP error. `body` None: the wire's usual body for `status`, with `kind` and `message` if given."""

    status: int
    body: Json | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    message: str = ""


Answer: TypeAlias = Reply | ErrorReply | DropConnection | Sequence[Item] | str
Script: TypeAlias = Sequence[Answer] | Callable[[Json], Answer]


class Violation(Exception):
    """A request that the real service would refuse, with the service's message."""

    def __init__(self, message: str, kind: str = "", status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = status


def is_base64(text: Any) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except (TypeError, ValueError):
        return False


def text_of(part: Text | Reasoning) -> str:
    return "".join(piece for piece in part.pieces if isinstance(piece, str))


def with_following(items: Sequence[Item]) -> list[tuple[Item, Item | None]]:
    """Return each item with the item after it."""
    return list(zip(items, [*items[1:], None], strict=False))


def as_reply(answer: Answer) -> Reply | ErrorReply | DropConnection:
    if isinstance(answer, Reply | ErrorReply | DropConnection):
        return answer
    return Reply([Text(answer)] if isinstance(answer, str) else answer)


def pieces_of(text: str, count: int = 3) -> list[str]:
    """Split `text` into up to `count` pieces, as a service streams arguments."""
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]


class PromptCache:
    """Counts the tokens that a prefix cache would read: the longest prefix that an earlier request stored.

    A request is a list of blocks in order; sizes are in tokens of four characters.
    """

    def __init__(self) -> None:
        self._known: list[list[str]] = []

    def look(self, blocks: list[str], cached_blocks: int) -> tuple[int, int, int]:
        """Return (read, written, total) tokens of a request whose first `cached_blocks` are to be cached."""
        kept = blocks[:cached_blocks]
        shared = max((_shared(kept, known) for known in self._known), default=0)
        if kept:
            self._known.append(kept)
        read, cached, total = (sum(map(_tokens, part)) for part in (kept[:shared], kept, blocks))
        return read, cached - read, total


def _shared(a: list[str], b: list[str]) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def _tokens(block: str) -> int:
    return len(block) // 4 + 1
