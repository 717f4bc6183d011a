"""Ask the user once whether to save their changes before commands. The answer applies until the server exits.

Every answer except a clear yes counts as no, for this and all later commands, so that a dismissed question
does not return with each command.
"""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio

SAVE, LEAVE = "Save", "Leave Unsaved"
PATIENCE_S = 60.0
"""Time that the command waits for the answer. No answer counts as no."""

NAMED = 3

Ask: TypeAlias = Callable[[str, Sequence[str]], Awaitable[str]]


class AskToSave:
    """A question that is asked once. `ask` shows a question with the given answers; an exception counts as no
    answer.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._turn = anyio.Lock()
        self._answer: bool | None = None

    async def __call__(self, paths: Sequence[str]) -> bool:
        async with self._turn:
            if self._answer is None:
                self._answer = await self._ask_user(paths)
            return self._answer

    async def _ask_user(self, paths: Sequence[str]) -> bool:
        names = ", ".join(os.path.basename(path) for path in paths[:NAMED])
        more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
        question = (
            f"A command of the agent is about to run. Save your changes in {names}{more} first? "
            "Otherwise the command reads the files as they are on disk. Your answer also applies to later commands."
        )
        try:
            with anyio.move_on_after(PATIENCE_S):
                # The safe answer is first, because clients use the first one as the default.
                return await self._ask(question, (LEAVE, SAVE)) == SAVE
        except Exception:  # any failure: the editor cannot ask, or its response is invalid
            return False
        return False
