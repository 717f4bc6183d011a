"""ENGINE: what a command line would do: its dangers, whether it only looks, where it acts, what cannot be told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import path as ospath

from agent_ls.policy.shell import dangers, read_only
from agent_ls.policy.shell.parse import Invocation, Program, Redirect, parse
from agent_ls.policy.shell.wrappers import FIND_ACTIONS, INTERPRETERS, SHELLS, WRAPPERS

MAX_DEPTH = 5
_SYSTEM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_HARMLESS_PLACES = (
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/tty",
    "/dev/zero",
    "/dev/urandom",
)
_HARMLESS_VARIABLES = re.compile(
    r"LC_\w+|LANG|LANGUAGE|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|TERM|COLUMNS|LINES|CI|DEBUG|VERBOSE|RUST_BACKTRACE|"
    r"PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|NODE_ENV|GIT_PAGER|PAGER"
)
_SPLITTING = frozenset(("IFS", "PATH", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND"))
_ENVIRONMENT = frozenset(("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"))
_ASSIGNING = frozenset(("export", "declare", "typeset", "local", "readonly", "unset"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True)
class Understanding:
    """`commands`: what would be run, wrappers taken off, each with its words. `paths`: absolute places named as
    arguments or redirected to; a pattern stands as it is written.

    `refusal`: why it is never run. `danger`: why it is asked about in every mode. `doubt`: what could not be told, so
    it is asked about as well. Each "" when there is none. `is_read_only`: it is known to only look.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    paths: tuple[str, ...] = ()
    refusal: str = ""
    danger: str = ""
    doubt: str = ""
    is_read_only: bool = False
    writes_files: bool = False


def understand(command: str, *, working_dir: str, home: str) -> Understanding:
    """Reads `command` as the shell would in `working_dir`; `home` is what `~` means. Nothing is run or looked up."""
    reader = _Reader(home, working_dir)
    reader.read(parse(command), depth=0)
    return reader.result(command)


