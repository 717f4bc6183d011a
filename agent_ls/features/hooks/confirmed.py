"""The user's confirmations of hooks, in a file in the state folder. Each confirmation has what was displayed.

ROOT/confirmed-hooks.json     {"version": 1, "confirmed-hooks": [{"workspace", "event", "matcher", "command", …}]}
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent_ls.features.hooks.config import Hook
from agent_ls.store.json_list import JsonList

HookState: TypeAlias = Literal["confirmed", "changed", "new"]


@dataclass(frozen=True, slots=True)
class ConfirmedHook:
    """A confirmation. It holds for one folder, and as long as the hook has this digest.

    `workspace` is "" for a hook of the user that runs no file of a project. `shown` are the lines that were displayed
    when the hook was confirmed. `by`: the user confirmed the hook, or agent-ls saw it for the first time in the user's
    own file. `decided` is ISO 8601.
    """

    workspace: str
    event: str
    matcher: str
    command: str
    digest: str
    shown: str
    by: Literal["user", "first use"]
    decided: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.workspace, self.event, self.matcher, self.command


class ConfirmedHooks:
    """The stored confirmations. An entry that is damaged, or of an earlier version, confirms nothing. Methods block."""

    def __init__(self, state: Path) -> None:
        self._list = JsonList(state, "confirmed-hooks")

    def read(self) -> Sequence[ConfirmedHook]:
        return [found for entry in self._list.read() if (found := _parse(entry))]

    def confirm(
        self, hooks: Collection[Hook], workspace: str, now: str, by: Literal["user", "first use"] = "user"
    ) -> None:
        """Confirm these hooks as they are now; earlier confirmations of the same hooks end.

        Raises:
            OSError
        """
        new = [_confirmation(hook, workspace, now, by) for hook in hooks]
        keys = {entry.key for entry in new}
        self._list.change(lambda old: [*_without(old, keys), *map(asdict, new)])

    def withdraw(self, workspace: str) -> Sequence[ConfirmedHook]:
        """Withdraw and return all confirmations of hooks in a folder.

        Raises:
            OSError
        """
        gone = [entry for entry in self.read() if entry.workspace == os.path.realpath(workspace)]
        self._list.change(lambda old: _without(old, {entry.key for entry in gone}))
        return gone


def state_of(hook: Hook, workspace: str, confirmed: Collection[ConfirmedHook]) -> HookState:
    """Return whether a hook may run in a folder.

    `new`: neither this hook nor an earlier version of its files was ever confirmed.
    """
    wanted = _confirmation(hook, workspace, "", "user")
    found = [entry for entry in confirmed if entry.key == wanted.key]
    if any(entry.digest == wanted.digest for entry in found):
        return "confirmed"
    return "changed" if found else "new"


def describe(hook: Hook) -> Sequence[str]:
    """Return the lines that are displayed about a hook before it is confirmed."""
    on = f" on {hook.matcher.pattern}" if hook.matcher else ""
    covered = hook.coverage
    lines = [f"{hook.event}{on}", hook.command, hook.path]
    lines += [f"compared: {path}" for path, _ in covered.files]
    if covered.doubt:
        lines.append(f"compared: every file of the folder, because of a doubt: {covered.doubt}")
    if covered.note:
        lines.append(f"not compared: {covered.note}")
    return lines


def _confirmation(hook: Hook, workspace: str, now: str, by: Literal["user", "first use"]) -> ConfirmedHook:
    return ConfirmedHook(
        os.path.realpath(workspace) if hook.is_of_project else "",
        hook.event,
        hook.matcher.pattern if hook.matcher else "",
        hook.command,
        hook.coverage.digest,
        "\n".join(describe(hook)),
        by,
        now,
    )


def _without(entries: Sequence[Any], keys: Collection[tuple[str, str, str, str]]) -> list[Any]:
    return [entry for entry in entries if not ((found := _parse(entry)) and found.key in keys)]


def _parse(entry: Any) -> ConfirmedHook | None:
    names = [field.name for field in fields(ConfirmedHook)]
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in names):
        return None
    return ConfirmedHook(**{name: entry[name] for name in names})
