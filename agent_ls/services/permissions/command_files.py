"""Find the files that decide what a hook runs, and compute digests of them.

The command is read with the grammar of the policy (`policy/shell`), so a file counts in whatever way the command
names it.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from agent_ls.paths import is_below
from agent_ls.patterns import regex
from agent_ls.policy.named_places import OWN_MODULES
from agent_ls.program_lookup import find_on
from agent_ls.services.permissions.python_modules import find_replacing

MAX_NAMED = 1_000
MAX_BELOW = 20_000
"""Maximum number of files below a folder whose changes are noticed."""
MAX_FILE_BYTES = 256 * 1024 * 1024
SMALL_BYTES = 1024 * 1024
MIN_STAMP_AGE_S = 2
VARIABLES = tuple(
    f"{agent}_PROJECT_DIR"
    for agent in ("AGENT_LS", "CLAUDE", "CONTINUE", "CURSOR", "FACTORY", "GEMINI", "QWEN")
)
"""The variables of a hook that contain the session's folder."""

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/nix/store/", "/opt/homebrew/", "/System/", "/Library/")
"""Program folders of the system. Their files change with updates, and not by a session."""
_VARIABLE = regex(rf"\$(?:\{{(?:{'|'.join(VARIABLES)})\}}|(?:{'|'.join(VARIABLES)})\b)")
_SAFE = regex(r"[\w./@%+=:,-]+")
_SPECIAL = regex(r'([\\"$`])')
_OF_FOLDER = regex(rf"\$\(|`|{'|'.join(VARIABLES)}|\bPWD\b|\bcd\b|(?<![\w/.~])\.{{0,2}}/(?!dev/null)")
"""Matches a command that may run a file of the folder in which it starts."""
_DEFINED_BY = {
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx"), ("package.json",)),
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    "just": ("justfile", ".justfile", "Justfile"), "task": ("Taskfile.yml", "Taskfile.yaml"),
    "cargo": ("Cargo.toml", "build.rs"), "rake": ("Rakefile",), "tox": ("tox.ini",), "nox": ("noxfile.py",),
    "composer": ("composer.json",), "mise": ("mise.toml", ".mise.toml"), "uv": ("pyproject.toml",),
    "poetry": ("pyproject.toml",), "bundle": ("Gemfile",), "go": ("go.mod",), "gradle": ("build.gradle",),
    "mvn": ("pom.xml",), "pre-commit": (".pre-commit-config.yaml",),
    **dict.fromkeys(("pytest", "py.test"), ("conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg")),
    **dict.fromkeys(("jest", "vitest", "mocha"), ("package.json",)),
    "unittest": (), "eslint": ("eslint.config.*", ".eslintrc*"), "prettier": ("prettier.config.*", ".prettierrc*"),
    "stylelint": ("stylelint.config.*", ".stylelintrc*"), "markdownlint-cli2": (".markdownlint-cli2.*",),
    "rubocop": (".rubocop.yml",), "standardrb": (".standard.yml",), "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml"),
    "pylint": ("pylintrc", ".pylintrc", "pylintrc.toml", "pyproject.toml"), "sqlfluff": (".sqlfluff", "pyproject.toml"),
    "phpstan": ("phpstan.neon*",), "php-cs-fixer": (".php-cs-fixer*",),
    **dict.fromkeys(("phpcs", "phpcbf"), ("phpcs.xml*", ".phpcs.xml*")),
}  # fmt: skip
"""Programs that run what files of the project define, and patterns of these files."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The files that decide what a command runs.

    `files` are pairs of a path and a digest. `doubt`: why the command may run other files too, "" for none. `note`:
    programs that run code of further files, which are not compared. `takes_path`: a program gets the path in the hook's
    input, and would read some paths as options. `digest` is a hash of the command, `files`,
    and, if there is a doubt, of the state of all files below the folder.
    """

    files: tuple[tuple[str, str], ...]
    doubt: str
    note: str
    takes_path: bool
    digest: str

    def names_file_below(self, folder: str) -> bool:
        return any(is_below_on_disk(path, folder) for path, _ in self.files)


