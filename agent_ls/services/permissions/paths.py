"""Implements the interface Bounds: which paths a session's tools may access now, with symbolic
links resolved.

Inside the workspace folders everything except credentials may be read; outside, only paths that the
user allowed. A write may only change the real path that was approved. If a path resolves to another
file when it is written, because a link was created or changed, the write is refused.
"""

from __future__ import annotations

import glob
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.environments.effects import CallEffect, CommandEffect, Effect, ReadEffect, WriteEffect
from agent_ls.environments.errors import (
    AccessDeniedError,
    EnvError,
    OutsideBoundsError,
    PathNotFoundError,
    SecretFileError,
)
from agent_ls.environments.local.git_objects import UncertainError
from agent_ls.patterns import regex
from agent_ls.policy.named_places import DENIED_BY, IGNORE_FILE, IGNORED_BY, LINKED, OWN_MODULES
from agent_ls.policy.places import Places, ignore_nothing
from agent_ls.services.permissions.disk import LOCAL_DISK, Disk, RemoteDisk
from agent_ls.services.permissions.followed_links import followed_link
from agent_ls.services.permissions.git_credentials import holds_credentials
from agent_ls.services.permissions.git_look import git_doubt
from agent_ls.services.permissions.go_versions import names_plain_go
from agent_ls.services.permissions.ignore_file import IgnoreFile
from agent_ls.services.permissions.linked_configuration import linked_configuration
from agent_ls.services.permissions.python_modules import replaced_module
from agent_ls.services.permissions.shown_secrets import (
    TooManyFilesError,
    compared_folder,
    linked_credentials,
    read_folders,
    shown_secrets,
    unusual_name,
)
from agent_ls.services.settings.model import PathSettings
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.system import is_on_own_disk

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import CommandAnalysis


MAX_NEAR = 32
"""Maximum number of files whose facts are read on the event loop's thread."""

DEFAULT_PATHS = PathSettings()
USER_MEMORY = "memory.md"
"""File in the state folder with the user's notes for all projects."""


