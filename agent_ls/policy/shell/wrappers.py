"""Pure: tables of commands that run other commands: their options, and where the other command begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.patterns import regex

SHELLS = frozenset(
    ("sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "csh", "tcsh", "mksh", "yash")
)

INTERPRETERS = {
    "python": "-c", "python3": "-c", "python2": "-c", "pypy": "-c", "pypy3": "-c", "perl": "-e -E",
    "ruby": "-e",
    "node": "-e --eval -p --print", "nodejs": "-e --eval -p --print", "deno": "eval", "bun": "-e --eval -p --print",
    "php": "-r --run -B -R", "lua": "-e", "osascript": "-e", "Rscript": "-e", "julia": "-e -E --eval --print",
    "pwsh": "-c -Command", "powershell": "-c -Command", "tclsh": "", "expect": "-c", "awk": "", "gawk": "", "mawk": "",
    "nawk": "", "original-awk": "", "ipython": "-c", "luajit": "-e", "guile": "-c", "raku": "-e", "elixir": "-e",
    "tsx": "-e --eval -p --print", "ts-node": "-e --eval -p --print", "nu": "-c --commands", "xonsh": "-c",
    "elvish": "-c", "osh": "-c", "oil": "-c", "ysh": "-c", "ion": "-c", "ghc": "-e", "erl": "-eval", "iex": "-e --eval",
    "clojure": "-e --eval", "clj": "-e --eval", "bb": "-e --eval", "sbcl": "--eval", "scala": "-e", "kotlin": "-e",
    "groovy": "-e", "octave": "--eval", "R": "-e", "gnuplot": "-e", "sage": "-c", "rust-script": "-e --expr",
    "swift": "-e", "es": "-c", "rc": "-c", "ghci": "-e", "runghc": "-e", "runhaskell": "-e", "utop": "-e",
    "littler": "-e", "racket": "-e --eval", "csi": "-e -eval", "chicken-csi": "-e -eval", "gosh": "-e", "clisp": "-x",
    "ecl": "-eval --eval", "ros": "-e", "scheme": "--eval", "lfe": "-e -eval", "v": "-e", "murex": "-c", "jshell": "-",
    "jbang": "-c --code", "psysh": "-",
}  # fmt: skip
"""Interpreters, with the options whose value is program code. "": the first operand is program code."""

_OPTIONS_ARE_WORDS = frozenset("ghc ghci runghc runhaskell scala kotlin swift".split())
"""Interpreters whose options are whole words, so that `-threaded` contains no option `-e`."""


def interpreter_of(name: str) -> str:
    """Return the name of an interpreter in the table, "" for none. A version (`python3.11`) is ignored."""
    return next((it for it in (name, name.rstrip("0123456789.")) if it in INTERPRETERS), "")


def runs_file_of_folder(name: str) -> bool:
    """Return whether the working directory may decide which file runs: `name` is a path, an interpreter or a shell."""
    return "/" in name or bool(interpreter_of(name)) or name in SHELLS


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The syntax of a wrapper command.

    `valued` options have a value: the next word or the rest of the same word. `plain` options have no value.
    `operands` is the number of operands of the wrapper before the command. `assigns`: NAME=VALUE words may
    precede the command.
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
    "toybox": _wrapper(),
    "taskset": _wrapper("", "", 1),
    "caffeinate": _wrapper("-t -w", "-d -i -m -s -u"),
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
class Unwrapped:
    """A wrapper command in parts: the inner command, the variables that the wrapper sets, and its options."""

    inner: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    options: tuple[str, ...]


_ASSIGNMENT = regex(r"[A-Za-z_]\w*=")


def unwrapped(argv: Sequence[str]) -> Unwrapped | None:
    """Return the command inside a wrapper, or None if the tables do not list one of the wrapper's options."""
    wrapper, at = WRAPPERS[argv[0]], 1
    variables: list[tuple[str, str]] = []
    letters = {option[1:] for option in wrapper.plain if len(option) == 2}
    while at < len(argv):
        word = argv[at]
        if word == "--":
            at += 1
            break
        if wrapper.assigns and _ASSIGNMENT.match(word):
            variables.append((word.partition("=")[0], word.partition("=")[2]))
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
    return Unwrapped(tuple(argv[inner:]), tuple(variables), tuple(argv[1:at]))


