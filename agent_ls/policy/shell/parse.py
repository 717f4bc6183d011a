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
    """One command with its arguments. `stdin` is where its input comes from; `is_sequential`: it runs in the shell
    itself, unconditionally after what stands before it, so that a `cd` holds for what follows."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    stdin: Stdin = "terminal"
    is_sequential: bool = True


@dataclass(slots=True)
class Program:
    """`doubts` say what was not understood. `assigned` has every value that is given to a variable."""

    invocations: list[Invocation] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    assigned: dict[str, list[Word]] = field(default_factory=dict)
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
    _Reader(program).read(root, "terminal", is_sequential=True)
    return program


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
_DESCRIPTOR = re.compile(r"\d+-?|-")


class _Reader:
    def __init__(self, program: Program) -> None:
        self._program = program

    def read(self, node: Node, stdin: Stdin, *, is_sequential: bool) -> None:
        match node.type:
            case "command":
                self._command(node, stdin, is_sequential)
            case "declaration_command" | "unset_command":
                self._declaration(node)
            case "variable_assignment":
                self._assignment(node)
            case "pipeline":
                for at, child in enumerate(node.named_children):
                    self.read(child, stdin if at == 0 else "pipe", is_sequential=False)
            case "redirected_statement":
                self._redirected(node, stdin, is_sequential)
            case "for_statement":
                self._for(node, stdin)
            case "function_definition":
                self._program.defines_functions = True
                self._children(node, stdin, is_sequential=False)
            case _:
                self._children(node, stdin, is_sequential=is_sequential and _is_transparent(node))

    def _children(self, node: Node, stdin: Stdin, *, is_sequential: bool) -> None:
        for child in node.named_children:
            self.read(child, stdin, is_sequential=is_sequential)

    def _command(self, node: Node, stdin: Stdin, is_sequential: bool) -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                assignments.append(_assigned(child))
                self._nested(child)
            elif child.type in _REDIRECTS:
                stdin = _stdin_of(child) or stdin
                words += self._redirect(child)
            else:
                words.append(word_of(child))
                self._nested(child)
        self._add(Invocation(tuple(words), tuple(assignments), stdin, is_sequential))

    def _declaration(self, node: Node) -> None:
        words = [literal((node.children[0].text or b"").decode())]
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assignment(child)
            else:
                words.append(word_of(child))
                self._nested(child)
        self._add(Invocation(tuple(words)))

    def _assignment(self, node: Node) -> None:
        name, value = _assigned(node)
        self._program.assigned.setdefault(name, []).append(value)
        self._nested(node)

    def _redirected(self, node: Node, stdin: Stdin, is_sequential: bool) -> None:
        redirects = [child for child in node.named_children if child.type in _REDIRECTS]
        for child in redirects:
            stdin = _stdin_of(child) or stdin
        for child in node.named_children:
            if child.type not in _REDIRECTS:
                self.read(child, stdin, is_sequential=is_sequential)
        invocations = self._program.invocations
        for child in redirects:
            # The grammar files what follows `> file` with it, and not with the command it belongs to.
            if extra := self._redirect(child):
                if invocations:
                    last = invocations[-1]
                    invocations[-1] = replace(last, words=(*last.words, *extra))
                else:
                    self._program.doubts.append("its redirections are not understood")

    def _redirect(self, node: Node) -> list[Word]:
        """Gives back the arguments that stand after the target."""
        if node.type != "file_redirect":
            # What follows `<<EOF` on its line stands inside the redirection.
            self._children(node, "pipe", is_sequential=False)
            return []
        operator = next((child.type for child in node.children if not child.is_named), "")
        words = [word_of(child) for child in node.named_children if child.type != "file_descriptor"]
        self._nested(node)
        target = words[0] if words else None
        is_descriptor = operator in (">&", "<&") and bool(target and _DESCRIPTOR.fullmatch(target.source))
        self._program.redirects.append(Redirect(operator, None if is_descriptor else target))
        return words[1:]

    def _for(self, node: Node, stdin: Stdin) -> None:
        variable = node.child_by_field_name("variable")
        if variable is not None:
            values = [word_of(value) for value in node.children_by_field_name("value")]
            assigned = self._program.assigned.setdefault((variable.text or b"").decode(), [])
            assigned.extend(values or [COMPUTED])
        self._children(node, stdin, is_sequential=False)

    def _nested(self, node: Node) -> None:
        """Commands inside an argument: they run too."""
        if node.type in ("command_substitution", "process_substitution"):
            self._children(node, "terminal", is_sequential=False)
            return
        for child in node.named_children:
            self._nested(child)

    def _add(self, invocation: Invocation) -> None:
        self._program.invocations.append(invocation)


def _is_transparent(node: Node) -> bool:
    """What it holds runs in the shell itself, one after the other, and only if what stands before went well."""
    is_list = node.type == "list" and not any(child.type == "||" for child in node.children)
    return is_list or node.type in ("program", "compound_statement")


def _assigned(node: Node) -> tuple[str, Word]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    told = (name.text or b"").decode() if name else ""
    if any(child.type == "+=" for child in node.children) or (name and name.type != "variable_name"):
        return told, COMPUTED
    return told, word_of(value) if value else literal("")


def _stdin_of(node: Node) -> Stdin | None:
    if node.type != "file_redirect":
        return "here"
    return "file" if any(child.type == "<" for child in node.children) else None
