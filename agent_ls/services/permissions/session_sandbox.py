"""The sandbox of a session's commands: start the sandbox, compute its limits, and rerun a command outside it.

Read-only commands are confined even without a sandbox. If a sandbox is configured but not available, every
command needs approval instead.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypedDict

import anyio.to_thread

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local.denials import is_denied_anyway
from agent_ls.environments.local.sandbox_probe import find_sandbox
from agent_ls.environments.sandbox import REPLACED, Sandbox, SandboxLimits, wrap_command
from agent_ls.environments.wrappers.sandboxed import SandboxedCommand
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, Approver
from agent_ls.loop.events.types import RecordedEvent, Warning
from agent_ls.paths import is_within
from agent_ls.policy.named_places import ACCOUNT_FILES, GUARDED_FOLDERS, GUARDED_NAMES
from agent_ls.policy.places import Places
from agent_ls.services.permissions.nested_git import git_places
from agent_ls.services.permissions.placeholders import Placeholders, is_placeholder
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.readable_places import list_installation, list_readable
from agent_ls.services.settings.model import SandboxSettings
from agent_ls.temporary_folders import make_temporary_folder, remove_temporary_folder


@dataclass(slots=True)
class SessionSandbox:
    """Implements the interface Confinement: the configured sandbox, and the confinement of read-only commands.

    `state` is the folder of keys, rules and sessions; `emit` records an event. `places` returns the paths
    that the session may use. `replaced` are temporary folders; in their place, a command sees the session's own
    temporary folder.
    """

    settings: SandboxSettings
    places: Callable[[], Places]
    state: str
    emit: Callable[[RecordedEvent], object]
    read_only: ReadOnlySandbox
    sandbox: Sandbox | None = None
    why: str = ""
    """Why a stronger sandbox than `sandbox` is not used, or why there is none; "" if there is no reason."""
    replaced: tuple[str, ...] = REPLACED
    _temporary: str = field(default="")
    _placeholders: Placeholders = field(default_factory=Placeholders)

    @property
    def is_started(self) -> bool:
        """Whether the configured sandbox is active; True if none is configured."""
        return self.sandbox is not None or not self.settings.enabled

    async def start_sandbox(self) -> str:
        """Start the sandbox. Return what it enforces, or why it is unavailable; "" if none is configured."""
        if not self.settings.enabled:
            return ""
        line = await self._find_sandbox()
        self.emit(Warning(line if self.sandbox else warn_unavailable(self.why), "sandbox"))
        return line

    async def _find_sandbox(self) -> str:
        """Set `sandbox` and `why`. Return what the sandbox enforces, or why there is none."""
        try:
            limits = await anyio.to_thread.run_sync(self._limits)
        except OSError as error:  # the disk is full
            self.sandbox, self.why = (
                None,
                f"its temporary folder cannot be created: {error.strerror or error}",
            )
            return self.why
        filters = os.path.join(self.state, "confinement")
        self.sandbox, self.why = await find_sandbox(limits, filters, self.settings.use)
        return describe_limits(self.sandbox, limits, self.why) if self.sandbox else self.why

    async def can_look_confined(self) -> bool:
        """Return whether a read-only command can be confined."""
        if self.settings.enabled:
            return self.sandbox is not None
        return await self.read_only.find() is not None

    def wrap_command(
        self, command: str, options: CommandOptions, folder: str, *, is_read_only: bool
    ) -> SandboxedCommand | None:
        sandbox = self.sandbox if self.settings.enabled or not is_read_only else self.read_only.sandbox
        if sandbox is None:
            if is_read_only:
                raise ProcessStartError(
                    "The command may only run if the sandbox prevents it from writing, but this machine has no "
                    "such sandbox now."
                )
            return None
        limits = self._read_only_limits() if is_read_only else self._limits()
        made: tuple[str, ...] = ()
        if sandbox.kind == "bubblewrap" and limits.absent:
            made = self._placeholders.acquire([it for it in limits.absent if it.endswith(_FOLDERS)])
            guarded = (*limits.guarded, *made)
            pinned = (*limits.pinned, *_list_between(limits.writable, made))
            limits = replace(limits, guarded=guarded, pinned=tuple(dict.fromkeys(pinned)))
        command, options = wrap_command(command, options, sandbox, limits, os.path.realpath(folder))
        return SandboxedCommand(command, options, sandbox, is_read_only, limits.absent, made, limits.links)

    def is_denied_anyway(self, output: str, folder: str) -> bool:
        return is_denied_anyway(output, folder)

    def rename_forbidden_files(self, inside: SandboxedCommand) -> str:
        self._placeholders.release(inside.placeholders)
        # While a placeholder exists, no command can create its path, so files at that path come from the user.
        covered = {*inside.placeholders, *self._placeholders.in_use}
        others = [place for place in inside.absent if place not in covered]
        made = [name for place in others if (name := _set_aside(place))]
        made += [name for link, target in inside.links if (name := _restore_link(link, target))]
        return SET_ASIDE.format(names=", ".join(made)) if made else ""

    def take_down(self) -> None:
        if self._temporary:
            remove_temporary_folder(self._temporary)
        self._temporary, self.sandbox = "", None

    def _limits(self) -> SandboxLimits:
        """Return the limits of a command.

        They are computed for each command, because paths to hide may have been created since the last
        command.
        """
        if not self._temporary:
            self._temporary = make_temporary_folder("agent-ls-tmp-")
        limits = limits_of(self.settings, self.places(), self.state, self._temporary)
        return replace(limits, replaced=self.replaced)

    def _read_only_limits(self) -> SandboxLimits:
        """Return the limits of a read-only command.

        If a sandbox is configured, the command can read the temporary folder of other commands.
        """
        places = self.places()
        temporary = self._temporary if self.settings.enabled else ""
        return SandboxLimits(
            (),
            temporary,
            **_list_hidden(places, self.state),
            replaced=self.replaced,
            is_read_only=True,
            readable=list_readable(places, temporary),
        )


SET_ASIDE = (
    "The sandbox renamed files that the command created, because they configure tools that run by themselves: {names}. "
    "The user may rename them back."
)


def _restore_link(link: str, target: str) -> str:
    """Put a link back that a command has replaced. Return the new path of what it made there, "" if nothing."""
    if _target_of(link) == target:
        return ""
    aside = _set_aside(link)
    with suppress(OSError):
        os.symlink(target, link)
    return aside


def _target_of(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _set_aside(place: str) -> str:
    """Rename a path that a command created, so that no tool reads it as configuration.

    Return the new path, or the old path with a note if it cannot be renamed; "" if the path does not exist or
    is a placeholder.
    """
    if not os.path.lexists(place) or is_placeholder(place):  # a placeholder of another process
        return ""
    aside = next(
        name
        for number in itertools.count()
        if not os.path.lexists(name := f"{place}.made-in-sandbox{number or ''}")
    )
    try:
        os.rename(place, aside)
    except OSError:
        return f"{place} (which could not be renamed)"
    return aside


def limits_of(settings: SandboxSettings, places: Places, state: str, temporary: str) -> SandboxLimits:
    """Return the sandbox limits for commands. Blocks, because it follows symbolic links."""
    wanted = (*places.roots, *map(os.path.expanduser, settings.writable))
    writable = tuple(dict.fromkeys(os.path.realpath(place) for place in wanted if os.path.isdir(place)))
    installation = list_installation()
    guarded = [os.path.join(root, name) for root in writable for name in (*GUARDED_NAMES, *_GIT_REDIRECTS)]
    guarded += [place for root in writable for place in git_places(root)]
    guarded = [*dict.fromkeys(guarded)]
    # otherwise a command could change the agent-ls that runs outside of the sandbox
    guarded += [place for place in installation if place not in writable]
    absent = tuple(place for place in guarded if not os.path.lexists(place) or is_placeholder(place))
    dangling = [
        os.path.realpath(place) for place in guarded if os.path.lexists(place) and not os.path.exists(place)
    ]
    absent += tuple(place for place in dangling if any(is_within(place, root) for root in writable))
    found = _existing_places([place for place in guarded if place not in absent and os.path.exists(place)])
    there = tuple(place for place in found if any(is_within(place, root) for root in writable))
    return SandboxLimits(
        writable=writable,
        temporary=temporary,
        guarded=there,
        pinned=tuple(dict.fromkeys(_list_between(writable, there))),
        absent=absent,
        links=tuple(dict.fromkeys(_list_links(writable, guarded))),
        **_list_hidden(places, state, writable),
        network=settings.network,
        kept=tuple(place for place in installation if not any(is_within(place, root) for root in writable)),
    )


_FOLDERS = tuple(f"{os.sep}{name}" for name in GUARDED_FOLDERS)
_GIT_REDIRECTS = (".git/commondir", ".git/config.worktree")
"""Files that make git read hooks and settings from another folder."""


def _list_links(roots: Sequence[str], places: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the links in `places`, and on the way to them from a root, with their targets."""
    for place in places:
        while place not in roots and any(is_within(place, root) for root in roots):
            if target := _target_of(place):
                yield place, target
            place = os.path.dirname(place)


