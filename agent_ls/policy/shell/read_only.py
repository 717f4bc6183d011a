"""ENGINE: commands that only look, known by each option: what is not in the table is not known to only look."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Look:
    """`flags` are letters that take no value, `valued` letters that do; `long` names (those with `=` may have a value).

    `numbers`: `-5` is an option. `is_text`: its operands are no files.
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    numbers: bool = False
    is_text: bool = False
    max_operands: int = 1_000_000


def _looks(group: str) -> dict[str, Look]:
    rows = _table()[group]
    return {
        name: Look(
            flags=row.get("flags", ""),
            valued=row.get("valued", ""),
            long=frozenset(row.get("long", "").split()),
            numbers=row.get("numbers", False),
            is_text=row.get("text", False),
            max_operands=row.get("operands", 1_000_000),
        )
        for name, row in rows.items()
    }


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(files(__package__).joinpath("read_only.toml").read_text())


LOOKS = _looks("commands")
_GIT = _looks("git")

TEXT_ONLY = frozenset(name for name, look in LOOKS.items() if look.is_text)
"""Their operands name no files."""

VERSION_TELLERS = frozenset(
    "python python3 pip pip3 node npm npx yarn pnpm go cargo rustc rustup gcc g++ clang make cmake git java javac ruby gem "
    "php perl docker kubectl helm terraform tsc deno bun uv poetry ruff mypy pytest black jq rg nvim vim emacs bash zsh "
    "sh sed awk grep find tar curl wget openssl sqlite3 psql mysql redis-cli gh dotnet swift mvn gradle".split()
)

_SUBCOMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "git": (("stash", "list"), ("stash", "show"), ("worktree", "list"), ("remote", "get-url"), ("reflog",
    "show"), ("config", "--list"),
            ("config", "--get"), ("config", "-l"), ("submodule", "status"), ("bisect", "log"), ("notes",
            "list")),
    "npm": (("ls",), ("list",), ("outdated",), ("root",), ("prefix",)), "pip": (("list",), ("show",),
    ("freeze",), ("check",)),
    "pip3": (("list",), ("show",), ("freeze",), ("check",)), "go": (("version",), ("list",), ("doc",)),
    "cargo": (("tree",), ("metadata",)), "docker": (("ps",), ("images",), ("version",)), "uv": (("pip",
    "list"), ("tree",)),
    "rustup": (("show",),), "conda": (("list",), ("info",)),
}  # fmt: skip
"""Of these subcommands only plain words may follow: no options."""

_FIND_TESTS = frozenset(
    "-name -iname -path -ipath -wholename -type -maxdepth -mindepth -size -mtime -mmin -atime -ctime -newer -empty -perm -user "
    "-group -print -print0 -not -o -a -or -and -prune -regex -iregex -regextype -ls -printf -depth -xdev -mount -readable "
    "-writable -executable -links -inum -samefile -true -false -quit -H -P -daystart -nouser -nogroup ! ( ) ,".split()
)
_SED_PRINT = re.compile(r"(\d+|\$)(,(\d+|\$|\+\d+))?p(;(\d+|\$)(,(\d+|\$|\+\d+))?p)*|/[^/\\]*/p")
_SED_REPLACE = re.compile(r"s([/|#,:])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIi0-9]*p?")


def is_read_only(argv: Sequence[str]) -> bool:
    """`argv` is known to only look. Where it looks is not judged here."""
    name, arguments = argv[0], list(argv[1:])
    if special := _SPECIAL.get(name):
        return special(arguments)
    if name in VERSION_TELLERS and arguments in (["--version"], ["-V"], ["-v"], ["version"], ["--help"]):
        return True
    if name in _SUBCOMMANDS and _is_plain_subcommand(name, arguments):
        return True
    look = LOOKS.get(name)
    return look is not None and _fits(look, arguments)


def _is_plain_subcommand(name: str, arguments: Sequence[str]) -> bool:
    return any(
        tuple(arguments[: len(known)]) == known
        and not any(a.startswith("-") for a in arguments[len(known) :])
        for known in _SUBCOMMANDS[name]
    )


def _fits(look: Look, arguments: Sequence[str]) -> bool:
    if look.is_text and not look.flags and not look.valued and not look.long:
        return True
    operands, at = 0, 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        if argument == "--":
            operands += len(arguments) - at
            break
        if argument == "-" or not argument.startswith("-"):
            operands += 1
        elif argument.startswith("--"):
            if not _is_long(look, argument):
                return False
        elif not (look.numbers and argument[1:].isdigit()):
            used = _letters(look, argument)
            if used is None:
                return False
            at += used
    return operands <= look.max_operands


def _is_long(look: Look, argument: str) -> bool:
    name, equals, _ = argument[2:].partition("=")
    return f"{name}=" in look.long or (name in look.long and not equals)


def _letters(look: Look, argument: str) -> int | None:
    """How many of the following words a bundle of letters takes, None when one is not known."""
    for at, letter in enumerate(argument[1:], start=1):
        if letter in look.valued:
            return 0 if at + 1 < len(argument) else 1
        if letter not in look.flags:
            return None
    return 0


def _git(arguments: list[str]) -> bool:
    while arguments[:1] in (["--no-pager"], ["-P"], ["--no-optional-locks"]):
        arguments = arguments[1:]
    if not arguments:
        return True
    if arguments == ["--version"] or _is_plain_subcommand("git", arguments):
        return True
    look = _GIT.get(arguments[0])
    return look is not None and _fits(look, arguments[1:])


def _find(arguments: list[str]) -> bool:
    return all(
        a in _FIND_TESTS for a in arguments if a.startswith(("-", "!", "(", ")")) and not _is_number(a)
    )


def _is_number(argument: str) -> bool:
    return argument[1:2].isdigit()


def _sed(arguments: list[str]) -> bool:
    """Prints lines by number, or replaces on the way through: scripts can write files and run commands."""
    flags = [a for a in arguments if a.startswith("-")]
    rest = [a for a in arguments if not a.startswith("-")]
    if not rest or any(flag not in ("-n", "-E", "-r", "--quiet", "-nE", "-En") for flag in flags):
        return False
    return bool(_SED_PRINT.fullmatch(rest[0]) or _SED_REPLACE.fullmatch(rest[0]))


def _command(arguments: list[str]) -> bool:
    return arguments[:1] in (["-v"], ["-V"])


def _printf(arguments: list[str]) -> bool:
    return arguments[:1] != ["-v"]


def _set(arguments: list[str]) -> bool:
    return all(
        re.fullmatch(r"[-+][eux]+|[-+]o|[-+][eux]*o|pipefail|errexit|nounset|xtrace", a) for a in arguments
    )


_SPECIAL: dict[str, Callable[[list[str]], bool]] = {
    "git": _git, "find": _find, "sed": _sed, "command": _command, "printf": _printf, "set": _set,
}  # fmt: skip
