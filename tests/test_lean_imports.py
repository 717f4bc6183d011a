"""Types and methods that the server's process defers behave like the originals once they are used."""

from __future__ import annotations

import os
import re
import subprocess
import sys

LEAN = "from agent_ls.lean_imports import make_lean; make_lean(); "

DESCRIBE = """
import attrs, inspect
from lsprotocol import types
from agent_ls.server.transport.jsonrpc import plain_converter

converter = plain_converter()
for name, cls in sorted(types.ALL_TYPES_MAP.items()):
    if isinstance(cls, type) and attrs.has(cls):
        own = {key for key in vars(cls) if callable(vars(cls)[key])} - {"__getstate__", "__setstate__"}
        print(name, inspect.signature(cls), sorted(own), cls.__hash__, cls.__match_args__, cls.__doc__)
        for field in attrs.fields(cls):
            print("   ", field.name, field.alias, field.type, field.default, field.eq, field.order, field.validator)

here = {"line": 1, "character": 2}
change = {"range": {"start": here, "end": here}, "text": "x"}
item = {"uri": "file:///a", "languageId": "text", "version": 1, "text": ""}
for method, params in (
    (types.TEXT_DOCUMENT_DID_OPEN, {"textDocument": item}),
    (types.TEXT_DOCUMENT_DID_CHANGE, {"textDocument": item, "contentChanges": [change, {"text": "y"}]}),
):
    cls = types.METHOD_TO_TYPES[method][0]
    message = converter.structure({"jsonrpc": "2.0", "method": method, "params": params}, cls)
    print(message, converter.unstructure(message), message == message)

position = types.Position(1, 2)
print(position == types.Position(1, 2), position < types.Position(1, 3), repr(position))
for wrong in (lambda: types.Position(1, -2), lambda: types.Position(1), lambda: types.Position(1, 2, later=3)):
    try:
        wrong()
    except (TypeError, ValueError) as error:
        print(type(error))
"""

RACE = """
import threading, attrs
from lsprotocol import types

classes = [cls for cls in types.ALL_TYPES_MAP.values() if isinstance(cls, type) and "__attrs_attrs__" in vars(cls)]
ready, failed = threading.Barrier(4), []

def use() -> None:
    ready.wait(30)
    for cls in classes:
        try:
            cls(nonsense=1)
        except TypeError as error:
            if "unexpected keyword argument 'nonsense'" not in str(error):
                failed.append(error)

threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(classes) > 500
print(failed)
"""

DATACLASSES = """
import copy, pickle
from dataclasses import InitVar, asdict, astuple, dataclass, field, fields, replace
from typing import ClassVar

@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2

@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = field(default="", repr=False)
    seen: list[int] = field(default_factory=list, compare=False)

@dataclass(order=True)
class Loose:
    "One that changes."
    size: int
    given: InitVar[int] = 0
    twice: int = field(init=False, default=0)

    def __post_init__(self, given: int) -> None:
        self.twice = 2 * given

@dataclass(kw_only=True, unsafe_hash=True)
class Child(Loose):
    inner: object = None

def show(work):
    try:
        print(repr(work()))
    except Exception as error:
        print(type(error).__name__, error)

@dataclass(frozen=True)
class Open:
    self: int = 0

@dataclass(frozen=True, eq=False)
class Slotted:
    __slots__ = ("kept",)
    kept: int

    def __init__(self, kept: int = 7) -> None:
        object.__setattr__(self, "kept", kept)

@dataclass(slots=True)
class Counted:
    counts: ClassVar[int] = 5
    size: "int" = 0
    kinds: "ClassVar[str]" = "some"

@dataclass(frozen=True, slots=True)
class Empty:
    def __repr__(self) -> str:
        return "empty"

@dataclass(slots=True)
class Late:
    a: int
    b: int = field(default=3, kw_only=True)
    c: int = field(default=0, hash=True)
    d: int = field(init=False, default=9)

class Plain(Named):
    def __init__(self) -> None:
        super().__init__(5, name="plain")

child = Child(size=1, given=4)
child.inner = child
for made in range(20):
    show(lambda: (Late(made), Named(made, seen=[made]), Open(made), Counted()))
for work in (
    lambda: Plain(), lambda: Plain() == Plain(), lambda: Named(5), lambda: Named(5, 3, "n") == Named(5, 3, "n", [1]),
    lambda: Point(1) == Named(1), lambda: Point(1) in {Point(1, 2)}, lambda: Point(), lambda: Point(1, z=2),
    lambda: setattr(Point(1), "x", 2), lambda: delattr(Named(1), "name"), lambda: setattr(Open(), "other", 2),
    lambda: delattr(Slotted(), "kept"), lambda: Slotted(3), lambda: Counted(2), lambda: Counted(kinds=3),
    lambda: Counted.kinds, lambda: Empty() == Empty(), lambda: Late(1, c=4), lambda: Late(1, 2), lambda: Late(1, d=2),
    lambda: getattr(copy, "replace", replace)(Named(1), y=5), lambda: Late(b=3, a=1, c=2),
    lambda: Late.__match_args__, lambda: Open.__dataclass_params__,
    lambda: child, lambda: hash(Child(size=1)) == hash(Child(size=1)), lambda: Loose(1) < Loose(2, 3),
    lambda: Loose(1, 4), lambda: Loose(1) < 3, lambda: sorted([Loose(2), Loose(1)]),
    lambda: hash(Loose(1)), lambda: Loose(2) >= Loose(1),
    lambda: replace(Named(1, name="a"), y=7), lambda: replace(Point(1), z=1), lambda: asdict(Named(1)),
    lambda: astuple(Point(1)), lambda: copy.deepcopy(Named(1)), lambda: pickle.loads(pickle.dumps(Named(1, 2, "c"))),
    lambda: [item.name for item in fields(Child)], lambda: Point.__match_args__, lambda: Loose.__doc__,
    lambda: Point.__init__.__qualname__, lambda: Point.__eq__.__name__, lambda: Named(1).__slots__,
):
    show(work)
    show(work)
"""

