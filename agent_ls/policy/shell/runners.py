"""Pure: find the command that a project runner (`uv run`, `npx`, `bundle exec`) runs, by the table in runners.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_ls.package_files import read_package_file
from agent_ls.patterns import regex


@dataclass(frozen=True, slots=True)
class Runner:
    """The syntax of a runner; runners.toml describes the fields."""

    after: frozenset[str]
    operands: int
    flags: frozenset[str]
    texts: frozenset[str]
    has_texts_only: bool
    prefix: str


def _runners() -> dict[str, list[Runner]]:
    found: dict[str, list[Runner]] = {}
    text = read_package_file("agent_ls.policy.shell", "runners.toml")
    for row in tomllib.loads(text)["rows"]:
        runner = Runner(
            after=frozenset(row.get("after", "").split()),
            operands=row.get("operands", 0),
            flags=frozenset(row.get("flags", "").split()),
            texts=frozenset(row.get("texts", "").split()),
            has_texts_only=row.get("all_texts", False),
            prefix=row.get("prefix", ""),
        )
        for name in row["programs"].split():
            found.setdefault(name, []).append(runner)
    return found


_RUNNERS = _runners()
NAMES = frozenset(_RUNNERS)

_ASSIGNMENT = regex(r"[A-Za-z_]\w*=")


def starts_of_commands(argv: Sequence[str]) -> tuple[int, ...]:
    """Return the indexes of `argv` at which the command that a runner runs may begin; () for none."""
    found = [at for runner in _RUNNERS.get(argv[0], ()) for at in _starts(runner, argv)]
    return tuple(dict.fromkeys(at for at in found if at < len(argv)))


def program_at(argv: Sequence[str], at: int) -> str:
    """Return the name of the program that the word at `at` gives to a runner: `git` for `nix run nixpkgs#git`.

    A version, as in `rimraf@5`, is left out.
    """
    word = argv[at]
    for runner in _RUNNERS.get(argv[0], ()):
        if runner.prefix and at in _starts(runner, argv):
            word = re.split(f"[{re.escape(runner.prefix)}]", word)[-1] or word
    name, _, version = word[1:].partition("@")
    return word[:1] + name if version else word


def lines_of(argv: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return the arguments that a runner passes to a shell, as pairs (index of the word, text of the word)."""
    found = [line for runner in _RUNNERS.get(argv[0], ()) for line in _lines(runner, argv)]
    return tuple(dict.fromkeys(found))


def _begin(runner: Runner, argv: Sequence[str]) -> int:
    """Return the index of the first word after a word of `runner.after`, such as `--`.

    Return the length of `argv` if no such word exists.
    """
    if not runner.after:
        return 1
    return next((at + 1 for at in range(1, len(argv)) if argv[at] in runner.after), len(argv))


def _starts(runner: Runner, argv: Sequence[str]) -> Iterator[int]:
    if runner.has_texts_only:
        return
    at = _begin(runner, argv)
    if "--" in argv[at:]:
        yield argv.index("--", at) + 1
    words = 0
    unknown = 0  # number of options for which it is unknown whether the next word is their value
    while at < len(argv) and words <= runner.operands + unknown:
        word = argv[at]
        if word.startswith("+"):
            pass
        elif word.startswith("-"):
            unknown += word not in runner.flags and "=" not in word
        elif not _ASSIGNMENT.match(word):
            if words >= runner.operands:
                yield at
            words += 1
        at += 1


def _lines(runner: Runner, argv: Sequence[str]) -> Iterator[tuple[int, str]]:
    for at in range(1, len(argv)):
        name, equals, value = argv[at].partition("=")
        if argv[at - 1] in runner.texts:
            yield at, argv[at]
        elif equals and name in runner.texts:
            yield at, value
        elif runner.has_texts_only and not argv[at].startswith("-"):
            yield at, argv[at]
    for at in _starts(runner, argv):
        if at < len(argv) and " " in argv[at].strip():
            yield at, argv[at]
