"""Pure: find the variables of python code whose values are paths that python has listed below a folder.

Such a variable is set only by loops over `Path("src").rglob("*.py")`, `glob.glob("src/*.py")` or `os.walk("src")`. The
lists are not changed, so that no other path can get into them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

_COPIES = frozenset(("sorted", "list", "reversed", "set", "tuple"))
_ONLY_READ = frozenset("sorted list reversed set tuple len enumerate print sum min max any all".split())
_KEEPS = frozenset(("sort", "count", "index"))
"""Methods of lists that add nothing."""
MAX_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Listed:
    """The files of a folder whose names match a pattern; `is_deep`: also those in the folders below it."""

    folder: str
    pattern: str
    is_deep: bool


Role: TypeAlias = Literal["item", "value", "root", "folders", "files"]
Binder: TypeAlias = tuple[Role, ast.expr]


class ListedPaths:
    """The variables of code with what sets them. `dotted` returns the full name of what an import has bound."""

    def __init__(
        self, nodes: Sequence[ast.AST], parents: Mapping[int, ast.AST], dotted: Callable[[ast.expr], str]
    ) -> None:
        self._nodes, self._parents, self._dotted = nodes, parents, dotted
        self._binders: dict[str, list[Binder | None]] = {}
        self._depth = 0
        for node in nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    self._binders.setdefault(name, []).append(self._binder(node))
                case ast.FunctionDef(name=name) | ast.ExceptHandler(name=str(name)):
                    self._binders.setdefault(name, []).append(None)

    def _binder(self, node: ast.AST) -> Binder | None:
        match parent := self._parents[id(node)]:
            case ast.For(target=target, iter=it) | ast.comprehension(target=target, iter=it) if (
                target is node
            ):
                return "item", it
            case ast.Assign(targets=[target], value=value) if target is node:
                return "value", value
            case ast.Tuple(elts=elts) if isinstance(node, ast.expr):
                return self._binder_in_tuple(self._parents[id(parent)], parent, elts.index(node))
            case ast.arguments(args=[_], posonlyargs=[], kwonlyargs=[], vararg=None, kwarg=None, defaults=[]):
                return self._binder_of_key(parent)
        return None

    def _binder_in_tuple(self, loop: ast.AST, names: ast.Tuple, at: int) -> Binder | None:
        if not isinstance(loop, ast.For | ast.comprehension) or loop.target is not names:
            return None
        match loop.iter:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if (
                at == 1 and len(names.elts) == 2
            ):
                return "item", inner
            case ast.Call(func=func) if self._dotted(func) == "os.walk" and len(names.elts) == 3:
                roles: tuple[Role, ...] = ("root", "folders", "files")
                return roles[at], loop.iter
        return None

    def _binder_of_key(self, arguments: ast.AST) -> Binder | None:
        """Return what sets the argument of a function such as `sorted(paths, key=lambda path: path.name)`."""
        keyword = self._parents.get(id(self._parents[id(arguments)]))
        match keyword, self._parents.get(id(keyword)):
            case (
                ast.keyword(arg="key", value=ast.Lambda()),
                ast.Call(func=ast.Name(id="sorted" | "min" | "max"), args=[inner]),
            ):
                return "item", inner
        return None

    def element(self, node: ast.expr) -> tuple[Listed, ...]:
        """Return what lists the path that an expression is; () if it may be something else."""
        match node:
            case ast.Name(id=name):
                found: list[Listed] = []
                for binder in self._binders.get(name, [None]):
                    role, value = binder or ("", node)
                    listed = {"item": self.listing, "value": self._deeper}.get(role, _nothing)(value)
                    if not listed:
                        return ()
                    found += listed
                return tuple(found)
            case ast.Subscript(value=inner, slice=at) if not isinstance(at, ast.Slice):
                return self.listing(inner)
            case ast.Call(func=ast.Name(id="max" | "min" | "next"), args=[inner]):
                return self.listing(inner)
            case ast.Call(func=func, args=[ast.Name() as root, ast.Name() as name], keywords=[]):
                return self._joined(root, name) if self._dotted(func) == "os.path.join" else ()
        return ()

    def _deeper(self, node: ast.expr) -> tuple[Listed, ...]:
        self._depth += 1
        found = self.element(node) if self._depth < MAX_DEPTH else ()
        self._depth -= 1
        return found

    def _joined(self, root: ast.Name, name: ast.Name) -> tuple[Listed, ...]:
        """Return what lists `os.path.join(root, name)` in `for root, _, files in os.walk("src")`."""
        roots = self._binders.get(root.id, [])
        names = self._binders.get(name.id, [])
        walks = [it[1] for it in roots if it and it[0] == "root"]
        of_files = [it[1] for it in names if it and it[0] == "item"]
        are_files = all(map(self._are_files, of_files))
        if len(walks) < len(roots) or len(of_files) < len(names) or not are_files or not of_files:
            return ()
        folders = [_text(it) for it in walks]
        return tuple(Listed(it, "*", is_deep=True) for it in folders) if all(folders) else ()

    def _are_files(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                binders = self._binders.get(name, [None])
                return self.is_kept(name) and all(it and it[0] == "files" for it in binders)
            case ast.Call(func=ast.Name(id=name), args=[ast.Name() as inner]) if name in _COPIES:
                return self._are_files(inner)
        return False

    def listing(self, node: ast.expr) -> tuple[Listed, ...]:
        """Return what lists the paths that an expression yields; () if it may yield something else."""
        self._depth += 1
        found = self._listing(node) if self._depth < MAX_DEPTH else ()
        self._depth -= 1
        return found

    def _listing(self, node: ast.expr) -> tuple[Listed, ...]:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _COPIES:
                return self.listing(inner)
            case ast.Subscript(value=inner, slice=ast.Slice()):
                return self.listing(inner)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                both = self.listing(left), self.listing(right)
                return (*both[0], *both[1]) if all(both) else ()
            case ast.ListComp(elt=elt, generators=[loop]) | ast.GeneratorExp(elt=elt, generators=[loop]) if (
                isinstance(elt, ast.Name) and isinstance(loop.target, ast.Name) and elt.id == loop.target.id
            ):
                return self.listing(loop.iter)
            case ast.Call(func=ast.Attribute(value=ast.Call(func=func) as path, attr=attr)) if self._dotted(
                func
            ) == "pathlib.Path" and attr in ("glob", "rglob", "iterdir"):
                return _below(_text(path), "*" if attr == "iterdir" else _text(node), is_deep=attr == "rglob")
            case ast.Call(func=func) if self._dotted(func) == "os.scandir":
                return _below(_text(node), "*", is_deep=False)
            case ast.Call(func=func) if self._dotted(func) == "glob.glob":
                return _below(".", _text(node), is_deep=False)
            case ast.Name(id=name):
                match self._binders.get(name):
                    case [("value", value)] if self.is_kept(name):
                        return self.listing(value)
        return ()

    def is_kept(self, name: str) -> bool:
        """Return whether nothing adds to the list that a variable holds, nor passes the list on."""
        uses = [it for it in self._nodes if isinstance(it, ast.Name) and it.id == name]
        return all(isinstance(it.ctx, ast.Store) or self._only_reads(it) for it in uses)

    def _only_reads(self, node: ast.Name) -> bool:
        match parent := self._parents[id(node)]:
            case ast.For(iter=it) | ast.comprehension(iter=it):
                return it is node
            case ast.Call(func=ast.Name(id=name), args=args):
                return name in _ONLY_READ and node in args
            case ast.Subscript(value=value, ctx=ast.Load()):
                return value is node
            case ast.Subscript(value=value, slice=ast.Slice()):
                return value is node and self._is_narrowed(node, parent)
            case ast.Attribute(attr=attr):
                return attr in _KEEPS
        return isinstance(parent, ast.FormattedValue | ast.Compare | ast.If | ast.While | ast.UnaryOp)

    def _is_narrowed(self, node: ast.Name, target: ast.AST) -> bool:
        """Return whether the list gets some of its own items, as in `names[:] = [it for it in names if it != "a"]`."""
        match self._parents[id(target)]:
            case ast.Assign(targets=[_], value=ast.ListComp(elt=ast.Name(id=elt), generators=[loop])):
                is_item = isinstance(loop.target, ast.Name) and elt == loop.target.id
                return is_item and isinstance(loop.iter, ast.Name) and loop.iter.id == node.id
            case ast.Assign(
                targets=[_], value=ast.Call(func=ast.Name(id="sorted"), args=[ast.Name(id=name)])
            ):
                return name == node.id
        return False

    def keeps_folders(self, walk: ast.expr) -> bool:
        """Return whether the code cannot make `os.walk` enter other folders than it lists."""
        match loop := self._parents[id(walk)]:
            case ast.Call(func=ast.Name(id=name)):
                return name in ("list", "sorted", "next", "len")
            case ast.For(target=target) | ast.comprehension(target=target) if loop.iter is walk:
                match target:
                    case ast.Tuple(elts=[_, ast.Name(id=name), _]):
                        return self.is_kept(name)
        return False


def _nothing(node: ast.expr) -> tuple[Listed, ...]:
    return ()


def _text(call: ast.expr) -> str:
    """Return the text that is the first argument of a call, "" for other arguments."""
    match call:
        case ast.Call(args=[ast.Constant(value=str(text)), *_]):
            return text
    return ""


def _below(folder: str, pattern: str, *, is_deep: bool) -> tuple[Listed, ...]:
    """Return what lists the files of a folder whose path below the folder matches a pattern."""
    if not folder or not pattern:
        return ()
    if is_deep or "**" in pattern:
        before = pattern.split("*")[0].rpartition("/")[0] if not is_deep else ""
        inner = f"{folder}/{before}" if before and folder != "." else before or folder
        return (Listed(inner, pattern.rpartition("/")[2], is_deep=True),)
    return (Listed(folder, pattern, is_deep=False),)