COUNT = """
import dataclasses, sys
import agent_ls.server.backend, agent_ls.server.server, agent_ls.server.assembly, agent_ls.server.create_manager
from agent_ls.server.transport.jsonrpc import plain_converter
from lsprotocol import types

plain_converter()
finished = [
    name
    for name, cls in types.ALL_TYPES_MAP.items()
    if isinstance(cls, type) and isinstance(vars(cls).get("__attrs_attrs__"), tuple)
]

ours = {
    value
    for name, module in tuple(sys.modules.items())
    for value in tuple(vars(module).values())
    if name.startswith("agent_ls.") and dataclasses.is_dataclass(value) and isinstance(value, type)
}
compiled = [cls for cls in ours if "__init__" in vars(cls) and vars(cls)["__init__"].__code__.co_name == "__init__"]
late = [name for name in sys.modules if name.startswith("agent_ls.server.channel.")]
features = [name for name in sys.modules if name.startswith("agent_ls.server.protocol.")]
print(len(finished), len(compiled), len(ours), "importlib.metadata" in sys.modules, *late, *features)
"""


SHAPES = """
import dataclasses, sys
import agent_ls.server.backend, agent_ls.server.server, agent_ls.server.assembly, agent_ls.server.create_manager
import agent_ls.library, agent_ls.headless.exec, agent_ls.acp.serving, agent_ls.batch.runner

seen = {}
for module in tuple(sys.modules.values()):
    for value in tuple(vars(module).values()):
        if isinstance(value, type) and "__dataclass_fields__" in vars(value):
            seen[value.__module__, value.__qualname__] = value
for name, cls in sorted(seen.items()):
    print(name, cls.__mro__, cls.__dataclass_params__, vars(cls).get("__match_args__"), vars(cls).get("__slots__"))
    print("  ", cls.__hash__ is None, sorted(getattr(cls, "__abstractmethods__", ())))
    print("  ", sorted(vars(cls).keys() - {"__doc__", "__annotations__"}))
    for it in cls.__dataclass_fields__.values():
        print("  ", it.name, it.type, it.default, it.default_factory, it.init, it.repr, it.hash, it.compare, it.kw_only)
        print("  ", it._field_type, it.metadata)
"""


def printed(program: str) -> str:
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, env=environ, check=False
    )
    assert not done.stderr
    return re.sub(r" at 0x[0-9a-f]+", "", done.stdout)


def test_deferred_lsp_types_equal_the_original_types_after_first_use() -> None:
    as_they_are, put_off = printed(DESCRIBE), printed(LEAN + DESCRIBE)
    assert len(as_they_are.splitlines()) > 2000
    assert put_off == as_they_are


def test_a_deferred_type_first_used_by_several_threads_is_complete_in_every_thread() -> None:
    assert printed(LEAN + RACE) == "[]\n"


def test_deferred_dataclass_methods_behave_like_the_originals_when_called() -> None:
    as_they_are, put_off = printed(DATACLASSES), printed(LEAN + DATACLASSES)
    assert "FrozenInstanceError" in as_they_are
    assert put_off == as_they_are


def test_all_deferred_dataclasses_have_the_shape_of_the_originals() -> None:
    as_they_are, put_off = printed(SHAPES), printed(LEAN + SHAPES)
    assert as_they_are.count("agent_ls.") > 600
    assert put_off == as_they_are


