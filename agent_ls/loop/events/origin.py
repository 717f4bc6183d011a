"""The session, agent, turn and time of an event, as attributes of the event itself.

Inside agent-ls an event travels in an Envelope, which has these values. A program that uses the library gets the
event alone, so the library copies the values of the envelope to it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self


class EventOrigin(NamedTuple):
    """Where an event comes from. `agent_id` is the subagent that the event is of, "" for the main agent.

    `seq` is the number of a recorded event, None for a delta. `timestamp` is ISO 8601 with milliseconds, UTC. `after`
    is the number of the last event before a delta.
    """

    session_id: str = ""
    agent_id: str = ""
    turn_id: str = ""
    seq: int | None = None
    timestamp: str = ""
    after: int = 0


NO_ORIGIN = EventOrigin()


class Emitted:
    """The base class of all events. An event has the fields of EventOrigin as attributes.

    They are empty until the library hands the event to a program.
    """

    __slots__ = ("_origin",)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = Emitted.__repr__  # type: ignore[method-assign]  # else dataclass makes one without the origin

    def __repr__(self) -> str:
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        origin = {name: value for name, value in self._origin._asdict().items() if value not in ("", None, 0)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in (origin | own).items())})"

    def as_json(self) -> dict[str, Any]:
        """Return the event as plain JSON, as `exec --json` prints it, with session, agent, turn, number and time."""
        from agent_ls.loop.events.codec import make_json  # imports the classes of events
        from agent_ls.loop.events.types import Envelope

        event: Any = self
        session_id, agent_id, turn_id, seq, timestamp, after = self._origin
        return make_json(Envelope(session_id, seq, timestamp, event, turn_id, agent_id, after))

    def set_origin(self, origin: EventOrigin) -> None:
        """Set the attributes above. An event is emitted once, so a second call sets the same values."""
        object.__setattr__(self, "_origin", origin)

    @property
    def data(self) -> Self:
        """The event itself: earlier programs read its fields as `event.data`."""
        return self

    if TYPE_CHECKING:
        _origin: EventOrigin

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
        @property
        def after(self) -> int: ...

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