def cover(command: str, folder: str, *, is_users: bool = False) -> Coverage:
    """Return the files that decide what `command` runs in `folder`. Blocks.

    `is_users`: the user wrote the command, so a doubt about it counts only if it may run a file of the folder.
    """
    found = _analyse(command, folder)
    doubt = found.doubt if not is_users or _OF_FOLDER.search(command) else ""
    paths = sorted({*found.paths, *_on_path(found.programs, folder), *_replacing(found.module_folders)})
    files: list[tuple[str, str]] = []
    for path in paths:
        files += ((place, digest) for place in _expand(path) if (digest := _digest_of(place)))
        if len(files) > MAX_NAMED:
            doubt = doubt or f"it names more than {MAX_NAMED} files"
            break
    whole = hashlib.sha256(command.encode("utf-8", "surrogatepass"))
    for path, digest in files:
        whole.update(f"\0{path}\0{digest}".encode("utf-8", "surrogatepass"))
    if doubt:
        whole.update(_state_below(folder).encode())
    return Coverage(tuple(files), doubt, found.note, found.takes_path, whole.hexdigest())


@dataclass(frozen=True, slots=True)
class _Analysis:
    paths: tuple[str, ...]
    programs: tuple[str, ...]
    module_folders: tuple[str, ...]
    doubt: str
    note: str
    takes_path: bool


@lru_cache(maxsize=256)
def _analyse(command: str, folder: str) -> _Analysis:
    # imported late: few users have hooks
    from agent_ls.policy.shell.understand import understand
    from agent_ls.services.permissions.hook_words import without_data

    home = os.path.expanduser("~")
    text = _with_folder(command, folder)
    found = understand(text, working_dir=folder, home=home)
    # A file that the command only writes does not decide what it runs.
    read = understand(_without_output(text), working_dir=folder, home=home)
    as_written = understand(command, working_dir=folder, home=home) if text != command else read
    programs = tuple(dict.fromkeys(argv[0] for argv in found.commands))
    more = [
        os.path.join(glob.escape(place), name)
        for argv, places in found.runs
        for place in places
        for name in _defining(argv)
    ]
    more += [glob.escape(os.path.join(place, name)) for place, name in found.configs if name != OWN_MODULES]
    folders = tuple(dict.fromkeys(place for place, name in found.configs if name == OWN_MODULES))
    names = dict.fromkeys(name for argv in found.commands for name in _programs_of(argv))
    notes = [f"what {name} runs" for name in names if name in _DEFINED_BY]
    paths = (*read.paths, *(as_written.paths if text != command else ()), *more)
    plain, takes_path = without_data(_without_output(text))
    findings = understand(plain, working_dir=folder, home=home)
    doubt = findings.doubt or findings.danger or findings.refusal
    if findings.uses_xargs or findings.needs_plain_names:
        doubt = doubt or "It runs a program on the files that another command lists."
    paths = tuple(dict.fromkeys(paths))
    return _Analysis(paths, programs, folders, doubt.rstrip("."), ", ".join(notes), takes_path)


def _with_folder(command: str, folder: str) -> str:
    """Replace the variables of a hook by their value, where the shell would use the value as one word."""
    if _SAFE.fullmatch(folder):
        return _VARIABLE.sub(lambda _: folder, command)
    quoted = _SPECIAL.sub(r"\\\1", folder)
    return re.sub('"' + _VARIABLE.pattern, lambda _: '"' + quoted, command)


def _without_output(command: str) -> str:
    """Return the command without redirections of output into files."""
    from agent_ls.policy.shell.grammar import parse

    root, problem = parse(command)
    if root is None or problem:
        return command
    source = bytearray(command.encode())
    pending = [root]
    while pending:
        node = pending.pop()
        pending.extend(node.children)
        operators = {child.type for child in node.children if not child.is_named}
        if node.type == "file_redirect" and operators & {">", ">>", ">|", "&>", "&>>"}:
            # only the first word is the target: the grammar attaches later arguments to the redirection
            targets = [child for child in node.named_children if child.type != "file_descriptor"]
            end = targets[0].end_byte if targets else node.start_byte
            source[node.start_byte : end] = b" " * (end - node.start_byte)
    return source.decode()


