"""Check a repository's settings and hooks on disk for programs that a read-only git command would run.

`git status` and `git diff` run programs named by `core.fsmonitor`, a filter, a `textconv` or the hook
`post-index-change`. The user's own settings are trusted; a repository's settings may come from somebody else,
for example in an unpacked archive.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from agent_ls.environments.local.git_index import tracked_files
from agent_ls.patterns import regex
from agent_ls.policy.places import Places

MAX_CONFIG_CHARS = 200_000
MAX_LINKS_SEARCHED = 20_000
MAX_NESTED = 50
"""Maximum number of nested repositories that are checked."""
MAX_ALTERNATES = 5
"""Maximum depth at which a repository may take objects from others. git has the same limit."""

_SECTION = regex(r"""\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]""")
_SETTING = regex(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?")
_RUNS = regex(
    r"core\.(fsmonitor|pager|alternaterefscommand)|pager\..*|diff\.(.*\.)?(external|command|textconv)|"
    r"filter\..*\.(clean|smudge|process)|gpg\.(.*\.)?program|include(if)?\.(.*\.)?path|log\.showsignature|"
    r"merge\..*\.driver|log\.diffmerges|hook\..*\.command|lfs\.(extension|customtransfer)\..*|"
    r"lfs\.standalonetransferagent"
)
_INCLUDES = regex(r"include(if)?\..*")
_CHECKS_SIGNATURE = regex(r"%[-+ ]?G")
_HARMLESS_VALUE = regex(r"(true|false|yes|no|on|off|0|1|cat|less)?|\"?git-lfs [\w -]+(%f)?\"?")
_READS = frozenset(
    ("core.attributesfile", "core.excludesfile", "blame.ignorerevsfile", "mailmap.file", "diff.orderfile")
)
_IS_PARTIAL = regex(r"extensions\.partialclone|remote\..*\.(promisor|partialclonefilter)")
"""Settings of a partial clone, which lacks some objects: any git command may fetch a missing object."""
_FETCHES_BY = regex(
    r"core\.(sshcommand|gitproxy|askpass)|credential\.(.*\.)?helper|remote\..*\.(uploadpack|vcs|url)|url\..*\.insteadof"
)
_USUAL_URL = regex(r"(https|ssh|git)://[\w.@:/~+%-]+|[\w.-]+@[\w.-]+:[\w./~+-]+")
_HOOK = "post-index-change"
_WITHOUT_TEXT = frozenset(("hooks", "lfs", "pack", *(f"{number:02x}" for number in range(256))))
"""Folders of a repository of whose files git prints no lines: objects, and hooks, which are checked apart."""
_GITDIR = "gitdir: "
_HEAD = regex(r"ref: refs/\S+\s*|[0-9a-f]{40,64}\s*")


def git_doubt(folder: str, places: Places) -> str:
    """Return why git in this folder may run programs or read another repository; "" if it does neither. Blocks."""
    for place in _list_parents(os.path.realpath(folder)):
        entry = os.path.join(place, ".git")
        found = _git_folder(entry)
        is_bare = os.path.basename(place) != ".git" and _may_be_repository(place)
        if is_bare and not (found and _is_repository(found)):
            return f"{place} is a separate git repository, and its settings may run programs."
        if not found:
            continue
        if why := _leads_to_another(found, entry, places):
            return why
        if why := _Check(places).repository(found, place):
            return why
        if _is_repository(found):
            break  # git uses this repository; otherwise it would search the parent folder
    return ""


class _Check:
    """Checks whether git may run programs in a repository, or in a repository inside it."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._checked: set[str] = set()

    def repository(self, git_folder: str, work_tree: str) -> str:
        """Return why git may run programs in this repository; "" if it runs none."""
        if git_folder in self._checked:
            return ""
        if len(self._checked) > MAX_NESTED:
            return f"{work_tree} has more than {MAX_NESTED} git repositories inside of it."
        self._checked.add(git_folder)
        is_inside = self._places.is_inside(os.path.realpath(git_folder))
        if is_inside and (away := _leads_away(git_folder, self._places)):
            return f"{away} is a link that leads out of the workspace."
        if is_inside and (
            other := _foreign_objects(os.path.join(_common(git_folder), "objects"), self._places)
        ):
            return f"{git_folder} takes objects from {other}, which is outside the workspace."
        if why := self._settings(git_folder, work_tree):
            return why
        for it in tracked_files(work_tree):
            if it.is_repository and (inner := _git_folder(os.path.join(it.path, ".git"))):
                entry = os.path.join(it.path, ".git")
                if why := _leads_to_another(inner, entry, self._places) or self.repository(inner, it.path):
                    return why
        return ""

    def _settings(self, git_folder: str, work_tree: str) -> str:
        common = _common(git_folder)
        hooks = os.path.join(common, "hooks")
        known: list[tuple[str, str]] = []
        for path in dict.fromkeys(
            (os.path.join(common, "config"), os.path.join(git_folder, "config.worktree"))
        ):
            text = _text(path)
            if len(text) > MAX_CONFIG_CHARS:
                return f"{path} is too large to be checked."
            for name, value in _settings(text):
                known.append((name, value))
                place = os.path.join(work_tree, os.path.expanduser(value.strip('"')))
                # The value `cat` is harmless as the name of a program, but not as the name of an included file.
                is_harmless = _HARMLESS_VALUE.fullmatch(value) and not _INCLUDES.fullmatch(name)
                if _RUNS.fullmatch(name) and not is_harmless:
                    return f"{path} sets {name}, which makes git run a program."
                if _CHECKS_SIGNATURE.search(value):
                    return f"{path} sets {name}, which makes git run a program to check signatures."
                if name in _READS and not self._places.is_inside(os.path.realpath(place)):
                    return f"{path} sets {name}, which makes git read a file outside the workspace."
                if name == "core.worktree" and not _is_same(os.path.join(git_folder, value), work_tree):
                    return f"{path} sets {name}, which makes git read another folder."
                if name == "core.hookspath":
                    hooks = place
        if name := _fetching_program(known):
            config = os.path.join(common, "config")
            return f"{config} sets {name}, so git may connect to another machine for missing objects."
        if os.path.lexists(os.path.join(hooks, _HOOK)):
            return f"{os.path.join(hooks, _HOOK)} is run by git when it refreshes its index."
        return ""