GENERATED = """
from agent_ls import lean_dataclasses
from dataclasses import dataclass

@dataclass(frozen=True, slots=True)
class Point:
    x: int

print([name for late, name in lean_dataclasses._deferred if late.cls is Point])
for number in range(lean_dataclasses.FEW):
    Point(number)
print(len(lean_dataclasses.built()))
print(Point(1) == Point(1), len(lean_dataclasses.built()))
"""


def test_a_class_with_few_instances_generates_no_method_that_is_not_called() -> None:
    forking = LEAN.replace("make_lean()", "make_lean(speaks_lsp=False, forks=True)")
    names = ["__init__", "__repr__", "__eq__", "__hash__"]
    deferred, after_few, after_more = printed(forking + GENERATED).splitlines()
    assert deferred == str(names)
    assert after_more == f"True {int(after_few) + 2}"


def test_a_server_start_builds_few_deferred_classes_and_reads_no_package_metadata() -> None:
    types_of_lsp, compiled, dataclasses, reads_metadata, *modules = printed(LEAN + COUNT).split()
    assert int(types_of_lsp) < 30
    assert int(dataclasses) > 300
    assert int(compiled) < 15
    assert reads_metadata == "False"
    messages = [
        f"agent_ls.server.protocol.{name}" for name in ("base", "sessions", "inputs", "review", "turns")
    ]
    assert sorted(modules) == sorted(["agent_ls.server.channel.switch", *messages])


EDITS = """
import sys, anyio
import agent_ls.server.backend, agent_ls.server.server, agent_ls.server.assembly, agent_ls.server.create_manager
from agent_ls.llm.client import Client
from agent_ls.services.models.service import make_profile
from agent_ls.services.models.warm_up import FOR_EDITS, warm_up

def imported():
    return sorted(name for name in sys.modules if name in FOR_EDITS or name.startswith("agent_ls.patch.v4a"))

make_profile("anthropic", "").registry.definitions()
print(imported())
anyio.run(warm_up, Client({}), "anthropic", "", anyio.lowlevel.checkpoint)
print(set(FOR_EDITS) <= set(imported()))
"""


def test_what_only_edits_need_is_imported_after_the_first_request_and_before_the_first_edit() -> None:
    assert printed(LEAN + EDITS) == "[]\nTrue\n"


BEFORE_A_REQUEST = """
import sys
import agent_ls.server.backend, agent_ls.server.server, agent_ls.server.assembly, agent_ls.server.create_manager
import agent_ls.headless.exec, agent_ls.llm.http.direct
from agent_ls.services.models.service import make_profile

make_profile("anthropic", "").registry.definitions()
late = ("email", "tomllib", "httpx", "httpx2", "yaml", "sqlite3", "importlib.metadata")
print([name for name in late if name in sys.modules])
"""


def test_a_request_needs_no_parser_of_dates_or_tables_and_no_second_http_client() -> None:
    assert printed(LEAN + BEFORE_A_REQUEST) == "[]\n"


SETTINGS = """
from agent_ls.services.settings import model
from agent_ls.mcp import entry

settings, problems = model.parse_settings({"mcp": {"servers": {"one": {"command": "x"}}}})
print(settings.mcp.servers["one"].tools, problems)
for module in (model, entry):
    for cls in vars(module).values():
        if isinstance(cls, type) and issubclass(cls, model.BaseModel) and cls.__pydantic_complete__:
            print(cls.__name__)
"""


def test_reading_the_settings_builds_one_validator() -> None:
    assert printed(SETTINGS).splitlines() == ["allow=[] deny=[] []", "Settings"]


# Possible changes in other releases: other private names in dataclasses, attrs classes that are not finished in place.
OTHERS = """
import attrs, dataclasses, sys, types
define = attrs.define
def other_define(cls=None, **options):
    if options.pop("slots", True) is False:
        raise TypeError("no such option")
    return define(cls, **options)
attrs.define = other_define
class Other(types.ModuleType):
    def __getattribute__(self, name):
        if name == "_FIELD":
            raise AttributeError(name)
        return super().__getattribute__(name)
dataclasses.__class__ = Other
"""


def test_with_unsupported_library_versions_no_types_are_deferred() -> None:
    check = """
import dataclasses
from lsprotocol import types
from agent_ls.server.transport.jsonrpc import plain_converter
print(dataclasses.dataclass.__module__, isinstance(vars(types.Position)["__attrs_attrs__"], tuple))
print(plain_converter().structure({"line": 1, "character": 2}, types.Position))
"""
    assert printed(OTHERS + LEAN + check) == "dataclasses True\n1:2\n"
    assert printed(LEAN + check) == "agent_ls.lean_dataclasses True\n1:2\n"
