"""Pure: decide whether a tool call is one of those to which a hook is limited, by its command or its files.

Users write such limits as `Bash(git commit *)`, in a matcher or in the field `if`, as `Edit:.*\\.cs`, or, for the shell
events of Cursor, as a regular expression for the whole command. In doubt a condition holds: a hook runs rather once
more than never.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent_ls.environments.effects import CommandEffect, Effect, ReadEffect, WriteEffect
from agent_ls.patterns import regex

_ENTRY = regex(r"\s*(?P<name>[A-Za-z_][\w*-]*)\s*(?:\((?P<limit>(?:[^()]|\([^()]*\))*)\))?\s*(?:[|,]|\Z)")
_CHOICE = regex(r"\w+(\|\w+)+")
_PREFIXED = regex(r"(?P<names>[A-Za-z]\w*(?:\|[A-Za-z]\w*)*):(?P<limit>[^/].*[.*\\].*)")
_WILDCARD = regex(r"[*?\[]")
_GIT_OPTIONS = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")


@dataclass(frozen=True, slots=True)
class Subject:
    """The command that a tool call runs, or the absolute paths of the files that it reads or changes."""

    folder: str
    command: str = ""
    paths: tuple[str, ...] = ()


def subject_of(effect: Effect, folder: str) -> Subject:
    match effect:
        case CommandEffect():
            return Subject(folder, effect.command)
        case WriteEffect():
            return Subject(folder, paths=tuple(file.path for file in effect.files))
        case ReadEffect():
            return Subject(folder, paths=effect.paths)
        case _:
            return Subject(folder)


@dataclass(frozen=True, slots=True)
class Condition:
    """A limit for the tools whose names match `names`: a glob, or with `is_regex` a regular expression; "" for none."""

    names: re.Pattern[str]
    limit: str = ""
    is_regex: bool = False

    def holds(self, subject: Subject) -> bool:
        if not self.limit or not (subject.command or subject.paths):
            return True
        return self._holds_for_command(subject) if subject.command else self._holds_for_paths(subject)

    def _holds_for_command(self, subject: Subject) -> bool:
        if self.is_regex:
            return re.search(self.limit, subject.command) is not None
        begin, *rest = _WILDCARD.split(self.limit.replace(":*", "*"), maxsplit=1)
        if begin.strip() and begin.strip() in subject.command:
            return True
        glob = re.compile(fnmatch.translate(f"{begin.strip()}*" if rest == [""] else self.limit))
        found = [*_commands(subject)]
        return not found or any(map(glob.fullmatch, (subject.command, *found)))

    def _holds_for_paths(self, subject: Subject) -> bool:
        names = [name for path in subject.paths for name in _names(path, subject.folder)]
        if self.is_regex:
            return any(re.fullmatch(self.limit, name) for name in names)
        limit = self.limit.removeprefix("./")
        limit = os.path.expanduser(limit) if limit.startswith("~") else limit
        # one slash at the beginning is the project's folder, as in .gitignore; two are the root of the disk
        limits = [limit[1:]] if limit.startswith("//") else [limit, limit.removeprefix("/")]
        return any(fnmatch.fnmatchcase(name, it.replace("**/", "*")) for it in limits for name in names)


def _commands(subject: Subject) -> Iterator[str]:
    """Yield each command of a command line: in chains, in substitutions, and without options of git before the verb."""
    from agent_ls.policy.shell.understand import understand  # only sessions with such a hook need the parser

    home = os.path.expanduser("~")
    for argv in understand(subject.command, working_dir=subject.folder, home=home).commands:
        yield " ".join(argv)
        if argv[0] == "git":
            yield " ".join(("git", *_from_verb(argv[1:])))


def _from_verb(words: Sequence[str]) -> Sequence[str]:
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in _GIT_OPTIONS else 1 :]
    return words


def _names(path: str, folder: str) -> Iterator[str]:
    yield path
    yield os.path.basename(path)
    if path.startswith(folder + os.sep):
        yield os.path.relpath(path, folder).replace(os.sep, "/")


@dataclass(frozen=True, slots=True)
class Limits:
    """The conditions of a matcher: of those for a tool, one has to hold. `names` are the patterns of their tools."""

    names: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = field(default=())


def read_limits(matcher: str) -> Limits | None:
    """Return the limits in a matcher such as `Bash(git *)|Edit`; None if it has no limits."""
    if found := _PREFIXED.fullmatch(matcher):
        names = tuple(found["names"].split("|"))
        return Limits(names, (Condition(_any_of(names), found["limit"], is_regex=True),))
    entries, place = [], 0
    while place < len(matcher):
        entry = _ENTRY.match(matcher, place)
        if entry is None or _CHOICE.fullmatch(entry["limit"] or ""):
            return None
        entries.append((entry["name"], (entry["limit"] or "").strip()))
        place = entry.end()
    if not any(limit for _, limit in entries):
        return None
    conditions = tuple(Condition(_any_of((name,)), "" if limit == "*" else limit) for name, limit in entries)
    return Limits(tuple(name for name, _ in entries), conditions)


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, names)), re.IGNORECASE)


def read_command_limit(pattern: str) -> Condition:
    """Return a condition whose pattern is searched in the whole command.

    Raises:
        re.error
    """
    re.compile(pattern)
    return Condition(re.compile(".*", re.DOTALL), pattern, is_regex=True)
