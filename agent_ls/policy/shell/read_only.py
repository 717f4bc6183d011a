"""Pure: recognize read-only commands. The tables list commands with the options that keep them read-only."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from agent_ls.package_files import read_package_file
from agent_ls.patterns import regex
from agent_ls.policy.named_places import OWN_MODULES
from agent_ls.policy.shell import awk, golang, node, printers, processes, python, queries, sed
from agent_ls.policy.shell.git import PRINTING_SETTING
from agent_ls.policy.shell.wrappers import FIND_ACTIONS


@dataclass(frozen=True, slots=True)
class AllowedOptions:
    """The options with which a command is read-only.

    Letters of options: `flags` have no value, `valued` have a value in the same or the next word, `apart`
    have a value in the next word only, `attached` have a value in the same word only. `long`: long options;
    an option with `=` may have a value. `numbers`: a number such as `-5` is an option. `is_text`: operands
    are not files. `has_no_harmful_option`: no option, listed or not, writes, runs or sends anything. `words`
    is a pattern that each operand must match. `config`: project files that decide what the command runs.
    `needs`: one of these options must be given. `has_response_files`: the program replaces an argument `@x` by
    the words in the file x. `needs_confinement`: in some projects the program writes a file, or connects to a server.
    """

    flags: str = ""
    valued: str = ""
    apart: str = ""
    attached: str = ""
    long: frozenset[str] = frozenset()
    numbers: bool = False
    is_text: bool = False
    has_no_harmful_option: bool = False
    max_operands: int = 1_000_000
    words: str = ""
    config: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    has_response_files: bool = False
    needs_confinement: bool = False


def _load(group: str) -> dict[str, AllowedOptions]:
    return {
        name: AllowedOptions(
            flags=row.get("flags", ""),
            valued=row.get("valued", ""),
            apart=row.get("apart", ""),
            attached=row.get("attached", ""),
            long=frozenset(row.get("long", "").split()),
            numbers=row.get("numbers", False),
            is_text=row.get("text", False),
            has_no_harmful_option=row.get("harmless", False),
            max_operands=row.get("operands", 1_000_000),
            words=row.get("words", ""),
            config=tuple(row.get("config", "").split()),
            needs=tuple(row.get("needs", "").split()),
            has_response_files=row.get("response_files", False),
            needs_confinement=row.get("confined", False),
        )
        for name, row in _table()[group].items()
    }


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(read_package_file("agent_ls.policy.shell", "read_only.toml"))


COMMANDS = _load("commands")
_GIT = _load("git")
_SUBCOMMANDS = _load("subcommands")

TEXT_ONLY = frozenset(name for name, allowed in COMMANDS.items() if allowed.is_text)
"""Commands whose operands are not files."""

ENDINGS = {name: tuple(endings.split()) for name, endings in _table()["endings"].items()}
"""For each program: the endings that it appends to the name of an operand if there is no such file."""

_VERSION_WORDS = {name: frozenset(words.split()) for name, words in _table()["versions"].items()}
"""For each program: words that make it print only its version or help, if they are its only argument."""

_HELPS: dict[str, str] = dict(_table()["helps"])
_FIND_TESTS = frozenset(
    "-name -iname -path -ipath -wholename -type -maxdepth -mindepth -size -mtime -mmin -atime -ctime -newer -empty "
    "-perm -user -group -print -print0 -not -o -a -or -and -prune -regex -iregex -regextype -ls -printf -depth -xdev "
    "-mount -readable -writable -executable -links -inum -samefile -true -false -quit -P -daystart -nouser -nogroup "
    "-newermt -cmin -amin -xtype -lname -ilname -iwholename -anewer -cnewer -uid -gid -used -fstype -noleaf "
    "! ( ) ,".split()
)
_OPTIONAL = frozenset(
    "color colour stat decorate porcelain ignored untracked-files short column abbrev abbrev-ref word-diff pretty "
    "find-renames ignore-submodules dirty relative hyperlink branches tags remotes hash follow iso-8601 dirstat "
    "show-stash ahead-behind unified show-origin".split()
)
"""Long options with an optional value, which must be in the same word (`--color=never`)."""
_GIT_GLOBAL = frozenset(("--no-pager", "-P", "--no-optional-locks", "-C", "-c"))
_SHORT_LIST = frozenset("cat cd cut echo grep head ls pwd rg tail test true wc :".split())
_SHORT_LIST_OF_GIT = frozenset("branch diff log show status".split())
GREPS = frozenset(("grep", "egrep", "fgrep", "rg", "zgrep"))
_AWKS = frozenset(("awk", "gawk", "mawk"))
_SCRIPT_FIRST = frozenset((*GREPS, *_AWKS, "jq", "sed"))
_SCRIPTED = {
    "sed": AllowedOptions(
        flags="nErsuz",
        valued="e",
        long=frozenset(
            "quiet silent regexp-extended separate unbuffered null-data posix sandbox expression=".split()
        ),
    ),
    **{name: AllowedOptions(valued="Fv") for name in _AWKS},
}


def is_read_only(argv: Sequence[str], patterns: Sequence[int] = ()) -> bool:
    """Return whether `argv` is known to be read-only. The paths that it reads are checked by other code.

    `patterns` are the indexes of words that are patterns for file names.
    """
    argv, patterns = _without_runner(argv), [at - len(argv) + len(_without_runner(argv)) for at in patterns]
    name, arguments = argv[0], list(argv[1:])
    places = [at - 1 for at in patterns]
    if "--" in arguments and not _ends_options(name):
        return False
    if _may_become_option(name, arguments, places):
        return False
    if len(arguments) == 1 and arguments[0] in _VERSION_WORDS.get(name, ()):
        return True
    if arguments in (["--help"], ["--version"]) and name in COMMANDS:
        return True
    if prints_help(argv):
        return not places
    if special := _SPECIAL.get(name):
        return special(arguments, places)
    verb = _SUBCOMMANDS.get(" ".join(argv[:2]))
    if verb is not None and _fits(verb, arguments[1:], [at - 1 for at in places]):
        return True
    allowed = COMMANDS.get(name)
    return allowed is not None and _fits(allowed, arguments, places)


def prints_facts(argv: Sequence[str]) -> bool:
    """Return whether a program that may act on more prints only its help, a manual, or tables of a file."""
    is_version = len(argv) == 2 and argv[1] in _VERSION_WORDS.get(argv[0], ())
    return (
        (is_version or prints_help(argv))
        or (argv[0] == "sqlite3" and printers.sqlite_prints([*argv[1:]]))
        or (argv[0] == "man" and is_read_only(argv))
    )


def prints_help(argv: Sequence[str]) -> bool:
    """Return whether a program prints only the help of one of its own commands, as with `kubectl get --help`."""
    is_asked = len(argv) == 3 and argv[0] in _HELPS and argv[2] == "--help"
    return is_asked and re.fullmatch(_HELPS[argv[0]], argv[1]) is not None


def _without_runner(argv: Sequence[str]) -> Sequence[str]:
    """Return the words of pip for `python -m pip`, and those without the pager for `man -P cat`."""
    if tuple(argv[:3]) == ("man", "-P", "cat"):
        return ("man", *argv[3:])
    return ("pip", *argv[3:]) if argv[0] in _PYTHONS and tuple(argv[1:3]) == ("-m", "pip") else argv


_PYTHONS = frozenset(("python", "python3"))


def has_no_harmful_option(name: str) -> bool:
    """Return whether no option of the program, listed or not, writes, runs or sends anything."""
    allowed = COMMANDS.get(name)
    return allowed is not None and allowed.has_no_harmful_option


def valued_letters(name: str) -> str:
    """Return the letters of options that have a value."""
    allowed = COMMANDS.get(name)
    return allowed.valued if allowed else ""


def is_on_short_list(argv: Sequence[str]) -> bool:
    """Return whether a read-only command is so simple that it may run where confinement is not available."""
    names, word = (_SHORT_LIST_OF_GIT, argv[1:2]) if argv[0] == "git" else (_SHORT_LIST, argv[:1])
    return bool(word) and word[0] in names


def needs_confinement(argv: Sequence[str]) -> bool:
    """Return whether a read-only command is harmless only because confinement forbids it to write and to connect."""
    argv = _without_runner(argv)
    if argv[0] in _PYTHONS and python.imports(argv[1:]) and argv[1] != "-m":
        return True
    if argv[0] in node.NAMES and argv[1:2] != ("--check",) and len(argv) > 2:
        return True
    allowed = _SUBCOMMANDS.get(" ".join(argv[:2])) or COMMANDS.get(argv[0])
    return allowed is not None and allowed.needs_confinement


def config_names(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the names of project files that decide what the command runs.

    The command is read-only only if none of these files exists.
    """
    pip = _without_runner(argv)
    if pip is not argv:
        return (OWN_MODULES, *config_names(pip))
    if argv[0] in _PYTHONS and python.imports(argv[1:]):
        return (OWN_MODULES,)
    if argv[0] in node.NAMES and (names := node.files_of_code(argv[1:])):
        return node.replacing(names)
    allowed = _SUBCOMMANDS.get(" ".join(argv[:2])) or COMMANDS.get(argv[0])
    return allowed.config if allowed else ()


