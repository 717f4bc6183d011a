"""Pure: tell what the output of a read-only command consists of: names of files, or also lines of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from agent_ls.patterns import regex
from agent_ls.policy.shell.read_only import (
    COMMANDS,
    GREPS,
    before_operands,
    split_actions,
    start_of_git_command,
)
from agent_ls.policy.shell.wrappers import FIND_ACTIONS

_FIND_PRINTS = frozenset("-print -print0 -printf -ls".split())
_PRINTS_MORE = frozenset("-printf -ls --json --stats --type-list --list-details".split())
"""Options that make programs that list names also print other text."""


def shows_no_content(argv: Sequence[str]) -> bool:
    """Return whether the command prints only names, sizes, counts or checksums, and no line of a file."""
    name = argv[0]
    if name in GREPS:
        words = before_operands(argv)[1:]
        flags = "lcq" if name == "rg" else "lLcq"
        return "--json" not in words and any(_has_flag(name, word, flags) for word in words)
    return name in ("md5sum", "sha256sum", "sha1sum") or name in _NAMES_ONLY


def lists_matches(argv: Sequence[str]) -> bool:
    """Return whether the command only prints the names of those of its files that match a pattern (`grep -l`)."""
    return argv[0] in GREPS and any(_has_flag(argv[0], word, "l") for word in before_operands(argv)[1:])


def _has_flag(name: str, word: str, flags: str) -> bool:
    """Return whether the option word contains one of the letters `flags`.

    Letters after an option with a value are not options, but the value.
    """
    before = re.split(f"[{COMMANDS[name].valued}]", word[1:], maxsplit=1)[0]
    return bool(re.match("-[^-]", word)) and any(flag in before for flag in flags)


_NAMES_ONLY = frozenset("wc ls stat du basename dirname realpath readlink echo printf test".split())


def prints_names_only(argv: Sequence[str]) -> bool:
    """Return whether the command prints only names, sizes and times, and does not list the target of a link."""
    # for a link to a folder, ls lists the folder, unless an option makes it describe the link
    if argv[0] == "ls":
        return any(_has_flag("ls", word, "ld") for word in argv[1:])
    return argv[0] in _NAMES_ONLY


def reads_no_content(argv: Sequence[str]) -> bool:
    """Return whether a read-only command prints at most names, kinds, sizes and times of its files.

    It does not depend on their content either, as the exit code of `grep -q` does.
    """
    name = argv[0]
    if name == "git":
        words = argv[start_of_git_command(argv) :]
        pattern = _READS_NO_CONTENT_OF_GIT.get(words[0]) if words else None
        options = [word for word in words[1:] if word.startswith("-")]
        return pattern is not None and all(re.fullmatch(pattern, option) for option in options)
    if name == "openssl":
        return argv[1:2] == ("x509",)  # it prints the certificate, not the key beside it
    if name == "find":
        return not split_actions(argv[1:])[1]
    return name in _READS_NO_CONTENT


def prints_no_changes(argv: Sequence[str]) -> bool:
    """Return whether a command of git prints commits and names of files, but no content of a file."""
    words = argv[start_of_git_command(argv) :] if argv[0] == "git" else ()
    options = [word for word in words if word.startswith("-")]
    if any(map(_CHANGES.fullmatch, options)):
        return False
    return words[:1] in _PRINTS_COMMITS or (
        words[:1] in (("diff",), ("show",), ("diff-tree",)) and any(map(_SUMMARY.fullmatch, options))
    )


_CHANGES = regex(r"-[a-zA-Z]*[pucUGSL].*|--(?:patch|unified|cc|check|raw|word-diff|full-diff|ext|textconv).*")
_SUMMARY = regex(r"--(?:stat|shortstat|numstat|name-only|name-status|no-patch|quiet)\b.*|-s")
_PRINTS_COMMITS = tuple(
    (verb,) for verb in ("log", "rev-list", "merge-base", "name-rev", "describe", "cherry")
)
_READS_NO_CONTENT = frozenset("ls stat du test [ realpath readlink file wc tree".split())
_READS_NO_CONTENT_OF_GIT = {
    "check-ignore": "-.*",
    "ls-files": r"--(?!stage|format).*|-[^s]+",
    "status": r"-[sb]+|--short|--branch|--porcelain.*|--",
    "log": r"-\d+|-n\d*|--|--(?:oneline|follow|all|graph|stat|name-only|name-status|decorate|(format|pretty|date)=.*)",
}
"""Subcommands of git that print names, each with a pattern for its options."""


def lists_names(argv: Sequence[str]) -> bool:
    """Return whether the output may consist of names of files below the given folders."""
    name, arguments = argv[0], argv[1:]
    if name == "git":
        return list(arguments[:1]) == ["ls-files"] or lists_names_of_history(argv)
    if name in GREPS:
        return any(a in ("--files", "--files-with-matches") for a in arguments) or lists_matches(argv)
    return name in ("find", "fd") and not split_actions(arguments)[1]


def lists_names_of_history(argv: Sequence[str]) -> bool:
    """Return whether git prints only names of changed files, of which some may be gone from the disk."""
    options = [word for word in before_operands(argv)[2:] if word.startswith("-")]
    if tuple(argv[:1]) != ("git",) or "--name-only" not in options:
        return False
    known = _CHANGED_NAMES.get("".join(argv[1:2]))
    return known is not None and all(re.fullmatch(known, word) for word in options)


_CHANGED_NAMES = {
    "diff": r"--(?:name-only|cached|staged|merge-base|relative|no-renames|diff-filter=[a-zA-Z]+)",
    "diff-tree": r"--(?:name-only|no-commit-id|root|no-renames|diff-filter=[a-zA-Z]+)|-r",
}


def lists_names_only(argv: Sequence[str]) -> bool:
    """Return whether the output consists only of names of files below the given folders.

    It must not contain lines of a file, other text of the command, or targets of links.
    """
    words = (argv[0], *before_operands(argv[1:]))
    return (
        lists_names(words)
        and not _PRINTS_MORE & set(words)
        and not (words[0] == "fd" and any(_has_flag("fd", word, "l") for word in words))
    )


def listed(piped: Sequence[Sequence[str]], *, with_nulls: bool = False) -> tuple[tuple[str, ...], ...]:
    """Return the commands of a pipeline if they print only names of files, () otherwise.

    `with_nulls`: a null character, in place of a line break, must follow each name.
    """
    commands = tuple(map(tuple, piped))
    if with_nulls:
        return commands if len(commands) == 1 and lists_null_separated(commands[0]) else ()
    is_listing = bool(commands) and lists_names_only(commands[0]) and not may_separate_by_null(commands[0])
    return commands if is_listing and all(map(keeps_lines, commands[1:])) else ()


def lines_of_ls(piped: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return a pattern that each line of a pipeline with `ls` matches, or the folder whose entries they are.

    Both are "" for other pipelines.
    """
    if not piped or piped[0][0] != "ls" or not all(map(keeps_lines, piped[1:])):
        return "", ""
    operands = [word for word in piped[0][1:] if not _ORDERS.fullmatch(word)]
    operand = "".join(operands)
    if len(operands) > 1 or not _PLACE.fullmatch(operand) or ".." in operand:
        return "", ""
    if not operand and lists_folders(piped[0]):
        return "*", ""
    if "*" in operand or "?" in operand:
        return operand, ""
    return "", operand.rstrip("/") if lists_folders(piped[0]) else ""


