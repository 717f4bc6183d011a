"""ENGINE: commands that show, or copy, what lies in whole folders without naming each file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.policy.shell import read_only

_GREPS = frozenset(("grep", "egrep", "fgrep", "zgrep", "ugrep"))
_ALWAYS = frozenset("rg ag ack ack-grep tar zip 7z rsync bsdtar cpio".split())
_WITH_R = frozenset(("cp", "diff", "scp", "mv"))  # mv takes folders as they are
_OF_GIT = frozenset(("grep", "archive"))


def reads_folders(command: str, commands: Sequence[tuple[str, ...]]) -> bool:
    """Of a command line, and the commands in it as they are understood: whether content of folders comes out of it."""
    if any(_reads_folders(argv) for argv in commands):
        return True
    if "xargs" not in command or not any(read_only.lists_names(argv) for argv in commands):
        return False
    # `find … | xargs head`: what is listed is what the next one reads.
    return any(not (read_only.lists_names(argv) or read_only.shows_no_content(argv)) for argv in commands)


def _reads_folders(argv: tuple[str, ...]) -> bool:
    name, arguments = argv[0], argv[1:]
    if name in (*_GREPS, "rg") and read_only.shows_no_content(("grep", *arguments)):
        return False
    if name in _GREPS:
        return _has_letter(arguments, "rR") or _is_recursive(arguments)
    if name in _WITH_R:
        return name == "mv" or _has_letter(arguments, "rRa") or _is_recursive(arguments)
    if name == "git":
        words = [word for word in arguments if not word.startswith("-")]
        return bool(_OF_GIT & set(words[:2]))
    if name == "find":
        actions = read_only.split_actions(arguments)[1]
        return any(not action or not read_only.shows_no_content(action) for action in actions)
    return name in _ALWAYS and "--files" not in arguments


def _has_letter(arguments: Sequence[str], letters: str) -> bool:
    return any(re.fullmatch(rf"-[A-Za-z]*[{letters}][A-Za-z0-9]*", argument) for argument in arguments)


def _is_recursive(arguments: Sequence[str]) -> bool:
    return any("recurs" in word or word == "--archive" for word in arguments)
