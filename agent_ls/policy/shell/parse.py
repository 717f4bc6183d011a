"""ENGINE: a command line as the list of what it would run, by the grammar of bash. What it cannot read, it says.

Every command counts, wherever it stands: in a pipeline, a list, a loop, a function, a substitution, a heredoc.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, TypeAlias

import tree_sitter
import tree_sitter_bash
from tree_sitter import Node

from agent_ls.policy.shell.words import COMPUTED, Word, literal, word_of

Stdin: TypeAlias = Literal["terminal", "pipe", "here", "file"]

MAX_CHARS = 20_000
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u0085\u00a0\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)


@dataclass(frozen=True, slots=True)
class Redirect:
    """`target` None: to another descriptor, or a text that stands in the command."""

    operator: str
    target: Word | None

    @property
    def writes(self) -> bool:
        return ">" in self.operator and self.target is not None


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command with its arguments. `stdin` is where its input comes from; `is_sequential`: it runs unconditionally
    after what stands before it, so that a `cd` holds for what follows. `scope` is the shell that it runs in: 0 is the
    one that was started, others are subshells. `pipeline` counts pipelines from 1; 0: it stands in none."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    stdin: Stdin = "terminal"
    is_sequential: bool = True
    scope: int = 0
    pipeline: int = 0


@dataclass(frozen=True, slots=True)
class Assignment:
    """`is_certain`: what comes later in the same shell finds the variable set; `in_list`: up to the next Mark only."""

    name: str
    is_certain: bool
    scope: int = 0
    in_list: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Here the shell goes on even if what stands before went wrong."""

    scope: int = 0


Step: TypeAlias = Invocation | Assignment | Mark


@dataclass(slots=True)
class Program:
    """`steps` in order of the text. `doubts` say what was not understood. `assigned` has every value that is given to
    a variable, `scopes` the parent of each subshell; a redirection holds for what it is written behind."""

    steps: list[Step] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    assigned: dict[str, list[Word]] = field(default_factory=dict)
    scopes: dict[int, int] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    defines_functions: bool = False


def parse(command: str) -> Program:
    program = Program()
    if len(command) > MAX_CHARS:
        program.doubts.append("it is very long")
        return program
    if found := _CONTROL.search(command):
        program.doubts.append(f"it holds the character U+{ord(found[0]):04X}")
        return program
    try:
        encoded = command.encode()
    except UnicodeEncodeError:
        program.doubts.append("it is no valid text")
        return program
    root = _parser().parse(encoded).root_node
    if root.has_error:
        program.doubts.append("its grammar is not understood")
    if _BROKEN_WORD.search(command):
        program.doubts.append("a word of it goes on in the next line")
    _Reader(program).read(root, _Place())
    return program


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
_DESCRIPTOR = re.compile(r"\d+-?|-")
_BROKEN_WORD = re.compile(r"\S\\\n\S")
"""The grammar takes it for two words."""
_AMBIGUOUS = re.compile(r"^\(\(|[<>]")


