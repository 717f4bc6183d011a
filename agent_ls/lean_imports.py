"""Defer or skip work that other packages do at import time and that a server does not need at once.

Only the processes of agent-ls call `make_lean` (`server/start.py`, `acp/start.py`), before other imports and
before they start a thread. Without this call, everything works the same, but the start takes longer. Tests,
and programs that import agent_ls, use the packages unchanged.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

_deferred: list[_Written] = []
"""The deferred methods in the order of their classes, so that they have the same numbers in the forks of a process."""


def make_lean(*, speaks_lsp: bool = True, forks: bool = False) -> None:
    """Make the imports of dataclasses, pydantic and the LSP types faster. Call this before these imports.

    `speaks_lsp`: this process needs the LSP types, so import them now. `forks`: it uses `build`.
    """
    _defer_methods(_deferred.append if forks else lambda written: None)
    _leave_out_plugins()
    if speaks_lsp and "lsprotocol.types" not in sys.modules:
        _defer_types()


def built() -> list[int]:
    """Return the numbers of the deferred methods that were compiled, in a process that forks or was forked."""
    return [number for number, written in enumerate(_deferred) if written.is_compiled]


def build(numbers: Iterable[int]) -> None:
    """Compile the methods that `built` returned in a fork of this process."""
    for number in numbers:
        if number < len(_deferred):
            _deferred[number].compile()


def _defer_methods(note: Callable[[_Written], object]) -> None:
    """Make `dataclasses` compile each generated method at its first call.

    Half of the import time of agent-ls is spent on compiling methods of five hundred classes, most of which
    are never called. `dataclasses` passes the source of a function `__create_fn__`, which returns one or
    several methods, to `exec`. The replaced `exec` defers that source and runs any other source as usual.
    """

    def defer(text: str, scope: dict[str, Any], found: dict[str, Any]) -> None:
        head, _, returned = text.rpartition("\n return ")
        if not head.startswith("def __create_fn__("):
            exec(text, scope, found)
            return

        def create(**values: Any) -> Any:
            written = _Written(text, scope, values)
            note(written)
            if not returned.startswith("("):
                return _late(written, returned)
            return tuple(_late(written, name) for name in returned.strip("()").split(",") if name)

        found["__create_fn__"] = create

    vars(dataclasses)["exec"] = defer
    if not _makes_dataclasses():  # this Python version generates methods differently
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
    """The source of some methods of a class. It is compiled when one of them is called for the first time."""

    __slots__ = ("_made", "_scope", "_text", "_values")

    def __init__(self, text: str, scope: dict[str, Any], values: dict[str, Any]) -> None:
        self._text, self._scope, self._values = text, scope, values
        self._made: dict[str, Callable[..., Any]] = {}

    @property
    def is_compiled(self) -> bool:
        return bool(self._made)

    def method(self, name: str) -> Callable[..., Any]:
        self.compile()
        return self._made[name]

    def compile(self) -> None:
        if not self._made:
            found: dict[str, Any] = {}
            exec(self._text, self._scope, found)
            made = found["__create_fn__"](**self._values)
            self._made = {
                method.__name__: method for method in (made if isinstance(made, tuple) else (made,))
            }


def _late(written: _Written, name: str) -> Callable[..., Any]:
    """Return a method that compiles the real one at its first call and replaces itself in the class."""

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
    # To find plugins, pydantic would read the metadata of all installed packages. agent-ls uses no plugins.
    loader = ModuleType("pydantic.plugin._loader", "No plugins.")
    vars(loader)["get_plugins"] = tuple
    sys.modules.setdefault(loader.__name__, loader)


class _LateTypes:
    """The replacement of `attrs.define`: attrs generates the methods of a class at the first use of the class.

    Until then, a class has its name and annotations, and can be used in unions. attrs completes the class in place
    when its first instance is created or its fields are read.
    """

    def __init__(self, attrs: ModuleType) -> None:
        self._attrs = attrs
        self._define = attrs.define
        self._lock = threading.RLock()
        self._waiting: set[type] = set()

    def define(self, cls: Any = None, **options: Any) -> Any:
        if cls is None or options or "__init__" in vars(cls):
            return self._define(cls, **options)
        late = self

        class Fields:
            """The replacement of the attribute by which attrs recognises its classes and reads their fields."""

            def __get__(self, instance: object, owner: type) -> Any:
                late.finish(cls)
                return late._attrs.fields(cls)

        def __init__(self: Any, /, *arguments: Any, **fields: Any) -> None:
            late.finish(cls)
            cls.__init__(self, *arguments, **fields)  # this is the real `__init__`: `finish` has replaced it

        cls.__init__ = __init__
        cls.__attrs_attrs__ = Fields()
        self._waiting.add(cls)
        return cls

    def finish(self, cls: type) -> None:
        from lsprotocol import types

        with self._lock:
            if cls in self._waiting:
                # `__init__` is replaced in one step, so that another thread finds either the old or the new
                # method. With `slots=True`, attrs would create another class instead of changing this one.
                self._define(cls, init=True, slots=False)
                self._attrs.resolve_types(cls, types.ALL_TYPES_MAP, {})
                self._waiting.remove(cls)


def _defer_types() -> None:
    """Import the LSP types without the methods that attrs generates for them.

    There are about 550 types, of which a connection uses about twenty. Generating all methods would delay the
    first request to a model more than all other work at start.
    """
    import attrs

    define = attrs.define
    vars(attrs)["define"] = _LateTypes(attrs).define
    try:
        from lsprotocol import types

        if types.Position(1, 2) != types.Position(line=1, character=2):
            raise TypeError("not what it says")
    except Exception:  # this attrs version works differently: import the types as usual
        sys.modules.pop("lsprotocol.types", None)
        vars(sys.modules["lsprotocol"]).pop("types", None)
        return
    finally:
        vars(attrs)["define"] = define
    from lsprotocol import _hooks

    # Otherwise lsprotocol's converter reads the fields of each class to resolve their types.
    # `_LateTypes.finish` resolves them.
    vars(_hooks)["_resolved_forward_references"] = True