def lists_folders(argv: Sequence[str]) -> bool:
    """Return whether ls prints what is in the folders that it is given, instead of their names."""
    return not any(_has_flag("ls", word, "d") for word in argv[1:])


_ORDERS = regex(r"-[1trSvUXcdu]+|--color=never|--sort=\w+|--group-directories-first|--reverse|--")
_PLACE = regex(r"(?!-)[\w./*?-]*")


def lists_null_separated(argv: Sequence[str]) -> bool:
    """Return whether the command prints only names that end with a null character and do not begin with `-`."""
    return argv[0] == "find" and [*argv][first_action(argv) :] == ["-print0"]


def lists_null_separated_of_git(argv: Sequence[str]) -> bool:
    """Return whether the command prints only names that end with a null character, and may begin with `-`."""
    return argv[:2] == ("git", "ls-files") and "-z" in before_operands(argv)


def may_separate_by_null(argv: Sequence[str]) -> bool:
    """Return whether an option may make the command print a null character after each name."""
    if argv[0] == "find":
        return any(word.startswith(("-print0", "-printf", "-fprint")) for word in argv)
    return any(re.match(r"--?print0|--null|-[a-zA-Z]*[zZ0]", word) for word in argv[1:])


def keeps_lines(argv: Sequence[str]) -> bool:
    """Return whether the command prints only whole lines of its input: it selects or sorts them."""
    pattern = _KEEPS_LINES.get(argv[0])
    return pattern is not None and bool(re.fullmatch(pattern, "\n".join(argv[1:])))


_KEEPS_LINES = {
    "grep": r"(?:-(?:[viEFwx]+|[iEFwx]*m\n?\d+)\n)*[^-\n][^\n]*", "sed": r"-n\n\d+p",
    "head": r"(?:-n\n?-?\d+|-\d+)?", "tail": r"(?:-n\n?[-+]?\d+|-\d+)?", "sort": "(?:-[rnuV]+)?", "uniq": "",
}  # fmt: skip
"""For each program: a pattern for its arguments, one a line."""


def lists_files_only(argv: Sequence[str]) -> bool:
    """Return whether the first action of a find command is applied only to regular files, not to links."""
    return (
        argv[0] == "find"
        and ("-type", "f") in pairwise(argv[: first_action(argv)])
        and not {"-L", "-o", "-or", "-follow", "!", "-not", ","} & set(argv)
    )


def first_action(argv: Sequence[str]) -> int:
    """Return the index of the first word of find that acts on files, the number of words if none does."""
    return next((at for at, word in enumerate(argv) if word in _FIND_PRINTS | FIND_ACTIONS), len(argv))