def is_text_only(argv: Sequence[str]) -> bool:
    """Return whether the operands of the command are not files, as those of `echo` and `dpkg -S`."""
    verb = _SUBCOMMANDS.get(" ".join(argv[:2]))
    return argv[0] in TEXT_ONLY or (verb is not None and verb.is_text)


def before_operands(argv: Sequence[str]) -> Sequence[str]:
    """Return the words before `--`. The words after it are operands, even if they look like options."""
    return argv[: argv.index("--")] if "--" in argv else argv


@dataclass(frozen=True, slots=True)
class Words:
    """The roles of the words of a command, as indexes of the words.

    `options` are options and their values, `patterns` are values of `-e`, `operands` are operands before
    `--`, and `after` are operands after `--`.
    """

    options: frozenset[int]
    patterns: frozenset[int]
    operands: tuple[int, ...]
    after: tuple[int, ...] = ()


def words_of(argv: Sequence[str]) -> Words | None:
    """Return the roles of the words of a command; None for an option without its value, or one that is not listed."""
    allowed = COMMANDS.get(argv[0]) or _SCRIPTED.get(argv[0])
    return _roles(allowed, argv, 1) if allowed else None


def start_of_git_command(argv: Sequence[str]) -> int:
    """Return the index of the subcommand of git, which follows the options of git itself."""
    at = 1
    while argv[at : at + 1] and argv[at] in _GIT_GLOBAL:
        if argv[at] == "-c" and not PRINTING_SETTING.fullmatch("".join(argv[at + 1 : at + 2])):
            break
        at += 2 if argv[at] in ("-C", "-c") else 1
    return at