class PathBounds:
    """The path policy of a session.

    `register_allowed` is called before each effect takes place, and stores paths with links resolved.
    `places` (the allowed and denied paths) may be replaced between two turns, when folders are opened or
    closed. `temporary` is the TMPDIR of commands, "" if agent-ls does not set it. `is_created` returns whether the
    session created a file of which nobody else has changed or kept anything.
    """

    def __init__(
        self,
        places: Places,
        disk: Disk = LOCAL_DISK,
        *,
        temporary: str = "",
        is_created: Callable[[str], bool] = lambda path: False,
    ) -> None:
        self.places = places
        self.disk = disk
        self.temporary = temporary
        self.is_created = is_created
        self._readable: set[str] = set()
        self._near: set[str] = set()
        self._near_folders: set[str] = set()
        self._turn_id = ""
        self._landings: dict[str, Mapping[str, str]] = {}
        self._written: dict[str, str] = {}

    def register_allowed(
        self, effect: Effect, resolved: Mapping[str, str], *, call_id: str, turn_id: str
    ) -> None:
        """Register an allowed effect.

        `resolved` maps each path of the effect to its real path when it was judged.
        """
        if turn_id != self._turn_id:
            self._turn_id, self._landings = turn_id, {}
        # The paths that a write changes become readable too, because the change is computed again from the file's
        # content.
        self._readable.update(
            real
            for path, real in resolved.items()
            if not self.places.is_inside(real) or self.places.is_secret(path) or self.places.is_secret(real)
        )
        if isinstance(effect, WriteEffect):
            self._landings[call_id] = resolved
            self._written.update(resolved)

    def at_once(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        """Fetch the metadata of all these paths with few requests, if they are on another machine.

        Checks inside the `with` block use this metadata.
        """
        return self.disk.at_once(paths) if isinstance(self.disk, RemoteDisk) else nullcontext()

    def real_path(self, path: str) -> str:
        """Return the path with links resolved."""
        return self.disk.real_path(path)

    def stat(self, path: str) -> os.stat_result:
        """Return the stat result of a file. Raises OSError."""
        return self.disk.stat(path)

    def ignored(self, paths: Collection[str]) -> Collection[str]:
        """Return those of the paths that an ignore file names."""
        is_ignored = self.places.is_ignored
        return (
            is_ignored.among(paths) if isinstance(is_ignored, IgnoreFile) else set(filter(is_ignored, paths))
        )

    def check_readable(self, path: str) -> str:
        """Check that the session may read a path now; return the real path. Raises EnvError if it may not."""
        real = self.disk.real_path(path)
        if self.places.is_own_state(path) or self.places.is_own_state(real):
            raise AccessDeniedError(
                path,
                "this is the state folder of agent-ls with keys, rules and sessions, which its tools never read",
            )
        if self.places.is_denied(path) or self.places.is_denied(real):
            raise AccessDeniedError(path, f"this file {DENIED_BY}: agent-ls never reads it")
        if self.places.is_ignored(path) or self.places.is_ignored(real):
            raise AccessDeniedError(path, f"blocked by policy: {IGNORED_BY}")
        if real in self._readable or real == self.places.memory:
            return real
        if self.places.is_inside(real):
            if self.places.is_secret(path) or self.places.is_secret(real):
                raise SecretFileError(path, real)
            return real
        if not self.disk.exists(real):
            raise PathNotFoundError(path)  # reveals no content; creating the file may be approved
        raise OutsideBoundsError(path, real)

    def check_opened(self, path: str, real: str, facts: os.stat_result) -> None:
        """Check that the session may read the file that was opened as `path`. Raises AccessDeniedError.

        If a link was changed after `path` was checked, another file may have been opened. `real` is the real
        path of the opened file, "" if unknown; `facts` is its stat result.
        """
        if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode) and _is_linked(facts, self.places, self.disk):
            raise AccessDeniedError(path, "this path is a hard link to a file that contains credentials")
        try:
            self.check_readable(real or path)
        except EnvError as error:
            raise AccessDeniedError(
                path,
                f"the path resolved to another file when it was opened (a symbolic link changed): {error}",
            ) from error
        if is_on_own_disk(facts):
            self._near.add(path)
            self._near_folders.add(os.path.dirname(path))

    def is_near(self, path: str) -> bool:
        """Return whether the session has opened this file on a disk of this machine."""
        return path in self._near

    def are_near(self, effect: Effect) -> bool:
        """Return whether an effect is on few files, all on disks of this machine: the session has opened each file, or
        another one in its folder.
        """
        paths = () if isinstance(self.disk, RemoteDisk) else _paths(effect)
        return 0 < len(paths) <= MAX_NEAR and all(map(self._is_likely_near, paths))

    def _is_likely_near(self, path: str) -> bool:
        # A link in the same folder may lead to another disk.
        return path in self._near or (
            os.path.dirname(path) in self._near_folders and not os.path.islink(path)
        )

    def check_target(self, real: str, call_id: str) -> None:
        """Check that a call may change an opened file, or the opened parent folder of a file. Raises
        AccessDeniedError.

        `real` is the real path of the file or folder.
        """
        judged = self._landings.get(call_id, {}).values()
        if real in judged or any(real == os.path.dirname(place) for place in judged):
            return
        # A call that deletes a symbolic link changes the link itself, but the link's target was
        # judged.
        if not self.places.is_inside(real) or self.places.is_denied(real) or self.places.is_ignored(real):
            raise AccessDeniedError(
                real, "the path resolved to another file when the change was made (a symbolic link changed)"
            )

    def check_writable(self, path: str, call_id: str) -> None:
        """Check that the path still resolves to the file whose change was approved for this call.

        Raises AccessDeniedError.
        """
        judged = self._landings.get(call_id, {}).get(path)
        if judged is None:
            raise AccessDeniedError(path, "this change was not approved")
        real = self.disk.real_path(path)
        if real != judged:
            raise AccessDeniedError(path, f"the path now resolves to {real}, but {judged} was approved")

    def check_undoable(self, paths: Iterable[str]) -> None:
        """Raise AccessDeniedError if an undo by the user would reach, through a newer link, a file of others."""
        for path in paths:
            real = self.disk.real_path(path)
            # not known: what a command or an earlier process wrote, and where a deleted link led
            written = self._written.get(path) if self.disk.exists(real) else None
            unknown_is_safe = self.places.is_inside(real) or not self.places.is_inside(path)
            if real != written and (written or not unknown_is_safe):
                raise AccessDeniedError(path, f"the path leads to {real}, which the session did not change")


