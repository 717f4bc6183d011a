"""The connection to one place: another machine or a container.

The connection is made at the first use, and again after it was lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.to_thread

from agent_ls.environments.errors import EnvError, EnvironmentLostError
from agent_ls.environments.instruction_files import InstructionText, Listing
from agent_ls.environments.local.environ import child_environ
from agent_ls.environments.remote.connection import RemoteConnection, value_of
from agent_ls.environments.remote.facts import Facts
from agent_ls.environments.remote.launchers import launch_argv
from agent_ls.environments.remote.place import Place

CALL_SECONDS = 60.0


class RemoteHost:
    """The connection to another machine or a container. All environments of this process share it.

    `environ` returns the environment variables of the client program, such as `ssh`. They must not contain
    keys, because the client program may pass them on.
    """

    def __init__(self, place: Place, environ: Callable[[], Mapping[str, str]]) -> None:
        self.place = place
        self._environ = environ
        self._connection: RemoteConnection | None = None
        self._lock = threading.Lock()
        self._previous = ""
        self.generation = 0
        """The number of connections made so far."""

    def find_connection(self) -> RemoteConnection | None:
        """Return the connection; None if there is none or it was lost."""
        found = self._connection
        return found if found and not found.loss else None

    def connect(self) -> RemoteConnection:
        """Return the connection; make a new one if necessary. Blocks.

        Raises:
            EnvironmentLostError: the connection cannot be made.
        """
        with self._lock:
            if found := self.find_connection():
                return found
            made = RemoteConnection(self.place, launch_argv(self.place), child_environ(self._environ()))
            made.start()
            # Stop the remote end of the previous connection if it still runs, and processes that dead remote ends
            # left running.
            with suppress(EnvError, TimeoutError):
                value_of(made.call("end_previous", self._previous).future.result(CALL_SECONDS), type(None))
            self._previous = made.name
            self._connection = made
            self.generation += 1
            return made

    async def connected(self) -> RemoteConnection:
        """Return the connection as `connect` does, without blocking the event loop."""
        if found := self.find_connection():
            return found
        return await anyio.to_thread.run_sync(self.connect, abandon_on_cancel=True)

    def read_facts(self, paths: Sequence[str]) -> Mapping[str, Facts]:
        """Return the metadata of files at the remote end, by path. Blocks; call in a thread.

        Raises:
            EnvironmentLostError.
        """
        found: Sequence[Facts] = self._ask("look", Sequence[Facts], list(paths))
        return dict(zip(paths, found, strict=True))

    def text(self, path: str) -> str:
        """Return the text of an ignore file at the remote end; `*` (ignore everything) if it cannot be read."""
        return str(self._ask("ignore_text", str, path))

    def find_linked(self, places: Sequence[str]) -> frozenset[tuple[int, int]]:
        """Return device and inode numbers of those files below remote `places` that have several hard links.
        Blocks.
        """
        return frozenset(self._ask("linked", Sequence[tuple[int, int]], list(places)))

    def instructions(self, workspace: str, folders: Sequence[tuple[str, str]]) -> Listing:
        """Return the instruction files of a project at the remote end. Blocks; call in a thread.

        The arguments are those of `list_instructions`.
        """
        found: Listing = self._ask("instructions", Listing, workspace, list(map(list, folders)))
        return found

    def walk(self, base: str, folders: int, files: int) -> Sequence[str]:
        """Return the files below `base`; read at most `folders` folders and `files` files. Blocks."""
        return list(self._ask("walk", Sequence[str], base, folders, files))

    def instruction_texts(self, files: Sequence[tuple[str, str]]) -> Sequence[InstructionText]:
        """Return the texts of `files`: pairs of a path, and a folder that must contain the resolved path.

        Blocks.
        """
        return list(self._ask("instruction_texts", Sequence[InstructionText], list(map(list, files))))

    def names(self, folder: str) -> Sequence[str]:
        """Return the sorted names in a folder at the remote end; [] if the folder cannot be read. Blocks."""
        return list(self._ask("names", Sequence[str], folder))

    def programs(self, wanted: Collection[str]) -> frozenset[str]:
        """Return which of these programs are on the PATH at the remote end. Blocks."""
        return frozenset(self._ask("programs", Sequence[str], sorted(wanted)))

    def _ask(self, method: str, expected: Any, *arguments: Any) -> Any:
        """Send a query that changes nothing, and return its result. Blocks.

        If the connection was lost, repeat the query once over a new connection.
        """
        try:
            return self._answer(method, expected, *arguments)
        except EnvironmentLostError:
            if self.find_connection():
                raise
            return self._answer(method, expected, *arguments)

    def _answer(self, method: str, expected: Any, *arguments: Any) -> Any:
        call = self.connect().call(method, *arguments)
        try:
            return value_of(call.future.result(CALL_SECONDS), expected)[0]
        except TimeoutError as error:
            words = f"{self.place.machine} has not answered within {CALL_SECONDS:.0f} s."
            raise EnvironmentLostError(words, "Try again.") from error

    async def close(self) -> None:
        """Close the connection, which ends the remote end. The next use makes a new connection."""
        connection, self._connection = self._connection, None
        if connection:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(connection.close, limiter=anyio.CapacityLimiter(1))
