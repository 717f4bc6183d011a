"""Find files with secrets that a command would output without naming them: files in folders, or in git.

`grep -r`, `rg`, `find -exec`, `tar` and `cp -r` read whole folders; `git show`, `git diff` and `git grep`
read tracked files. git and grep are asked what they would show. All functions read the disk, so they block.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import islice, pairwise
from typing import TYPE_CHECKING, TypeAlias

from agent_ls.environments.local.git_index import tracked_files
from agent_ls.environments.search import IGNORE_FILES, SEARCH_LIMIT_BYTES, walk
from agent_ls.patterns import regex
from agent_ls.policy.places import Places, is_secret_name
from agent_ls.services.permissions.git_credentials import holds_credentials, is_settings_name
from agent_ls.services.permissions.git_look import git_doubt
from agent_ls.services.permissions.grep_matches import may_print

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import CommandAnalysis

MAX_ENTRIES = (
    20_000  # maximum number of entries in the folders that one command reads; with more, it needs approval
)
MAX_CREDENTIALS = 500  # maximum number of compared files in one credential folder
MAX_SHOWN = 5

_SEARCHES_LIKE_RG = frozenset(("rg", "ag"))
_GIT_CONTENT = frozenset(("show", "diff", "grep", "archive", "format-patch", "range-diff", "diff-tree"))
_GIT_WITH_PATCH = frozenset(("log", "whatchanged", "stash", "reflog", "diff-index", "diff-files"))
_NO_CONTENT = regex(
    r"--(?:stat|shortstat|numstat|dirstat|name-only|name-status|summary|no-patch|quiet)\b.*|-s"
)
_PATCH = regex(r"-[a-zA-Z]*[pucUGSL].*|--patch.*|--cc|--unified.*|--check")
"""Options of git that output content. A short option may be combined with other letters (`-wp`)."""


FileId: TypeAlias = tuple[int, int]
"""Identity of a file: device and inode."""


class TooManyFilesError(Exception):
    """The folders contain too many files to search while a command waits."""


def shown_secrets(
    found: CommandAnalysis,
    working_dir: str,
    places: Places,
    linked: Collection[FileId] = (),
) -> Sequence[str]:
    """Return files with secrets that the command would output or copy; at most MAX_SHOWN paths.

    `linked` are credential files with several hard links, from linked_credentials().

    Raises:
        TooManyFilesError, UncertainError (git_names.py)
    """
    return [*dict.fromkeys(islice(_find_secrets(found, working_dir, places, linked), MAX_SHOWN))]


def _find_secrets(
    found: CommandAnalysis, working_dir: str, places: Places, linked: Collection[FileId]
) -> Iterator[str]:
    from agent_ls.policy.shell.recursive import reads_folders  # imported late: loads a grammar

    for argv, folders in found.runs:
        if argv[0] == "git":
            yield from _named_in_revisions(argv[1:], folders)
            yield from _shown_by_git(argv, folders, places)
    others = [argv for argv in found.commands if argv[0] != "git"]  # git is asked itself
    if reads_folders(others) or (found.fed and reads_folders(found.commands, found.fed)):
        wanted = _Wanted.of(found.commands, {inode for _, inode in linked})
        for folder in read_folders(found, working_dir):
            yield from (path for path in wanted.find_below(folder) if may_print(found, path))
            yield from sorted(wanted.links)


def read_folders(found: CommandAnalysis, working_dir: str) -> Sequence[str]:
    """Return the existing folders that a command line may read recursively, for example by a search or a copy."""
    from agent_ls.policy.shell.listing import lists_names
    from agent_ls.policy.shell.recursive import find_read_paths, reads_folders

    folders: list[str] = []
    for argv, places in found.runs:
        is_listing = found.uses_xargs and lists_names(argv)
        if not (is_listing or reads_folders((argv,))):
            continue
        words = find_read_paths(argv)
        if words is None:
            folders += (*places, *found.paths)
        else:
            folders += (it for place in places for word in words or ("",) for it in _expand_word(word, place))
    return [it for it in dict.fromkeys(folders or (working_dir, *found.paths)) if os.path.isdir(it)]


def _expand_word(word: str, folder: str) -> Iterator[str]:
    """Yield the path that a word names, and the files that it matches if it is a pattern."""
    path = os.path.join(folder, os.path.expanduser(word))
    normal = os.path.normpath(path)
    yield normal
    yield from glob.iglob(normal, include_hidden=True)
    if ".." in word.split("/"):  # after a link, `..` leads to a folder other than the text suggests
        yield os.path.realpath(path)
        yield from map(os.path.realpath, glob.iglob(path, include_hidden=True))


def unusual_name(found: CommandAnalysis, working_dir: str, places: Places) -> str:
    """Return why xargs may split a file name, take it for an option, or pass a link that leads outside.

    Return "" if all names are safe. The names are those of the files that the command passes to xargs.
    """
    if not (found.needs_plain_names or found.reads_listed):
        return ""
    for argv, folders in found.runs:
        for folder in folders if argv[:2] == ("git", "ls-files") else ():
            # The index may list files that are not on the disk.
            tracked = (os.path.relpath(it.path, os.path.realpath(folder)) for it in tracked_files(folder))
            if name := next((it for it in tracked if any(map(_UNUSUAL.search, it.split(os.sep)))), ""):
                return f"xargs would split or change the name {name!r}."
    seen = 0
    for folder in read_folders(found, working_dir):
        for place, subfolders, names in os.walk(folder):
            seen += len(subfolders) + len(names)
            if seen > MAX_ENTRIES:
                return f"{folder} has too many files to check their names."
            found_names = (*subfolders, *names)
            if found.needs_plain_names and (name := next(filter(_UNUSUAL.search, found_names), "")):
                return f"xargs would split or change the name {os.path.join(place, name)!r}."
            paths = (os.path.join(place, name) for name in found_names if found.reads_listed)
            if link := next((it for it in paths if _leads_away(it, places)), ""):
                return f"{link} is a link to a file that the command would read."
    return ""


def _leads_away(path: str, places: Places) -> bool:
    """Return whether the path is a link to something outside of the workspace, or to a file with secrets."""
    if not os.path.islink(path):
        return False
    target = os.path.realpath(path)
    return (
        not places.is_inside(target)
        or is_secret_name(os.path.basename(target))
        or places.is_own_ignored(target)
        or places.is_denied(target)
        or os.path.isdir(target)
    )


_UNUSUAL = regex(r"^-|[^\w.,@%+=:~#!()\[\]{}$&;-]", re.ASCII)


def compared_folder(found: CommandAnalysis) -> str:
    """Return why `diff` or `git diff` outputs files that the command does not name; "" if it names all files."""
    from agent_ls.policy.shell.recursive import follows_links  # imported late: loads a grammar

    for argv, folders in found.runs:
        is_git = argv[:1] == ("git",) and "diff" in argv and not any(map(_is_in_repository, folders))
        if argv[0] != "diff" and not is_git:
            continue
        if follows_links(argv):
            continue  # `diff -r`, which is searched for links and secrets like other commands that read folders
        for place in folders:
            paths = [it for word in argv[1:] for it in _expand_word(word, place)]
            if folder := next(filter(os.path.isdir, paths), ""):
                return f"diff shows each file of {folder}, also files that links in it lead to."
    return ""


def _is_in_repository(folder: str) -> bool:
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return False
    return True


@dataclass(slots=True)
class _Wanted:
    """Implements search.Tree to search the folders that a command reads for files with secrets.

    `seen` counts all entries of the folders. `hidden` and `ignored`: whether the command reads hidden and ignored
    files. `has_type`: ripgrep is restricted to types of files, and also reads hidden ones of them. `globs`: name
    patterns to which the command is restricted. `linked`: files that have one of the `inodes`.
    `settings`: files of git with credentials. `links`: what links in place of ignore files lead to, because ripgrep
    prints lines of them that it cannot read.
    """

    hidden: bool
    ignored: bool
    globs: tuple[str, ...]
    inodes: Collection[int]
    has_type: bool = False
    seen: int = 0
    linked: set[str] = field(default_factory=set)
    settings: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, commands: Sequence[tuple[str, ...]], inodes: Collection[int]) -> _Wanted:
        searches = [argv for argv in commands if argv[0] in _SEARCHES_LIKE_RG]
        others = [argv for argv in commands if argv[0] not in (*_SEARCHES_LIKE_RG, "git")]
        finds = [argv for argv in others if argv[0] == "find"]
        beside = [*(argv for argv in others if argv not in finds), *searches]
        if len(finds) == 1 and not any(map(_is_recursive_reader, beside)):
            return cls(True, True, _names_of_find(finds[0]), inodes)
        is_grep = all(argv[0].endswith("grep") for argv in others)
        if searches and not any(_is_recursive_reader(argv) for argv in others):
            words = [word for argv in searches for word in argv[1:]]
            every = any(re.fullmatch(r"-[a-zA-Z.]*u[a-zA-Z.]*|--unrestricted|-a", word) for word in words)
            # ripgrep also searches hidden files that a pattern of the command names.
            hidden = every or any(map(_NAMES_HIDDEN.match, words))
            ignored = every or any(word.startswith("--no-ignore") for word in words)
            has_type = any(map(_NAMES_TYPE.match, words))
            return cls(hidden, ignored, _globs_of(searches, "-g", "--glob"), inodes, has_type)
        return cls(True, True, _globs_of(others, "", "--include") if is_grep else (), inodes)

    def find_below(self, folder: str) -> Iterator[str]:
        self.links.update(map(os.path.realpath, filter(os.path.islink, _ignore_files(folder))))
        self.hidden = self.hidden or any(_UNHIDES.search(self.text(it)) for it in _ignore_files(folder))
        for path in walk(self, folder, folder):
            name = os.path.basename(path)
            if (is_secret_name(name) or path in self.linked or holds_credentials(path)) and (
                not self.globs or any(fnmatch(name, glob) for glob in self.globs)
            ):
                yield path
        if not self.globs or any(fnmatch("config", glob) for glob in self.globs):
            yield from sorted(self.settings)

    def user_rules(self) -> str:
        return ""  # what the user hides elsewhere counts as shown

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self.seen += 1
                    if self.seen > MAX_ENTRIES:
                        raise TooManyFilesError(folder)
                    name, is_read = entry.name, self.hidden or not entry.name.startswith(".")
                    if not is_read and self.has_type and _OF_TYPE.fullmatch(name):
                        is_read = not entry.is_dir(follow_symlinks=False)
                    if name in IGNORE_FILES and entry.is_symlink():
                        self.links.add(os.path.realpath(entry.path))
                    if name == ".git" and is_read:
                        places = (os.path.join(entry.path, it) for it in ("config", "config.worktree"))
                        self.settings.update(filter(holds_credentials, places))
                    if is_read and entry.is_dir(follow_symlinks=False):
                        found.append((name, True))
                    elif is_read and self.inodes and entry.inode() in self.inodes:
                        self.linked.add(entry.path)
                        found.append((name, False))
                    elif name in IGNORE_FILES or (
                        is_read and (is_secret_name(name) or is_settings_name(name))
                    ):
                        found.append((name, False))
        except OSError:
            return found
        return found

    def text(self, path: str) -> str:
        if self.ignored:
            return ""
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read(SEARCH_LIMIT_BYTES)
        except OSError:
            return ""


_NAMES_HIDDEN = regex(r"--hidden|--i?glob|-[a-zA-Z.]*[.g]")
_NAMES_TYPE = regex(r"-[a-zA-Z.]*t|--type\b")
_OF_TYPE = regex(
    r"\..*\.(?:json|ya?ml|toml|ini|conf|cfg|config|properties|txt|xml|tf|tfvars|\w?sh|[jt]s|py|rb|php|sql|csv)|\.\w+rc"
)
"""A hidden file that ripgrep searches if the command names its type, as `rg -tjson` does with `.keys.json`."""
_UNHIDES = regex(r"^!(.*/)?[.*?\[{\\]", re.MULTILINE)
"""A line of an ignore file that may include hidden files again, which ripgrep then searches."""


def _ignore_files(folder: str) -> Iterator[str]:
    """Yield the possible paths of ignore files in a folder and its parents, up to the repository's root."""
    while True:
        yield from (os.path.join(folder, name) for name in IGNORE_FILES)
        if os.path.lexists(os.path.join(folder, ".git")) or folder == (folder := os.path.dirname(folder)):
            return


