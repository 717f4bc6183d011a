"""Ask git which files a command of git would show, by running the same command with `--name-only`.

git runs confined to reading where the machine can confine, without pager, external diffs and text converters. Callers
check the repository's settings first (git_look.py). All functions block.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from agent_ls.environments.local.git_index import tracked_files
from agent_ls.environments.local.git_objects import UncertainError, run_confined
from agent_ls.patterns import regex
from agent_ls.policy.shell.read_only import start_of_git_command, words_of_git

MAX_OPERANDS = 20

_DIFFS = ("diff", "show", "log", "diff-tree", "stash show", "stash list")
_NO_MESSAGES = ("show", "log", "stash list")
_FORMATS = regex(
    r"-[zwabW]*[psu][zwabW]*|--(?:patch|stat|numstat|shortstat|name-only|name-status|raw|summary|check|dirstat|word-diff"
    r"|oneline|graph|format|pretty|no-patch|patch-with-stat|quiet|exit-code|relative|function-context|color|no-color"
    r"|no-color-moved|unified|abbrev|date|decorate|find-renames)(?:=.*)?"
)
"""Options that decide how a change is printed, but not which files have changed."""
_GREP_FORMATS = regex(r"-[nHhcz]+|--(?:line-number|count|heading|break|color|show-function)(?:=.*)?")
_NAMES = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_RANGE = regex(r"\.{2,3}")
_EMPTY = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
)
"""The empty tree, with which scripts compare a first commit."""
_REVISION_PATH = regex(r"[^:]*:(?!/)(.+)")


def shown_names(argv: Sequence[str], folder: str, *, has_patch: bool = True) -> Iterator[str]:
    """Yield the absolute paths of the files whose content the command of git would show in `folder`.

    `has_patch`: an option does not leave out the changes. `git show --stat TAG` also shows a file that a tag names.

    Raises:
        UncertainError
    """
    git = _Git(folder)
    if not git.root:
        return
    found = words_of_git(argv)
    if found is None:
        raise UncertainError
    verb, words = found
    start = start_of_git_command(argv) + len(verb.split())
    rest = list(argv[start:])
    match verb:
        case "status":
            yield from git.names("diff", "--cached", *_NAMES)
            yield from git.names("diff", *_NAMES)
        case "grep":
            git.check_trees([argv[at] for at in words.operands])
            yield from git.matching(rest)
        case "cat-file":
            yield from _blobs([argv[at] for at in words.operands], git)
        case _ if verb in _DIFFS:
            if verb == "log" and any(word.startswith("-L") for word in rest):
                return  # only the file that the option names
            operands = [argv[at] for at in words.operands]
            if verb == "show":
                yield from _blobs(operands, git)
                if not has_patch or (operands and all(map(git.is_file_of_revision, operands))):
                    return
            else:
                git.check_trees(operands)
            yield from git.names(*verb.split(), *_as_names(verb, rest))
        case _:
            raise UncertainError


def _as_names(verb: str, rest: Sequence[str]) -> Sequence[str]:
    """Return the arguments with which the command prints the names of the files instead of their changes."""
    end = rest.index("--") if "--" in rest else len(rest)
    kept: list[str] = []
    at = 0
    while at < end:
        word = rest[at]
        if word == "-U" or (word in ("--format", "--pretty", "--unified", "--date") and at + 1 < end):
            at += 1  # its value is the next word
        elif not (word.startswith("-") and _FORMATS.fullmatch(word)) and not word.startswith("-U"):
            kept.append(word)
        at += 1
    more = ("--format=",) if verb in _NO_MESSAGES else ("-r",) if verb == "diff-tree" else ()
    return (*_NAMES, *more, *kept, *rest[end:])


def _blobs(operands: Sequence[str], git: _Git) -> Iterator[str]:
    """Yield the files whose content the command shows because an operand names an object of git."""
    if len(operands) > MAX_OPERANDS:
        raise UncertainError
    for word in operands:
        if found := _REVISION_PATH.fullmatch(word):
            git.check_trees([word.partition(":")[0]])
            name = (
                found[1].partition(":")[2] if re.match(r"[0-3]:", found[1]) and word[0] == ":" else found[1]
            )
            yield os.path.normpath(os.path.join(git.root, name))
            yield os.path.normpath(os.path.join(git.folder, name))
            continue
        object_id, kind = git.object_of(f"{word}^{{}}")
        if kind == "blob":
            yield from git.names_of_blob(object_id)


class _Git:
    """Runs git in a folder. `root` is the root of the work tree, "" if there is none."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.root = os.path.realpath(folder)
        while not os.path.lexists(os.path.join(self.root, ".git")):
            if self.root == (parent := os.path.dirname(self.root)):
                self.root = ""
                break
            self.root = parent

    def is_file_of_revision(self, word: str) -> bool:
        """Return whether git reads `word` as REVISION:PATH. `:!a.txt` and `HEAD@{10:00}` only look like it."""
        return bool(_REVISION_PATH.fullmatch(word)) and self.object_of(word)[1] in ("blob", "tree")

    def object_of(self, word: str) -> tuple[str, str]:
        """Return the id and the kind of the object that a word names, ("", "") for none."""
        found = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", word, fails=True).strip()
        return (found, self.run("cat-file", "-t", found, fails=True).strip()) if found else ("", "")

    def check_trees(self, words: Sequence[str]) -> None:
        """Check that git prints whole names: no word names a folder, or a file without its name.

        Raises:
            UncertainError
        """
        if len(words) > MAX_OPERANDS:
            raise UncertainError
        for word in words:
            if os.path.lexists(os.path.join(self.folder, word)):
                continue  # git refuses a word that is also a revision
            for part in filter(None, _RANGE.split(word.removeprefix("^"))):
                is_named = bool(_REVISION_PATH.fullmatch(part))
                if is_named:
                    self.check_trees([part.partition(":")[0]])
                object_id, kind = self.object_of(part if is_named else f"{part}^{{}}")
                if (
                    kind in ("tree", "blob")
                    and object_id not in _EMPTY
                    and (kind, is_named) != ("blob", True)
                ):
                    raise UncertainError

    def names(self, *arguments: str) -> Iterator[str]:
        for name in self.run(*arguments).split("\0"):
            if name.strip("\n"):
                yield os.path.join(self.root, name.removeprefix("\n"))

    def matching(self, rest: Sequence[str]) -> Iterator[str]:
        end = rest.index("--") if "--" in rest else len(rest)
        kept = [word for word in rest[:end] if not _GREP_FORMATS.fullmatch(word)]
        output = self.run("grep", "-l", "-z", "--full-name", "--no-color", *kept, *rest[end:], fails=True)
        for name in output.split("\0"):
            if name:
                # in a revision, the name follows the revision
                yield from (os.path.join(self.root, it) for it in {name, name.partition(":")[2]} if it)

    def names_of_blob(self, object_id: str) -> Iterator[str]:
        names = [it.path for it in tracked_files(self.folder) if it.object_id == object_id]
        if not names:
            tree = self.run("ls-tree", "-r", "-z", "--full-tree", "HEAD", fails=True).split("\0")
            rows = [row.partition("\t") for row in tree if row]
            names = [
                os.path.join(self.root, name) for facts, _, name in rows if facts.split()[2] == object_id
            ]
        if not names:
            raise UncertainError  # a file of an older revision, or of no revision at all
        yield from names

    def run(self, *arguments: str, fails: bool = False) -> str:
        """Return what git prints. `fails`: a failure means that there is nothing to print."""
        done = run_confined(arguments, self.folder)
        if done is None or (done.returncode and not fails):
            raise UncertainError
        return os.fsdecode(done.stdout)
