"""ENGINE: what a command line would do: its dangers, whether it only looks, where it acts, what cannot be told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import path as ospath

from agent_ls.policy.shell import dangers, read_only
from agent_ls.policy.shell.arguments import HARMLESS_PLACES, absolute, candidates, may_climb
from agent_ls.policy.shell.folders import Folders
from agent_ls.policy.shell.parse import Assignment, Invocation, Mark, Program, Redirect, parse
from agent_ls.policy.shell.second_look import disagreement
from agent_ls.policy.shell.variables import ASSIGNING, Variables, is_harmless, is_treacherous
from agent_ls.policy.shell.wrappers import INTERPRETERS, SHELLS, WRAPPERS, program_in_arguments, taken_off

MAX_DEPTH = 5
_PROGRAM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_NAMES = dangers.NAMES | SHELLS | WRAPPERS.keys() | INTERPRETERS.keys() | ASSIGNING
_BOMB = re.compile(r"([\w:]+)\s*\(\s*\)\s*\{[^}]*\1\s*\|\s*\1\b|:\s*\(\s*\)\s*\{[^}]*:\s*\|\s*:")


@dataclass(frozen=True, slots=True)
class Understanding:
    """`commands`: what would be run, wrappers taken off, each with its words. `paths`: absolute places named as
    arguments or redirected to; a pattern stands as it is written. `git_folders`: where git would run.

    `refusal`: why it is never run. `danger`: why it is asked about in every mode. `doubt`: what could not be told, so
    it is asked about as well. Each "" when there is none. `is_read_only`: it is known to only look.
    `is_general`: its commands say all that it does, so that a rule over their first words can cover it.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    paths: tuple[str, ...] = ()
    git_folders: tuple[str, ...] = ()
    refusal: str = ""
    danger: str = ""
    doubt: str = ""
    is_read_only: bool = False
    is_general: bool = False


def understand(
    command: str, *, working_dir: str, home: str, env_vars: Sequence[tuple[str, str]] = ()
) -> Understanding:
    """Reads `command` as the shell would in `working_dir`; `home` is what `~` means. Nothing is run or looked up."""
    reader = _Reader(home, working_dir, dict(env_vars))
    for name, value in env_vars:
        reader.added_variable(name, value)
    program = parse(command)
    reader.read(program, depth=0)
    return reader.result(command)


