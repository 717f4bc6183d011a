"""Pure: recognize calls of node that only print: facts about node, and values of JSON files of the project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from agent_ls.patterns import regex
from agent_ls.policy.named_places import LINKED

NAMES = frozenset(("node",))
_ENDINGS = (".js", ".json", ".node", "/index.js", "/index.json", "/index.node", "/package.json")
"""With one of these, a name is a file that node would run or read if there is no file with the name itself."""

MAX_CHARS = 2_000
MAX_DEPTH = 40
_TOKEN = regex(
    r"""\s*(?: (?P<fact>process\.(?:version|versions|platform|arch|execPath|release|cwd\(\))(?![\w])
        |Date\.now\(\)|Math\.PI\b)
    | require\((?P<quote>['"])\./(?P<file>(?:[\w-]+/)*[\w.-]+\.json)(?P=quote)\)
    | (?P<fs>require\((['"])(?:node:)?fs\5\)|fs)\.(?:readFileSync|readdirSync|existsSync)
        \((?:(?P<stdin>0|'/dev/stdin')|(['"])(?P<text>[\w./-]+)\7)
        (?:,\s*(['"])utf-?8\9)?\)
    | (?P<module>require\((['"])(?:node:)?fs\11\))
    | (?P<call>(?:console\.(?:log|error|table)|JSON\.(?:stringify|parse)|Object\.(?:keys|values|entries)|String|Number
        |Boolean|parseInt|parseFloat|Array\.(?:isArray|from)|Math\.(?:max|min|round|floor|ceil|abs|sqrt|pow|trunc)
        |Buffer\.from|encodeURIComponent|decodeURIComponent|new\ (?:Date|Set))\()
    | (?P<value>\d+(?:\.\d+)?(?![\w.])|'(?:[^'\\\n]|\\[nrt\\'"])*'|"(?:[^"\\\n]|\\[nrt\\'"])*"
        |(?:null|true|false|undefined)\b)
    | (?P<template>`(?:[^`\\$]|\$(?!\{)|\$\{[^{}`]*\})*`)
    | (?P<regex>(?<=\()/(?![*/])(?:[^\\/\[\n]|\\.|\[(?:[^\\\]\n]|\\.)*\])+/[dgimsu]*(?=\s*[,)]))
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>=>|\.\.\.|[!=]==?|[<>]=?|&&|\|\||\?\?|\+\+|\+=|\?\.(?!\d)|[-+*/%.,;:?!()\[\]{}=]) )""",
    re.VERBOSE,
)
_KINDS = ("fact", "file", "text", "stdin", "module", "call", "value", "template", "regex", "name", "sign")
_PART = regex(r"\$\{([^{}`]*)\}")
_HIDES = regex("<!--|-->")
"""The start of a comment for node, in scripts of the web."""
_METHODS = frozenset(
    "toISOString getTime join slice reverse includes indexOf lastIndexOf toFixed toString trim trimEnd trimStart split "
    "concat flat repeat padStart padEnd startsWith endsWith toLowerCase toUpperCase at charAt charCodeAt substring "
    "keys values entries has localeCompare getFullYear toLocaleString match search".split()
)
"""Methods of lists and texts. They call none of their arguments, which are no functions."""
_WITH_FUNCTION = frozenset("map filter forEach some every find findIndex reduce sort flatMap".split())
"""Methods that call their first argument, which must be a function that the code writes there."""
_BINARY = frozenset("+ - * / % === !== == != < > <= >= && || ??".split())
_DECLARES = frozenset(("const", "let", "var"))
_RESERVED = frozenset(
    "process require console JSON Object String Number Boolean Array Math Buffer Date Set module exports global "
    "globalThis fs parseInt parseFloat encodeURIComponent decodeURIComponent undefined null true false typeof return "
    "if else for of in new const let var function class this super yield await async import export delete void while "
    "do switch case break continue throw try catch finally with debugger instanceof default extends static get set "
    "eval arguments toString valueOf toJSON then constructor prototype __proto__".split()
)
"""Words that the code must not use as names of its own, or of parts of an object that it writes."""


class _DoubtError(Exception):
    """The code may do more than to print."""


class _Code:
    """A reader of code that consists of values, their parts, harmless calls, constants, loops and functions of these.

    Values are data, and functions that the code can reach are never called with them, except those of `_METHODS`.
    """

    def __init__(self, code: str, names: frozenset[str] = frozenset()) -> None:
        self._tokens: list[tuple[str, str]] = []
        self.files: list[str] = []
        self._names = set(names)
        self._reads_by_name = False
        self._has_module = False
        self._depth = 0
        at = 0
        code = code.rstrip()
        while at < len(code):
            found = _TOKEN.match(code, at)
            if found is None:
                raise _DoubtError
            self._reads_by_name |= found["fs"] == "fs"
            kind = next(it for it in _KINDS if found[it])
            self._tokens.append((kind, found[kind]))
            at = found.end()
        self._tokens.reverse()

    def statements(self) -> None:
        while self._tokens:
            self._statement()
        self._require(self._has_module or not self._reads_by_name)

    def value(self) -> None:
        self._expression()
        while self._tokens:
            self._expect(";")
        self._require(not self._reads_by_name)

    def _statement(self) -> None:
        self._enter()
        kind, text = self._next()
        if text in _DECLARES and kind == "name":
            self._take()
            self._declaration()
        elif (kind, text) == ("sign", "{"):
            self._block()
        elif (kind, text) in (("name", "if"), ("name", "for")):
            self._controlled()
        else:
            if (kind, text) == ("name", "return"):
                self._take()
            self._expression()
            self._end()
        self._depth -= 1

    def _end(self) -> None:
        """Read the end of a statement. Node inserts a missing `;` before these words, or refuses to run the code."""
        if not self._is(";"):
            kind, text = self._next()
            starts = (
                kind == "" or text in ("}", "if", "for", "return", *_DECLARES) or text.startswith("console.")
            )
            self._require(starts)

    def _block(self) -> None:
        outer = set(self._names)
        self._expect("{")
        while not self._is("}"):
            self._statement()
        self._names = outer

    def _declaration(self) -> None:
        names = self._pattern()
        self._expect("=")
        if self._next()[0] == "module":
            self._require(names == ["fs"])
            self._take()
            self._has_module = True
        else:
            self._expression()
            self._require("fs" not in names)
            self._names.update(names)
        self._end()

    def _pattern(self) -> list[str]:
        """Read a name, or several as in `[a, b]` and `{a, b}`."""
        for start, end in ("[]", "{}"):
            if self._is(start):
                names = [self._name()]
                while self._is(","):
                    names.append(self._name())
                self._expect(end)
                return names
        return ["fs" if self._is_name("fs") else self._name()]

    def _controlled(self) -> None:
        is_loop = self._take()[1] == "for"
        outer = set(self._names)
        self._expect("(")
        if is_loop:
            self._require(self._take() in {("name", it) for it in _DECLARES})
            names = self._pattern()
            self._require("fs" not in names and self._take() in (("name", "of"), ("name", "in")))
            self._names.update(names)
        self._expression()
        self._expect(")")
        self._statement()
        if not is_loop and self._is_name("else"):
            self._statement()
        self._names = outer

    def _expression(self) -> None:
        self._enter()
        self._operand()
        while self._next()[0] == "sign" and self._next()[1] in _BINARY:
            self._take()
            self._operand()
        if self._is("?"):
            self._expression()
            self._expect(":")
            self._expression()
        self._depth -= 1

    def _operand(self) -> None:
        while self._is("!") or self._is("-") or self._is_name("typeof"):
            pass
        kind, text = self._take()
        if kind in ("file", "text"):
            self.files.append(text)
        elif kind == "call":
            self._call(text)
        elif kind == "template":
            self._template(text)
        elif (kind, text) == ("sign", "("):
            self._expression()
            self._expect(")")
        elif (kind, text) == ("sign", "["):
            self._list("]")
        elif (kind, text) == ("sign", "{"):
            self._object()
        elif kind == "name":
            self._require(text in self._names)
            if self._is("++"):
                return
            if self._is("=") or self._is("+="):
                return self._expression()
        else:
            self._require(kind in ("fact", "value", "stdin", "regex"))
        self._parts()
        return None

    def _template(self, text: str) -> None:
        for part in _PART.findall(text):
            inner = _Code(part, frozenset(self._names))
            inner._depth = self._depth
            inner.value()
            self.files += inner.files

    def _object(self) -> None:
        while not self._is("}"):
            name = self._name()
            # with such a key, `x.map(…)` would call what the code has put there
            self._require(name not in _METHODS | _WITH_FUNCTION)
            if self._is(":"):
                self._expression()
            else:
                self._require(name in self._names)
            self._require(self._is(",") or self._next() == ("sign", "}"))

    def _parts(self) -> None:
        while self._next() in [("sign", "."), ("sign", "?."), ("sign", "[")]:
            if self._take()[1] == "[":
                self._expression()
                self._expect("]")
                self._require(self._next() != ("sign", "("))
                continue
            kind, name = self._take()
            self._require(kind == "name")
            if self._is("("):
                self._require(name in _METHODS | _WITH_FUNCTION)
                if name not in _WITH_FUNCTION:
                    self._list(")")
                elif not (name == "sort" and self._is(")")):
                    self._function()
                    self._require(self._is(")") or self._is(","))
                    if self._before == ",":
                        self._list(")")
                self._require(self._next() != ("sign", "("))

    def _function(self) -> None:
        """Read a function such as `x => x.name` or `([k, v]) => { … }`."""
        names: list[str] = []
        outer = set(self._names)
        if self._is("("):
            while not self._is(")"):
                names += self._pattern()
                self._require(self._is(",") or self._next() == ("sign", ")"))
        else:
            names.append(self._name())
        self._require("fs" not in names)
        self._names.update(names)
        self._expect("=>")
        if self._next() == ("sign", "{"):
            self._block()
        else:
            self._expression()
        self._names = outer

    def _list(self, end: str) -> list[tuple[str, str]]:
        """Read values with commas between them. Return the first token of each."""
        starts: list[tuple[str, str]] = []
        while not self._is(end):
            starts.append(self._next())
            self._is("...")
            self._expression()
            self._require(self._is(",") or self._next() == ("sign", end))
        self._require(self._next() != ("sign", "("))
        return starts

    def _call(self, name: str) -> None:
        """Read the arguments of a function of node. Those that it may call are left out."""
        values = self._list(")")
        if name in ("JSON.parse(", "Array.from("):
            self._require(len(values) == 1 and values[0] != ("sign", "..."))
        elif name == "JSON.stringify(":
            self._require(values[1:2] in ([], [("value", "null")]) and ("sign", "...") not in values)

    # -- tokens

    def _next(self) -> tuple[str, str]:
        return self._tokens[-1] if self._tokens else ("", "")

    def _take(self) -> tuple[str, str]:
        self._require(bool(self._tokens))
        return self._tokens.pop()

    def _is(self, sign: str) -> bool:
        """Go on after the next token, if it is this sign."""
        is_next = self._next() == ("sign", sign)
        if is_next:
            self._before = self._take()[1]
        return is_next

    def _is_name(self, name: str) -> bool:
        return self._next() == ("name", name) and bool(self._take())

    def _expect(self, sign: str) -> None:
        self._require(self._is(sign))

    def _name(self) -> str:
        kind, name = self._take()
        self._require(kind == "name" and name not in _RESERVED)
        return name

    def _enter(self) -> None:
        self._depth += 1
        self._require(self._depth <= MAX_DEPTH)

    def _require(self, is_certain: bool) -> None:
        if not is_certain:
            raise _DoubtError


@lru_cache(maxsize=256)
def _files(is_printed: bool, code: str) -> tuple[str, ...] | None:
    if len(code) > MAX_CHARS or not code.replace("\n", "").isprintable() or _HIDES.search(code):
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
    links = (f"{LINKED}{name}" for name in files if name.endswith(".json"))
    return (*(f"{name}{ending}" for name in files for ending in _ENDINGS), *links)
