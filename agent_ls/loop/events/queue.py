"""Events about messages of the user that the model has not seen yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from agent_ls.loop.events.origin import Emitted


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A queued follow-up."""

    queued_id: str
    text: str
    client_key: str = ""
    images: int = 0  # number of attached images


@dataclass(frozen=True, slots=True)
class SteeringQueued(Emitted):
    """A steer is waiting for the model's next call."""

    kind: ClassVar[Literal["steering_queued"]] = "steering_queued"
    steer_id: str
    text: str
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class SteeringRemoved(Emitted):
    """The user took back a steer before the model got it."""

    kind: ClassVar[Literal["steering_removed"]] = "steering_removed"
    steer_id: str


@dataclass(frozen=True, slots=True)
class SteeringInjected(Emitted):
    """The steer is now in the history and part of the next model call."""

    kind: ClassVar[Literal["steering_injected"]] = "steering_injected"
    steer_id: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueChanged(Emitted):
    """The complete queue of follow-ups."""

    kind: ClassVar[Literal["queue"]] = "queue"
    items: tuple[QueueItem, ...]


@dataclass(frozen=True, slots=True)
class QueueSpliced(Emitted):
    """A change of a long queue: `items` take the place of `removed` messages from the index `at` on."""

    kind: ClassVar[Literal["queue_splice"]] = "queue_splice"
    at: int
    removed: int
    items: tuple[QueueItem, ...]


def update_queue(queue: list[QueueItem], event: QueueChanged | QueueSpliced) -> None:
    """Make `queue` what it is after the event."""
    match event:
        case QueueChanged(items=items):
            queue[:] = items
        case QueueSpliced(at=at, removed=removed, items=items):
            queue[at : at + removed] = items
