"""Pure: parse a command line with the bash grammar, and report why a shell may interpret it differently."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache

import tree_sitter
import tree_sitter_bash
from tree_sitter import Node

from agent_ls.patterns import regex
from agent_ls.policy.shell.heredocs import without_documents

MAX_CHARS = 4_000
"""Maximum length of a line, without the text of here-documents."""
MAX_NODES = 1_500
MAX_REDIRECTIONS = 100
"""Maximum number of redirections, because parsing a line with many redirections takes long."""
MAX_DOCUMENT_CHARS = 200_000
_CONTROL = regex(
    r"[\x00-\x08\x0b-\x1f\x7f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SYMBOL = r"[\u203c\u2049\u2100-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]\ufe0f?"
_EMOJI = regex(rf"{_SYMBOL}(?:\u200d{_SYMBOL})*|[0-9#*]\ufe0f\u20e3")
"""One symbol, with the characters that choose its form as a picture or join several to one picture."""
_BROKEN_WORD = regex(r"\S\\\n|\\\n\S*\\\n")
_BLANK = regex(rb"(?:[ \t\n]|\\\n)*")
_AROUND = frozenset(bytes((byte,)) for byte in b" \t\n;&|()`<>")
_RESERVED = frozenset(
    "[ ] [[ ]] { } ! if then elif else fi for in do done while until case esac function select time".split()
)
_ATOMS = frozenset(("string", "raw_string", "ansi_c_string", "translated_string", "comment", "heredoc_body"))
_BRACED = frozenset(("expansion", "subscript", "brace_expression"))
"""Nodes whose brackets are no words of their own: `${x}`, `${a[0]}`, `{1..3}`. Their words are evaluated one by one."""
_PATTERN_PARTS = frozenset("word extglob_pattern string raw_string".split())


def parse(command: str) -> tuple[Node | None, str]:
    """Return the syntax tree, and the reason why a shell may interpret the line differently ("" for none).

    The tree is None if the line is too large, is not valid text, or has characters that may hide text.
    """
    if len(command) > MAX_DOCUMENT_CHARS:
        return None, "The command is very long."
    if found := _CONTROL.search(command if command.isascii() else _EMOJI.sub("", command)):
        return None, f"The command has the character U+{ord(found[0]):04X}, which may hide text."
    text = without_documents(command)
    problem = "" if text is not None else "A here-document of the command is in an unusual form."
    text = command if text is None else text
    if len(text) > MAX_CHARS:
        return None, "The command is very long."
    if text.count("<") + text.count(">") > MAX_REDIRECTIONS:
        return None, "The command has very many redirections."
    try:
        source = text.encode()
    except UnicodeEncodeError:
        return None, "The command is not valid text."
    root = _parser().parse(source).root_node
    if root.descendant_count > MAX_NODES:
        return None, "The command has too many parts to be checked."
    if root.has_error:
        problem = problem or "The command has a syntax error, or syntax that agent-ls does not know."
    if _BROKEN_WORD.search(text):
        problem = problem or "A word of the command continues on the next line."
    if not problem and not _is_covered(root, source):
        problem = "The command has text that is not part of any word."
    return root, problem


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _is_covered(root: Node, source: bytes) -> bool:
    """Return whether the tree covers the complete text: there are only blanks between the tokens."""
    at = 0
    for leaf in _leaves(root):
        found = _BLANK.fullmatch(source, at, max(at, leaf.start_byte))
        if found is None or not _stands_alone(leaf, source):
            return False
        at = max(at, leaf.end_byte)
    return _BLANK.fullmatch(source, at) is not None


def _stands_alone(leaf: Node, source: bytes) -> bool:
    """Return whether a reserved word or a comment is separated from the text around it.

    For example, the grammar splits `]#x` into two tokens, but for a shell it is one word.
    """
    before = source[leaf.start_byte - 1 : leaf.start_byte] if leaf.start_byte else b"\n"
    after = source[leaf.end_byte : leaf.end_byte + 1] or b"\n"
    if leaf.type == "comment":
        return before in _AROUND
    if leaf.parent is not None and leaf.parent.type in _BRACED:
        return True
    return leaf.is_named or leaf.type not in _RESERVED or (before in _AROUND and after in _AROUND)


def _leaves(root: Node) -> Iterator[Node]:
    """Yield the tokens in order of the text; a quoted string is one token."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.child_count == 0 or node.type in _ATOMS:
            yield node
        else:
            pending.extend(reversed(node.children))


def source_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace").strip(" \t\n")


def nodes_of_kind(node: Node, kind: str) -> Iterator[Node]:
    pending = [node]
    while pending:
        child = pending.pop()
        if child.type == kind:
            yield child
        pending.extend(child.children)


def without_prints(node: Node) -> str:
    """Return the text of the code with blanks in place of the commands that only print words, which set nothing.

    Words with arithmetic may set a variable, as in `echo $((x++))`.
    """
    text = bytearray(node.text or b"")
    for command in nodes_of_kind(node, "command"):
        name = command.child_by_field_name("name")
        if name is not None and source_of(name) == "echo" and b"$((" not in (command.text or b""):
            start, end = name.start_byte - node.start_byte, command.end_byte - node.start_byte
            text[start:end] = b" " * (end - start)
    return text.decode("utf-8", "replace")


def are_separate(first: Node, second: Node) -> bool:
    """Return whether two statements are on different lines."""
    return second.type == "comment" or second.start_point.row > first.start_point.row


def variable_of(loop: Node) -> str:
    return source_of(loop.child_by_field_name("variable") or loop)


def is_certain(assignment: Node, entered: Collection[int]) -> bool:
    """Return whether the assignment is a separate foreground statement, so that all later commands run after
    it.

    `entered`: the ids of lists `cd x && …` in which `cd` succeeds.
    """
    first, before = assignment, assignment.parent
    while before is not None and before.type == "list":
        if before.children[0] != first and before.id not in entered:  # not `a=1 && b`
            break
        first, before = before, before.parent
    after = first.next_sibling
    return before is not None and before.type == "program" and (after is None or after.type != "&")


def is_pattern(node: Node) -> bool:
    """Return whether the node is a pattern of `case` such as `*"x"*`."""
    return node.type == "concatenation" and all(it.type in _PATTERN_PARTS for it in node.named_children)


def only_enters(node: Node) -> bool:
    """Return whether the node is `cd x` or `cd x && cd y`."""
    if node.type == "list":
        operators = [child.type for child in node.children if not child.is_named]
        return operators == ["&&"] and all(map(only_enters, node.named_children))
    name = node.child_by_field_name("name") if node.type == "command" else None
    return name is not None and source_of(name) == "cd"


def reads_a_line(command: Node) -> bool:
    """Return whether the command is `read`, so that a variable set before it has no effect after it."""
    name = command.child_by_field_name("name")
    return name is not None and source_of(name) == "read"


def is_simple(node: Node) -> bool:
    """Return whether the node is a command whose output is not redirected."""
    parts = node.named_children if node.type == "redirected_statement" else [node]
    return all(part.type == "command" or source_of(part) == "2>/dev/null" for part in parts)
