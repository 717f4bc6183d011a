"""Defer or skip work that other packages do at import time and that a server does not need at once.

Only the processes of agent-ls call `make_lean` (`server/start.py`, `acp/start.py`), before other imports and
before they start a thread. Without this call, everything works the same, but the start takes longer. Tests,
and programs that import agent_ls, use the packages unchanged.
"""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

from agent_ls.lean_dataclasses import defer_methods


def make_lean(*, speaks_lsp: bool = True, forks: bool = False) -> None:
    """Make the imports of dataclasses, pydantic and the LSP types faster. Call this before these imports.

    `speaks_lsp`: this process needs the LSP types, so import them now. `forks`: it uses `lean_dataclasses.build`.
    """
    defer_methods(forks=forks)
    _leave_out_plugins()
    if speaks_lsp and "lsprotocol.types" not in sys.modules:
        _defer_types()


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
