"""Pure: analyse command lines of cmd.exe that cmd.exe and a POSIX shell interpret in the same way.

A word in single quotes, for example, is one word for a POSIX shell and a list of commands for cmd.exe.
Therefore, lines with anything other than plain words always need approval. A command of plain words is never
treated as read-only, because names such as `find` or `sort` are different programs on Windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_ls.patterns import regex

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import CommandAnalysis

# Excluded because the shells differ: quotes, % ^ & | < > ( ) ! = , ; \ $ * ? ~ # and line ends.
_PLAIN = regex(r"[A-Za-z0-9_./:@+\- ]+")
_BETWEEN = regex(r"[/:.@+]")  # characters that end a command name of cmd.exe without a blank
_EXTENSION = regex(r"\.(exe|com|bat|cmd)\Z")

_DESTRUCTIVE = frozenset(
    "bcdedit cipher del diskpart erase fdisk format icacls net netsh rd reg rmdir robocopy sc schtasks shutdown "
    "takeown taskkill vssadmin wevtutil wmic".split()
)
_RUNNERS = frozenset(
    "call cmd cscript for forfiles if mshta powershell pwsh regsvr32 rundll32 runas start wscript".split()
)


def is_windows(working_dir: str) -> bool:
    """Return whether cmd.exe runs commands in this folder, because its path is not a POSIX path."""
    return not working_dir.startswith("/")


def understood_by_cmd(command: str, read: Callable[[str], CommandAnalysis]) -> CommandAnalysis:
    """Return the effects of a command line for cmd.exe. `read` analyses the text as a POSIX shell would.

    If cmd.exe may interpret the line in another way, the result has a `doubt`: the line needs approval.
    """
    found = read(command)
    found = replace(found, acts=found.commands, is_read_only=False, is_on_short_list=False)
    if found.refusal or found.danger or found.doubt:
        return found
    if not _PLAIN.fullmatch(command):
        return replace(
            found,
            doubt="It contains special characters, which cmd.exe interprets in its own way.",
            is_general=False,
        )
    name = _program(command.split()[0]) if command.split() else ""
    if name in _DESTRUCTIVE:
        return replace(
            found, danger=f"{name} can destroy or change things outside of the project.", is_general=False
        )
    if name in _RUNNERS:
        return replace(found, doubt=f"{name} runs another command.", is_general=False)
    return found


def _program(word: str) -> str:
    """Return the program in _DESTRUCTIVE or _RUNNERS that cmd.exe may start for this word; "" for none.

    `C:/Windows/system32/FORMAT.COM`, `format/q`, `@format` and `format:` are `format`.
    """
    parts = _BETWEEN.split(_EXTENSION.sub("", word.lower()))
    return next((part for part in parts if part in _DESTRUCTIVE | _RUNNERS), "")
