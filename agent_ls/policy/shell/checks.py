"""Pure: tell which command lines check the project, by the table in checks.toml, and whether the exit code decides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from os import path as ospath
from typing import Literal

from tree_sitter import Node

from agent_ls.package_files import read_package_file
from agent_ls.patterns import regex
from agent_ls.policy.shell.grammar import parse
from agent_ls.policy.shell.runners import starts_of_commands
from agent_ls.policy.shell.words import words_of

_BEFORE = frozenset("cd pushd popd export source . set mkdir true : echo printf unset ulimit umask".split())
"""Commands before a check that fail only if the check could not run, and say nothing of the project."""
_ASSIGNMENT = regex(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PYTHON = regex(r"python[\d.]*|py|pypy[\d.]*")
_LONG_OPTIONS = regex(r"-\w*e\w*|errexit")
_SCRIPT_OPTION = regex(r"-[a-z]*c")
_SHELLS = frozenset("sh bash zsh dash ksh".split())
_WRAPPERS = frozenset("time env nice nohup timeout command exec xvfb-run stdbuf".split())


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a line: whether it has a check, and whether its exit code is the one of all its checks."""

    checks: int = 0
    is_decisive: bool = True


def judge_check(command: str, more: Sequence[str] = ()) -> Literal["", "unclear", "decisive", "followed"]:
    """Return what a command line is as a check of the project: "" for none; "decisive" if it exits with 0 only if
    every check in it passed; "followed" if another command, which may change files, also runs after a check.

    `more` are the user's checks: beginnings of commands, such as `./check.sh` or `make verify`.
    """
    root, problem = parse(command)
    reader = _Reader([words for text in more if (words := text.split())])
    part = reader.part(root) if root else _Part()
    if not part.checks:
        return ""
    if problem or not part.is_decisive:
        return "unclear"
    return "followed" if reader.is_followed else "decisive"


class _Reader:
    def __init__(
        self, more: Sequence[Sequence[str]], *, ends_at_error: bool = False, has_pipefail: bool = False
    ) -> None:
        self._more = more
        self._ends_at_error = ends_at_error  # after `set -e`
        self._has_pipefail = has_pipefail
        self._has_checked = self._is_last_checking = False
        self.is_followed = False
        """Whether a command that is no check, and may change files, comes after a check."""

    def part(self, node: Node) -> _Part:
        children = [child for child in node.named_children if child.type != "comment"]
        match node.type:
            case "program" | "subshell" | "compound_statement":
                part = self._sequence([self.part(child) for child in children])
                in_background = any(child.type == "&" for child in node.children)
                return _Part(part.checks, part.is_decisive and not in_background)
            case "list" if len(node.children) == 3 and node.children[1].type == "&&":
                parts = [self.part(child) for child in children]
                return _Part(sum(part.checks for part in parts), all(part.is_decisive for part in parts))
            case "pipeline":
                was_followed = self.is_followed
                parts = [self.part(child) for child in children]
                self.is_followed = was_followed  # its parts run at the same time
                found = sum(part.checks for part in parts)
                is_last = bool(parts[-1:]) and parts[-1].checks == found
                return _Part(found, self._has_pipefail or (is_last and parts[-1].is_decisive))
            case "redirected_statement":
                part = self.part(children[0]) if children else _Part()
                # The grammar puts the redirection of the last command around the whole list.
                self.is_followed |= self._has_checked and not self._is_last_checking
                return part
            case "command":
                return self._command(self._words(node))
            case "variable_assignment" | "declaration_command":
                return _Part()
            case _:  # `||`, `!`, conditions, loops: the exit code may be another one
                found = sum(self.part(child).checks for child in children)
                return _Part(found, not found)

    def _sequence(self, parts: Sequence[_Part]) -> _Part:
        """Return the parts separated by `;`: the exit code is that of the last one, or of all after `set -e`."""
        found = sum(part.checks for part in parts)
        is_last = bool(parts) and parts[-1].checks == found
        return _Part(found, all(part.is_decisive for part in parts) and (is_last or self._ends_at_error))

    def _words(self, node: Node) -> list[str]:
        names = [child for child in node.named_children if child.type != "comment"]
        words = [word.text for child in names for word in words_of(child, {})]
        if words[:1] == ["set"]:
            self._ends_at_error |= any(_LONG_OPTIONS.fullmatch(word) for word in words[1:])
            self._has_pipefail |= "pipefail" in words[1:]
        return words

    def _command(self, words: Sequence[str]) -> _Part:
        commands = list(_commands(list(words), depth=3))
        for argv in commands:
            if ospath.basename(argv[0]) in _SHELLS and (script := self._script(argv)).checks:
                return script
        found = [argv for argv in commands if self._matches(argv)]
        self._is_last_checking = bool(found)
        self._has_checked |= self._is_last_checking
        self.is_followed |= self._has_checked and not found and not _is_harmless(words)
        return _Part(int(bool(found)), not any(_has_option("passing", argv) for argv in found))

    def _script(self, argv: Sequence[str]) -> _Part:
        """Return what the script of `bash -c SCRIPT` is."""
        flag = next((at for at, word in enumerate(argv) if _SCRIPT_OPTION.fullmatch(word)), None)
        root = parse(argv[flag + 1])[0] if flag and flag + 1 < len(argv) else None
        if flag is None or root is None:
            return _Part()
        ends_at_error = any(_LONG_OPTIONS.fullmatch(word) for word in argv[1 : flag + 1])
        inner = _Reader(self._more, ends_at_error=ends_at_error, has_pipefail="pipefail" in argv[1:flag])
        part = inner.part(root)
        self._has_checked |= bool(part.checks)
        self.is_followed |= inner.is_followed
        return part

    def _matches(self, argv: Sequence[str]) -> bool:
        named = [ospath.basename(argv[0]), *argv[1:]]
        if named[0] in _BEFORE or _has_option("shown", named):
            return False
        if any(list(own) in (list(argv[: len(own)]), named[: len(own)]) for own in self._more):
            return True
        rows = _rows("commands"), _rows("targets")
        return any(_follows(row, named) for row in rows[0]) or any(_names(row, named) for row in rows[1])