class _Reader:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._pipelines = 0

    def read(self, node: Node, at: _Place) -> None:
        match node.type:
            case "command":
                self._command(node, at)
            case "declaration_command" | "unset_command":
                self._declaration(node, at)
            case "variable_assignment":
                self._assignment(node, at)
            case "pipeline":
                self._pipeline(node, at)
            case "subshell":
                self._children(node, replace(at, scope=self._subshell(at.scope)))
            case "redirected_statement":
                self._redirected(node, at)
            case "for_statement":
                self._for(node, at)
            case "function_definition":
                self._program.defines_functions = True
                self._children(node, at.unsure())
            case _:
                if _source(node).startswith(("((", "[[")) and _AMBIGUOUS.search(_source(node)):
                    # Another shell than bash takes it for commands and redirections.
                    self._program.doubts.append("its arithmetic is read differently by different shells")
                inner = at if _is_transparent(node) else at.unsure()
                self._children(node, replace(inner, in_list=True) if node.type == "list" else inner)

    def _children(self, node: Node, at: _Place) -> None:
        for child in node.named_children:
            self.read(child, at)
            if node.type != "list":
                self._program.steps.append(Mark(at.scope))

    def _pipeline(self, node: Node, at: _Place) -> None:
        self._pipelines += 1
        number = self._pipelines
        for place, child in enumerate(node.named_children):
            stdin = at.stdin if place == 0 else "pipe"
            self.read(child, _Place(stdin, False, self._subshell(at.scope), number))

    def _subshell(self, parent: int) -> int:
        number = len(self._program.scopes) + 1
        self._program.scopes[number] = parent
        return number

    def _command(self, node: Node, at: _Place) -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        stdin = at.stdin
        for child in node.named_children:
            if child.type == "variable_assignment":
                assignments.append(_assigned(child))
                self._nested(child, at)
            elif child.type in _REDIRECTS:
                stdin = _stdin_of(child) or stdin
                words += self._redirect(child, at)
            else:
                words.append(word_of(child))
                self._nested(child, at)
        self._add(words, assignments, replace(at, stdin=stdin))

    def _declaration(self, node: Node, at: _Place) -> None:
        words = [literal(_source(node.children[0]))]
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assignment(child, at)
            else:
                words.append(word_of(child))
                self._nested(child, at)
        self._add(words, [], at)

    def _assignment(self, node: Node, at: _Place) -> None:
        name, value = _assigned(node)
        self._program.assigned.setdefault(name, []).append(value)
        self._nested(node, at)
        self._program.steps.append(Assignment(name, at.is_sequential, at.scope, at.in_list))

    def _redirected(self, node: Node, at: _Place) -> None:
        redirects = [child for child in node.named_children if child.type in _REDIRECTS]
        stdin = at.stdin
        for child in redirects:
            stdin = _stdin_of(child) or stdin
        for child in node.named_children:
            if child.type not in _REDIRECTS:
                self.read(child, replace(at, stdin=stdin))
        for child in redirects:
            # The grammar files what follows `> file` with it, and not with the command it belongs to.
            if extra := self._redirect(child, at):
                self._extend_last(extra)

    def _extend_last(self, words: list[Word]) -> None:
        steps = self._program.steps
        at = next((i for i in reversed(range(len(steps))) if isinstance(steps[i], Invocation)), None)
        last = steps[at] if at is not None else None
        if at is not None and isinstance(last, Invocation):
            steps[at] = replace(last, words=(*last.words, *words))
        else:
            self._program.doubts.append("its redirections are not understood")

    def _redirect(self, node: Node, at: _Place) -> list[Word]:
        """Gives back the arguments that stand after the target."""
        if node.type != "file_redirect":
            # What follows `<<EOF` on its line stands inside the redirection.
            self._children(node, _Place("pipe", False, at.scope, at.pipeline))
            return []
        operator = next((child.type for child in node.children if not child.is_named), "")
        words = [word_of(child) for child in node.named_children if child.type != "file_descriptor"]
        self._nested(node, at)
        target = words[0] if words else None
        is_descriptor = operator in (">&", "<&") and bool(target and _DESCRIPTOR.fullmatch(target.source))
        self._program.redirects.append(Redirect(operator, None if is_descriptor else target))
        return words[1:]

    def _for(self, node: Node, at: _Place) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None:
            name = _source(variable)
            values = [word_of(value) for value in node.children_by_field_name("value")]
            self._program.assigned.setdefault(name, []).extend(values or [COMPUTED])
            self._program.steps.append(Assignment(name, bool(values), at.scope))
        self._children(node, at.unsure())

    def _nested(self, node: Node, at: _Place) -> None:
        """Commands inside an argument: they run too."""
        if node.type in ("command_substitution", "process_substitution"):
            self._children(node, _Place("terminal", False, self._subshell(at.scope)))
            return
        for child in node.named_children:
            self._nested(child, at)

    def _add(self, words: list[Word], assignments: list[tuple[str, Word]], at: _Place) -> None:
        place = (at.stdin, at.is_sequential, at.scope, at.pipeline)
        self._program.steps.append(Invocation(tuple(words), tuple(assignments), *place))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the program a node stands; the fields are those of Invocation."""

    stdin: Stdin = "terminal"
    is_sequential: bool = True
    scope: int = 0
    pipeline: int = 0
    in_list: bool = False

    def unsure(self) -> _Place:
        return replace(self, is_sequential=False)


def _is_transparent(node: Node) -> bool:
    """What it holds runs in the shell itself, one after the other, and only if what stands before went well."""
    is_list = node.type == "list" and not any(child.type == "||" for child in node.children)
    return is_list or node.type in ("program", "compound_statement")


def _assigned(node: Node) -> tuple[str, Word]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    told = _source(name) if name else ""
    if any(child.type == "+=" for child in node.children) or (name and name.type != "variable_name"):
        return told, COMPUTED
    return told, word_of(value) if value else literal("")


def _stdin_of(node: Node) -> Stdin | None:
    if node.type != "file_redirect":
        return "here"
    return "file" if any(child.type == "<" for child in node.children) else None


def _source(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
