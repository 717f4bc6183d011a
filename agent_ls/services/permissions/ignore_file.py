"""The ignore file `.agent-ls-ignore` and those of other agents: no tool reads or writes the files that they name.

Rules such as `Read(secrets/**)` that the settings of Claude Code deny count as patterns too.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from agent_ls.environments.ignore_rules import rule_for_pathspec
from agent_ls.jsonc import parse_jsonc
from agent_ls.patterns import regex
from agent_ls.policy.named_places import FOREIGN_IGNORE_FILES, IGNORE_FILE
from agent_ls.policy.places import fold_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_BYTES = 256 * 1024
# A folder that changed a moment ago may change again within the same tick of its clock.
MIN_STAMP_AGE_NS = 2_000_000_000
_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
_DENIED_READ = regex(r"Read\((?:file_path=)?(?P<pattern>[^!].*)\)")
MAX_SEEN = 50_000  # files and folders that are searched for one command


class IgnoreFile:
    """The patterns of the workspace's ignore files, read again when they change.

    If an ignore file exists but cannot be read, all files count as ignored.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._known: dict[tuple[str, str], tuple[tuple[int, int] | None, GitIgnoreSpec]] = {}
        self._there: dict[str, tuple[int, Sequence[str]]] = {}

    def __call__(self, path: str) -> bool:
        """Return whether an ignore file of the workspace names the path."""
        return bool(self.among((path,)))

    def among(self, paths: Collection[str]) -> set[str]:
        """Return those of the paths that an ignore file of the workspace names. Looks at the files once."""
        return _named(paths, [(root, self._specs(root, self._files(root))) for root in self._roots])

    def is_own(self, path: str) -> bool:
        """Return whether `.agent-ls-ignore` names the path."""
        return bool(_named((path,), [(root, self._specs(root, (IGNORE_FILE,))) for root in self._roots]))

    def is_there(self) -> bool:
        """Return whether the workspace has an ignore file."""
        return any(self._specs(root, self._files(root)) for root in self._roots)

    def find_below(self, folder: str) -> str:
        """Return the first path below a folder that `.agent-ls-ignore` names, or "". Blocks.

        For a folder with too many files, returns the folder itself, because the search is incomplete.
        """
        if not any(self._spec(root, IGNORE_FILE) for root in self._roots):
            return ""
        seen = 0
        for place, folders, files in os.walk(folder):
            if ".git" in folders:
                folders.remove(".git")
            for name in (*files, *folders):
                seen += 1
                path = os.path.join(place, name)
                if self.is_own(path):
                    return path
            if seen > MAX_SEEN:
                return folder
        return ""

    def _specs(self, root: str, files: Sequence[str]) -> Sequence[GitIgnoreSpec]:
        return [spec for name in files if (spec := self._spec(root, name))]

    def _files(self, root: str) -> Sequence[str]:
        """Return the names of the ignore files that may be in a root, looked up when the folder changes."""
        stamp = max(_changed(root), _changed(os.path.join(root, ".claude")))
        known = self._there.get(root)
        if known is None or known[0] != stamp:
            of_user = os.path.join(os.path.expanduser("~"), _SETTINGS[0])
            names = (*FOREIGN_IGNORE_FILES, *_SETTINGS, of_user)
            others = [name for name in names if os.path.lexists(os.path.join(root, name))]
            is_old_enough = time.time_ns() - stamp > MIN_STAMP_AGE_NS
            known = (stamp if is_old_enough else -1, (IGNORE_FILE, *others))
            self._there[root] = known
        return known[1]

    def _spec(self, root: str, name: str) -> GitIgnoreSpec | None:
        place = os.path.join(root, name)
        try:
            found = os.stat(place)
            stamp = (found.st_mtime_ns, found.st_size)
        except FileNotFoundError:
            return None
        except OSError:
            stamp = None
        known = self._known.get((root, place))
        if known is None or stamp is None or known[0] != stamp:
            self._known[root, place] = known = (stamp, _read(place, root))
        return known[1]


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _named(paths: Collection[str], rules: Sequence[tuple[str, Sequence[GitIgnoreSpec]]]) -> set[str]:
    """Return those of the paths that a rule names. A rule: a folder, and patterns for the files below it."""
    found = set()
    for root, specs in rules:
        start = root.rstrip(os.sep) + os.sep
        below = [path for path in paths if path.startswith(start)] if specs else ()
        found |= {path for path in below if any(is_named(spec, path[len(start) :]) for spec in specs)}
    return found


def is_named(spec: GitIgnoreSpec, inside: str) -> bool:
    """Return whether patterns match a path relative to their folder, as a file or as a folder."""
    for name in dict.fromkeys((inside, fold_path(inside))):
        found = spec.check_file(name).include
        # a pattern for folders needs the slash; a file that a pattern shows again must not be hidden by it
        if found or (found is None and spec.match_file(f"{name}/")):
            return True
    return False


def _read(place: str, root: str) -> GitIgnoreSpec:
    try:
        with os.fdopen(os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            lines = file.read(MAX_BYTES).decode("utf-8-sig", "replace").splitlines() if is_file else ["*"]
    except OSError:
        lines = ["*"]
    if place.endswith(_SETTINGS):
        lines = [*_denied_patterns("\n".join(lines), root, is_users=not place.startswith(root + os.sep))]
    return read_patterns(lines)


def _denied_patterns(text: str, root: str, *, is_users: bool) -> Iterator[str]:
    """Yield the patterns of files in `root` whose reading the settings of Claude Code deny."""
    try:
        settings = parse_jsonc(text)
    except ValueError:
        return
    given = settings.get("permissions") if isinstance(settings, dict) else None
    rules = given.get("deny") if isinstance(given, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        if not isinstance(rule, str) or not (found := _DENIED_READ.fullmatch(rule.strip())):
            continue
        pattern = found["pattern"]
        if pattern.startswith(("//", "~/")):  # a path from the root of the disk, or from the home folder
            whole = os.path.expanduser(pattern.removeprefix("/"))
            if whole.startswith(root + os.sep):
                yield whole.removeprefix(root)
        elif not (is_users and pattern.startswith("/")):
            yield pattern.removeprefix(".") if pattern.startswith("./") else pattern


def read_patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    # On a case-insensitive disk, `Private` is also `private`: add each pattern in both forms.
    rules = map(_without_lone_backslash, map(rule_for_pathspec, lines))
    return GitIgnoreSpec.from_lines(
        [form for rule in rules for form in dict.fromkeys((rule, fold_path(rule)))]
    )


def _without_lone_backslash(rule: str) -> str:
    """Return a rule without a last backslash that escapes nothing. For git it fits no file, but one is meant."""
    return rule[:-1] if (len(rule) - len(rule.rstrip("\\"))) % 2 else rule
