"""Pure: classify paths: inside the workspace folders, credentials, files that configure tools.

Paths are absolute. Case and Unicode form of names are ignored, because on some disks `.SSH` and `.ssh`
are the same file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from itertools import pairwise
from os import path as ospath

from agent_ls.paths import is_within
from agent_ls.policy.named_places import (
    ACCOUNT_FILES,
    ALWAYS_SENSITIVE,
    DENIED_FILES,
    DENIED_HOME_PLACES,
    HARMLESS_FILES,
    SECRET_FILES,
    SENSITIVE_NAMES,
)

_IGNORABLE = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))


def fold_path(text: str) -> str:
    """Normalize case and Unicode form, and remove the characters that HFS+ ignores in names."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text.translate(_IGNORABLE)).casefold()


def ignore_nothing(path: str) -> bool:
    return False


def holds_none(path: str) -> bool:
    return False


def _pattern(names: Sequence[str]) -> str:
    """Return a pattern for names. `re` compiles it when the first name is matched, and not at each start."""
    return "|".join(translate(fold_path(name)) for name in names)


_SECRET = _pattern(SECRET_FILES)
_HARMLESS = _pattern(HARMLESS_FILES)


@dataclass(frozen=True, slots=True)
class _Names:
    """A set of names of files and folders.

    Names in `pairs` have two components; `patterns` are names with `*`.
    """

    single: frozenset[str]
    pairs: frozenset[str]
    patterns: str

    @classmethod
    def of(cls, names: Sequence[str]) -> _Names:
        all_folded = [fold_path(name) for name in names]
        single = frozenset(name for name in all_folded if "/" not in name and "*" not in name)
        pairs = frozenset(name for name in all_folded if "/" in name)
        return cls(single, pairs, _pattern([name for name in all_folded if "*" in name] or ["/"]))

    def has(self, parts: Sequence[str]) -> bool:
        if any(part in self.single or re.match(self.patterns, part) for part in parts):
            return True
        return any(f"{one}/{two}" in self.pairs for one, two in pairwise(parts))


_ALWAYS_SENSITIVE = _Names.of(ALWAYS_SENSITIVE)
_SENSITIVE = _Names.of((*ALWAYS_SENSITIVE, *SENSITIVE_NAMES))


@dataclass(frozen=True, slots=True)
class Places:
    """Classifies paths. `roots` are the workspace folders, each as the user named it and as resolved; `home` is
    resolved.

    `is_ignored` returns whether an ignore file matches a path below a root, `is_own_ignored` whether that of agent-ls
    does, by default the same. `state` is the resolved state folder, "" for none. `worktree` is the session's resolved
    git worktree below the state folder, "" for none. `memory` is the resolved file with the user's notes for all
    projects, "" for none. `denied` are resolved files and folders that the user's settings deny in addition to
    credentials. `is_guarded` returns whether a hook runs the file. `has_credentials` returns whether a file is one of
    git's settings files and holds credentials.
    """

    roots: Sequence[str]
    home: str
    is_ignored: Callable[[str], bool] = ignore_nothing
    is_own_ignored: Callable[[str], bool] = ignore_nothing
    state: str = ""
    denied: Sequence[str] = ()
    worktree: str = ""
    memory: str = ""
    is_guarded: Callable[[str], bool] = ignore_nothing
    has_credentials: Callable[[str], bool] = holds_none

    def __post_init__(self) -> None:
        if self.is_own_ignored is ignore_nothing:
            object.__setattr__(self, "is_own_ignored", self.is_ignored)

    def is_inside(self, path: str) -> bool:
        return any(is_within(path, root) for root in self.roots)

    def is_denied(self, path: str) -> bool:
        """Return whether no tool may read the path in any mode, even inside a root.

        This applies to credentials, the state folder and `denied`.
        """
        if self.is_own_state(path):
            return True
        name = fold_path(_without_stream(path))
        return any(is_within(name, place) for place in _folded_denied(self.home, tuple(self.denied)))

    def holds_denied(self, path: str) -> bool:
        """Return whether credentials, the state folder or a path in `denied` are at or below the path."""
        name = fold_path(path)
        places = (
            *_folded_denied(self.home, tuple(self.denied)),
            *([fold_path(self.state)] if self.state else []),
        )
        return any(is_within(place, name) for place in places)

    def is_sensitive(self, path: str, *, always: bool = False) -> bool:
        """Return whether this file or folder configures other programs, or contains code that they run.

        In a path below a root, only the part after the root counts.

        `always`: return True only for files and folders that need approval in mode full too.
        """
        if not always and self.is_guarded(path):
            return True
        root = max((root for root in self.roots if is_within(path, root)), key=len, default="")
        parts = [fold_path(part) for part in _without_stream(path.removeprefix(root)).split(ospath.sep)]
        return (_ALWAYS_SENSITIVE if always else _SENSITIVE).has(parts)

    def is_secret(self, path: str) -> bool:
        """Return whether the path has the name of a file that holds secrets, or git's settings there do."""
        path = _without_stream(path)
        return is_secret_name(ospath.basename(path)) or self.has_credentials(path)

    def is_own_state(self, path: str) -> bool:
        """Return whether the path is in the folder where agent-ls stores keys, rules and sessions.

        Two paths in that folder do not count: the session's own worktree, and the file with the user's notes.
        """
        if not self.state or path == self.memory or (self.worktree and is_within(path, self.worktree)):
            return False
        return is_within(fold_path(path), fold_path(self.state))

    def denied_places(self) -> Sequence[str]:
        """Return the files and folders of credentials and those in `denied`, whether they exist or not."""
        return _list_denied(self.home, tuple(self.denied))


def is_secret_name(name: str) -> bool:
    """Return whether a file with this name holds secrets."""
    name = fold_path(name)
    return re.match(_SECRET, name) is not None and re.match(_HARMLESS, name) is None


@lru_cache(maxsize=8)
def _list_denied(home: str, more: tuple[str, ...]) -> tuple[str, ...]:
    """Return the denied paths. The result is cached, because each path check needs it several times."""
    return (
        *DENIED_FILES,
        *ACCOUNT_FILES,
        *(ospath.normpath(ospath.join(home, name)) for name in DENIED_HOME_PLACES),
        *more,
    )


@lru_cache(maxsize=8)
def _folded_denied(home: str, more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(fold_path, _list_denied(home, more)))


def _without_stream(path: str) -> str:
    """On Windows, return the path without NTFS stream names and trailing dots and blanks.

    Windows ignores these: `.netrc::$DATA` and `.netrc.` open the file `.netrc`. Elsewhere, return `path`.
    """
    if ospath.sep != "\\":
        return path
    drive, rest = ospath.splitdrive(path)
    return drive + rest.partition(":")[0].rstrip(". ")
