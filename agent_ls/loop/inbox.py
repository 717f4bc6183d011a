"""What the user has said and the model has not seen: steers, and follow-ups in their queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_ls.llm.messages import ImagePart
from agent_ls.loop.events import QueueChanged, QueueItem
from agent_ls.loop.ids import SteerId


@dataclass(frozen=True, slots=True)
class Input:
    """A user's message. `queued_id` is set when it waited in the queue."""

    text: str
    images: tuple[ImagePart, ...] = ()
    client_key: str = ""
    queued_id: str = ""

    def told(self) -> QueueItem:
        """As events tell of it while it waits."""
        return QueueItem(self.queued_id, self.text, self.client_key, len(self.images))


@dataclass(frozen=True, slots=True)
class Steer:
    id: SteerId
    text: str
    images: tuple[ImagePart, ...] = ()
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Other words for a message that waits; it keeps its place, its id and its key.

    `keeps_images`: those that it has stay, before `images`; else `images` are all that it has.
    """

    queued_id: str
    text: str
    images: tuple[ImagePart, ...] = ()
    keeps_images: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """To the place before another, "": to the end."""

    queued_id: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Remove:
    queued_id: str


@dataclass(frozen=True, slots=True)
class StartNow:
    """To the front, and not to wait for a turn that runs."""

    queued_id: str


QueueChange: TypeAlias = Edit | Move | Remove | StartNow


class Inbox:
    """First in, first out, both.

    `held`: the queue waits for the user (after a stop, an error, a resume: nothing starts again by itself).
    `keep_images` is told of the pictures of a message before an event tells of the message: that has its text only.
    """

    def __init__(
        self,
        steers: Iterable[Steer] = (),
        queue: Iterable[Input] = (),
        keep_images: Callable[[str, tuple[ImagePart, ...]], None] = lambda message_id, images: None,
    ) -> None:
        self._keep_images = keep_images
        self._steers = deque(steers)
        self._queue = deque(queue)
        self._urgent = 0
        self.held = bool(self._queue)

    @property
    def steers(self) -> tuple[Steer, ...]:
        return tuple(self._steers)

    @property
    def queue(self) -> tuple[Input, ...]:
        return tuple(self._queue)

    @property
    def has_next(self) -> bool:
        return bool(self._queue) and not self.held

    def add_steer(self, steer: Steer) -> None:
        if steer.images:
            self._keep_images(steer.id, steer.images)
        self._steers.append(steer)

    def remove_steer(self, steer_id: str) -> bool:
        """False when it is not (or no longer) waiting."""
        kept = [steer for steer in self._steers if steer.id != steer_id]
        removed = len(kept) < len(self._steers)
        self._steers = deque(kept)
        return removed

    def pop_steer(self) -> Steer:
        return self._steers.popleft()

    def add(self, item: Input) -> None:
        """Queues a follow-up; the queue moves again."""
        self._insert(len(self._queue), item)

    def add_next(self, item: Input) -> None:
        """Queues what the user sent after he stopped a turn: before what waited already."""
        self._insert(self._urgent, item)
        self._urgent += 1

    def _insert(self, place: int, item: Input) -> None:
        if item.images:
            self._keep_images(item.queued_id, item.images)
        self._queue.insert(place, item)
        self.held = False

    def change(self, change: QueueChange) -> bool:
        """False: one of the messages that it names waits no longer, or never did; then nothing is changed."""
        places = {item.queued_id: place for place, item in enumerate(self._queue)}
        before = change.before if isinstance(change, Move) else ""
        if change.queued_id not in places or (before and before not in places):
            return False
        item = self._queue[places[change.queued_id]]
        match change:
            case Edit(text=text, images=images):
                shown = (*item.images, *images) if change.keeps_images else images
                if shown != item.images:
                    self._keep_images(item.queued_id, shown)
                self._queue[places[change.queued_id]] = replace(item, text=text, images=shown)
                return True
            case Remove():
                self._queue.remove(item)
            case StartNow():
                self._queue.remove(item)
                self._queue.appendleft(item)
            case Move() if before != change.queued_id:
                self._queue.remove(item)
                self._queue.insert(self._place_of(before), item)
        # The order is the user's own now; what he sends after a stop goes behind what he wants to start at once.
        self._urgent = int(isinstance(change, StartNow))
        self.held = self.held and bool(self._queue)
        return True

    def _place_of(self, queued_id: str) -> int:
        """The end for ""."""
        ids = [item.queued_id for item in self._queue]
        return ids.index(queued_id) if queued_id else len(ids)

    def hold(self) -> None:
        """The queue waits for the user."""
        self.held = bool(self._queue)

    def release(self) -> None:
        """The user sends something: what waited goes on behind it."""
        self.held = False

    def pop(self) -> Input:
        self._urgent = max(0, self._urgent - 1)
        return self._queue.popleft()

    def changed(self) -> QueueChanged:
        return QueueChanged(tuple(item.told() for item in self._queue))