def _list_between(roots: Sequence[str], places: Sequence[str]) -> Iterator[str]:
    """Yield the folders between a root and each path in `places`, outermost first."""
    for place in places:
        inner = [os.path.dirname(place)]
        while inner[-1] not in roots and any(is_within(inner[-1], root) for root in roots):
            inner.append(os.path.dirname(inner[-1]))
        yield from reversed(inner[:-1])


class _Hidden(TypedDict):
    hidden: tuple[str, ...]
    hidden_files: tuple[str, ...]


def _list_hidden(places: Places, state: str, roots: Sequence[str] = ()) -> _Hidden:
    """Return the existing files and folders to hide: credentials and the state folder.

    A folder that contains one of `roots` is not hidden.
    """
    wanted = (place for place in places.denied_places() if place not in ACCOUNT_FILES)
    own_state = _list_around(os.path.realpath(state), places.worktree) if places.worktree else [state]
    found = [
        place
        for place in _existing_places((*wanted, *own_state))
        # A path that the user cannot open is inaccessible to their commands as well.
        if (os.access(place, os.R_OK) or os.access(place, os.X_OK))
        and not any(is_within(root, place) for root in roots)
    ]
    return {
        "hidden": tuple(place for place in found if os.path.isdir(place)),
        "hidden_files": tuple(place for place in found if os.path.isfile(place)),
    }


