"""The session, agent, turn and time of an event, as attributes of the event itself.

Inside agent-ls an event travels in an Envelope, which has these values. A program that uses the library gets the
event alone, so the library copies the values of the envelope to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self


class EventOrigin(NamedTuple):
    """Where an event comes from. `agent_id` is the subagent that the event is of, "" for the main agent.

    `seq` is the number of a recorded event, None for a delta. `timestamp` is ISO 8601 with milliseconds, UTC.
    """

    session_id: str = ""
    agent_id: str = ""
    turn_id: str = ""
    seq: int | None = None
    timestamp: str = ""


NO_ORIGIN = EventOrigin()


class Emitted:
    """The base class of all events. An event has the fields of EventOrigin as attributes.

    They are empty until the library hands the event to a program.
    """

    __slots__ = ("_origin",)

    def set_origin(self, origin: EventOrigin) -> None:
        """Set the attributes above. An event is emitted once, so a second call sets the same values."""
        object.__setattr__(self, "_origin", origin)

    @property
    def data(self) -> Self:
        """The event itself: earlier programs read its fields as `event.data`."""
        return self

    if TYPE_CHECKING:

        @property
        def session_id(self) -> str: ...
        @property
        def agent_id(self) -> str: ...
        @property
        def turn_id(self) -> str: ...
        @property
        def seq(self) -> int | None: ...
        @property
        def timestamp(self) -> str: ...

    else:
        # Properties would be taken as the defaults of fields with these names, such as SubagentChanged.agent_id.
        def __getattr__(self, name: str) -> Any:
            if name == "_origin":
                return NO_ORIGIN
            if name in EventOrigin._fields:
                return getattr(self._origin, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Noted(Emitted):
    """An event that is one sentence for the user; each front end shows it as a note, whatever its kind."""

    __slots__ = ()

    level: ClassVar[Literal["info", "warn"]] = "warn"
    message: str
