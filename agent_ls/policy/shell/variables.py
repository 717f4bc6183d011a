"""ENGINE: what a variable of a command line can hold, known only where it is certain to have been set by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agent_ls.policy.shell.parse import Assignment, Invocation, Program

ASSIGNING = frozenset(("export", "declare", "typeset", "local", "readonly", "unset"))
_SETTING = frozenset(
    ("read", "getopts", "mapfile", "readarray", "let", "unset", "wait", "printf", "eval", "source", ".")
)
"""Commands that give values to variables which they name."""

_HARMLESS = re.compile(
    r"LC_\w+|LANG|LANGUAGE|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|TERM|COLUMNS|LINES|CI|DEBUG|VERBOSE|RUST_BACKTRACE|"
    r"PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|NODE_ENV"
)
_TREACHEROUS = re.compile(
    r"IFS|PATH|ENV|HOME|CDPATH|SHELL|BASH_\w+|BASHOPTS|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|GLOBIGNORE|OPTIND|"
    r"(LD|DYLD|GIT|NPM_CONFIG|npm_config|SSH|GCC|RUSTC|CARGO|JAVA_TOOL|JDK|MAVEN|GRADLE)_\w+|RUSTC|RUSTC_\w+|"
    r"\w*(PAGER|EDITOR|BROWSER|VISUAL)|LESSOPEN|LESSCLOSE|PYTHON(PATH|STARTUP|HOME|INSPECT|USERBASE|PLATLIBDIR)|"
    r"PERL5?(LIB|OPT|DB)|RUBY(LIB|OPT)|NODE_(OPTIONS|PATH)|CLASSPATH|PYTEST_(ADDOPTS|PLUGINS)|MAKEFLAGS|MAKEFILES|"
    r"CC|CXX|(HTTPS?|ALL|http|https|all)_?(PROXY|proxy)|GOFLAGS|GOTOOLCHAIN|TAR_OPTIONS|ZIPOPT|GREP_OPTIONS|RIPGREP_CONFIG_PATH"
)
_UNQUOTED_NAME = re.compile(r"[A-Za-z_]\w*")


def is_harmless(name: str) -> bool:
    return bool(_HARMLESS.fullmatch(name))


def is_treacherous(name: str) -> bool:
    """It decides what other commands are, or what they run besides."""
    return bool(_TREACHEROUS.fullmatch(name))


class Variables(Mapping[str, tuple[str, ...]]):
    """What a name can hold at this place of the program; a name that is not here cannot be told."""

    def __init__(self, program: Program, given: Mapping[str, str]) -> None:
        self._values: dict[str, tuple[str, ...] | None] = {name: (value,) for name, value in given.items()}
        self._values |= {"?": ("0",), "$": ("1",), "#": ("0",), "!": ("1",)}
        self._certain = set(self._values)
        self._in_list: set[str] = set()
        before = dict(self._values)
        for name, words in program.assigned.items():
            found = [word.texts(self._known(before)) for word in words]
            texts = None if None in found else tuple(text for value in found for text in value or ())
            kept = before.get(name) or ()
            self._values[name] = None if texts is None else tuple(dict.fromkeys((*kept, *texts)))
            before[name] = self._values[name]
        for name in _set_otherwise(program, self._known(self._values)):
            self._values[name] = None

    def assign(self, step: Assignment) -> None:
        if step.is_certain and step.name not in self._certain:
            self._certain.add(step.name)
            if step.in_list:
                self._in_list.add(step.name)

    def mark(self) -> None:
        """What was set behind `&&` may not have been."""
        self._certain -= self._in_list
        self._in_list.clear()

    def given(self, name: str) -> tuple[str, ...]:
        """All that the program itself gives to it, certain or not."""
        return self._values.get(name) or ()

    def __getitem__(self, name: str) -> tuple[str, ...]:
        values = self._values.get(name)
        if values is None or name not in self._certain:
            raise KeyError(name)
        return values

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._certain if self._values.get(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @staticmethod
    def _known(values: Mapping[str, tuple[str, ...] | None]) -> dict[str, tuple[str, ...]]:
        return {name: value for name, value in values.items() if value is not None}


def _set_otherwise(program: Program, known: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Names that stand behind a command which may give them a value."""
    for step in program.steps:
        if not isinstance(step, Invocation) or not step.words:
            continue
        names = step.words[0].texts(known) or ()  # what cannot be told is doubted in any case
        if {"command", "builtin"} & set(names):
            names = tuple(text for word in step.words for text in word.texts(known) or ())
        options = [word.source for word in step.words[1:] if word.source.startswith("-")]
        is_declared = bool(ASSIGNING & set(names)) and any(option not in ("-x", "-r") for option in options)
        if "printf" in names and "-v" not in options:
            names = tuple(name for name in names if name != "printf")
        if not (_SETTING & set(names) or is_declared):
            continue
        yield "REPLY"
        if is_declared:
            yield from program.assigned
        for word in step.words:
            yield from _UNQUOTED_NAME.findall(word.source)
