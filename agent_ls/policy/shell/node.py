"""Pure: recognize calls of node that only print: facts about node, and values of JSON files of the project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

NAMES = frozenset(("node",))
_ENDINGS = (".js", ".json", ".node", "/index.js", "/index.json", "/index.node", "/package.json")
"""With one of these, a name is a file that node would run or read if there is no file with the name itself."""

MAX_CHARS = 2_000
_TOKEN = re.compile(
    r"""\s*(?: (?P<fact>process\.(?:version|versions|platform|arch|execPath|release|cwd\(\))(?![\w])
        |new\ Date\(\)|Date\.now\(\))
    | require\((?P<quote>['"])\./(?P<file>(?:[\w-]+/)*[\w.-]+\.json)(?P=quote)\)
    | (?:JSON\.parse\()? require\((['"])(?:node:)?fs\4\)\.(?:readFileSync|readdirSync|existsSync)
        \((['"])(?P<text>[\w./-]+)\5
        (?:,\s*(['"])utf-?8\7)?\)\)?
    | (?P<call>(?:console\.log|JSON\.stringify|Object\.(?:keys|values|entries)|String|Number)\()
    | (?P<value>\d+(?:\.\d+)?|'[^'\\\n]*'|"[^"\\\n]*"|null|true|false)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>\?\.|[-+*/%.,;()\[\]=]) )""",
    re.VERBOSE,
)
_METHODS = frozenset(
    "toISOString getTime join slice sort reverse includes indexOf toFixed toString trim split concat flat".split()
)
"""Methods of lists and texts. They call none of their arguments, which are no functions."""


class _DoubtError(Exception):
    """The code may do more than to print."""


class _Code:
    """A reader of code that consists of values, their parts, harmless calls, and constants."""

    def __init__(self, code: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self.files: list[str] = []
        self._names: set[str] = set()
        at = 0
        code = code.rstrip()
        while at < len(code):
            found = _TOKEN.match(code, at)
            if found is None:
                raise _DoubtError
            kind = next(it for it in ("fact", "file", "text", "call", "value", "name", "sign") if found[it])
            self._tokens.append((kind, found[kind]))
            at = found.end()

    def statements(self) -> None:
        while self._tokens:
            if self._next() in (("name", "const"), ("name", "let"), ("name", "var")):
                self._take()
                kind, name = self._take()
                self._require(kind == "name" and name not in _RESERVED and self._take() == ("sign", "="))
                self._expression()
                self._names.add(name)
            else:
                self._require(self._next() == ("call", "console.log("))
                self._expression()
            self._require(not self._tokens or self._take() == ("sign", ";"))

    def value(self) -> None:
        self._expression()
        while self._tokens:
            self._require(self._take() == ("sign", ";"))

    def _expression(self) -> None:
        self._operand()
        while self._next() in [("sign", it) for it in "+-*/%"]:
            self._take()
            self._operand()

    def _operand(self) -> None:
        kind, text = self._take()
        if kind in ("file", "text"):
            self.files.append(text)
        elif kind == "call":
            self._list(")")
        elif (kind, text) == ("sign", "("):
            self._expression()
            self._require(self._take() == ("sign", ")"))
        elif (kind, text) == ("sign", "["):
            self._list("]")
        else:
            self._require(kind in ("fact", "value") or text in self._names)
        self._parts()

    def _parts(self) -> None:
        while self._next() in [("sign", "."), ("sign", "?."), ("sign", "[")]:
            if self._take()[1] == "[":
                self._expression()
                self._require(self._take() == ("sign", "]"))
                self._require(self._next() != ("sign", "("))
                continue
            kind, name = self._take()
            self._require(kind == "name")
            if self._next() == ("sign", "("):
                self._require(name in _METHODS)
                self._take()
                self._list(")")

    def _list(self, end: str) -> None:
        while self._next() != ("sign", end):
            self._expression()
            self._require(self._next() in (("sign", ","), ("sign", end)))
            if self._next() == ("sign", ","):
                self._take()
        self._take()
        self._require(self._next() != ("sign", "("))

    def _next(self) -> tuple[str, str]:
        return self._tokens[0] if self._tokens else ("", "")

    def _take(self) -> tuple[str, str]:
        self._require(bool(self._tokens))
        return self._tokens.pop(0)

    def _require(self, is_certain: bool) -> None:
        if not is_certain:
            raise _DoubtError


_RESERVED = frozenset(
    "process require console JSON Object String Number module exports global globalThis".split()
)


@lru_cache(maxsize=256)
def _files(is_printed: bool, code: str) -> tuple[str, ...] | None:
    if len(code) > MAX_CHARS or not code.replace("\n", "").isprintable():
        return None
    try:
        read = _Code(code)
        if is_printed:
            read.value()
        else:
            read.statements()
    except (_DoubtError, RecursionError):
        return None
    return tuple(dict.fromkeys(read.files))


def files_of_code(arguments: Sequence[str]) -> tuple[str, ...] | None:
    """Return the files that the code in the words after `node` reads; None if it may do more than to print."""
    if len(arguments) != 2 or arguments[0] not in ("-e", "--eval", "-p", "--print", "-pe"):
        return None
    return _files(arguments[0] not in ("-e", "--eval"), arguments[1])


def replacing(files: Sequence[str]) -> tuple[str, ...]:
    """Return the names of files that node may run in place of those that the code reads."""
    return tuple(f"{name}{ending}" for name in files for ending in _ENDINGS)
