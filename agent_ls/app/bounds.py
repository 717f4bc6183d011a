"""ADAPTER Bounds: what a session's tools may touch at this moment, links followed (X6).

Below the roots everything but credentials may be read, outside of them what a person allowed. A change may land only
where it led when it was judged: a folder that has become a link since, or names another file by now, is refused.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from agent_ls.app.ignore_file import IgnoreFile
from agent_ls.environments.effects import CallEffect, CommandEffect, Effect, ReadEffect, WriteEffect
from agent_ls.environments.errors import (
    AccessDeniedError,
    EnvError,
    OutsideBoundsError,
    PathNotFoundError,
    SecretFileError,
)
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.policy.places import Places

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import Understanding


class PathBounds:
    """`allowed` is told what may be done, before it is done. Only real paths are remembered.

    `places` may be set anew between two inputs: folders are opened and closed.
    """

    def __init__(self, places: Places) -> None:
        self.places = places
        self._readable: set[str] = set()
        self._turn_id = ""
        self._landings: dict[str, Mapping[str, str]] = {}

    def allowed(self, effect: Effect, resolved: Mapping[str, str], *, call_id: str, turn_id: str) -> None:
        """`resolved` has the real path of each path of the effect, as it was when the effect was judged."""
        if turn_id != self._turn_id:
            self._turn_id, self._landings = turn_id, {}
        # Also for a change: to be made, it is computed once more from what is there.
        self._readable.update(
            real
            for path, real in resolved.items()
            if not self.places.is_inside(real) or self.places.is_secret(path) or self.places.is_secret(real)
        )
        if isinstance(effect, WriteEffect):
            self._landings[call_id] = resolved

    def demand_readable(self, path: str) -> str:
        real = os.path.realpath(path)
        if self.places.is_denied(path) or self.places.is_denied(real):
            raise AccessDeniedError(path, "it holds credentials; agent-ls never reads it")
        if self.places.is_ignored(path) or self.places.is_ignored(real):
            raise AccessDeniedError(path, f"blocked by policy: {IGNORE_FILE} names it")
        if real in self._readable:
            return real
        if self.places.is_inside(real):
            if self.places.is_secret(path) or self.places.is_secret(real):
                raise SecretFileError(path, real)
            return real
        if not os.path.lexists(real):
            raise PathNotFoundError(path)  # nothing is given away, and a new file may still be asked for
        raise OutsideBoundsError(path, real)

    def demand_opened(self, path: str, real: str, facts: os.stat_result) -> None:
        if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode) and self._is_credential(facts):
            raise AccessDeniedError(path, "it is another name of a file that holds credentials")
        try:
            self.demand_readable(real or path)
        except EnvError as error:
            raise AccessDeniedError(path, f"it led elsewhere when it was opened: {error}") from error

    def _is_credential(self, facts: os.stat_result) -> bool:
        """Whether it is one of the files of the places of credentials, by whatever name."""
        for place in self.places.denied_places():
            for path in (place, *_names_in(place)):
                with suppress(OSError):
                    if os.path.samestat(os.stat(path), facts):
                        return True
        return False

    def demand_landing(self, real: str, call_id: str) -> None:
        judged = self._landings.get(call_id, {}).values()
        if real in judged or any(real == os.path.dirname(place) for place in judged):
            return
        # What is deleted may be a link, which was judged by where it leads as well.
        if not self.places.is_inside(real) or self.places.is_denied(real) or self.places.is_ignored(real):
            raise AccessDeniedError(real, "the change led elsewhere when it was made")

    def demand_writable(self, path: str, call_id: str) -> None:
        judged = self._landings.get(call_id, {}).get(path)
        if judged is None:
            raise AccessDeniedError(path, "nobody was asked about this change")
        real = os.path.realpath(path)
        if real != judged:
            raise AccessDeniedError(path, f"it leads to {real} now, and led to {judged} when it was allowed")


def places_of(*folders: str) -> Places:
    """The places of a session that works in these folders. Follows links, so it blocks."""
    given = map(os.path.abspath, folders)
    # Models write paths below the folder as it was opened; that may be a link.
    roots = tuple(dict.fromkeys(name for folder in given for name in (os.path.realpath(folder), folder)))
    return Places(roots, os.path.realpath(os.path.expanduser("~")), IgnoreFile(roots))


MAX_CREDENTIALS = 500  # of one folder: more are not looked through


def _names_in(folder: str) -> list[str]:
    with suppress(OSError):
        return [os.path.join(folder, name) for name in os.listdir(folder)[:MAX_CREDENTIALS]]
    return []


@dataclass(frozen=True, slots=True)
class Look:
    """What the disk says of an effect at this moment; the fields are those of Situation."""

    resolved: Mapping[str, str] = field(default_factory=dict)
    leads: tuple[str, ...] = ()
    doubt: str = ""


def look(effect: Effect, places: Places) -> Look:
    """Where each path of an effect leads at this moment. Follows links, so it blocks."""
    command = effect.runs if isinstance(effect, CallEffect) else effect
    if isinstance(command, CommandEffect):
        return _look_at_command(command, places)
    resolved = {path: os.path.realpath(path) for path in _paths(effect)}
    linked = next(
        (p for p in resolved.values() if isinstance(effect, WriteEffect) and _has_other_names(p)), ""
    )
    return Look(
        resolved, doubt=f"{linked} has other names on the disk, which change with it" if linked else ""
    )


def _look_at_command(effect: CommandEffect, places: Places) -> Look:
    from agent_ls.policy.commands import understood  # its grammar is loaded with the first command

    found = understood(effect, places.home)
    resolved = {
        path: os.path.realpath(path) for path in (effect.working_dir, *found.paths) if not _is_pattern(path)
    }
    matches: list[str] = []
    for pattern in filter(_is_pattern, found.paths):
        matches += islice(glob.iglob(pattern, include_hidden=True), MAX_MATCHES - len(matches) + 1)
    if len(matches) > MAX_MATCHES:
        return Look(resolved, doubt="its patterns stand for very many files")
    # A pattern that stands for nothing is handed on as it is, so its folder counts as well.
    leads = [os.path.realpath(place) for pattern in found.paths for place in (*_fixed_part(pattern),)]
    leads += [os.path.realpath(match) for match in matches]
    if hidden := _looks_through(effect, found, places):
        return Look(
            resolved, tuple(leads), f"it looks through a folder with {hidden}, which {IGNORE_FILE} names"
        )
    bare = next((f for folder in found.git_folders for f in _upwards(folder, places) if _is_bare(f)), "")
    doubt = f"{bare} is a git repository of its own, whose settings may run programs" if bare else ""
    return Look(resolved, tuple(dict.fromkeys(leads)), doubt)


def _looks_through(effect: CommandEffect, found: Understanding, places: Places) -> str:
    """What the ignore file names of the folders whose content the command shows or copies, "" for nothing."""
    if not isinstance(places.is_ignored, IgnoreFile) or not found.commands:
        return ""
    from agent_ls.policy.shell.recursive import reads_folders  # as above

    if not reads_folders(effect.command, found.commands):
        return ""
    named = [path for path in found.paths if os.path.lexists(path)]
    folders = [path for path in named or [effect.working_dir] if os.path.isdir(path)]
    return next(filter(None, map(places.is_ignored.below, folders)), "")


def _has_other_names(path: str) -> bool:
    """By hard links, which may lie outside."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


MAX_MATCHES = 2_000  # of the patterns of one command: more is asked about instead


def _is_pattern(path: str) -> bool:
    return any(char in path for char in "*?[")


def _fixed_part(path: str) -> Iterator[str]:
    if _is_pattern(path):
        head = path[: min(path.index(char) for char in "*?[" if char in path)]
        yield os.path.dirname(head) or os.sep


def _upwards(folder: str, places: Places) -> Iterator[str]:
    """The folder and those around it, as git looks for its own; not further than the root."""
    while places.is_inside(folder):
        yield folder
        folder = os.path.dirname(folder)


def _is_bare(folder: str) -> bool:
    """git takes a folder with these for a repository, also where the files of another one put them there."""
    if os.path.basename(folder) == ".git" or not os.path.isfile(os.path.join(folder, "HEAD")):
        return False
    return all(os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs"))


def _paths(effect: Effect) -> Sequence[str]:
    match effect:
        case ReadEffect(paths):
            return paths
        case WriteEffect(files):
            return [file.path for file in files]
        case _:
            return []
