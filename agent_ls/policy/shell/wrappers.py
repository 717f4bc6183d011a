"""ENGINE: commands that run other commands, as data: which options take a value, and where the other begins."""

from __future__ import annotations

from dataclasses import dataclass

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))

INTERPRETERS = {
    "python": "-c", "python3": "-c", "python2": "-c", "pypy": "-c", "pypy3": "-c", "perl": "-e -E",
    "ruby": "-e",
    "node": "-e --eval -p --print", "nodejs": "-e --eval -p --print", "deno": "eval", "bun": "-e --eval",
    "php": "-r", "lua": "-e", "osascript": "-e", "Rscript": "-e", "julia": "-e", "pwsh": "-c -Command",
    "powershell": "-c -Command", "tclsh": "", "expect": "-c", "awk": "", "gawk": "", "mawk": "",
}  # fmt: skip
"""What runs a program that stands in its arguments: the options that say so; "": the first operand is one."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """`valued` options take the next word as their value (or what stands behind the letter), `plain` ones none.

    `operands` words come before the command. `assigns`: NAME=VALUE words may.
    """

    valued: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False


def _wrapper(valued: str = "", plain: str = "", operands: int = 0, *, assigns: bool = False) -> Wrapper:
    return Wrapper(frozenset(valued.split()), frozenset(plain.split()), operands, assigns)


WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir", "-i --ignore-environment -0 --null -", assigns=True),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n --class --classdata", "-t"),
    "nohup": _wrapper(),
    "setsid": _wrapper("", "-c -f -w --fork --wait --ctty"),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "time": _wrapper("-f -o --format --output", "-p -v -a --portability --verbose"),
    "timeout": _wrapper("-k -s --kill-after --signal", "-v --foreground --preserve-status --verbose", 1),
    "command": _wrapper("", "-p"),
    "builtin": _wrapper(),
    "exec": _wrapper("-a", "-c -l"),
    "busybox": _wrapper(),
    "xargs": _wrapper(
        "-I -n -P -L -d -s -a -E --max-args --max-procs --max-lines --delimiter --replace --arg-file",
        "-0 -r -t -x -o --null --no-run-if-empty --verbose --exit",
    ),
    "sudo": _wrapper(
        "-u -g -p -C -h -U --user --group", "-n -E -H -S -k -i -s -A -b --non-interactive", assigns=True
    ),
    "doas": _wrapper("-u -C", "-n -s -L"),
    "chronic": _wrapper(),
    "unbuffer": _wrapper("", "-p"),
}

FIND_ACTIONS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
