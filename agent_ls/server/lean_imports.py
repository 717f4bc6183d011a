"""What other packages do while they are imported, put off or left out where the server has no need of it at once.

For a process that is ours alone (start.py), before anything else is imported and while there is one thread. Without it
everything works the same and starts later; tests and programs that import agent_ls have the packages as they are.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_lean() -> None:
    """See above. What has been imported by others already stays as it is."""
    _put_off_methods()
    _leave_out_plugins()
    if "lsprotocol.types" not in sys.modules:
        _put_off_types()


def _put_off_methods() -> None:
    """From now on a method that `dataclasses` writes is compiled when it is first called.

    Half the time of importing our own modules went into compiling methods of five hundred classes, most of which are
    never called. `dataclasses` gives the text of a function `__create_fn__`, which returns one method or several, to
    `exec`: what it finds under that name is ours. Any other text is executed as it is.
    """

    def put_off(text: str, scope: dict[str, Any], found: dict[str, Any]) -> None:
        head, _, returned = text.rpartition("\n return ")
        if not head.startswith("def __create_fn__("):
            exec(text, scope, found)
            return

        def create(**values: Any) -> Any:
            written = _Written(text, scope, values)
            if not returned.startswith("("):
                return _late(written, returned)
            return tuple(_late(written, name) for name in returned.strip("()").split(",") if name)

        found["__create_fn__"] = create

    vars(dataclasses)["exec"] = put_off
    if not _makes_dataclasses():  # another release of Python may write them in another way
        del vars(dataclasses)["exec"]


def _makes_dataclasses() -> bool:
    try:
        probe = dataclasses.make_dataclass("Probe", [("x", int), ("y", int, 2)], frozen=True, slots=True)
        one, other = probe(1), probe(x=1, y=2)
        return (
            one == other and hash(one) == hash(other) and repr(one) == "Probe(x=1, y=2)" and one != probe(2)
        )
    except Exception:
        return False


class _Written:
    """Methods as text, until one of them is called."""

    __slots__ = ("_made", "_scope", "_text", "_values")

    def __init__(self, text: str, scope: dict[str, Any], values: dict[str, Any]) -> None:
        self._text, self._scope, self._values = text, scope, values
        self._made: dict[str, Callable[..., Any]] = {}

    def method(self, name: str) -> Callable[..., Any]:
        if not self._made:
            found: dict[str, Any] = {}
            exec(self._text, self._scope, found)
            made = found["__create_fn__"](**self._values)
            self._made = {
                method.__name__: method for method in (made if isinstance(made, tuple) else (made,))
            }
        return self._made[name]


def _late(written: _Written, name: str) -> Callable[..., Any]:
    """A method that is made when it is first called, and from then on stands in the class itself."""

    def late(self: Any, /, *values: Any, **named: Any) -> Any:
        method = written.method(name)
        method.__qualname__ = late.__qualname__
        for owner in type(self).__mro__:
            if vars(owner).get(name) is late:
                setattr(owner, name, method)
        return method(self, *values, **named)

    late.__name__ = name
    return late


def _leave_out_plugins() -> None:
    # For plugins, of which we have none, pydantic reads the metadata of every package that is installed.
    loader = ModuleType("pydantic.plugin._loader", "No plugins.")
    vars(loader)["get_plugins"] = tuple
    sys.modules.setdefault(loader.__name__, loader)


def _put_off_types() -> None:
    """Imports the types of LSP, each to become a class of attrs when it is first used.

    There are some 550, and writing their methods takes longer than all else that a first request to a model waits for;
    a connection uses some twenty. A class that waits has its name and annotations, and is in all unions: its first
    instance, and whoever asks for its fields, gets it finished, in place and for good.
    """
    import attrs

    define = attrs.define
    lock = threading.RLock()
    waiting: set[type] = set()

    class Fields:
        """Stands where attrs keeps a class's fields, by which everybody knows that it is one of its own."""

        def __init__(self, cls: type) -> None:
            self._cls = cls

        def __get__(self, instance: object, owner: type) -> Any:
            finish(self._cls)
            return attrs.fields(self._cls)

    def finish(cls: type) -> None:
        with lock:
            if cls in waiting:
                # Asked for, `init` replaces ours in one step: another thread finds either. With slots it would be
                # another class.
                define(cls, init=True, slots=False)
                attrs.resolve_types(cls, types.ALL_TYPES_MAP, {})
                waiting.remove(cls)

    def put_off(cls: Any = None, **options: Any) -> Any:
        if cls is None or options or "__init__" in vars(cls):
            return define(cls, **options)

        def __init__(self: Any, /, *arguments: Any, **fields: Any) -> None:
            finish(cls)
            cls.__init__(self, *arguments, **fields)  # which is another by now

        cls.__init__ = __init__
        cls.__attrs_attrs__ = Fields(cls)
        waiting.add(cls)
        return cls

    vars(attrs)["define"] = put_off
    try:
        from lsprotocol import types

        if types.Position(1, 2) != types.Position(line=1, character=2):
            raise TypeError("not what it says")
    except Exception:  # another release of attrs may do its work in another way
        sys.modules.pop("lsprotocol.types", None)
        vars(sys.modules["lsprotocol"]).pop("types", None)
        return
    finally:
        vars(attrs)["define"] = define
    from lsprotocol import _hooks

    # Its converter would ask each class for its fields, to resolve their types: `finish` does that.
    vars(_hooks)["_resolved_forward_references"] = True