def words_of_git(argv: Sequence[str]) -> tuple[str, Words] | None:
    """Return the subcommand of git and the roles of the words after it.

    Return None if the tables do not list the subcommand or one of its options.
    """
    at = start_of_git_command(argv)
    for count in (2, 1):
        verb = " ".join(argv[at : at + count])
        if allowed := _GIT.get(verb):
            words = _roles(allowed, argv, at + count)
            return (verb, words) if words else None
    return None


def _roles(allowed: AllowedOptions, argv: Sequence[str], at: int) -> Words | None:
    options: set[int] = set()
    patterns: set[int] = set()
    operands: list[int] = []
    while at < len(argv):
        word = argv[at]
        if word == "--":
            return Words(
                frozenset(options), frozenset(patterns), tuple(operands), tuple(range(at + 1, len(argv)))
            )
        if word == "-" or not word.startswith("-"):
            operands.append(at)
        elif allowed.numbers and word[1:].isdigit():
            options.add(at)
        else:
            is_long = word.startswith("--")
            used = int(_takes_next(allowed, word)) if is_long else _letters(allowed, word)
            if used is None or (is_long and not _is_long(allowed, word)):
                return None
            if at + used >= len(argv):
                return None  # the value of the option is missing
            options.update(range(at, at + used + 1))
            if word.startswith(("--regexp", "--expression") if is_long else "-e") or (
                not is_long and _valued_letter(allowed, word) == "e"
            ):
                patterns.add(at + used)
            at += used
        at += 1
    return Words(frozenset(options), frozenset(patterns), tuple(operands))


def is_separator(argv: Sequence[str], at: int) -> bool:
    """Return whether the word contains a slash that separates fields, as in `cut -d/`, and no path."""
    letter = _SEPARATES.get(argv[0])
    if letter is None:
        return False
    before = argv[at - 1] == f"-{letter}" and argv[at] == "/"
    return before or re.fullmatch(f"-[a-zA-Z]*{letter}/", argv[at]) is not None


