"""Make dataclasses whose methods are generated when they are called: most of those of a process never are.

`defer_methods` replaces `dataclasses.dataclass` in this process. Such a class has its fields, slots and parameters at
once, but the source of a method is generated, and compiled, at the method's first call. The first few instances of a
class are filled without a generated `__init__`, because most classes have no more instances than that.
"""

from __future__ import annotations

import abc
import dataclasses
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING
from types import FunctionType, MemberDescriptorType
from typing import Any, TypeAlias

FEW = 8
"""Instances of a class that are filled without a generated `__init__`: generating it takes as long as filling about
thirty.
"""

_OPTIONS = {
    "init": True, "repr": True, "eq": True, "frozen": False, "match_args": True, "kw_only": False, "slots": False,
}  # fmt: skip
"""The options of classes that are deferred, with their defaults. Classes with other options are made as usual."""

_UNKNOWN_VERSION = (3, 14)
"""Python versions from this one on keep annotations in another way: their classes are made as usual."""

_original = dataclasses.dataclass
_deferred: list[tuple[_LateMethods, str]] = []
"""The deferred methods in the order of their classes, so that they have the same numbers in the forks of a process."""


def defer_methods(*, forks: bool) -> None:
    """Make `dataclasses` generate each method at its first call, if this version of Python allows it.

    `forks`: this process uses `build`.
    """
    if dataclasses.dataclass is not _original or sys.version_info >= _UNKNOWN_VERSION:
        return
    note: Callable[[tuple[_LateMethods, str]], object] = _deferred.append if forks else lambda method: None

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        return _late_class(cls, options, note) or _original(cls, **options)

    if _works(dataclass):
        vars(dataclasses)["dataclass"] = dataclass


def built() -> list[int]:
    """Return the numbers of the deferred methods that were generated, in a process that forks or was forked."""
    return [number for number, (late, name) in enumerate(_deferred) if name in late.made]


def build(numbers: Iterable[int]) -> None:
    """Generate the methods that `built` returned in a fork of this process."""
    for number in numbers:
        if number < len(_deferred):
            late, name = _deferred[number]
            late.method(name)


def _works(dataclass: Callable[..., Any]) -> bool:
    """Return whether the parts of `dataclasses` that this module uses are as in the versions that it knows."""
    try:
        namespace = {"__annotations__": {"x": "int", "y": "int"}, "y": 2, "__module__": __name__}
        probe: Any = dataclass(type("Probe", (), namespace), frozen=True, slots=True)
        one, other = probe(1), probe(x=1, y=2)
        made = [probe(1, 2) for _ in range(FEW)][-1]
        return (
            one == other == made
            and hash(one) == hash(made)
            and repr(made) == "Probe(x=1, y=2)"
            and dataclasses.replace(one, y=3) != one
            and "__slots__" in vars(probe)
        )
    except Exception:
        return False


def _late_class(
    cls: type, given: Mapping[str, Any], note: Callable[[tuple[_LateMethods, str]], object]
) -> type | None:
    """Return the class with deferred methods, or None if it has something that is not deferred."""
    if given.keys() - _OPTIONS.keys():
        return None
    options = {**_OPTIONS, **given}
    own = dict(vars(cls))
    fields = _fields(cls, own, options)
    if fields is None or {"__setattr__", "__delattr__"} & own.keys():
        return None
    late = _LateMethods(options)
    names = [name for name, field in fields.items() if _is_stored(field)]
    added: dict[str, Any] = {"__dataclass_params__": _params(options), "__dataclass_fields__": fields}
    if options["match_args"]:
        taken = [it.name for it in fields.values() if _is_stored(it) and it.init and not it.kw_only]
        added["__match_args__"] = own.get("__match_args__", tuple(taken))
    for name in _wanted(own, options):
        added[name] = late.stub(name)
        note((late, name))
    if hasattr(dataclasses, "_replace") and "__replace__" not in own:  # since Python 3.13, for `copy.replace`
        added["__replace__"] = dataclasses._replace
    if options["eq"] and not options["frozen"] and not _has_hash(own):
        added["__hash__"] = None
    if options["frozen"]:
        added["__setattr__"], added["__delattr__"] = _refusals(late, frozenset(names))
    late.cls = made = _completed(cls, own, added, names, options)
    return made


