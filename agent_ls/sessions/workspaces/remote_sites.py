"""Folders on other machines and in containers that sessions of this process work in."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError, EnvironmentLostError
from agent_ls.environments.remote.mapped import CanonicalPaths, MappedEnvironment, PathMap
from agent_ls.environments.remote.place import Place, PlaceNameError, check_place, is_place_name, parse_place
from agent_ls.features.skills.remote_files import RemoteInstructionFiles
from agent_ls.policy.places import Places
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.models.service import ModelService
from agent_ls.services.permissions.disk import RemoteDisk
from agent_ls.services.permissions.paths import PathBounds, remote_places
from agent_ls.services.settings.model import Settings

if TYPE_CHECKING:
    from agent_ls.environments.remote.facts import EndConfig, RemoteEnvironmentFacts
    from agent_ls.environments.remote.host import RemoteHost

HINT = "`agent-ls docs remote` has an example for each kind of place"
MEBIBYTE = 1024 * 1024


class PlaceError(AppError):
    """A place (another machine or a container) cannot be used. Nothing was started there."""

    kind = "place"


@dataclass(frozen=True, slots=True)
class RemoteSite:
    """A folder on another machine or in a container, to which this process has connected.

    - `key`: the name under which trust, rules and sessions of the folder are stored.
    - `facts`: the environment as the place reports it, such as the root folder there.
    - `root`: the path of the folder as the session uses it.
    - `instructions`: reads the project's skills, commands and tools.
    - `names`: maps paths of this machine to paths of the place; None: the session uses the paths of the place. With
    a map, `root` and `key` are the local folder that mirrors the remote folder.
    """

    key: str
    place: Place
    host: RemoteHost
    facts: RemoteEnvironmentFacts
    disk: RemoteDisk
    places: Places
    root: str
    instructions: RemoteInstructionFiles
    names: PathMap | None = None

    def bounds(self, root: str) -> PathBounds:
        """Return the path policy for the project `root` on the remote machine. Blocks.

        `root` is the session's folder, or a folder above it.
        """
        to_remote, to_near = (self.names.to_remote, self.names.to_near) if self.names else (str, str)
        disk = RemoteDisk(self.host, (to_remote(root),), to_remote, to_near)
        roots = (disk.real_path(root), root)
        places = replace(
            self.places, roots=roots, is_ignored=disk.is_ignored, is_own_ignored=disk.is_own_ignored
        )
        return PathBounds(places, disk)


class RemoteSites:
    """The folders on other machines and in containers to which this process has connected, by folder name.

    - `now`: returns the current settings.
    - `models`: has the environment variables for client programs such as ssh, without API keys.
    - `state`: the folder for agent-ls's own files.
    - `has_editor`: an editor uses this process. If the setting `place` is set, the editor's folders mirror
    folders on that remote machine.
    """

    def __init__(
        self, now: Callable[[], Settings], models: ModelService, state: Path, has_editor: bool
    ) -> None:
        self._now = now
        self._models = models
        self._state = str(state)
        self._has_editor = has_editor
        self._sites: dict[str, RemoteSite] = {}
        self._hosts: list[tuple[Place, RemoteHost]] = []

    def site(self, folder: str) -> RemoteSite | None:
        """Return the site of a folder, if `prepare` was called for it; None for a folder of this machine."""
        return self._sites.get(folder)

    async def workspace(self, folder: str, *, must_exist: bool) -> str:
        """Return the full name of a new session's folder: an absolute path of this machine, or the name of a place.

        Raises:
            BadChoiceError: the folder or place does not exist. PlaceError: the place cannot be used.
        """
        if is_place_name(folder):
            return await self.prepare(folder)
        path, problem = await anyio.to_thread.run_sync(_absolute, folder)
        if must_exist and problem:
            raise BadChoiceError(f"the folder {problem}: {path}", "give a folder that exists")
        return await self.prepare(str(path)) if must_exist else str(path)

    def check_same(self, folder: str, stored: object) -> None:
        """Check that a resumed session works on the same machine as before, because only that machine has its files.

        `stored` is the machine that the session's log names, "" for this machine.

        Raises:
            BadChoiceError: the settings name another place now.
        """
        site = self.site(folder)
        now = site.place.machine if site else ""
        if isinstance(stored, str) and stored != now:
            raise BadChoiceError(
                f"this session works on {stored or 'this machine'}, but the settings now name {now or 'this machine'}",
                "set `place` in your settings file to the earlier value, or begin a new session",
            )

    async def prepare(self, folder: str) -> str:
        """Connect to the machine with `folder`. Returns the folder's full name; the name of a folder of this
        machine is returned unchanged.

        Raises:
            BadChoiceError: the name is invalid, or the folder does not exist. PlaceError: the place cannot be used.
        """
        if folder in self._sites and self._sites[folder].host.find_connection():
            return folder
        names: PathMap | None = None
        if is_place_name(folder):
            place = find_place(folder, self._now())
        elif self._has_editor and (setting := self._now().place):
            place, names = _map_place(setting.place(), folder)
        else:
            return folder
        host = self._host(place)
        from agent_ls.environments.remote.environment import RemoteEnvironment

        environment = RemoteEnvironment(host, lambda: self._config(place.path))
        try:
            await environment.initialize()
            await environment.cleanup()
            facts = environment.facts
            assert facts is not None, "initialize sets them"
            root = folder if names else facts.root
            if names:
                real = (await anyio.to_thread.run_sync(host.read_facts, [facts.root]))[facts.root].real
                names = PathMap((*names.pairs, (folder, real))) if real != facts.root else names
            to_remote, to_near = (names.to_remote, names.to_near) if names else (str, str)
            disk = RemoteDisk(host, (facts.root,), to_remote, to_near)
            places = await anyio.to_thread.run_sync(
                remote_places, root, disk, facts.home, facts.state, self._now().paths, self._state
            )
        except EnvironmentLostError as error:
            await host.close()
            raise PlaceError(error.sentence, error.hint) from error
        except EnvError as error:
            raise BadChoiceError(
                f"{place.machine}: {error}",
                "use a folder that exists on that machine as the last part of the place",
            ) from error
        key = folder if names else place.key(facts.root)
        files = RemoteInstructionFiles(host, disk, to_remote, to_near)
        site = RemoteSite(key, place, host, facts, disk, places, root, files, names)
        self._sites[key] = self._sites[folder] = site
        return key

    def environment(
        self, site: RemoteSite, check_right: Callable[[], None] = lambda: None
    ) -> ExecutionEnvironment:
        """Return a new environment for one session. Nothing is sent to the remote machine before the
        environment is used.
        """
        from agent_ls.environments.remote.environment import RemoteEnvironment

        remote = RemoteEnvironment(
            site.host, lambda: self._config(site.facts.root), check_right=check_right, known=site.facts
        )
        return MappedEnvironment(remote, site.root, site.names) if site.names else remote

    def with_near_names(self, files: ExecutionEnvironment, folder: str) -> ExecutionEnvironment:
        """Return `files`, wrapped so that a remote path is treated as the local path that mirrors it.

        Returns `files` itself if `folder` does not mirror a folder of another machine.
        """
        site = self.site(folder)
        if site is None or site.names is None or all(near == remote for near, remote in site.names.pairs):
            return files
        return CanonicalPaths(files, folder, site.names)

    def notify(self, environment: ExecutionEnvironment, post: Callable[[str], None]) -> None:
        """Send notices of an environment, such as lost processes, to `post`."""
        from agent_ls.environments.remote.environment import RemoteEnvironment

        if isinstance(environment, MappedEnvironment):
            environment = environment.inner
        if isinstance(environment, RemoteEnvironment):
            environment.notify = post

    async def close(self) -> None:
        """Close all connections; this ends all processes that were started on the remote machines."""
        hosts, self._hosts = self._hosts, []
        self._sites.clear()
        with anyio.CancelScope(shield=True):
            for _, host in hosts:
                await host.close()

    def _host(self, place: Place) -> RemoteHost:
        from agent_ls.environments.remote.host import RemoteHost

        machine = replace(place, path="", map={})
        for known, host in self._hosts:
            if known == machine:
                return host
        host = RemoteHost(machine, lambda: self._models.child_environ)
        self._hosts.append((machine, host))
        return host

    def _config(self, folder: str) -> EndConfig:
        from agent_ls.environments.remote.facts import EndConfig

        settings = self._now()
        return EndConfig(
            folder,
            settings.command_environment.rules(),
            settings.max_background_processes,
            settings.max_read_mebibytes * MEBIBYTE,
        )


def find_place(name: str, settings: Settings) -> Place:
    """Parse a name of a machine and folder. If the setting `place` names the same machine, its other values
    apply too.

    Raises:
        BadChoiceError: the name is invalid.
    """
    try:
        place = parse_place(name)
        if settings.place and (known := settings.place.place()).machine == place.machine:
            place = replace(known, path=place.path)
            check_place(place)
    except PlaceNameError as error:
        raise BadChoiceError(str(error), HINT) from error
    return place


def _map_place(place: Place, folder: str) -> tuple[Place, PathMap]:
    """Return `place` with the path of the remote folder that `folder` mirrors, and the path map.

    The map is the setting `place.map`. If the setting is empty, `folder` mirrors the folder that `place` names.
    If `place` has no path, `folder` mirrors the remote folder with the same path.

    Raises:
        BadChoiceError: the map does not contain `folder`.
    """
    pairs = tuple((near.rstrip("/"), remote.rstrip("/")) for near, remote in place.map.items())
    names = PathMap(pairs or ((folder, place.path or folder),))
    there = names.to_remote(folder)
    if pairs and there == folder and not any(folder == remote for _, remote in pairs):
        raise BadChoiceError(
            f"the setting place.map has no entry that maps {folder} to a folder of {place.machine}",
            "add the folder to place.map, or open a folder that has an entry",
        )
    return replace(place, path=there), names


def _absolute(folder: str) -> tuple[Path, str]:
    """Return a folder's absolute path, and why it cannot be used, "" if it exists. Blocks."""
    path = Path(folder).absolute()
    if os.path.isdir(path):
        return path, ""
    return path, "is a file, no folder" if os.path.exists(path) else "does not exist"
