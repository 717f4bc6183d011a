"""Messages of the user that the model has not seen yet: steers and queued inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from agent_ls.llm.messages import ImagePart
from agent_ls.loop.events.types import QueueChanged, QueueItem, QueueSpliced
from agent_ls.loop.ids import SteerId


@dataclass(frozen=True, slots=True)
class Input:
    """A message of the user. `queued_id` is "" if the message was not queued."""

    text: str
    images: tuple[ImagePart, ...] = ()
    client_key: str = ""
    queued_id: str = ""

    def to_queue_item(self) -> QueueItem:
        """Return the queued message in the form that events use."""
        return QueueItem(self.queued_id, self.text, self.client_key, len(self.images))


@dataclass(frozen=True, slots=True)
class QueuedSteer:
    """A user message for the next model call."""

    id: SteerId
    text: str
    images: tuple[ImagePart, ...] = ()
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class QueueEdit:
    """A request to change a queued message's text. The message keeps its position, id and client key.

    If `keeps_images`, `images` are added to the message's images; otherwise they replace these.
    """

    queued_id: str
    text: str
    images: tuple[ImagePart, ...] = ()
    keeps_images: bool = False


@dataclass(frozen=True, slots=True)
class QueueMove:
    """A change that moves a queued message before the message with id `before`, or to the end of the queue if
    `before` is "".
    """

    queued_id: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class QueueRemoval:
    queued_id: str


@dataclass(frozen=True, slots=True)
class StartNow:
    """A request to move a queued message to the front and interrupt a running turn."""

    queued_id: str


QueueChange: TypeAlias = QueueEdit | QueueMove | QueueRemoval | StartNow

WHOLE_QUEUE = 20
"""Most messages of a queue whose events have the whole queue. Those of a longer one have only what changed."""


class Inbox:
    """Two first-in-first-out queues: steers for the running turn, and messages for the following turns.

    `held` is True after a stop, an error, a reached limit or a resume. While it is True, no queued message
    starts until the user sends another message or starts a queued one. `keep_images` records the images of a
    message before the event about the message, because the event has only the text.
    """

    def __init__(
        self,
        steers: Iterable[QueuedSteer] = (),
        queue: Iterable[Input] = (),
        keep_images: Callable[[str, tuple[ImagePart, ...]], None] = lambda message_id, images: None,
    ) -> None:
        self._keep_images = keep_images
        self._steers = deque(steers)
        self._queue = deque(queue)
        self._urgent = 0
        self._changes: list[tuple[int, int, int]] | None = None
        """Places, removed and added messages since the last event; None before the first event."""
        self.held = bool(self._queue)

    @property
    def steers(self) -> tuple[QueuedSteer, ...]:
        return tuple(self._steers)

    @property
    def queue(self) -> tuple[Input, ...]:
        return tuple(self._queue)

    @property
    def has_next(self) -> bool:
        return bool(self._queue) and not self.held

    def add_steer(self, steer: QueuedSteer) -> None:
        if steer.images:
            self._keep_images(steer.id, steer.images)
        self._steers.append(steer)

    def remove_steer(self, steer_id: str) -> bool:
        """Remove a queued steer. Returns False if no steer with this id is queued."""
        kept = [steer for steer in self._steers if steer.id != steer_id]
        removed = len(kept) < len(self._steers)
        self._steers = deque(kept)
        return removed

    def pop_steer(self) -> QueuedSteer:
        return self._steers.popleft()

    def add(self, item: Input) -> None:
        """Append a message to the queue and let the queue continue."""
        self._insert(len(self._queue), item)

    def add_next(self, item: Input) -> None:
        """Queue a message that was sent after a stop. The message precedes all messages that were queued before
        the stop.
        """
        self._insert(self._urgent, item)
        self._urgent += 1

    def _insert(self, place: int, item: Input) -> None:
        if item.images:
            self._keep_images(item.queued_id, item.images)
        self._queue.insert(place, item)
        self._mark(place, 0, 1)
        self.held = False

    def apply_change(self, change: QueueChange) -> bool:
        """Apply a change to the queue. Returns False and changes nothing if the queue does not contain a
        message that `change` names.
        """
        places = {item.queued_id: place for place, item in enumerate(self._queue)}
        before = change.before if isinstance(change, QueueMove) else ""
        if change.queued_id not in places or (before and before not in places):
            return False
        place = places[change.queued_id]
        item = self._queue[place]
        match change:
            case QueueEdit(text=text, images=images):
                shown = (*item.images, *images) if change.keeps_images else images
                if shown != item.images:
                    self._keep_images(item.queued_id, shown)
                self._queue[place] = replace(item, text=text, images=shown)
                self._mark(place, 1, 1)
                return True
            case QueueRemoval():
                del self._queue[place]
                self._mark(place, 1, 0)
            case StartNow():
                self._move(place, 0)
            case QueueMove():
                end = places[before] if before else len(self._queue)
                self._move(place, end - 1 if end > place else end)
        # `_urgent` is the number of messages at the front that stay before a message sent after a stop. After
        # this change, only a message that the user has started at once stays there.
        self._urgent = int(isinstance(change, StartNow))
        self.held = self.held and bool(self._queue)
        return True

    def _move(self, place: int, to: int) -> None:
        item = self._queue[place]
        del self._queue[place]
        self._queue.insert(to, item)
        moved = abs(place - to) + 1
        self._mark(min(place, to), moved, moved)

    def _mark(self, at: int, removed: int, added: int) -> None:
        if self._changes is not None:
            self._changes.append((at, removed, added))

    def hold(self) -> None:
        """Make the queue wait for the user."""
        self.held = bool(self._queue)

    def release(self) -> None:
        """End the hold, so that queued messages start after the current turn."""
        self.held = False

    def pop(self) -> Input:
        self._urgent = max(0, self._urgent - 1)
        self._mark(0, 1, 0)
        return self._queue.popleft()

    def make_event(self) -> QueueChanged | QueueSpliced:
        """Return the event about the change of the queue since the last call."""
        changes, self._changes = self._changes, []
        if not changes or len(changes) > 1 or len(self._queue) <= WHOLE_QUEUE:
            return QueueChanged(tuple(item.to_queue_item() for item in self._queue))
        at, removed, added = changes[0]
        items = islice(self._queue, at, at + added)
        return QueueSpliced(at, removed, tuple(item.to_queue_item() for item in items))
