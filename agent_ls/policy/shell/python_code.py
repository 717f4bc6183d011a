"""Pure: recognize python code that only computes and prints, and find the files that it reads.

Code is read-only only if each node of its syntax tree, each name and each attribute is on a list of harmless ones. No
module is ever a value, and a function that opens a file is called only with a literal path, so no expression can reach
another function or file.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from functools import cache, lru_cache

from agent_ls.package_files import read_package_file
from agent_ls.patterns import regex
from agent_ls.policy.shell.python_paths import Listed, ListedPaths

MAX_CHARS = 4_000

_NODES = (
    ast.Module, ast.Expr, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.With, ast.withitem, ast.Pass,
    ast.Break, ast.Continue, ast.Import, ast.ImportFrom, ast.alias, ast.expr_context, ast.boolop, ast.operator,
    ast.unaryop, ast.cmpop, ast.comprehension, ast.keyword, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.Lambda, ast.arguments, ast.arg, ast.IfExp, ast.Dict, ast.Set, ast.List, ast.Tuple, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp, ast.Compare, ast.Call, ast.FormattedValue, ast.JoinedStr, ast.Constant,
    ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.Slice, ast.FunctionDef, ast.Return, ast.Try,
    ast.ExceptHandler, ast.Assert,
)  # fmt: skip
_BUILTINS = frozenset(
    "print len sum min max sorted reversed enumerate zip map filter range list dict set tuple str int float bool bytes "
    "abs round any all ord chr hex oct bin repr ascii isinstance divmod pow next iter frozenset complex format dir "
    "exit Exception ValueError KeyError IndexError TypeError OSError FileNotFoundError ImportError".split()
)
_BUILTINS_OF_OTHERS = frozenset("apply buffer execfile file input intern raw_input reload unicode".split())
"""Functions of python 2, which a line must not use by a name that it also sets."""
_OPTIONS_OF_OPEN = frozenset(("mode", "encoding", "errors", "newline"))


class _DoubtError(Exception):
    """The code may do more than to compute and to print."""


@cache
def _table() -> dict[str, frozenset[str]]:
    import tomllib  # imported late: few commands have code

    rows = tomllib.loads(read_package_file("agent_ls.policy.shell", "python_code.toml"))
    return {name: frozenset(text.split()) for name, text in rows.items()}


_LISTING = frozenset(("glob", "rglob", "iterdir"))
_CHANGES_PATH = frozenset(("replace", "copy"))
"""Methods of texts and lists that, for a path, write a file."""
_BELOW = regex(r"(?!/)(?!.*\.\.)[\w.*?/\[\]-]+")
_PATH = regex(r"[^~\x00-\x1f][^\x00-\x1f]{0,500}")
_COOKIE = regex(r"#.*coding")
"""A comment that may make python decode the code in another way."""


def read_paths(code: str) -> tuple[str, ...] | None:
    """Return the paths of the files and folders that the code reads, None if it may do more than to print.

    Files that it reads after it has listed them are left out.
    """
    reads = _reads(code)
    return None if reads is None else reads[0]


def read_listed(code: str) -> tuple[Listed, ...]:
    """Return which files the code reads after it has listed them, () also for code that may do more than to print."""
    return (_reads(code) or ((), ()))[1]


@lru_cache(maxsize=256)
def _reads(code: str) -> tuple[tuple[str, ...], tuple[Listed, ...]] | None:
    is_text = code.translate({9: None, 10: None}).isprintable()
    if len(code) > MAX_CHARS or not is_text or _COOKIE.search(code):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
        read = _Code(tree)
        return read.paths(), read.listed()
    except (_DoubtError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Code:
    """A syntax tree that is checked: the names that it imports and sets, its calls, and the parent of each node."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._imported: dict[str, str] = {}
        self._set: set[str] = set()
        self._parents = {id(it): node for node in self._nodes for it in ast.iter_child_nodes(node)}
        self._found: list[str] = []
        self._listed: list[Listed] = []
        self._lists_paths = False

    def paths(self) -> tuple[str, ...]:
        _require(all(isinstance(node, _NODES) for node in self._nodes))
        for node in self._nodes:
            self._note_names(node)
        self._variables = ListedPaths(self._nodes, self._parents, self._dotted)  # after the imports are known
        others = self._imported.keys() | set(dir(builtins)) | _BUILTINS_OF_OTHERS
        _require(not self._set & others and not any(name.startswith("__") for name in self._set))
        for node in self._nodes:
            self._check(node)
        if self._lists_paths:
            attributes = {node.attr for node in self._nodes if isinstance(node, ast.Attribute)}
            _require(not attributes & _CHANGES_PATH)
            _require(not any(isinstance(node, ast.Div) for node in self._nodes))  # it makes other paths
        return tuple(dict.fromkeys(self._found))

    def listed(self) -> tuple[Listed, ...]:
        return tuple(dict.fromkeys(self._listed))

    def _note_names(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for it in names:
                    _require(it.name in _table()["modules"])
                    self._bind(it.asname or it.name.partition(".")[0], it.name if it.asname else "")
            case ast.ImportFrom(module=module, names=names, level=level):
                for it in names:
                    _require(module in _table()["modules"] and level == 0 and it.name != "*")
                    self._bind(it.asname or it.name, f"{module}.{it.name}")
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                self._set.add(name)
            case ast.ExceptHandler(name=str(name)):
                self._set.add(name)

    def _bind(self, name: str, dotted: str) -> None:
        dotted = dotted or name
        _require(self._imported.get(name, dotted) == dotted and name not in dir(builtins))
        self._imported[name] = dotted

    def _check(self, node: ast.AST) -> None:
        """Check what a node reads or sets. A value of the code is never a module, nor a function with an effect."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Del):
            raise _DoubtError
        match node:
            case ast.Attribute(ctx=ast.Store()):
                raise _DoubtError
            case ast.Name(ctx=ast.Load()) | ast.Attribute():
                name = self._dotted(node)
                if name in _table()["reading"]:
                    self._note_read(node, name)
                elif name in _table()["shown"]:
                    _require(self._is_shown(node))
                elif name:  # the beginning of a longer name, such as `os` of `os.getcwd`, is no value
                    _require(name in _table()["facts"] or isinstance(self._parents[id(node)], ast.Attribute))
                elif isinstance(node, ast.Name):
                    is_type = node.id == "type" and self._is_kind_printed(node)
                    _require(node.id in self._set or node.id in _BUILTINS or is_type)
                elif node.attr == "__name__":
                    _require(isinstance(node.value, ast.Call) and self._is_type(node.value))
                elif node.attr in _LISTING and self._is_path(node.value):
                    self._note_listing(node)
                elif node.attr in _table()["of_listed"] and isinstance(node.value, ast.Name):
                    self._note_element(node.value)
                else:
                    _require(node.attr in _table()["of_path" if self._is_path(node.value) else "methods"])

    def _dotted(self, node: ast.expr) -> str:
        """Return the full name of what an import has bound, or of `open`; "" for other expressions."""
        match node:
            case ast.Name(id="open"):
                return "open"
            case ast.Name(id=name):
                return self._imported.get(name, "")
            case ast.Attribute(value=value, attr=attr) if outer := self._dotted(value):
                name = f"{outer}.{attr}"
                is_listed = any(name in _table()[kind] for kind in ("facts", "reading", "shown", "modules"))
                # after a fact comes a method of its value
                return name if is_listed or outer not in _table()["facts"] else ""
        return ""

    def _is_path(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._dotted(node.func) == "pathlib.Path"

    def _is_type(self, call: ast.expr) -> bool:
        return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "type"

    def _is_kind_printed(self, node: ast.Name) -> bool:
        """Return whether `type(x)` is only printed, or its name used. A type as a value could make other objects."""
        call = self._parents[id(node)]
        if not (
            isinstance(call, ast.Call) and call.func is node and len(call.args) == 1 and not call.keywords
        ):
            return False
        match self._parents[id(call)]:
            case ast.Call(func=ast.Name(id="print")) | ast.FormattedValue() | ast.Attribute(attr="__name__"):
                return True
        return False

    def _note_listing(self, node: ast.Attribute) -> None:
        """Require that a method such as `Path("src").glob("*.py")` lists only files below the folder."""
        call = self._parents[id(node)]
        _require(isinstance(call, ast.Call) and call.func is node and not call.keywords)
        assert isinstance(call, ast.Call)
        patterns = [it.value for it in call.args if isinstance(it, ast.Constant)]
        _require(len(patterns) == len(call.args) == (0 if node.attr == "iterdir" else 1))
        _require(all(isinstance(it, str) and _BELOW.fullmatch(it) for it in patterns))
        self._lists_paths = True

    def _is_shown(self, node: ast.expr) -> bool:
        """Return whether a list, which the code must not change, is only printed or gone through."""
        match self._parents[id(node)]:
            case ast.Call(func=ast.Name(id="print")) | ast.Call(func=ast.Attribute(attr="join")):
                return True
            case ast.For(iter=it) | ast.comprehension(iter=it):
                return it is node
        return False

    def _note_read(self, node: ast.expr, name: str) -> None:
        """Note the path of a call such as `open("a.txt")`. Such a function is never a value."""
        call = self._parents[id(node)]
        if not isinstance(call, ast.Call) or call.func is not node:
            raise _DoubtError
        options = {it.arg: it.value for it in call.keywords}
        known = {"open": _OPTIONS_OF_OPEN, "glob.glob": frozenset(("recursive",))}.get(name, frozenset[str]())
        _require(options.keys() <= known)
        _require(len(call.args) in ((1, 2) if name == "open" else (1,)))
        mode = options.get("mode", call.args[1] if len(call.args) == 2 else ast.Constant("r"))
        _require(isinstance(mode, ast.Constant) and mode.value in ("r", "rb", "rt"))
        _require(name != "os.walk" or self._variables.keeps_folders(call))
        match call.args[0]:
            case ast.Constant(value=str(path)) if _PATH.fullmatch(path):
                self._found.append(path)
            case path if name not in ("pathlib.Path", "glob.glob", "os.walk", "os.listdir", "os.scandir"):
                self._note_element(path)
            case _:
                raise _DoubtError
        is_method = isinstance(parent := self._parents[id(call)], ast.Attribute) and parent.value is call
        _require(is_method or name != "pathlib.Path")  # some methods of a path write

    def _note_element(self, path: ast.expr) -> None:
        """Note that the code reads paths that it has listed."""
        found = self._variables.element(path)
        _require(bool(found))
        self._listed += found


def _require(is_certain: bool) -> None:
    if not is_certain:
        raise _DoubtError