def _is_recursive_reader(argv: tuple[str, ...]) -> bool:
    from agent_ls.policy.shell.recursive import reads_folders

    return reads_folders((argv,))


def _globs_of(commands: Sequence[tuple[str, ...]], short: str, long: str) -> tuple[str, ...]:
    """Return the name patterns that the commands include; () (all names) if one command has no pattern."""
    from agent_ls.policy.shell.read_only import before_operands

    found = [_globs(before_operands(argv[1:]), short, long) for argv in commands]
    return tuple(it for globs in found for it in globs) if all(found) else ()


def _names_of_find(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the pattern of `-name`, if find lists only files with such names; () for all names."""
    from agent_ls.policy.shell.listing import first_action

    words: list[str] = []
    argv, at = argv[: first_action(argv)], 0
    while at < len(argv):  # what follows `-not` leaves out more names
        is_narrowed = argv[at] in ("-not", "!") and argv[at + 1 : at + 2] in (("-path",), ("-name",))
        words += () if is_narrowed else argv[at : at + 1]
        at += 3 if is_narrowed else 1
    if {"-o", "-or", "!", "-not", ",", "(", "-L", "-follow"} & set(words):
        return ()
    names = [after for word, after in pairwise(words) if word == "-name"]
    return tuple(names[:1]) if names and re.fullmatch(r"[\w.*?-]+", names[0]) else ()


def _globs(words: Sequence[str], short: str, long: str) -> Sequence[str]:
    """Return the name patterns to include; () for all names. Patterns that exclude names are ignored."""
    found: list[str] = []
    for index, word in enumerate(words):
        value = ""
        if word.startswith(f"{long}="):
            value = word.partition("=")[2]
        elif word in (short, long) and word:
            value = words[index + 1] if index + 1 < len(words) else ""
        elif short and word.startswith(short) and not word.startswith("--"):
            value = word.removeprefix(short)
        elif short and (word.startswith("--iglob") or re.match(r"-[a-zA-Z.]*g", word)):
            return ()
        if value and not value.startswith("!"):
            found.append(value.rpartition("/")[2])
    # If a pattern has syntax unknown to fnmatch, it may match more names.
    return found if all(re.fullmatch(r"[\w.*?-]+", it) for it in found) else ()


def _named_in_revisions(words: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """Yield the secret file that an argument such as `HEAD:.env` or `:(glob)**/.env` names."""
    for word in words:
        for match in re.finditer(":", word):
            path = word[match.end() :]
            if is_secret_name(os.path.basename(path)):
                yield from (os.path.normpath(os.path.join(folder, path)) for folder in folders)


def _shown_by_git(argv: Sequence[str], folders: Sequence[str], places: Places) -> Iterator[str]:
    """Yield files with secrets, and files that the ignore file names, that git would output in one of `folders`.

    Raises:
        UncertainError
    """
    from agent_ls.policy.shell.read_only import start_of_git_command
    from agent_ls.services.permissions.git_names import shown_names

    words = argv[start_of_git_command(argv) :]
    is_blob = words[:1] == ("cat-file",) and not {"-t", "-s", "-e", "--batch-check"} & set(words)
    has_patch = _shows_content(words)
    if not (has_patch or is_blob or words[:1] == ("show",)):
        return
    for folder in folders:
        if git_doubt(folder, places):
            continue  # the command needs approval for this reason
        for path in shown_names(argv, folder, has_patch=has_patch):
            if (
                is_secret_name(os.path.basename(path))
                or places.is_own_ignored(path)
                or places.is_denied(path)
            ):
                yield path


def _shows_content(words: Sequence[str]) -> bool:
    from agent_ls.policy.shell.read_only import before_operands

    plain = [word for word in words if not word.startswith("-")]
    if "status" in plain and any(re.match(r"--verb|-[a-z]*v", word) for word in words):
        return True
    verb = next((word for word in plain if word in _GIT_CONTENT | _GIT_WITH_PATCH), "")
    after = words[words.index(verb) + 1 :] if verb else []
    options = before_operands(after)
    operands = [word for word in after if not word.startswith("-")]
    if not verb:
        return False
    if verb == "stash" and "show" in operands and options != operands:
        verb = "stash show"  # with an option, `stash show` outputs the patch unless another format is given
    if verb in _GIT_WITH_PATCH:
        return any(map(_PATCH.fullmatch, after))
    if any(map(_NO_CONTENT.fullmatch, options)) and not any(map(_PATCH.fullmatch, after)):
        return False
    return verb != "grep" or not any(
        re.fullmatch("--files-with-matches|--count|-[a-zA-Z]*[lcq].*", re.split("(?<=.)[eABCmfO]", word)[0])
        for word in options
    )


def linked_credentials(places: Places) -> frozenset[FileId]:
    """Return the ids of credential files that have several hard links; usually none."""
    found = set()
    own = [
        os.path.join(places.state, name) for name in ("keys.json", "rules.json", "trust.json") if places.state
    ]
    for place in (*places.denied_places(), *own):
        for path in islice(_files_of(place), MAX_CREDENTIALS):
            try:
                facts = os.stat(path)
            except OSError:
                continue
            if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode):
                found.add((facts.st_dev, facts.st_ino))
    return frozenset(found)


def _files_of(place: str) -> Iterator[str]:
    if os.path.isfile(place):
        yield place
    for folder, _, names in os.walk(place):
        yield from (os.path.join(folder, name) for name in names)
