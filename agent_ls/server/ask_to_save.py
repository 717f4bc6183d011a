"""Asks the user, once, whether what he has typed is saved before commands; his answer holds until the server ends.

Anything but a clear yes is a no, and holds as well: a question that was put away is not to come back with each command.
"""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio

SAVE, LEAVE = "Save", "Leave Unsaved"
PATIENCE_S = 60.0
"""The command waits for the answer; without one it is a no."""

NAMED = 3

Ask: TypeAlias = Callable[[str, Sequence[str]], Awaitable[str]]


class AskToSave:
    """`ask` shows a question with these answers; what it raises counts as no answer."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._turn = anyio.Lock()
        self._answer: bool | None = None

    async def __call__(self, paths: Sequence[str]) -> bool:
        async with self._turn:
            if self._answer is None:
                self._answer = await self._asked(paths)
            return self._answer

    async def _asked(self, paths: Sequence[str]) -> bool:
        names = ", ".join(os.path.basename(path) for path in paths[:NAMED])
        more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
        question = (
            f"A command of the agent is about to run. Save your changes in {names}{more} first? "
            "Else it reads the files as they are on disk. The answer holds for later commands as well."
        )
        try:
            with anyio.move_on_after(PATIENCE_S):
                # The safe answer stands first: clients take it for the default.
                return await self._ask(question, (LEAVE, SAVE)) == SAVE
        except Exception:  # the edge: an editor that cannot ask, or answers something else
            return False
        return False
