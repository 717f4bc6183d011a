"""The walls of a session's commands: what its settings ask for, what the machine gives, and leaving them by leave.

One line says what holds. Where walls were asked for and cannot be had, every command is asked about instead.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import anyio.to_thread

from agent_ls.app.settings import SandboxSettings
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.local.sandbox import find_sandbox
from agent_ls.environments.walls import REPLACED, Sandbox, Walls, confined, exit_code, failed_at
from agent_ls.loop.approval import Allowed, ApprovalQuestion, Approver
from agent_ls.loop.events import RecordedEvent, Warning
from agent_ls.policy.named_places import DENIED_FILES, DENIED_HOME_PLACES, GUARDED_NAMES
from agent_ls.policy.places import Places


@dataclass(slots=True)
class SessionWalls:
    """ADAPTER Confinement. `state` is the folder of keys, rules and sessions; `emit` records an event.

    `places` tells them as they are now.

    `replaced` as in Walls.
    """

    settings: SandboxSettings
    places: Callable[[], Places]
    state: str
    emit: Callable[[RecordedEvent], object]
    sandbox: Sandbox | None = None
    replaced: tuple[str, ...] = REPLACED
    _temporary: str = field(default="")

    @property
    def stand(self) -> bool:
        return self.sandbox is not None

    async def raise_up(self) -> str:
        """What holds, or why nothing does."""
        walls = await anyio.to_thread.run_sync(self._walls)
        self.sandbox, why = await find_sandbox(walls, self.settings.use)
        line = told(self.sandbox, walls) if self.sandbox else why
        self.emit(Warning(line if self.sandbox else missing(why), "sandbox"))
        return line

    def confined(self, command: str, folder: str) -> str:
        assert self.sandbox
        return confined(command, self.sandbox, self._walls(), os.path.realpath(folder))

    def exit_code(self, code: int) -> int:
        return exit_code(code, self.sandbox) if self.sandbox else code

    def failed_at(self, output: str) -> str:
        return failed_at(output, self.sandbox) if self.sandbox else ""

    def take_down(self) -> None:
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary, self.sandbox = "", None

    def _walls(self) -> Walls:
        """As things lie now: what is to be hidden may have come to be since."""
        if not self._temporary:
            self._temporary = os.path.realpath(tempfile.mkdtemp(prefix="agent-ls-tmp-"))
        walls = walls_of(self.settings, self.places(), self.state, self._temporary)
        return replace(walls, replaced=self.replaced)


def walls_of(settings: SandboxSettings, places: Places, state: str, temporary: str) -> Walls:
    """Follows links, so it blocks."""
    wanted = (*places.roots, *map(os.path.expanduser, settings.writable))
    writable = tuple(dict.fromkeys(os.path.realpath(place) for place in wanted if os.path.isdir(place)))
    guarded = [os.path.join(root, name) for root in writable for name in GUARDED_NAMES]
    denied = [*DENIED_FILES, *(os.path.join(places.home, name) for name in DENIED_HOME_PLACES), state]
    hidden = [place for place in _there(denied) if not any(_below(root, place) for root in writable)]
    return Walls(
        writable=writable,
        temporary=temporary,
        guarded=tuple(place for place in _there(guarded) if any(_below(place, root) for root in writable)),
        hidden=tuple(place for place in hidden if os.path.isdir(place)),
        hidden_files=tuple(place for place in hidden if os.path.isfile(place)),
        network=settings.network,
    )


def told(sandbox: Sandbox, walls: Walls) -> str:
    network = "the network is open" if walls.network else "no network"
    guarded = "" if sandbox.guards else " Hooks and settings of tools in the workspace can be written."
    return (
        f"Commands run in a sandbox ({sandbox.kind}): they write below {', '.join(walls.writable)} and to a temporary "
        f"folder of their own only, {network}, credentials and the state of agent-ls are hidden."
        f"{guarded}"
    )


def missing(why: str) -> str:
    return f"A sandbox was asked for and there is none: {why}. Every command is asked about instead."


@dataclass(frozen=True, slots=True)
class Leaving:
    """Asks whether a command may run outside; a person is asked in every mode. `folder` is where commands begin."""

    approver: Approver
    folder: str

    async def __call__(self, command: str, options: CommandOptions, at: str) -> bool:
        added = tuple(sorted((options.env_vars or {}).items()))
        effect = CommandEffect(command, self._place(options), added, outside_sandbox=True)
        summary = f"{command} (outside of the sandbox, where it failed: {at})"
        question = ApprovalQuestion("", options.attribution.turn_id, "shell", summary, effect)
        decision = await self.approver.decide(question)
        # Another command is another call: it has not failed in here yet.
        return isinstance(decision, Allowed) and not decision.command

    def _place(self, options: CommandOptions) -> str:
        return os.path.normpath(os.path.join(self.folder, options.working_dir))


def _there(places: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(os.path.realpath(place) for place in places if os.path.lexists(place))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