def places_of(
    *folders: str,
    settings: PathSettings = DEFAULT_PATHS,
    state: str = "",
    worktree: str = "",
    is_guarded: Callable[[str], bool] = ignore_nothing,
) -> Places:
    """Return the allowed and denied paths of a session in these folders. Blocks, because it follows links.

    `settings` adds folders and denied paths. `state` is the state folder, "" for the state folder
    of this process. `worktree` is the session's git worktree in the state folder, "" for none.
    `is_guarded` returns whether a hook runs the file.
    """
    added = [*filter(os.path.isabs, map(os.path.expanduser, settings.roots)), *temporary_folder(settings)]
    given = map(os.path.abspath, (*folders, *added))
    # The opened folder may be a symbolic link, and models use its name: keep the link and the resolved path.
    roots = _both_names(given)
    denied = [os.path.expanduser(place) for place in settings.denied if place]
    own = state_folder()
    # A program may have chosen another state folder; the user's own stays closed.
    if state and Path(state) != own and not (worktree and Path(worktree).is_relative_to(own)):
        denied.append(str(own))
    ignored = IgnoreFile(roots)
    return Places(
        roots,
        os.path.realpath(os.path.expanduser("~")),
        ignored,
        ignored.is_own,
        state=os.path.realpath(state or state_folder()),
        denied=_both_names(os.path.normpath(os.path.join(root, place)) for place in denied for root in roots),
        worktree=os.path.realpath(worktree) if worktree else "",
        memory=user_memory(state),
        is_guarded=is_guarded,
        has_credentials=holds_credentials,
    )


def user_memory(state: str = "") -> str:
    """Return the path of the file with the user's notes for all projects, with links resolved.

    `state` is the state folder, "" for the state folder of this process.
    """
    return os.path.realpath(os.path.join(state or state_folder(), USER_MEMORY))


def remote_places(
    folder: str, disk: RemoteDisk, home: str, state: str, settings: PathSettings, own_state: str
) -> Places:
    """Return the allowed and denied paths of a session in a folder of another machine. Blocks.

    `home` and `state` are the user's home folder and state folder there; credentials are denied in
    that home folder. `own_state` is the state folder of this process, which is denied too, "" for
    the default. The settings `roots` and `temporary` are ignored, because they name folders of this
    machine.
    """
    roots = tuple(dict.fromkeys((disk.real_path(folder), folder)))
    denied = [
        os.path.join(home, place[2:])
        if place.startswith("~/")
        else os.path.normpath(os.path.join(root, place))
        for place in settings.denied
        for root in roots
        if place
    ]
    return Places(
        roots,
        home,
        disk.is_ignored,
        disk.is_own_ignored,
        state=state,
        denied=tuple(dict.fromkeys((*denied, own_state or state_folder().as_posix()))),
    )


def temporary_folder(settings: PathSettings) -> Iterator[str]:
    """Yield the folder for temporary files, which counts as inside the workspace; create it if necessary.

    Yields nothing if the setting is off, or if other users can access the default folder.
    """
    if settings.temporary == "off":
        return
    uid = os.getuid() if hasattr(os, "getuid") else 0
    with suppress(OSError):  # a full disk has no folder for temporary files
        if settings.temporary != "auto":
            folder = os.path.expanduser(settings.temporary)
            if os.path.isabs(folder):
                yield folder
            return
        folder = os.path.join(tempfile.gettempdir(), f"agent-ls-{uid}")
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        found = os.lstat(folder)
        is_private = os.name == "nt" or (found.st_uid == uid and not found.st_mode & 0o077)
        if stat.S_ISDIR(found.st_mode) and is_private:
            yield folder


