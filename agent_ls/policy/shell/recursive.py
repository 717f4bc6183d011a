"""Pure: recognize commands that display or copy the contents of whole folders without naming each file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from agent_ls.policy.shell import listing, read_only

_GREPS = frozenset(("grep", "egrep", "fgrep", "zgrep", "ugrep"))
_ALWAYS = frozenset("rg ag ack ack-grep tar zip 7z rsync bsdtar cpio".split())
_WITH_R = frozenset(("cp", "diff", "scp", "mv"))  # mv needs no option: it always moves whole folders
_OF_GIT = frozenset(("grep", "archive"))


def reads_folders(commands: Sequence[tuple[str, ...]], fed: Sequence[tuple[str, ...]] = ()) -> bool:
    """Return whether a command line displays or copies the contents of folders.

    `commands` are the parsed commands of the line. `fed`: those that get words which another one prints.
    """
    if any(_reads_folders(argv) for argv in commands):
        return True
    if not any(listing.lists_names(argv) for argv in commands):
        return False
    # In `find … | xargs head`, the second command reads the files that the first one lists.
    return any(not (_lists_names(argv) or listing.shows_no_content(argv)) for argv in fed)


_FOLLOWING = {
    "rg": r"-[^-]*L.*|--follow", "grep": r"-[^-]*R.*|--deref.*", "egrep": r"-[^-]*R.*|--deref.*",
    "fgrep": r"-[^-]*R.*|--deref.*", "ugrep": r"-[^-]*[RS].*|--deref.*", "ag": r"-[^-]*f.*|--follow", "ack": "--follow",
    "find": "-[LH]|-follow", "fd": r"-[^-]*L.*|--follow", "fdfind": r"-[^-]*L.*|--follow",
    "du": r"-[^-]*[LDH].*|--deref.*", "tree": r"-[^-]*l.*", "ls": r"-[^-]*[LH].*|--deref.*",
    "cp": r"-[^-]*[LH].*|--deref.*", "tar": r"-[^-]*h.*|--deref.*", "zip": r"-[^-]*r.*|--recurse.*", "7z": "a",
    "7za": "a", "7zz": "a", "file": r"-[^-]*L.*|--deref.*", "gofmt": "-[ld]",
    "terraform": "fmt", "diff": r"-[^-]*r.*|--recursive", "black": "--check|--diff", "yamllint": "[^-].*",
}  # fmt: skip
"""Programs, with a pattern for the options with which they read what the links in a folder lead to."""


def follows_links(argv: Sequence[str]) -> bool:
    """Return whether the command may read the targets of links in the folders that it reads."""
    if argv[0] == "find" and read_only.split_actions(argv[1:])[1] and not listing.lists_files_only(argv):
        return True
    pattern = _FOLLOWING.get(argv[0])
    words = argv[1:]
    if argv[0] == "tar" and words and not words[0].startswith("-"):
        words = (f"-{words[0]}", *words[1:])
    return pattern is not None and any(re.fullmatch(pattern, word, re.DOTALL) for word in words)


def greps_folders(argv: Sequence[str]) -> bool:
    """Return whether the command is a grep that reads whole folders. The one of busybox reads linked files too."""
    return argv[0] in _GREPS and (_has_letter(argv[1:], "rR") or _is_recursive(argv[1:]))


_UNPACKING = {
    "tar": r"-?[^-]*x.*|--extract|--get", "bsdtar": r"-?[^-]*x.*|--extract|--get", "jar": r"-?[a-z]*x.*|--extract",
    "7z": "[xe]", "7za": "[xe]", "7zz": "[xe]", "unrar": "[xe]",
}  # fmt: skip


def unpacks(argv: Sequence[str]) -> bool:
    """Return whether the command writes the files of an archive, also through links to folders that are there."""
    if argv[0] == "unzip":
        return not any(re.fullmatch("-q*[ltvzZ][a-zA-Z]*", word) for word in argv[1:2])
    if argv[1:3] in (("-m", "tarfile"), ("-m", "zipfile")):
        return any(word in ("-e", "--extract") for word in argv[3:])
    pattern = _UNPACKING.get(argv[0])
    if argv[0] == "tar" and re.fullmatch(r"-?[a-zA-Z]*O[a-zA-Z]*", "".join(argv[1:2])):
        return False  # it prints them
    first = [*argv[1:2], *(word for word in argv[2:] if word.startswith("-"))]
    return pattern is not None and any(re.fullmatch(pattern, word, re.DOTALL) for word in first)


def _lists_names(argv: Sequence[str]) -> bool:
    return listing.lists_names((argv[0], *read_only.before_operands(argv[1:])))


def _reads_folders(argv: tuple[str, ...]) -> bool:
    name, arguments = argv[0], argv[1:]
    if name in (*_GREPS, "rg") and listing.shows_no_content(argv):
        return False
    if name in _GREPS:
        return greps_folders(argv)
    if name in _WITH_R:
        return name == "mv" or _has_letter(arguments, "rRa") or _is_recursive(arguments)
    if name == "git":
        words = [word for word in arguments if not word.startswith("-")]
        return bool(_OF_GIT & set(words[:2]))
    if name == "find":
        actions = read_only.split_actions(arguments)[1]
        return any(not action or not listing.shows_no_content(action) for action in actions)
    if (
        name == "tar"
        and arguments
        and re.fullmatch(r"-?[a-zA-Z]*t[a-zA-Z]*|--list|--help|--version", arguments[0])
    ):
        return False
    return name in _ALWAYS and "--files" not in read_only.before_operands(arguments)


def find_read_paths(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the words for the files and folders that a search command reads, () for the working directory.

    Return None if they are not known.
    """
    if argv[0] == "find":
        arguments = argv[2:] if argv[1:2] == ("-P",) else argv[1:]
        return tuple(takewhile(lambda word: not word.startswith(("-", "(", "!")), arguments))
    words = read_only.words_of(argv) if argv[0] in (*_GREPS, "rg") else None
    if words is None:
        return None
    found = tuple(argv[at] for at in (*words.operands, *words.after))
    return found if words.patterns or "--files" in argv else found[1:]


def _has_letter(arguments: Sequence[str], letters: str) -> bool:
    return any(re.fullmatch(rf"-[A-Za-z]*[{letters}][A-Za-z0-9]*", argument) for argument in arguments)


def _is_recursive(arguments: Sequence[str]) -> bool:
    return any("recurs" in word or word == "--archive" for word in arguments)
