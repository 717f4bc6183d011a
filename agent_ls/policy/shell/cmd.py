"""ENGINE: command lines of cmd.exe. They are read as far as cmd.exe and a POSIX shell read them alike, and no further.

A word in single quotes, say, is one word to the one and a list of commands to the other. So what is more than plain
words is asked about each time; plain words are never taken for a command that only looks, for a name such as `find`
or `sort` is another program there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import Understanding

# Not among them, for what they mean to one of the two: quotes, % ^ & | < > ( ) ! = , ; \ $ * ? ~ # and line ends.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+\- ]+")
_BETWEEN = re.compile(r"[/:.@+]")  # what may stand behind a command of cmd.exe with no blank
_EXTENSION = re.compile(r"\.(exe|com|bat|cmd)\Z")

_DESTRUCTIVE = frozenset(
    "bcdedit cipher del diskpart erase fdisk format icacls net netsh rd reg rmdir robocopy sc schtasks shutdown "
    "takeown taskkill vssadmin wevtutil wmic".split()
)
_RUNNERS = frozenset(
    "call cmd cscript for forfiles if mshta powershell pwsh regsvr32 rundll32 runas start wscript".split()
)


def is_windows(working_dir: str) -> bool:
    """Whether a command there is run by cmd.exe: its folder is no path of POSIX."""
    return not working_dir.startswith("/")


def understood_by_cmd(command: str, read: Callable[[str], Understanding]) -> Understanding:
    """`read` is how the same text is read in a POSIX shell."""
    found = replace(read(command), is_read_only=False)
    if found.refusal or found.danger or found.doubt:
        return found
    if not _PLAIN.fullmatch(command):
        return replace(
            found, doubt="it has more than plain words, which cmd.exe takes in its own way", is_general=False
        )
    name = _program(command.split()[0]) if command.split() else ""
    if name in _DESTRUCTIVE:
        return replace(
            found, danger=f"{name} can destroy or change what is not the project's", is_general=False
        )
    if name in _RUNNERS:
        return replace(found, doubt=f"{name} runs another command", is_general=False)
    return found


def _program(word: str) -> str:
    """`C:/Windows/system32/FORMAT.COM`, `format/q`, `@format` and `format:` are all `format`."""
    parts = _BETWEEN.split(_EXTENSION.sub("", word.lower()))
    return next((part for part in parts if part in _DESTRUCTIVE | _RUNNERS), "")