def _both_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Return two forms of each path, with links resolved and as given, without duplicates."""
    return tuple(dict.fromkeys(name for path in paths for name in (os.path.realpath(path), path)))


def _is_linked(facts: os.stat_result, places: Places, disk: Disk) -> bool:
    """Return whether the file is a hard link to a file of credentials."""
    linked = (
        disk.find_linked(places.denied_places())
        if isinstance(disk, RemoteDisk)
        else linked_credentials(places)
    )
    return (facts.st_dev, facts.st_ino) in linked


@dataclass(frozen=True, slots=True)
class EffectFacts:
    """Results of checking the paths and files of an effect on disk.

    `resolved` maps each path of the effect to its real path. `leads` are the paths that the patterns and links
    in a command resolve to, and the sensitive files that a change reaches by links. `doubt` is the reason why files on
    disk make a harmless-looking effect need approval, `config` a sentence about a file that may decide what a command
    runs; both are "" for none. `folders` are the read paths outside the workspace that are folders.
    `folders_exist`: the command is read-only and changes only to folders that exist.
    `beside` are the names in the folders above the paths; None if they were not read.
    """

    resolved: Mapping[str, str] = field(default_factory=dict)
    leads: tuple[str, ...] = ()
    doubt: str = ""
    config: str = ""
    folders: frozenset[str] = frozenset()
    folders_exist: bool = False
    beside: frozenset[str] | None = None


def read_effect_facts(
    effect: Effect, places: Places, disk: Disk = LOCAL_DISK, grants: Collection[str] = ()
) -> EffectFacts:
    """Resolve each path of an effect, and check the files that its command reads. Blocks.

    `grants` are the granted rules. The names beside the paths are read only if a rule needs them.
    """
    command = effect.runs if isinstance(effect, CallEffect) else effect
    if isinstance(command, CommandEffect):
        facts = (
            _read_remote_command_facts(command, places, disk)
            if isinstance(disk, RemoteDisk)
            else _read_command_facts(command, places)
        )
        return facts if facts.doubt else replace(facts, doubt=_doubt_of_shell(command.command, disk))
    resolved = {path: disk.real_path(path) for path in _paths(effect)}
    linked = next(
        (p for p in resolved.values() if isinstance(effect, WriteEffect) and disk.has_other_names(p)), ""
    )
    outside = (p for p in resolved.values() if isinstance(effect, ReadEffect) and not places.is_inside(p))
    is_change = isinstance(effect, WriteEffect) and not isinstance(disk, RemoteDisk)
    return EffectFacts(
        resolved,
        tuple(linked_configuration(resolved, places)) if is_change else (),
        folders=frozenset(path for path in outside if _is_folder(path, disk)),
        doubt=f"{linked} has other hard links, so their content would change too" if linked else "",
        beside=_names_beside([*resolved, *resolved.values()]) if needs_names(disk, grants) else None,
    )


def _is_folder(path: str, disk: Disk) -> bool:
    try:
        return stat.S_ISDIR(disk.stat(path).st_mode)
    except OSError:
        return False


def _doubt_of_shell(command: str, disk: Disk) -> str:
    """Return why another shell than bash may do something else; "" if bash runs the command, or reads it alike."""
    from agent_ls.policy.shell.programs import syntax_of_bash  # imported late, because it loads a grammar

    found = syntax_of_bash(command)
    if not found or disk.has_bash():
        return ""
    return f"there is no bash to run the command, and another shell may read `{found}` in another way"


def needs_names(disk: Disk, grants: Collection[str]) -> bool:
    """Return whether one of the rules can only be applied with the names beside the paths of an effect."""
    return not isinstance(disk, RemoteDisk) and any("[" in it or "{" in it for it in grants)


def _names_beside(paths: Iterable[str]) -> frozenset[str]:
    """Return the names of all files and folders in the folders above these paths."""
    folders = {folder for path in paths for folder in map(str, Path(path).parents)}
    names: set[str] = set()
    for folder in folders:
        with suppress(OSError):
            names.update(os.listdir(folder))
    return frozenset(names)


def _read_command_facts(effect: CommandEffect, places: Places) -> EffectFacts:
    from agent_ls.policy.commands import analyse_command  # imported late, because it loads a grammar

    found = analyse_command(effect, places.home, folders_exist=True)
    if found.entered and all(map(_can_enter, found.entered)):
        return replace(_read_facts_of(effect, found, places), folders_exist=True)
    return _read_facts_of(effect, analyse_command(effect, places.home), places)


def _can_enter(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.X_OK)


def _read_facts_of(effect: CommandEffect, found: CommandAnalysis, places: Places) -> EffectFacts:
    resolved = {
        path: os.path.realpath(path) for path in (effect.working_dir, *found.paths) if not _is_pattern(path)
    }
    matches: list[str] = []
    leads: list[str] = []
    for pattern in filter(_is_pattern, found.paths):
        if not all(places.is_inside(os.path.normpath(folder)) for folder in _fixed_part(pattern)):
            continue  # needs approval in any case, and the pattern may have very many matches
        found_names = [*islice(glob.iglob(pattern, include_hidden=True), MAX_MATCHES - len(matches) + 1)]
        matches += found_names
        names = [name for it in found_names for name in (os.path.realpath(it), os.path.abspath(it))]
        leads += [it for it in names if not (pattern in found.named and _may_be_named(it, places))]
    if len(matches) > MAX_MATCHES:
        return EffectFacts(resolved, doubt="the patterns of the command match too many files to check")
    # A pattern without matches is passed to the program unchanged, so its folder counts as well.
    leads += [os.path.realpath(place) for pattern in found.paths for place in (*_fixed_part(pattern),)]
    leads += _linked_from_code(effect, found, places)
    if not found.is_read_only:
        leads += linked_configuration((*resolved, *matches), places)
    linked = linked_credentials(places)
    try:
        leads += shown_secrets(found, effect.working_dir, places, linked)
    except TooManyFilesError as error:
        return EffectFacts(resolved, tuple(leads), f"{error} has too many files to check them for secrets")
    except UncertainError:
        return EffectFacts(
            resolved, tuple(leads), "agent-ls cannot tell which files of the repository git would show"
        )
    for path in (*resolved.values(), *leads) if linked else ():
        with suppress(OSError):
            facts = os.stat(path)
            if (facts.st_dev, facts.st_ino) in linked:
                return EffectFacts(
                    resolved, tuple(leads), f"{path} is a hard link to a file that contains credentials"
                )
    if hidden := _looks_through(effect, found, places):
        return EffectFacts(
            resolved,
            tuple(leads),
            f"the command searches a folder that contains {hidden}, which {IGNORE_FILE} lists",
        )
    doubt = next(filter(None, (git_doubt(folder, places) for folder in found.git_folders)), "")
    if option := next((m for m in matches if os.path.basename(m).startswith("-")), ""):
        doubt = doubt or f"A pattern matches the file {option}, whose name looks like an option."
    if folder := next(
        filter(os.path.isdir, (it for names in found.only_files for it in glob.iglob(names))), ""
    ):
        doubt = doubt or f"The command may use names of files in {folder} as if they were in its own folder."
    if found.splits_matches and (split := next(filter(_SPLIT.search, matches), "")):
        doubt = doubt or f"The shell would split or expand the name {split!r}, which a pattern matches."
    doubt = (
        doubt
        or followed_link(found, places)
        or compared_folder(found)
        or unusual_name(found, effect.working_dir, places)
    )
    config = next(filter(None, (_deciding_file(*it, places) for it in found.configs)), "")
    return EffectFacts(resolved, tuple(dict.fromkeys(leads)), doubt, config)


def _linked_from_code(effect: CommandEffect, found: CommandAnalysis, places: Places) -> list[str]:
    """Return where links lead that code in the command names, if that is outside or a file with secrets."""
    if not found.doubts:
        return []
    from agent_ls.policy.full import paths_in_code  # imported late, because few commands contain code

    named = paths_in_code(found, effect.command, effect.working_dir)
    reals = [real for path in named if (real := os.path.realpath(path)) != path and os.path.lexists(real)]
    return [it for it in reals if not places.is_inside(it) or places.is_secret(it) or places.is_ignored(it)]


def _may_be_named(path: str, places: Places) -> bool:
    """Return whether a read-only command may print the name of this file, which may contain secrets."""
    return places.is_inside(path) and not (places.is_denied(path) or places.is_ignored(path))


_REMOTE_FILES = "on another machine, files of the project may change what this command runs"


def _read_remote_command_facts(effect: CommandEffect, places: Places, disk: RemoteDisk) -> EffectFacts:
    """Resolve the paths that a command on another machine names.

    Files of that machine are not checked. If they may decide what the command reads or runs, `doubt` or
    `config` of the result says so, and the command needs approval.
    """
    from agent_ls.policy.commands import analyse_command  # imported late, because it loads a grammar
    from agent_ls.policy.shell.recursive import reads_folders

    found = analyse_command(effect, places.home)
    named = [effect.working_dir, *(path for path in found.paths if not _is_pattern(path))]
    resolved = {path: disk.real_path(path) for path in named}
    doubt = ""
    if any(map(_is_pattern, found.paths)):
        doubt = "the patterns of the command match files on another machine, which were not checked"
    elif found.git_folders:
        doubt = _REMOTE_FILES
    elif found.needs_plain_names or found.reads_listed or reads_folders(found.commands, found.fed):
        doubt = "the command reads folders on another machine, where files were not checked for secrets"
    return EffectFacts(resolved, doubt=doubt, config=_REMOTE_FILES if found.configs else "")


def _looks_through(effect: CommandEffect, found: CommandAnalysis, places: Places) -> str:
    """Return a path that the command may display or copy although an ignore file names it; "" if there is none."""
    if not isinstance(places.is_ignored, IgnoreFile) or not found.commands:
        return ""
    from agent_ls.policy.shell.recursive import reads_folders  # imported late, because it loads a grammar

    # git is asked which files it would show (git_names.py)
    if not reads_folders([argv for argv in found.commands if argv[0] != "git"], found.fed):
        return ""
    folders = read_folders(found, effect.working_dir)
    return next(filter(None, map(places.is_ignored.find_below, folders)), "")


MAX_MATCHES = 2_000  # for all patterns of one command; above it, approval is needed


_SPLIT = regex(r"[\s*?\[\\]")


def _is_pattern(path: str) -> bool:
    return any(char in path for char in "*?[")


def _fixed_part(path: str) -> Iterator[str]:
    """Yield the folder before the first wildcard of a pattern; nothing for a plain path."""
    if _is_pattern(path):
        head = path[: min(path.index(char) for char in "*?[" if char in path)]
        yield os.path.dirname(head) or os.sep


def _deciding_file(folder: str, name: str, places: Places) -> str:
    """Return why a file called `name` may decide which program runs; "" if no such file was found.

    The file is searched in `folder` and its parent folders, as far as they are in the workspace.
    """
    if name == OWN_MODULES:
        return replaced_module(folder)
    if name.startswith(LINKED):
        path = os.path.join(folder, name.removeprefix(LINKED))
        is_other = os.path.splitext(os.path.realpath(path))[1] != os.path.splitext(path)[1]
        return f"{path} leads to a file that node may run." if is_other else ""
    for place in dict.fromkeys((folder, os.path.realpath(folder))):
        while places.is_inside(place):
            if os.path.lexists(os.path.join(place, name)) and not names_plain_go(os.path.join(place, name)):
                return f"{os.path.join(place, name)} may determine which program runs."
            place = os.path.dirname(place)
    return ""


def _paths(effect: Effect) -> Sequence[str]:
    match effect:
        case ReadEffect(paths):
            return paths
        case WriteEffect(files):
            return [file.path for file in files]
        case _:
            return []