def _fields(cls: type, own: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of the class and of its bases; None if some are not plain fields or class variables."""
    kinds: Any = dataclasses
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(vars(base).get("__dataclass_fields__", ()))
    if any(field._field_type is kinds._FIELD_INITVAR for field in fields.values()):
        return None
    for name, annotation in own.get("__annotations__", {}).items():
        text = annotation if isinstance(annotation, str) else repr(annotation)
        if "InitVar" in text or "KW_ONLY" in text:
            return None
        is_stored = "ClassVar" not in text
        if not is_stored and not text.startswith(("ClassVar", "typing.ClassVar")):
            return None
        field: Any = getattr(cls, name, MISSING)
        if isinstance(field, MemberDescriptorType):  # a slot of a base
            field = MISSING
        if not isinstance(field, dataclasses.Field):
            field = dataclasses.field(default=field)
        field.name, field.type = name, annotation
        field._field_type = kinds._FIELD if is_stored else kinds._FIELD_CLASSVAR
        if is_stored and field.kw_only is MISSING:
            field.kw_only = options["kw_only"]
        fields[name] = field
    return fields


def _is_stored(field: Any) -> bool:
    kinds: Any = dataclasses
    return field._field_type is kinds._FIELD


def _wanted(own: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """Return the names of the methods that `dataclasses` would generate."""
    wanted = [name for name in ("init", "repr", "eq") if options[name] and f"__{name}__" not in own]
    has_hash = options["eq"] and options["frozen"] and not _has_hash(own)
    return [*(f"__{name}__" for name in wanted), *(("__hash__",) if has_hash else ())]


def _has_hash(own: Mapping[str, Any]) -> bool:
    # A class that defines `__eq__` gets the hash None from Python.
    return "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)


def _params(options: Mapping[str, Any]) -> Any:
    """Return what `dataclasses` says about the options of a class; the members differ between versions of Python."""
    key = tuple(options.values())
    if key not in _known_params:
        probe: Any = _original(type("Probe", (), {"__doc__": "A class."}), init=False, repr=False, eq=False)
        _known_params[key] = params = probe.__dataclass_params__
        for name, value in options.items():
            if hasattr(params, name):
                setattr(params, name, value)
    return _known_params[key]


_known_params: dict[tuple[Any, ...], Any] = {}


def _completed(
    cls: type, own: dict[str, Any], added: dict[str, Any], names: list[str], options: Mapping[str, Any]
) -> type:
    """Add the attributes to the class. With slots, this makes another class, as Python needs it."""
    given = added["__dataclass_fields__"].items()
    defaults = {name: field.default for name, field in given if isinstance(own.get(name), dataclasses.Field)}
    if not options["slots"]:
        for name, value in added.items():
            setattr(cls, name, value)
        for name, value in defaults.items():
            if value is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value)
        abc.update_abstractmethods(cls)
        return cls
    inherited = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    own.update({name: value for name, value in defaults.items() if value is not MISSING})
    for name in (*names, "__dict__", "__weakref__"):
        own.pop(name, None)
    own.update(added, __slots__=tuple(name for name in names if name not in inherited))
    if options["frozen"]:
        states: Any = dataclasses
        own.setdefault("__getstate__", states._dataclass_getstate)
        own.setdefault("__setstate__", states._dataclass_setstate)
    made: type = type(cls)(cls.__name__, cls.__bases__, own)
    made.__qualname__ = cls.__qualname__
    abc.update_abstractmethods(made)
    return made


def _refusals(late: _LateMethods, names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the methods of a frozen class that refuse to change its fields."""

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is late.cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(late.cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is late.cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(late.cls, self).__delattr__(name)

    return __setattr__, __delattr__


class _LateMethods:
    """The methods of a dataclass that are generated when they are called. `made` has those that were."""

    __slots__ = ("_filled", "_options", "cls", "made")

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._filled = 0
        self.cls: Any = None
        self.made: dict[str, Callable[..., Any]] = {}

    def stub(self, name: str) -> FunctionType:
        """Return a method that generates the real one at its first call, or after the first few for `__init__`."""

        def late(self_: Any, /, *values: Any, **named: Any) -> Any:
            if name == "__init__" and self._filled < FEW and self._fill(self_, values, {**named}):
                return None
            return self.method(name)(self_, *values, **named)

        assert isinstance(late, FunctionType)
        late.__name__ = name
        return late

    def method(self, name: str) -> Callable[..., Any]:
        """Return the generated method, which then also is the one of the class."""
        if name not in self.made:
            self.made[name] = self._generated(name)
            setattr(self.cls, name, self.made[name])
        return self.made[name]

    def _generated(self, name: str) -> Callable[..., Any]:
        source, used = _SOURCES[name](self.cls, self._options)
        found: dict[str, Any] = {}
        exec(source, used, found)
        method: Callable[..., Any] = found[name]
        method.__module__, method.__qualname__ = self.cls.__module__, f"{self.cls.__qualname__}.{name}"
        return reprlib.recursive_repr()(method) if name == "__repr__" else method

    def _fill(self, instance: Any, values: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Do what `__init__` would do. Returns False, and does nothing, if that is anything but to set each field."""
        self._filled += 1
        found, taken = [], 0
        for name, field in self.cls.__dataclass_fields__.items():
            if not _is_stored(field):
                continue
            if not field.init:
                return False
            if taken < len(values) and not field.kw_only:
                value = values[taken]
                taken += 1
            elif name in named:
                value = named.pop(name)
            elif (value := field.default) is MISSING:
                if field.default_factory is MISSING:
                    return False
                value = field.default_factory()
            found.append((name, value))
        if taken < len(values) or named:
            return False
        put = object.__setattr__ if self._options["frozen"] else setattr
        for name, value in found:
            put(instance, name, value)
        if hasattr(instance, "__post_init__"):
            instance.__post_init__()
        return True


_Source: TypeAlias = tuple[str, dict[str, Any]]
"""The source of a method, and the global names that it uses."""


def _init(cls: Any, options: Mapping[str, Any]) -> _Source:
    fields = [field for field in cls.__dataclass_fields__.values() if _is_stored(field)]
    self = "__dataclass_self__" if "self" in cls.__dataclass_fields__ else "self"
    used: dict[str, Any] = {"_put": object.__setattr__, "_unset": MISSING}
    by_position: list[str] = []
    by_name: list[str] = []
    body = ["pass"]
    for field in fields:
        value = name = field.name
        makes = field.default_factory is not MISSING
        if makes or field.default is not MISSING:
            used[f"_of_{name}"] = field.default_factory if makes else field.default
        if field.init:
            default = "=_unset" if makes else f"=_of_{name}" if field.default is not MISSING else ""
            (by_name if field.kw_only else by_position).append(name + default)
            value = f"_of_{name}() if {name} is _unset else {name}" if makes else name
        elif makes or (options["slots"] and field.default is not MISSING):
            value = f"_of_{name}()" if makes else f"_of_{name}"
        else:
            continue
        body.append(f"_put({self}, {name!r}, {value})" if options["frozen"] else f"{self}.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(f"{self}.__post_init__()")
    parameters = ", ".join([self, *by_position, *(["*", *by_name] if by_name else ())])
    return f"def __init__({parameters}):\n " + "\n ".join(body), used


def _repr(cls: Any, _options: Mapping[str, Any]) -> _Source:
    names = [it.name for it in cls.__dataclass_fields__.values() if _is_stored(it) and it.repr]
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name in names)
    return f"def __repr__(self): return f'{{self.__class__.__qualname__}}({shown})'", {}


def _eq(cls: Any, _options: Mapping[str, Any]) -> _Source:
    names = [it.name for it in cls.__dataclass_fields__.values() if _is_stored(it) and it.compare]
    ours, theirs = ("".join(f"{it}.{name}," for name in names) for it in ("self", "other"))
    equal = f"({ours}) == ({theirs})"
    source = f"return {equal} if other.__class__ is self.__class__ else NotImplemented"
    return f"def __eq__(self, other): {source}", {}


def _hash(cls: Any, _options: Mapping[str, Any]) -> _Source:
    fields = [it for it in cls.__dataclass_fields__.values() if _is_stored(it)]
    names = [it.name for it in fields if (it.compare if it.hash is None else it.hash)]
    return f"def __hash__(self): return hash(({''.join(f'self.{name},' for name in names)}))", {}


_SOURCES = {"__init__": _init, "__repr__": _repr, "__eq__": _eq, "__hash__": _hash}
