"""Pure: find what is a number in a command line: counts, sums, and variables that hold nothing else.

A number can be no option, no path outside of the workspace and no code, whatever its value is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator

from tree_sitter import Node

from agent_ls.patterns import regex
from agent_ls.policy.shell.grammar import nodes_of_kind, source_of, without_prints
from agent_ls.policy.shell.names import is_own

_VARIABLE = r"""\$(?:\w++|\{\w+\})"""
_QUOTED = rf"""'[^'\n]*+'|"(?>(?:{_VARIABLE}|[^"`$\\\n])*)\""""
_INPUT = rf"""(?>(?:2>&1|{_VARIABLE}|{_QUOTED}|[^()`$\\#\n;&|'"])+)\|"""
_FROM = rf"""(?:\s*<\s*(?:[\w./-]+|{_VARIABLE}|"{_VARIABLE}"))"""
_PATTERN = r"""(?:'[^'\n]*'|"[^"`$\\\n]*"|[\w.^][\w.^-]*)"""
_GREP = rf"grep(?: -[ivwxEFs]+)* -[ivwxEFs]*c[ivwxEFs]* (?:-e )?{_PATTERN}"
_GREP_LINES = (
    rf"grep(?: -[iwxEF]+)* -[iwxEF]*n[iwxEF]*(?:m ?\d+)?(?: -[iwxEF]+| -m ?\d+)* (?:-e )?{_PATTERN} [\w.][\w./-]*"
    "(?: 2>/dev/null)?"
)
"""Matches a search of one file. What it prints before `:` is a number, or a word for a file that is no text."""
_FIRST_FIELD = r"(?:cut (?:-d ?: -f ?1|-f ?1 -d ?:)|awk -F: '\{print \$1\}')"
_COUNTING = "|".join(
    (
        rf"(?>(?:{_INPUT})*) *wc -[lwcm]{_FROM}?",
        rf"(?>(?:{_INPUT})*) *{_GREP}(?: [\w./][\w./-]*|{_FROM})?(?: 2>/dev/null)?",
        rf"{_GREP_LINES} \|(?: (?:head|tail) (?:-n ?)?-?\d+ \|)? {_FIRST_FIELD}",
        r"stat -c ?(?:%[sYXZ]|'%[sYXZ]'|\"%[sYXZ]\") [\w.][\w./-]*(?: 2>/dev/null)?",
        r"date \+%s|nproc|id -[ug]|git rev-list --count [\w./@~^][\w./@~^-]*",
    )
)
COUNT = regex(rf'"?\$\( *(?:{_COUNTING}) *\)"?')
"""Matches a substitution that is a number, because its last command prints nothing else."""
_DIGITS = regex(r"\"?-?\d+\"?|'\d+'")
_LENGTH = regex(r'"?\$\{#[A-Za-z_]\w*(?:\[@\])?\}"?|\$#')
_COPY = regex(r'"?\$\{?([A-Za-z_]\w*)\}?"?')
_SUM = regex(r'"?\$\(\((.*)\)\)"?', re.DOTALL)
_EXPRESSION = regex(
    r"(?>(?:\$?[A-Za-z_]\w*+|\$\{[A-Za-z_]\w*\}|0[xX][0-9a-fA-F]++|\d++(?:#[0-9a-zA-Z]++)?|[\s+*/%()<>&|^~!=?:,-])*)"
)
_DECREMENTED = regex(r"--([A-Za-z_]\w*)")
_NAME = regex(r"[A-Za-z_]\w*")
_BASED = regex(r"\b(?:\d+#\w+|0[xX][0-9a-fA-F]+\b)")


def is_sum(source: str, names: Collection[str]) -> bool:
    """Return whether the text is an expansion `$((…))` of numbers, of counts and of the variables `names`."""
    found = _SUM.fullmatch(source)
    return found is not None and is_expression(COUNT.sub("1", found[1]), names)