def _is_harmless(words: Sequence[str]) -> bool:
    return not words or words[0] in _BEFORE or bool(_ASSIGNMENT.fullmatch(words[-1]))


def _commands(words: list[str], depth: int) -> Iterator[Sequence[str]]:
    """Yield the command, and those that it runs as a runner, a wrapper or a module of Python."""
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    if not words:
        return
    yield words
    if depth == 0:
        return
    name = ospath.basename(words[0])
    inner = [words[at:] for at in starts_of_commands([name, *words[1:]])]
    if _PYTHON.fullmatch(name):
        inner += [words[at + 1 :] for at, word in enumerate(words) if word == "-m"][:1]
        inner += [words[1:]]
    if name in _WRAPPERS:
        inner += [words[at:] for at in range(1, min(len(words), 5))]
    for argv in inner:
        yield from _commands(list(argv), depth - 1)


@cache
def _table() -> Mapping[str, str]:
    table: dict[str, str] = tomllib.loads(read_package_file("agent_ls.policy.shell", "checks.toml"))
    return table


@cache
def _rows(name: str) -> list[list[re.Pattern[str]]]:
    return [[re.compile(word) for word in row.split()] for row in _table()[name].split("\n") if row]


def _has_option(table: Literal["shown", "passing"], argv: Sequence[str]) -> bool:
    """Return whether the program has an option of this table, with or without a value behind `=`."""
    name = ospath.basename(argv[0])
    options = [option for program, option in _rows(table) if program.fullmatch(name)]
    return any(option.fullmatch(word.partition("=")[0]) for option in options for word in argv[1:])


def _follows(row: Sequence[re.Pattern[str]], argv: Sequence[str]) -> bool:
    """Return whether the words of the row follow one another in `argv`, except for options between them."""
    if not row[0].fullmatch(argv[0]):
        return False
    at = 1
    for pattern in row[1:]:
        while at < len(argv) and not pattern.fullmatch(argv[at]):
            is_value = argv[at - 1].startswith("-") and at > 1
            if not (argv[at].startswith(("-", "+")) or is_value):
                return False
            at += 1
        if at == len(argv):
            return False
        at += 1
    return True


def _names(row: Sequence[re.Pattern[str]], argv: Sequence[str]) -> bool:
    program, target = row
    words = [word for word in argv[1:] if not word.startswith("-") and "=" not in word]
    return bool(program.fullmatch(argv[0])) and any(target.fullmatch(word) for word in words)