def _list_around(folder: str, worktree: str) -> Iterator[str]:
    """Yield everything in a folder except the worktree below it."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if not is_within(worktree, path):
            yield path
        elif path != worktree:
            yield from _list_around(path, worktree)


def describe_limits(sandbox: Sandbox, limits: SandboxLimits, why: str = "") -> str:
    """Return the message that lists the limits of an active sandbox. `why`: why a stronger one is not used."""
    network = "the network is open" if limits.network else "no network"
    guarded = "" if sandbox.guards else _LANDLOCK_GAPS
    if why:
        guarded += f" A stronger sandbox is not used ({why})."
    return (
        f"Commands run in a sandbox ({sandbox.kind}): they can only write below {', '.join(limits.writable)} "
        f"and to their own temporary folder, {network}, and credentials and the state of agent-ls are hidden."
        f"{guarded}"
    )


_LANDLOCK_GAPS = (
    " Landlock cannot prevent these commands from writing hooks and settings of tools in the "
    "workspace, writing shared memory, or changing modes and times of your files."
)


def warn_unavailable(why: str) -> str:
    """Return the warning that a configured sandbox is not available."""
    return (
        f"The sandbox is enabled in the settings, but not available: {why}. Every command needs your approval "
        "instead."
    )


@dataclass(frozen=True, slots=True)
class RerunApproval:
    """Asks for approval to run a command again without the limits under which it failed.

    Leaving the sandbox needs approval in every mode. A command that failed under the confinement of read-only
    commands is judged again, as a command that may change something. The command's working folder is relative
    to `folder`.
    """

    approver: Approver
    folder: str

    async def __call__(self, command: str, options: CommandOptions, at: str, is_read_only: bool) -> bool:
        added = tuple(sorted((options.env_vars or {}).items()))
        effect = CommandEffect(command, self._place(options), added, outside_sandbox=not is_read_only)
        where = "confined to reading" if is_read_only else "in the sandbox"
        summary = f"{command} (again, because it failed {where}: {at})"
        question = ApprovalQuestion(
            "", options.attribution.turn_id, "shell", summary, effect, failed_confined=is_read_only
        )
        decision = await self.approver.decide(question)
        # If the user replaced the command, the failed command must not run again.
        return isinstance(decision, Allowed) and not decision.command

    def _place(self, options: CommandOptions) -> str:
        return os.path.normpath(os.path.join(self.folder, options.working_dir))


def _existing_places(places: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(os.path.realpath(place) for place in places if os.path.lexists(place))