def is_expression(text: str, names: Collection[str]) -> bool:
    """Return whether an arithmetic expression has only numbers, operators and the variables `names`."""
    return _EXPRESSION.fullmatch(text) is not None and set(_NAME.findall(_BASED.sub("0", text))) <= {*names}


def decremented(root: Node) -> Iterator[str]:
    """Yield the variables that the arithmetic of the code decrements before it reads them, as in `$((--x))`."""
    for kind in ("c_style_for_statement", "compound_statement", "arithmetic_expansion"):
        for node in nodes_of_kind(root, kind):
            if "((" in (text := source_of(node)):
                yield from _DECREMENTED.findall(text)


def counts(loop: Node, names: Collection[str]) -> bool:
    """Return whether `for ((…))` computes only numbers, from the variables `names`."""
    ends = [it for it in loop.children if it.type in ("((", "))")]
    if len(ends) != 2:
        return False
    start, end = (it.start_byte - loop.start_byte for it in ends)
    head = (loop.text or b"")[start + 2 : end].decode("utf-8", "replace")
    return any(map(str.isalnum, head)) and is_expression(head.replace(";", ","), names)


def numeric_names(root: Node, names_in: Callable[[str], Iterator[str]]) -> frozenset[str]:
    """Return the variables to which the code assigns only numbers.

    `names_in` yields each name in a text that the text may set.
    """
    values: dict[str, list[str]] = {}
    for node in nodes_of_kind(root, "variable_assignment"):
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        text = source_of(value) if value and all(it.type != "+=" for it in node.children) else "+="
        values.setdefault(source_of(name) if name else "", []).append(text)
    if not values:
        return frozenset()
    headers = [*_headers(root)]
    counts = _assigned_elsewhere(root, headers, names_in)
    numeric = {name for name in values if is_own(name) and counts[name] == 0}
    while rest := {name for name in numeric if not all(_is_number(it, numeric) for it in values[name])}:
        numeric -= rest
    texts = [text for text, _, _ in headers]
    unclear = [text for text in texts if not is_expression(text, numeric)]
    return frozenset() if any(set(_NAME.findall(text)) & numeric for text in unclear) else frozenset(numeric)


def _is_number(value: str, names: Collection[str]) -> bool:
    if any(it.fullmatch(value) for it in (_DIGITS, _LENGTH, COUNT)) or is_sum(value, names):
        return True
    copy = _COPY.fullmatch(value)
    return copy is not None and copy[1] in names


def _headers(root: Node) -> Iterator[tuple[str, int, int]]:
    """Yield the arithmetic of the code, such as `((…))`, with its first byte and its end."""
    for node in nodes_of_kind(root, "c_style_for_statement"):
        first = node.child_by_field_name("initializer")
        last = node.child_by_field_name("update")
        if first and last:
            text = (node.text or b"")[first.start_byte - node.start_byte : last.end_byte - node.start_byte]
            yield text.decode().replace(";", ","), first.start_byte, last.end_byte
    for node in nodes_of_kind(root, "compound_statement"):
        if node.children[0].type == "((":
            yield COUNT.sub("1", source_of(node)[2:-2]), node.start_byte, node.end_byte
    for node in nodes_of_kind(root, "arithmetic_expansion"):
        yield COUNT.sub("1", source_of(node)[3:-2]), node.start_byte, node.end_byte


def _assigned_elsewhere(
    root: Node, headers: list[tuple[str, int, int]], names_in: Callable[[str], Iterator[str]]
) -> Counter[str]:
    """Return how often each name occurs where it may be set, other than in an assignment and in arithmetic."""
    code = bytearray(without_prints(root).encode())
    for _, start, end in headers:
        code[start - root.start_byte : end - root.start_byte] = b" " * (end - start)
    found = Counter(names_in(code.decode("utf-8", "replace")))
    for node in nodes_of_kind(root, "variable_assignment"):
        name = node.child_by_field_name("name")
        if name and not any(start <= name.start_byte < end for _, start, end in headers):
            found[source_of(name)] -= 1
    return found