_SEPARATES = {
    "cut": "d", "sort": "t", "awk": "F", "gawk": "F", "mawk": "F", "column": "s", "paste": "d", "join": "t",
}  # fmt: skip
"""For each program: the letter of the option for the character between two fields."""


def files_in_code(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that code in the words of a read-only command reads."""
    reader = python if argv[0] in _PYTHONS else node
    return (reader.files_of_code(argv[1:]) or ()) if argv[0] in _PYTHONS | node.NAMES else ()


def scripts_of(argv: Sequence[str]) -> frozenset[int]:
    """Return the indexes of words that are a pattern or a script instead of a path; empty if unknown."""
    if argv[0] in _PYTHONS and python.files_of_code(argv[1:]) is not None:
        return frozenset((1 + (python.code_index(argv[1:]) or 0),))
    if argv[0] in node.NAMES and node.files_of_code(argv[1:]) is not None:
        return frozenset((2,))
    if argv[0] == "git":
        found = words_of_git(argv)
        if found is None or found[0] != "grep":
            return frozenset()
        return found[1].patterns or frozenset(found[1].operands[:1])
    if argv[0] == "yq":
        return frozenset((queries.program_of_yq(argv[1:]) + 1,)) - {0}
    if argv[0] == "xmllint":
        return frozenset(at + 1 for at, word in enumerate(argv) if word == "--xpath")
    words = words_of(argv) if argv[0] in _SCRIPT_FIRST else None
    if words is None or any(word in ("--files", "--type-list") for word in argv):
        return frozenset()
    if argv[0] in GREPS and any(re.match("-[^-]*f|--file", word) for word in argv[1:]):
        return words.patterns  # the patterns are in a file
    return words.patterns or frozenset((*words.operands, *words.after)[:1])


def split_actions(arguments: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Split the arguments of find: return the tests, and the commands that find would run."""
    tests: list[str] = []
    actions: list[list[str]] = []
    at = 0
    while at < len(arguments):
        if arguments[at] not in FIND_ACTIONS:
            tests.append(arguments[at])
            at += 1
            continue
        end = next((i for i in range(at, len(arguments)) if _ends_action(arguments, i)), len(arguments))
        actions.append(list(arguments[at + 1 : end]))
        at = end + 1
    return tests, actions


def _ends_action(arguments: Sequence[str], at: int) -> bool:
    """Return whether the command of find's action ends at index `at`.

    A `+` ends the command only directly after `{}`.
    """
    return arguments[at] == ";" or (arguments[at] == "+" and arguments[at - 1] == "{}")


def _ends_options(name: str) -> bool:
    """Return whether the program may be called with `--`, because all words after `--` are harmless operands.

    For `xxd`, this is not true, because a word after `--` may be a file to write.
    """
    allowed = COMMANDS.get(name)
    is_harmless = allowed is not None and (allowed.has_no_harmful_option or allowed.is_text)
    return is_harmless or name in ("git", "rg", "fd", "sort", "sed", "awk", "test", "[")


def _may_become_option(name: str, arguments: Sequence[str], patterns: Sequence[int]) -> bool:
    """Return whether a pattern may match a file name that the command treats as an option."""
    ending = next((at for at, word in enumerate(arguments) if word == "--"), len(arguments))
    # no version of awk takes a word after its program for an option, and only such words may be patterns (awk.py)
    if name in _AWKS or has_no_harmful_option(name) or name in TEXT_ONLY:
        return False
    return any(
        _may_be_option(arguments[at])
        for at in patterns
        if at < ending
        and not (name == "find" and arguments[at].endswith("/"))  # no option of find ends with it
        and not (name == "jq" and arguments[at].endswith(".json"))  # with it, jq knows only `-L`
    )


def _may_be_option(pattern: str) -> bool:
    """Return whether a pattern may match a file name that the command reads as a different option.

    For example, `--include=*.py` can only match the same option with other values, so the result is False.
    """
    return pattern[:1] in "*?[" or (pattern.startswith("-") and not re.match(r"--[\w-]+=", pattern))


def _fits(allowed: AllowedOptions, arguments: Sequence[str], patterns: Sequence[int] = ()) -> bool:
    if allowed.is_text and not (allowed.flags or allowed.valued or allowed.long or allowed.words):
        return True
    if allowed.needs and not set(allowed.needs) & set(arguments):
        return False
    if allowed.has_response_files and any(word.startswith("@") for word in arguments):
        return False
    is_limited = allowed.max_operands < 1_000_000
    operands: list[int] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        if argument == "--":
            operands += range(at, len(arguments))
            break
        if argument == "-" or not argument.startswith("-"):
            operands.append(at - 1)
        elif operands and is_limited:
            return False  # after an operand, some programs on macOS (such as xxd) treat options as operands
        elif argument.startswith("--"):
            if not _is_long(allowed, argument):
                return False
            if _takes_next(allowed, argument) and at < len(arguments):
                if _may_be_other_option(arguments, at):
                    return False
                at += 1
        elif not (allowed.numbers and argument[1:].isdigit()):
            used = _letters(allowed, argument)
            if used is None or (used and (at in patterns or _may_be_other_option(arguments, at))):
                return False
            at += used
    if allowed.words and not all(re.fullmatch(allowed.words, arguments[place]) for place in operands):
        return False
    return len(operands) <= allowed.max_operands and not (is_limited and set(operands) & set(patterns))


def _may_be_other_option(arguments: Sequence[str], at: int) -> bool:
    """Return whether the word at `at`, the value of an option, may be an option in other versions of the
    program.
    """
    return at < len(arguments) and bool(re.match(r"-(?!\d+\Z)", arguments[at]))


def _is_long(allowed: AllowedOptions, argument: str) -> bool:
    name, equals, _ = argument[2:].partition("=")
    return f"{name}=" in allowed.long or (name in allowed.long and not equals)


def _takes_next(allowed: AllowedOptions, argument: str) -> bool:
    """Return whether the word after a long option is the value of the option."""
    name = argument[2:]
    return f"{name}=" in allowed.long and name not in allowed.long and name not in _OPTIONAL


def _letters(allowed: AllowedOptions, argument: str) -> int | None:
    """Return how many words after `argument`, a group of option letters, are values of its letters (0 or 1).

    Return None if a letter is not allowed.
    """
    for at, letter in enumerate(argument[1:], start=1):
        if letter in allowed.apart:
            if argument[2:].isdigit() and at == 1:
                return 0
            return 1 if len(argument) == 2 else None
        if letter in allowed.attached:
            return 0
        if letter in allowed.valued:
            return 0 if at + 1 < len(argument) else 1
        if letter not in allowed.flags:
            return None
    return 0


def _valued_letter(allowed: AllowedOptions, argument: str) -> str:
    """Return the first letter in a group of option letters that takes a value, "" for none."""
    return next((letter for letter in argument[1:] if letter in allowed.valued), "")


# -- commands with special rules


def _git(arguments: list[str], patterns: Sequence[int]) -> bool:
    at = start_of_git_command(("git", *arguments)) - 1
    if arguments[:at].count("-C") > 1 or any(place < at for place in patterns):
        return False
    arguments = arguments[at:]
    if not arguments:
        return True
    if any(map(_GIT_FORMAT_RUNS.search, (*arguments, *map("=".join, pairwise(arguments))))):
        return False
    known = next((_GIT[verb] for verb in (" ".join(arguments[:2]), arguments[0]) if verb in _GIT), None)
    if known is None:
        return False
    used = 2 if " ".join(arguments[:2]) in _GIT else 1
    rest, places = arguments[used:], [place - at - used for place in patterns]
    if arguments[0] in ("branch", "tag") and _lists_refs(rest):
        known = AllowedOptions(**{name: getattr(known, name) for name in ("flags", "valued", "long")})
    return _fits(known, rest, places)


_GIT_FORMAT_RUNS = regex(r"%[-+ ]?(?:G|\(\*?(?:sig|describe|raw))|--sort=?-?\*?sig")
"""Formats for which git runs gpg or another git command, or prints a file that a tag names.
`%+G?` is `%G?` after a line break.
"""


def _lists_refs(arguments: Sequence[str]) -> bool:
    """Return whether an option makes `git branch` or `git tag` list names, so that operands create nothing."""
    return any(
        word.partition("=")[0]
        in ("--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
        for word in arguments
    )


def _find(arguments: list[str], patterns: Sequence[int]) -> bool:
    tests, _ = split_actions(arguments)
    modes = {at + 1 for at, word in enumerate(tests) if word == "-perm"}
    tests = [word for at, word in enumerate(tests) if at not in modes or not _MODE.fullmatch(word)]
    return all(a in _FIND_TESTS for a in tests if a.startswith(("-", "!", "(", ")")) and not a[1:2].isdigit())


_MODE = regex(r"[-/]?[ugoarwxXst0-7+=,]+")


def _ps(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether ps only lists processes."""
    if processes.only_lists(arguments):
        return not patterns
    return processes.prints_no_variables(arguments) and _fits(COMMANDS["ps"], arguments, patterns)


def _node(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether node prints what harmless code computes, or checks the syntax of one file."""
    if arguments[:1] == ["--check"]:
        return _fits(_SUBCOMMANDS["node --check"], arguments[1:], [at - 1 for at in patterns])
    return not patterns and node.files_of_code(arguments) is not None


def _go(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether go only prints facts."""
    if arguments[:1] == ["list"]:
        return not patterns and golang.only_lists(arguments[1:])
    verb = _SUBCOMMANDS.get(" ".join(("go", *arguments[:1])))
    is_known = arguments[:1] != ["mod"] or arguments[1:2] in (["graph"], ["why"])
    return verb is not None and is_known and _fits(verb, arguments[1:], [at - 1 for at in patterns])


def _top(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether top prints lists and ends: without `-b` and `-n` it waits for keys."""
    letters = "".join(word for word in arguments if word.startswith("-"))
    return "b" in letters and "n" in letters and _fits(COMMANDS["top"], arguments, patterns)


def _netstat(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether netstat only lists. Without `-n` it asks a server for the names of addresses."""
    is_numeric = any(re.fullmatch(r"-\w*n\w*", word) for word in arguments)
    return is_numeric and _fits(COMMANDS["netstat"], arguments, patterns)


def _jq(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether this jq command only reads. The jq program must not read modules or environment variables."""
    program = next((at for at, word in enumerate(arguments) if not word.startswith("-")), -1)
    is_plain = all(map(queries.is_plain_jq, arguments)) and program not in patterns
    return is_plain and _fits(COMMANDS["jq"], arguments, patterns)


def _yq(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether this yq command only prints: its program has only names and harmless functions."""
    program = queries.program_of_yq(arguments)
    is_plain = program >= 0 and queries.is_plain_yq(arguments[program]) and program not in patterns
    used = queries.count_of_yq_verbs(arguments)
    return is_plain and _fits(COMMANDS["yq"], arguments[used:], [at - used for at in patterns])


_SPECIAL: dict[str, Callable[[list[str], Sequence[int]], bool]] = {
    "git": _git, "find": _find, "sed": sed.only_prints, "awk": awk.only_prints, "gawk": awk.only_prints,
    "mawk": awk.only_prints, "command": printers.command_prints, "printf": printers.printf_prints,
    "set": printers.set_prints,
    "ps": _ps, "jq": _jq, "yq": _yq,
    "perl": printers.one_liner_prints("perl"), "ruby": printers.one_liner_prints("ruby"),
    "openssl": printers.openssl_prints, "julia": printers.one_liner_prints("julia"), "ffprobe": printers.ffprobe_prints,
    **dict.fromkeys(printers.COMPILERS, printers.compiler_prints), "tar": printers.tar_prints,
    "netstat": _netstat, "go": _go, "top": _top, "node": _node, "unzip": printers.unzip_prints,
    "gzip": printers.gzip_prints, "gunzip": printers.gzip_prints, "sqlite3": printers.sqlite_prints,
    "xz": printers.unpacks_to_stdout("xz"), "bzip2": printers.unpacks_to_stdout("bzip2"),
    "zstd": printers.unpacks_to_stdout("zstd"), "pdftotext": printers.pdftotext_prints,
    "test": printers.test_prints, "[": printers.test_prints,
    "python": python.only_prints, "python3": python.only_prints,
}  # fmt: skip

NAMES = frozenset((*COMMANDS, *_SPECIAL))
"""The commands of the tables and those with special rules."""
