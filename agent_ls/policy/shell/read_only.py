"""ENGINE: commands that only look, known by each option: what is not in the table is not known to only look."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from agent_ls.policy.shell.wrappers import FIND_ACTIONS


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
    "python python3 pip pip3 node npm go gcc g++ clang make cmake git java javac ruby perl php docker kubectl jq rg "
    "nvim vim emacs bash zsh sed awk grep find tar curl wget openssl sqlite3 psql mysql gh ruff swift".split()
)
"""Left out on purpose: cargo, rustc, yarn, pnpm, npx, mvn, gradle, dotnet, poetry, pytest. For these a file of the
repository may name the program, or the code, that is run before any option is looked at."""

_SCRIPTED = Look(flags="nErsiz")

_SUBCOMMANDS = {
    name: tuple(tuple(known.split()) for known in text.split(","))
    for name, text in {
        "git": "stash list,stash show,worktree list,remote get-url,reflog show,config --list,config --get,config -l,"
        "submodule status,notes list",
        "pip": "list,show,freeze,check",
        "pip3": "list,show,freeze,check",
        "docker": "ps,images,version",
    }.items()
}
"""Of these subcommands only plain words may follow: no options."""

_FIND_TESTS = frozenset(
    "-name -iname -path -ipath -wholename -type -maxdepth -mindepth -size -mtime -mmin -atime -ctime -newer -empty "
    "-perm -user -group -print -print0 -not -o -a -or -and -prune -regex -iregex -regextype -ls -printf -depth -xdev "
    "-mount -readable -writable -executable -links -inum -samefile -true -false -quit -H -P -daystart -nouser -nogroup "
    "! ( ) ,".split()
)
_SED_PRINT = re.compile(r"(\d+|\$)(,(\d+|\$|\+\d+))?p(;(\d+|\$)(,(\d+|\$|\+\d+))?p)*|/[^/\\]*/p")
_SED_REPLACE = re.compile(r"s([/|#,:])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIi0-9]*p?")


def is_read_only(argv: Sequence[str]) -> bool:
    """`argv` is known to only look. Where it looks is not judged here."""
    name, arguments = argv[0], list(argv[1:])
    if special := _SPECIAL.get(name):
        return special(arguments)
    if name in VERSION_TELLERS and arguments in (
        ["--version"],
        ["-V"],
        ["-v"],
        ["version"],
        ["-version"],
        ["--help"],
    ):
        return True
    if name in _SUBCOMMANDS and _is_plain_subcommand(name, arguments):
        return True
    look = LOOKS.get(name)
    return look is not None and _fits(look, arguments)


def shows_no_content(argv: Sequence[str]) -> bool:
    """It tells names, sizes or counts: what a link in the folder leads to is not shown."""
    name, arguments = argv[0], argv[1:]
    if name in ("grep", "rg"):
        return any(re.fullmatch(r"-[a-zA-Z]*[lLcq][a-zA-Z]*", a) for a in arguments)
    return name in ("wc", "ls", "stat", "du", "basename", "dirname", "realpath", "readlink", "echo", "md5sum",
                    "sha256sum", "sha1sum", "test")  # fmt: skip


def lists_names(argv: Sequence[str]) -> bool:
    """What it prints are names of files below the folders that it is given."""
    name, arguments = argv[0], argv[1:]
    if name == "git":
        return list(arguments[:1]) == ["ls-files"]
    if name == "rg":
        return any(a in ("--files", "-l", "--files-with-matches") for a in arguments)
    return name == "find" and not split_actions(arguments)[1]


def lists_files_only(argv: Sequence[str]) -> bool:
    """As `lists_names`, and no links among them."""
    pairs = pairwise(argv)
    return argv[0] == "find" and ("-type", "f") in pairs and not {"-L", "-o", "-or", "-follow"} & set(argv)


def is_filter(argv: Sequence[str]) -> bool:
    """It passes on lines of its input, unchanged."""
    operands = [a for a in argv[1:] if not a.startswith("-")]
    return (argv[0] in ("sort", "uniq") and not operands) or (
        argv[0] in ("head", "tail") and all(a.isdigit() for a in operands)
    )


def pattern_of(argv: Sequence[str]) -> int:
    """The place of the word that is a pattern or a script and no path, 0 when there is none (or it cannot be told)."""
    look = LOOKS.get(argv[0]) or (_SCRIPTED if argv[0] == "sed" else None)
    if argv[0] not in _PATTERN_FIRST or look is None:
        return 0
    at = 1
    while at < len(argv):
        word = argv[at]
        if word.startswith(("-e", "-f", "--regexp", "--file", "--files", "--type-list")):
            return 0
        if word == "--":
            return at + 1 if at + 1 < len(argv) else 0
        if not word.startswith("-"):
            return at
        is_bundle = not word.startswith("--") and not word[1:].isdigit()
        used = _letters(look, word) if is_bundle else 0
        if used is None or (is_bundle and set(word) & set("ef") - set(look.flags)):
            return 0
        at += 1 + used
    return 0


_PATTERN_FIRST = frozenset(("grep", "rg", "jq", "sed"))


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
    while arguments[:1] in (["--no-pager"], ["-P"], ["--no-optional-locks"], ["-C"]):
        arguments = arguments[2:] if arguments[0] == "-C" else arguments[1:]
    if not arguments:
        return True
    if arguments == ["--version"] or _is_plain_subcommand("git", arguments):
        return True
    look = _GIT.get(arguments[0])
    return look is not None and _fits(look, arguments[1:])


def _find(arguments: list[str]) -> bool:
    tests, _ = split_actions(arguments)
    return all(a in _FIND_TESTS for a in tests if a.startswith(("-", "!", "(", ")")) and not _is_number(a))


def split_actions(arguments: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """find's tests, and the commands that it would run."""
    tests: list[str] = []
    actions: list[list[str]] = []
    at = 0
    while at < len(arguments):
        if arguments[at] not in FIND_ACTIONS:
            tests.append(arguments[at])
            at += 1
            continue
        end = next((i for i in range(at, len(arguments)) if arguments[i] in (";", "+")), len(arguments))
        actions.append(list(arguments[at + 1 : end]))
        at = end + 1
    return tests, actions


def _ps(arguments: list[str]) -> bool:
    """Letters without a dash are options too, and `e` among them shows the variables of every process."""
    look = LOOKS["ps"]
    plain = [a for a in arguments if not a.startswith("-")]
    return all(re.fullmatch(r"[auxfw]+|\d+", a) for a in plain) and _fits(look, arguments)


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


def _cd(arguments: list[str]) -> bool:
    return True  # where to is judged as a place


def _set(arguments: list[str]) -> bool:
    return bool(arguments) and all(
        re.fullmatch(r"[-+][eux]+|[-+]o|[-+][eux]*o|pipefail|errexit|nounset|xtrace", a) for a in arguments
    )


_SPECIAL: dict[str, Callable[[list[str]], bool]] = {
    "git": _git, "find": _find, "sed": _sed, "command": _command, "printf": _printf, "set": _set, "ps": _ps,
    "cd": _cd,
}  # fmt: skip