@dataclass(slots=True)
class _Reader:
    home: str
    folder: str
    commands: list[tuple[str, ...]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    dangers: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    changes: bool = False
    writes_files: bool = False

    def read(self, program: Program, depth: int) -> None:
        self.doubts += program.doubts
        self.changes |= program.defines_functions
        if depth > MAX_DEPTH:
            self.doubts.append("it is nested too deep")
            return
        variables = self._variables(program)
        for invocation in program.invocations:
            self._invocation(invocation, variables, depth)
        for redirect in program.redirects:
            self._redirect(redirect, variables)

    def result(self, command: str) -> Understanding:
        if found := dangers.CREDENTIAL_PLACES.search(
            " ".join([command, *(w for argv in self.commands for w in argv)])
        ):
            self.dangers.append(f"it names a place that holds credentials: {found[0].strip()}")
        if re.search(r":\s*\(\s*\)\s*\{[^}]*:\s*\|\s*:", command):
            self.refusals.append("it would start processes without end")
        is_read_only = (
            not (self.refusals or self.dangers or self.doubts or self.changes or self.writes_files)
            and bool(self.commands)
            and all(read_only.is_read_only(argv) for argv in self.commands)
        )
        return Understanding(
            tuple(self.commands),
            tuple(dict.fromkeys(self.paths)),
            _first(self.refusals),
            _first(self.dangers),
            _first(self.doubts),
            is_read_only,
            self.writes_files,
        )

    # -- variables

    def _variables(self, program: Program) -> Mapping[str, tuple[str, ...]]:
        """What each variable can hold: values of this command line, in order of their names being known."""
        known: dict[str, tuple[str, ...]] = {
            "HOME": (self.home,), "PWD": (self.folder,), "?": ("0",), "$": ("1",), "#": ("0",), "!": ("1",),
        }  # fmt: skip
        for name, words in program.assigned.items():
            if name in _SPLITTING:
                self.doubts.append(f"it sets {name}")
            values = [word.texts(known) for word in words]
            if all(value is not None for value in values):
                known[name] = tuple(dict.fromkeys(text for value in values for text in value or ()))
            else:
                known.pop(name, None)
            if not _HARMLESS_VARIABLES.fullmatch(name):
                for text in known.get(name, ()):
                    self._path(text)
        return known

    # -- commands

    def _invocation(
        self, invocation: Invocation, variables: Mapping[str, tuple[str, ...]], depth: int
    ) -> None:
        for name, value in invocation.assignments:
            if (
                name in _ENVIRONMENT
                or name in _SPLITTING
                or name.startswith(("LD_", "DYLD_", "GIT_", "BASH_FUNC"))
            ):
                self.doubts.append(f"it sets {name}")
            elif not _HARMLESS_VARIABLES.fullmatch(name):
                self.changes = True
            for text in value.texts(variables) or ():
                self._path(text)
        if not invocation.words:
            return
        for argv in self._argvs(invocation, variables):
            self._argv(argv, invocation, depth)

    def _argvs(
        self, invocation: Invocation, variables: Mapping[str, tuple[str, ...]]
    ) -> Iterator[tuple[str, ...]]:
        heads = invocation.words[0].texts(variables)
        if heads is None or any(not head.strip() or "*" in head or "?" in head for head in heads):
            self.doubts.append(f"what it runs is decided by {invocation.words[0].source}")
            return
        rest: list[tuple[str, ...]] = []
        for word in invocation.words[1:]:
            texts = word.texts(variables)
            if texts is None:
                if heads[0] not in read_only.TEXT_ONLY and heads[0] not in _ASSIGNING:
                    self.doubts.append(f"what it works on is decided by {word.source}")
                texts = (word.source,)
            rest.append(texts)
        for head in heads:
            if len(rest) and max(len(texts) for texts in rest) > 1:
                for at in range(max(len(texts) for texts in rest)):
                    yield (head, *(texts[min(at, len(texts) - 1)] for texts in rest))
            else:
                yield (head, *(texts[0] for texts in rest))

    def _argv(self, argv: tuple[str, ...], invocation: Invocation, depth: int) -> None:
        name = self._name(argv[0])
        argv = (name, *argv[1:])
        if not name.isascii():
            self.doubts.append(f"{name!r} is no usual name of a command")
        if why := dangers.refusal(argv, self.home):
            self.refusals.append(why)
        if why := dangers.danger(argv):
            self.dangers.append(why)
        if name in SHELLS:
            self._shell(argv, invocation, depth)
        elif name == "eval":
            self.read(parse(" ".join(argv[1:])), depth + 1)
        elif name in WRAPPERS and argv[1:2] not in (("-v",), ("-V",)):
            self._wrapped(argv, invocation, depth)
        else:
            self._plain(argv, invocation, depth)

    def _plain(self, argv: tuple[str, ...], invocation: Invocation, depth: int) -> None:
        name = argv[0]
        if name == "cd" or name in ("pushd", "chdir"):
            self._cd(argv, invocation)
            return
        if name in _ASSIGNING:
            self.changes = True
            return
        if name in INTERPRETERS and (why := _inline(argv, invocation)):
            self.doubts.append(why)
        if name == "find":
            for inner in _find_actions(argv):
                self._argv(inner, Invocation((), stdin="file", is_sequential=False), depth + 1)
        self.commands.append(argv)
        if name not in read_only.TEXT_ONLY:
            for argument in argv[1:]:
                self._path(argument)

    def _name(self, word: str) -> str:
        folder, name = ospath.split(word)
        if not folder:
            return word
        if folder in _SYSTEM_FOLDERS:
            return name
        real = ospath.normpath(folder)
        if real in _SYSTEM_FOLDERS:
            return name
        self._path(word)
        return name if dangers.is_known(name) else word

    def _cd(self, argv: Sequence[str], invocation: Invocation) -> None:
        operands = [a for a in argv[1:] if a not in ("-L", "-P", "--")]
        if len(operands) > 1 or operands == ["-"] or not invocation.is_sequential:
            self.doubts.append("where it goes on is not clear")
            return
        target = operands[0] if operands else self.home
        if any(letter in target for letter in "*?["):
            self.doubts.append(f"where it goes on is decided by {target}")
            return
        self.folder = self._absolute(target)
        self.paths.append(self.folder)

    def _shell(self, argv: tuple[str, ...], invocation: Invocation, depth: int) -> None:
        if invocation.stdin in ("pipe", "here", "file") and not _script(argv):
            self.dangers.append(f"what {argv[0]} runs comes from its input")
            return
        at = next((i for i, a in enumerate(argv[1:], 1) if re.fullmatch(r"-[a-z]*c", a)), 0)
        if at and at + 1 < len(argv):
            self.read(parse(argv[at + 1]), depth + 1)
            return
        if len(argv) == 1 or at:
            self.doubts.append(f"what {argv[0]} runs is not in sight")
            return
        self.commands.append(argv)
        for argument in argv[1:]:
            self._path(argument)

    def _wrapped(self, argv: tuple[str, ...], invocation: Invocation, depth: int) -> None:
        wrapper, at = WRAPPERS[argv[0]], 1
        while at < len(argv):
            word = argv[at]
            name = word.partition("=")[0]
            if word == "--":
                at += 1
                break
            if wrapper.assigns and _ASSIGNMENT.match(word):
                if name in _ENVIRONMENT or name in _SPLITTING or name.startswith(("LD_", "DYLD_", "GIT_")):
                    self.doubts.append(f"it sets {name}")
                self.changes |= not _HARMLESS_VARIABLES.fullmatch(name)
                at += 1
            elif not word.startswith("-") or (word == "-" and argv[0] != "env"):
                break
            elif word in wrapper.plain or (argv[0] == "nice" and word[1:].isdigit()):
                at += 1
            elif word in wrapper.valued:
                at += 2
            elif any(word.startswith(option) for option in wrapper.valued):
                at += 1
            elif set(word[1:]) <= {option[1:] for option in wrapper.plain if len(option) == 2}:
                at += 1
            else:
                self.doubts.append(f"{argv[0]} {word} is not understood")
                return
        inner = argv[at + wrapper.operands :]
        if argv[0] == "xargs" or argv[0] in dangers.RIGHTS:
            self.changes = True
        if not inner:
            if argv[0] not in ("time", "command", "xargs"):
                self.commands.append(argv)
            return
        if argv[0] == "xargs":
            self._from_input(inner)
            invocation = Invocation((), stdin="pipe", is_sequential=False)
        self._argv(inner, invocation, depth + 1)

    def _from_input(self, inner: Sequence[str]) -> None:
        """xargs: arguments come from what is piped in; only where they can do no harm that is no doubt."""
        if not read_only.is_read_only(inner) or inner[0] in ("find", "sed"):
            self.doubts.append(f"what {inner[0]} works on comes from its input")

    # -- places

    def _redirect(self, redirect: Redirect, variables: Mapping[str, tuple[str, ...]]) -> None:
        if redirect.target is None:
            return
        texts = redirect.target.texts(variables)
        if texts is None:
            self.doubts.append(f"where it writes is decided by {redirect.target.source}")
            return
        for text in texts:
            place = self._absolute(text)
            if dangers.is_device(place):
                self.refusals.append(f"it would overwrite the disk {place}")
            if place in _HARMLESS_PLACES:
                continue
            self.paths.append(place)
            self.writes_files |= redirect.writes
            if place.startswith(("/dev/tcp/", "/dev/udp/")):
                self.dangers.append("it reaches other machines")

    def _path(self, argument: str) -> None:
        """Notes what may name a place: an argument, or the value of an option."""
        value = argument.partition("=")[2] if argument.startswith("-") and "=" in argument else argument
        if argument.startswith("-") and "=" not in argument:
            value = re.sub(r"^-\w", "", argument)  # `-I/usr/include`
            if "/" not in value and ".." not in value:
                return
        if "://" in value:
            return
        place = self._absolute(value)
        if place not in _HARMLESS_PLACES and len(value) < 4096 and "\n" not in value:
            self.paths.append(place)

    def _absolute(self, text: str) -> str:
        if text == "~" or text.startswith("~/"):
            text = self.home + text[1:]
        elif text.startswith("~"):
            text = f"/home/{text[1:]}"  # another user's: outside in any case
        return ospath.normpath(ospath.join(self.folder, text)) if text else self.folder


def _first(found: Sequence[str]) -> str:
    return found[0] if found else ""


def _script(argv: Sequence[str]) -> bool:
    """The shell is given a script, by name or in its arguments."""
    return any(not a.startswith("-") or re.fullmatch(r"-[a-z]*c", a) for a in argv[1:]) and "-s" not in argv


def _inline(argv: Sequence[str], invocation: Invocation) -> str:
    """Why the program of an interpreter is not in sight, or is not understood."""
    name, arguments = argv[0], argv[1:]
    options = INTERPRETERS[name].split()
    if not options:
        return f"a program of {name} is not understood"
    if any(a == o or (len(o) == 2 and re.fullmatch(rf"-[A-Za-z]*{o[1]}.*",
    a)) for a in arguments[:4] for o in options
           if not a.startswith("--") or a == o):  # fmt: skip
        return f"a program of {name} is not understood"
    is_given = any(not a.startswith("-") for a in arguments) or any(a.startswith("-m") for a in arguments)
    if not is_given and not any(a in ("--version", "-V", "-v", "--help", "-h") for a in arguments):
        return (
            f"what {name} runs comes from its input"
            if invocation.stdin != "terminal"
            else f"what {name} runs is not in sight"
        )
    return ""


def _find_actions(argv: Sequence[str]) -> Iterator[tuple[str, ...]]:
    at = 0
    while at < len(argv):
        if argv[at] in FIND_ACTIONS:
            end = next((i for i in range(at, len(argv)) if argv[i] in (";", "+")), len(argv))
            if end > at + 1:
                yield tuple(argv[at + 1 : end])
            at = end
        at += 1