def _defining(argv: Sequence[str]) -> Iterator[str]:
    """Yield patterns of files that define what a command runs, relative to the folder in which it runs."""
    given = [glob.escape(word) for word in argv[1:]]
    # such as `make -C tools` and `npm --prefix=tools test`
    folders = ["", *(word.removeprefix("-C").rpartition("=")[2] for word in given)]
    for name in _programs_of(argv):
        yield from (os.path.join(it, file) for file in _DEFINED_BY.get(name, ()) for it in folders)
    name = os.path.basename(argv[0])
    if name in ("node", "nodejs"):
        yield from (word + it for word in given if word[:1] != "-" for it in _STARTED_BY_NODE)
    if name.startswith(("python", "pypy")):
        for option, module in pairwise(argv):
            if option == "-m":
                base = glob.escape(module.replace(".", "/"))
                yield from (f"{base}.py", f"{base}/__main__.py", f"{base}/__init__.py")
        yield from (os.path.join(word, "__main__.py") for word in given if not word.startswith("-"))


_STARTED_BY_NODE = (".js", ".cjs", ".mjs", "/index.js", "/index.cjs", "/package.json")


def _programs_of(argv: Sequence[str]) -> Iterator[str]:
    """Yield the name of the program, and the module that python runs as a program."""
    yield (name := os.path.basename(argv[0]))
    if name.startswith(("python", "pypy")):
        yield from (module for option, module in pairwise(argv) if option == "-m")


def _on_path(programs: Sequence[str], folder: str) -> Iterator[str]:
    """Yield the programs of the folder that the command runs by name, because PATH contains a part of the folder."""
    for name in programs:
        if os.path.dirname(name) or name in (".", ".."):
            continue
        place = find_on(name, folder=folder)
        if place and is_below_on_disk(place, folder):
            yield glob.escape(place)


def _replacing(folders: Sequence[str]) -> Iterator[str]:
    """Yield the files of the folders that python would run in place of its own modules."""
    for folder in folders:
        with suppress(OSError):
            yield from map(glob.escape, find_replacing(folder))


def _expand(pattern: str) -> Sequence[str]:
    try:
        return sorted(glob.glob(pattern, include_hidden=True))[: MAX_NAMED + 1]
    except (OSError, ValueError, re.error):
        return ()


def _digest_of(path: str) -> str:
    """Return a digest of a regular file and its resolved path; "" if it is none, or belongs to the system."""
    try:
        real = os.path.realpath(path)
        if real.startswith(_SYSTEM):
            return "" if path == real else hashlib.sha256(real.encode("utf-8", "surrogatepass")).hexdigest()
        if not stat.S_ISREG(os.stat(real).st_mode):
            return ""
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except PermissionError:
        return "unreadable"
    except (OSError, ValueError):
        return ""
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return ""
        key = (real, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        if facts.st_size > SMALL_BYTES and (known := _large.get(key)):
            return known
        digest = hashlib.sha256(real.encode("utf-8", "surrogatepass") + b"\0")
        left = MAX_FILE_BYTES
        while left > 0 and (data := file.read(min(SMALL_BYTES, left))):
            digest.update(data)
            left -= len(data)
        if left <= 0:
            digest.update(repr(key).encode())
        is_old_enough = os.name != "nt" and time.time() - facts.st_ctime > MIN_STAMP_AGE_S
        if facts.st_size > SMALL_BYTES and is_old_enough:
            if len(_large) > MAX_NAMED:
                _large.clear()
            _large[key] = digest.hexdigest()
        return digest.hexdigest()


_large: dict[tuple[object, ...], str] = {}
"""Digests of large files, such as interpreters. A file whose status changed a moment ago is not kept."""


def _state_below(folder: str) -> str:
    """Return a digest of the names, sizes and times of all files below a folder, without `.git`.

    If there are more than MAX_BELOW files, the result differs at each call: such a command never counts as unchanged.
    """
    digest = hashlib.sha256()
    pending, count = [folder], 0
    while pending:
        try:
            entries = sorted(os.scandir(pending.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(facts.st_mode):
                if entry.name != ".git":
                    pending.append(entry.path)
                continue
            count += 1
            if count > MAX_BELOW:
                return os.urandom(16).hex()
            times = f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_mode}"
            digest.update(f"{entry.path}\0{times}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def is_below_on_disk(path: str, folder: str) -> bool:
    """Return whether a path is below a folder, as given or with links resolved."""
    pairs = ((path, folder), (os.path.realpath(path), os.path.realpath(folder)))
    return any(is_below(one, two) for one, two in pairs)
