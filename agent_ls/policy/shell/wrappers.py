"""ENGINE: commands that run other commands, as data: which options take a value, and where the other begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


@dataclass(frozen=True, slots=True)
class TakenOff:
    """What stands behind a wrapper: the `inner` command, the `variables` it sets, and its own options."""

    inner: tuple[str, ...]
    variables: tuple[str, ...]
    options: tuple[str, ...]


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def taken_off(argv: Sequence[str]) -> TakenOff | None:
    """None when one of its options is not known."""
    wrapper, at, variables = WRAPPERS[argv[0]], 1, []
    letters = {option[1:] for option in wrapper.plain if len(option) == 2}
    while at < len(argv):
        word = argv[at]
        if word == "--":
            at += 1
            break
        if wrapper.assigns and _ASSIGNMENT.match(word):
            variables.append(word.partition("=")[0])
            at += 1
        elif not word.startswith("-") or (word == "-" and argv[0] != "env"):
            break
        elif word in wrapper.plain or (argv[0] == "nice" and word[1:].isdigit()) or set(word[1:]) <= letters:
            at += 1
        elif word in wrapper.valued:
            at += 2
        elif any(_has_value(word, option) for option in wrapper.valued):
            at += 1
        else:
            return None
    inner = at + wrapper.operands
    return TakenOff(tuple(argv[inner:]), tuple(variables), tuple(argv[1:at]))


def _has_value(word: str, option: str) -> bool:
    return word.startswith(option + "=") if option.startswith("--") else word.startswith(option)


def program_in_arguments(argv: Sequence[str], stdin: str) -> str:
    """Why the program of an interpreter is not in sight, or is not understood; "" when it is a file with a name."""
    name, arguments = argv[0], argv[1:]
    options = INTERPRETERS[name].split()
    if not options or any(_is_inline(argument, options) for argument in arguments):
        return f"a program of {name} is not understood"
    if any(not a.startswith("-") for a in arguments) or any(a.startswith("-m") for a in arguments):
        return ""
    if any(a in ("--version", "-V", "-v", "--help", "-h", "-version") for a in arguments):
        return ""
    if stdin != "terminal":
        return f"what {name} runs comes from its input"
    return f"what {name} runs is not in sight"


def _is_inline(argument: str, options: Sequence[str]) -> bool:
    if argument in options or any(argument.startswith(o + "=") for o in options if o.startswith("--")):
        return True
    if not argument.startswith("-") or argument.startswith("--"):
        return False
    letters = re.match(r"-([A-Za-z]*)", argument)
    return any(len(o) == 2 and letters and o[1] in letters[1] for o in options)