@dataclass(slots=True)
class _Reader:
    home: str
    working_dir: str
    env_vars: Mapping[str, str]
    commands: list[tuple[str, ...]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    git_folders: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    dangers: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    changes: bool = False
    is_plain: bool = True
    folders: Folders = field(init=False)
    listed: list[tuple[str, ...]] = field(default_factory=list)
    pipeline: int = 0

    def __post_init__(self) -> None:
        self.folders = Folders(self.working_dir)

    def added_variable(self, name: str, value: str) -> None:
        if is_treacherous(name):
            self.doubts.append(f"it sets {name}")
        elif not is_harmless(name):
            self.changes, self.is_plain = True, False
            self._path(value)

    def read(self, program: Program, depth: int) -> None:
        self.doubts += program.doubts
        if program.defines_functions:
            self.changes, self.is_plain = True, False
        if depth > MAX_DEPTH:
            self.doubts.append("it is nested too deep")
            return
        self.folders.enter(program.scopes)
        variables = Variables(program, {"HOME": self.home, "PWD": self.working_dir, **self.env_vars})
        self._assigned(program, variables)
        for step in program.steps:
            match step:
                case Mark(scope):
                    self.folders.mark(scope)
                    variables.mark()
                case Assignment():
                    variables.assign(step)
                case Invocation():
                    self.folders.at(step.scope)
                    self._invocation(step, variables, depth)
        for redirect in program.redirects:
            self._redirect(redirect, variables)
        self.folders.leave()

    def result(self, command: str) -> Understanding:
        words = " ".join([command, *(word for argv in self.commands for word in argv)])
        if found := dangers.CREDENTIAL_PLACES.search(words):
            self.dangers.append(f"it names a place that holds credentials: {found[0].strip()}")
        if _BOMB.search(command):
            self.refusals.append("it would start processes without end")
        if not (self.refusals or self.dangers or self.doubts) and (why := disagreement(command)):
            self.doubts.append(why)
        is_clear = not (self.refusals or self.dangers or self.doubts) and bool(self.commands)
        only_looks = all(read_only.is_read_only(argv) for argv in self.commands)
        return Understanding(
            commands=tuple(self.commands),
            paths=tuple(dict.fromkeys(self.paths)),
            git_folders=tuple(dict.fromkeys(self.git_folders)),
            refusal=_first(self.refusals),
            danger=_first(self.dangers),
            doubt=_first(self.doubts),
            is_read_only=is_clear and not self.changes and only_looks,
            is_general=is_clear and self.is_plain,
        )

    # -- commands

    def _assigned(self, program: Program, variables: Variables) -> None:
        for name in program.assigned:
            if is_treacherous(name):
                self.doubts.append(f"it sets {name}")
            if not is_harmless(name):
                for text in variables.given(name):
                    self._path(text)

    def _invocation(self, step: Invocation, variables: Variables, depth: int) -> None:
        for name, value in step.assignments:
            if is_treacherous(name):
                self.doubts.append(f"it sets {name}")
            elif not is_harmless(name):
                self.changes, self.is_plain = True, False
            for text in value.texts(variables) or ():
                self._path(text)
        if step.pipeline != self.pipeline:
            self.pipeline, self.listed = step.pipeline, []
        for argv in self._argvs(step, variables):
            self._argv(argv, step, depth)

    def _argvs(self, step: Invocation, variables: Variables) -> Iterator[tuple[str, ...]]:
        if not step.words:
            return
        heads = step.words[0].texts(variables)
        if heads is None or any(not head.strip() or set(head) & set("*?[") - {head} for head in heads):
            self.doubts.append(f"what it runs is decided by {step.words[0].source}")
            return
        rest: list[tuple[str, ...]] = []
        for word in step.words[1:]:
            texts = word.texts(variables)
            if texts is None:
                if heads[0] not in read_only.TEXT_ONLY:
                    self.doubts.append(f"what it works on is decided by {word.source}")
                texts = (word.source,)
            if word.has_glob and any(may_climb(text) for text in texts):
                self.doubts.append(f"{word.source} may lead out of the folder")
            rest.append(texts)
        count = max((len(texts) for texts in rest), default=1)
        for head in heads:
            for at in range(count):
                yield (head, *(texts[min(at, len(texts) - 1)] for texts in rest))

    def _argv(self, argv: tuple[str, ...], step: Invocation, depth: int) -> None:
        name = self._name(argv[0])
        argv = (name, *argv[1:])
        if not name.isascii():
            self.doubts.append(f"{name!r} is no usual name of a command")
        if why := dangers.refusal(argv, self._places, self.home):
            self.refusals.append(why)
        if why := dangers.danger(argv):
            self.dangers.append(why)
        if name in SHELLS:
            self._shell(argv, step, depth)
        elif name == "eval":
            self.read(parse(" ".join(argv[1:])), depth + 1)
        elif name in WRAPPERS and argv[1:2] not in (("-v",), ("-V",)):
            self._wrapped(argv, step, depth)
        else:
            self._plain(argv, step, depth)

    def _plain(self, argv: tuple[str, ...], step: Invocation, depth: int) -> None:
        name = argv[0]
        if name in ("cd", "pushd", "chdir"):
            self._cd(argv, step)
            return
        if name in ASSIGNING:
            self.changes, self.is_plain = True, False
            self.doubts += [f"it sets {word}" for word in argv[1:] if is_treacherous(word.partition("=")[0])]
            return
        if name in INTERPRETERS and (why := program_in_arguments(argv, step.stdin)):
            self.doubts.append(why)
        if name == "find":
            for inner in read_only.split_actions(argv[1:])[1]:
                self.changes |= not (read_only.shows_no_content(inner) or read_only.lists_files_only(argv))
                self._argv(tuple(inner), Invocation((), stdin="file", is_sequential=False), depth + 1)
        if name == "git":
            self.git_folders += self._git_folders(argv)
        self.commands.append(argv)
        self.listed.append(argv)
        if name not in read_only.TEXT_ONLY:
            pattern = read_only.pattern_of(argv)
            for at, argument in enumerate(argv[1:], 1):
                if at != pattern:
                    self._path(argument)

    def _name(self, word: str) -> str:
        """The name of a program as the tables have it: where it usually lies, and as some disks take it."""
        folder, name = ospath.split(word)
        if folder and ospath.normpath("/" + folder.lstrip("/")) not in _PROGRAM_FOLDERS:
            self._path(word)
            return name if dangers.is_known(name) else word
        return name.casefold() if name.casefold() in _NAMES else name

    def _cd(self, argv: Sequence[str], step: Invocation) -> None:
        operands = [a for a in argv[1:] if a not in ("-L", "-P", "--")]
        target = operands[0] if operands else self.home
        if len(operands) > 1 or target == "-" or (not step.is_sequential and not step.pipeline):
            self.doubts.append("where it goes on is not clear")
        elif any(letter in target for letter in "*?["):
            self.doubts.append(f"where it goes on is decided by {target}")
        else:
            self.folders.change(lambda folder: absolute(target, folder, self.home))
            self.paths += self.folders.current
            self.commands.append(("cd", target))

    def _shell(self, argv: tuple[str, ...], step: Invocation, depth: int) -> None:
        at = next((i for i, a in enumerate(argv[1:], 1) if re.fullmatch(r"-[a-z]*c", a)), 0)
        has_script = "-s" not in argv and any(not a.startswith("-") for a in argv[1:])
        if step.stdin != "terminal" and not has_script:
            self.dangers.append(f"what {argv[0]} runs comes from its input")
        elif at and at + 1 < len(argv):
            self.is_plain = False
            self.read(parse(argv[at + 1]), depth + 1)
        elif not has_script:
            self.doubts.append(f"what {argv[0]} runs is not in sight")
        else:
            self.commands.append(argv)
            for argument in argv[1:]:
                self._path(argument)

    def _wrapped(self, argv: tuple[str, ...], step: Invocation, depth: int) -> None:
        found = taken_off(argv)
        if found is None:
            self.doubts.append(f"{argv[0]} {' '.join(argv[1:2])} is not understood")
            return
        for name in found.variables:
            self.doubts += [f"it sets {name}"] if is_treacherous(name) else []
            if not is_harmless(name):
                self.changes, self.is_plain = True, False
        for argument in found.options:
            self._path(argument)
        if argv[0] in dangers.RIGHTS:
            self.changes = True
        inner = found.inner
        if not inner:
            if argv[0] not in ("time", "command", "exec"):
                self.commands.append(argv)
            return
        if argv[0] == "xargs":
            self._from_input(inner)
            step = Invocation((), stdin="pipe", is_sequential=False, pipeline=step.pipeline)
        self._argv(inner, step, depth + 1)

    def _from_input(self, inner: Sequence[str]) -> None:
        """xargs: what it works on comes from what is piped in; that is no doubt where it is a list of our files."""
        lister, *others = self.listed or [("", "")]
        if not read_only.lists_names(lister) or not all(read_only.is_filter(argv) for argv in others):
            self.doubts.append(f"what {inner[0]} works on comes from its input")
        elif not (
            read_only.is_read_only(inner)
            and (read_only.shows_no_content(inner) or read_only.lists_files_only(lister))
        ):
            self.changes = True

    # -- places

    def _redirect(self, redirect: Redirect, variables: Variables) -> None:
        if redirect.target is None:
            return
        texts = redirect.target.texts(variables)
        if texts is None:
            self.doubts.append(f"where it writes is decided by {redirect.target.source}")
            return
        for text in texts:
            if text.startswith(("/dev/tcp/", "/dev/udp/")):
                self.dangers.append("it reaches other machines")
            if redirect.writes and dangers.is_device(ospath.normpath(text)):
                self.refusals.append(f"it would overwrite the disk {text}")
            if text in HARMLESS_PLACES:
                continue
            # The grammar does not tell which of several commands it stands behind, so each folder counts.
            self.paths += [absolute(text, folder, self.home) for folder in self.folders.all]
            if redirect.writes:
                self.changes, self.is_plain = True, False

    def _path(self, argument: str) -> None:
        for text in candidates(argument):
            self.paths += [place for place in self._places(text) if place not in HARMLESS_PLACES]

    def _places(self, text: str) -> list[str]:
        return [absolute(text, folder, self.home) for folder in self.folders.current]

    def _git_folders(self, argv: Sequence[str]) -> list[str]:
        given = [argv[at + 1] for at, word in enumerate(argv[:-1]) if word == "-C"]
        return [place for text in given or ["."] for place in self._places(text)]


def _first(found: Sequence[str]) -> str:
    return found[0] if found else ""