def _fetching_program(settings: Sequence[tuple[str, str]]) -> str:
    """Return the setting that makes a partial clone fetch objects with a program; "" for none."""
    if not any(_IS_PARTIAL.fullmatch(name) for name, _ in settings):
        return ""
    return next(
        (
            name
            for name, value in settings
            if _FETCHES_BY.fullmatch(name) and not (name.endswith(".url") and _USUAL_URL.fullmatch(value))
        ),
        "",
    )


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each setting in a git config file. Names include the section, in lower case.

    A line that git would join with the line before it is also parsed as a separate setting, so that no setting
    is missed.
    """
    section = ""
    for line in text.split("\n"):  # git treats other line separators as text
        rest = line.strip()
        while found := _SECTION.match(rest):
            section = ".".join(part for part in (found[1], found[2] or "") if part).lower()
            rest = rest[found.end() :].strip()
        if setting := _SETTING.match(rest):
            yield f"{section}.{setting[1].lower()}", (setting[2] or "").strip()


def _git_folder(entry: str) -> str:
    """Return the git folder of the work tree whose `.git` path is `entry`; "" if there is none.

    `entry` is the git folder itself, or a file that contains the path of the git folder.
    """
    if os.path.isdir(entry):
        return entry
    text = _text(entry)
    if not text.startswith(_GITDIR):
        return ""
    target = text.removeprefix(_GITDIR).rstrip("\r\n")  # git keeps blanks, which are part of the name
    return os.path.normpath(os.path.join(os.path.dirname(entry), target))


def _common(git_folder: str) -> str:
    """Return the common folder of a repository, with settings and objects that several work trees may share."""
    return os.path.join(git_folder, _text(os.path.join(git_folder, "commondir")).rstrip("\r\n"))


def _leads_away(git_folder: str, places: Places) -> str:
    """Return the part of a repository that is outside the workspace; "" for none."""
    common = _common(git_folder)
    parts = (common, os.path.join(common, "objects"), os.path.join(common, "refs"))
    if away := next((part for part in parts if not places.is_inside(os.path.realpath(part))), ""):
        return away
    return next(_links_away(dict.fromkeys((git_folder, common)), places), "")


def _foreign_objects(objects: str, places: Places, depth: int = 0) -> str:
    """Return a folder outside the workspace from which the repository takes objects (alternates); "" for none."""
    for line in _text(os.path.join(objects, "info", "alternates")).split("\n"):
        if not line or line.startswith("#"):
            continue
        other = os.path.join(objects, line)
        if line.startswith('"') or depth > MAX_ALTERNATES or not places.is_inside(os.path.realpath(other)):
            return other
        if found := _foreign_objects(other, places, depth + 1):
            return found
    return ""


def _links_away(folders: Iterable[str], places: Places) -> Iterator[str]:
    """Yield the links in a repository that lead out of the workspace: git prints lines of files that it cannot read."""
    pending = [*folders]
    seen = 0
    while pending and seen < MAX_LINKS_SEARCHED:
        try:
            with os.scandir(pending.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        seen += len(found)
        for entry in found:
            if entry.is_symlink():
                if not places.is_inside(os.path.realpath(entry.path)):
                    yield entry.path
            elif entry.name not in _WITHOUT_TEXT and entry.is_dir():
                pending.append(entry.path)
    if pending:
        yield pending[0]


def _leads_to_another(git_folder: str, entry: str, places: Places) -> str:
    """Return why the `.git` path `entry` of the workspace is a repository of somebody else; "" if it is not."""
    is_inside = places.is_inside(os.path.realpath(git_folder)) or not places.is_inside(entry)
    if is_inside or _points_back(git_folder, entry):
        return ""
    return f"{entry} leads to {git_folder}, a git repository outside the workspace."


def _points_back(git_folder: str, entry: str) -> bool:
    """Return whether the repository in `git_folder` names the folder that contains `entry` as its work tree."""
    known = _text(os.path.join(git_folder, "gitdir")).strip()
    if known and _is_same(os.path.join(git_folder, known), entry):
        return True
    settings = dict(_settings(_text(os.path.join(git_folder, "config"))))
    tree = settings.get("core.worktree", "")
    return bool(tree) and _is_same(os.path.join(git_folder, tree), os.path.dirname(entry))


def _is_same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _may_be_repository(folder: str) -> bool:
    """Return whether git may treat the folder as a bare repository.

    A checkout can create such a folder, because a repository can track files with the names HEAD, objects and
    refs.
    """

    def has(name: str) -> bool:
        return os.path.lexists(os.path.join(folder, name))

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _is_repository(git_folder: str) -> bool:
    """Return whether git certainly treats the folder as a repository."""
    common = _common(git_folder)
    return bool(_HEAD.fullmatch(_text(os.path.join(git_folder, "HEAD")))) and all(
        os.path.isdir(place) and os.access(place, os.X_OK)
        for place in (os.path.join(common, "objects"), os.path.join(common, "refs"))
    )


def _list_parents(folder: str) -> Iterator[str]:
    yield folder
    while folder != (parent := os.path.dirname(folder)):
        folder = parent
        yield folder


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            return file.read(MAX_CONFIG_CHARS + 1)
    except OSError:
        return ""
