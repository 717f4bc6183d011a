"""Pure: read the redirections of a command: which files the shell would read and write."""

from __future__ import annotations

from collections.abc import Mapping
from os import path as ospath

from tree_sitter import Node

from agent_ls.patterns import regex
from agent_ls.policy.shell import dangers
from agent_ls.policy.shell.arguments import HARMLESS_PLACES, WRITABLE_PLACES
from agent_ls.policy.shell.findings import LineFindings
from agent_ls.policy.shell.grammar import source_of
from agent_ls.policy.shell.programs import Stdin
from agent_ls.policy.shell.state import State
from agent_ls.policy.shell.words import Word, word_of, words_of

_DESCRIPTOR = regex(r"\d+-?|-")


def redirected(node: Node, values: Mapping[str, Word], state: State, found: LineFindings) -> list[Word]:
    """Read a redirection. Return the command's arguments that the grammar attaches to the redirection."""
    if stdin_of(node):
        found.is_plain = False
    if node.type == "herestring_redirect":
        for child in node.named_children:
            if (word := word_of(child, values)).problem:
                found.doubt_expansion(word)
        return []
    operator = next((child.type for child in node.children if not child.is_named), "")
    targets = [child for child in node.named_children if child.type != "file_descriptor"]
    words = [word for child in targets for word in words_of(child, values)]
    if not words:
        if operator not in ("<&-", ">&-"):
            found.doubt("agent-ls does not understand its redirections.")
        return []
    target, *rest = words
    if operator in (">&", "<&") and _DESCRIPTOR.fullmatch(target.text):
        return rest
    if operator not in ("<", ">", ">>", ">|", "&>", "&>>", ">&", "<>"):
        found.doubt(f"Asked because of `{operator}`: this redirection is not understood.")
    if target.listing and operator == "<":
        return [*rest, target]  # as if it were an operand: the command reads it
    if target.kind == "glob" and operator == "<":
        found.add_word(target, state.folders)
        return rest
    if target.kind != "text":
        found.doubt(f"`{target.source}` decides which file it writes or reads.")
        return rest
    _note_target(target, state, found, writes=operator != "<")
    return rest


def _note_target(target: Word, state: State, found: LineFindings, *, writes: bool) -> None:
    text = target.text
    if text.startswith(("/dev/tcp/", "/dev/udp/")):
        found.danger("It connects to other machines.")
    if writes and dangers.is_device(ospath.normpath(text)):
        found.refusals.append(f"It would overwrite the disk {text}")
    if text not in HARMLESS_PLACES:
        found.add_word(target, state.folders)
        found.add_literal(text, state.folders)
    if writes and text not in WRITABLE_PLACES:
        found.change()


def stdin_of(node: Node) -> Stdin | None:
    if node.type != "file_redirect":
        return "here"
    if [source_of(child) for child in node.children] == ["<", "/dev/null"]:
        return "nothing"
    return "file" if any(child.type.startswith("<") for child in node.children) else None


def last_of(before: Stdin, node: Node) -> Stdin:
    """Return what a command reads after one more redirection. An unclear order of several counts as a file."""
    new = stdin_of(node)
    return before if new is None or (new == "nothing" and before in ("file", "here")) else new
