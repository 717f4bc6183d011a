"""The session, agent, turn and time of an event, as attributes of the event itself.

Inside agent-ls an event travels in an Envelope, which has these values. A program that uses the library gets the
event alone, so the library copies the values of the envelope to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias


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
ToJson: TypeAlias = Callable[["Emitted", EventOrigin], dict[str, Any]]


class Emitted:
    """The base class of all events. An event has the fields of EventOrigin as attributes.

    They are empty until the library hands the event to a program.
    """

    __slots__ = ("_origin", "_to_json")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = Emitted.__repr__  # type: ignore[method-assign]  # else dataclass makes one without the origin

    def __repr__(self) -> str:
        shown = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        for name, value in self._origin._asdict().items():
            if value not in ("", None, 0):
                shown.setdefault(name, value)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def as_json(self) -> dict[str, Any]:
        """Return the event as plain JSON, as `exec --json` prints it, with session, agent, turn, number and time.

        Raises:
            RuntimeError: the event does not come from a session.
        """
        if self._to_json is None:
            raise RuntimeError("this event does not come from a session: it has no session, turn and time")
        return self._to_json(self, self._origin)

    def set_origin(self, origin: EventOrigin, to_json: ToJson) -> None:
        """Set the attributes above, and the function of `as_json`.

        An event is emitted once, so a second call sets the same values.
        """
        object.__setattr__(self, "_origin", origin)
        object.__setattr__(self, "_to_json", to_json)

    @property
    def data(self) -> Self:
        """The event itself: earlier programs read its fields as `event.data`."""
        return self

    if TYPE_CHECKING:
        _origin: EventOrigin
        _to_json: ToJson | None

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
            if name == "_to_json":
                return None
            if name in EventOrigin._fields:
                return getattr(self._origin, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Noted(Emitted):
    """An event that is one sentence for the user; each front end shows it as a note, whatever its kind."""

    __slots__ = ()

    level: ClassVar[Literal["info", "warn"]] = "warn"
    message: str