_HARMLESS_OPTIONS = {
    "env": r"-i|\w+=.*", "nice": r"-n|-?\d+|-n\d+|--adjustment=\d+", "stdbuf": r"-[ioe][L0]?|[L0]", "time": "-p",
    "timeout": r"-[sk]|--preserve-status|--foreground|--(signal|kill-after)=\w+|[A-Z]+|[\d.]+[smh]?", "command": "-p",
    "builtin": "", "exec": "",
    "xargs": r"-0|-r|-0r|-r0|--null|--no-run-if-empty|-[nPL]?\d+|\d+|-[nPLtd]|(?:-d)?(?:\\n|\n)|(?:-I)?(?:\{\}|%|@)|-I",
}  # fmt: skip
"""Wrappers that have no effect except that they run the inner command, each with a pattern for its options.

With an option that does not match the pattern, the wrapper may have other effects.

`busybox` is left out because the options of its programs differ from the tables, `nohup` because it writes
nohup.out, and `setsid` because the command may outlive the tool call.
"""


def is_harmless_wrapper(name: str, options: Sequence[str]) -> bool:
    known = _HARMLESS_OPTIONS.get(name)
    return known is not None and all(re.fullmatch(known, option, re.DOTALL) for option in options)


def is_null_separated(options: Sequence[str]) -> bool:
    """Return whether xargs reads names that are separated by null characters. Each name becomes one word."""
    return any(option in ("-0", "-0r", "-r0", "--null") for option in options)


def placeholder_of(options: Sequence[str]) -> str:
    """Return the text that xargs replaces by a line of its input, "" for none. `options` are those of xargs."""
    for at, option in enumerate(options):
        if option in ("-I", "--replace"):
            return options[at + 1] if at + 1 < len(options) else "{}"
        if option.startswith(("-I", "--replace=")):
            return option.removeprefix("-I").removeprefix("--replace=")
    return ""


def _has_value(word: str, option: str) -> bool:
    return word.startswith(option + "=") if option.startswith("--") else word.startswith(option)


def program_in_arguments(argv: Sequence[str], stdin: str) -> str:
    """Return why the code that an interpreter would run needs approval.

    Return "" if the code is in a file or module that the line names, or if the interpreter only prints its
    version or help. `stdin` is the kind of its standard input (`Stdin` in programs.py).
    """
    name, arguments = argv[0], argv[1:]
    options = INTERPRETERS[name].split()
    is_inline = any(
        argument in options if name in _OPTIONS_ARE_WORDS else _is_inline(argument, options)
        for argument in arguments
    )
    if not options or is_inline:
        return f"It runs code of {name} that is written in the command."
    if any(a.startswith("/dev/") for a in arguments):
        return f"{name} runs programs that its input names."
    if any(not a.startswith("-") for a in arguments) or any(a.startswith("-m") for a in arguments):
        return ""
    if any(a in ("--version", "-V", "-v", "--help", "-h", "-version") for a in arguments):
        return ""
    if stdin != "terminal":
        return f"{name} runs programs that its input names."
    return f"The command does not show what {name} runs."


def _is_inline(argument: str, options: Sequence[str]) -> bool:
    if argument in options or any(argument.startswith(o + "=") for o in options if o.startswith("--")):
        return True
    if not argument.startswith("-") or argument.startswith("--"):
        return False
    letters = re.match(r"-([A-Za-z]*)", argument)
    return any(len(o) == 2 and letters and o[1] in letters[1] for o in options)
