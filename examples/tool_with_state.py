"""Tools that share state, as methods of an object: python examples/tool_with_state.py FOLDER "what to do" [PROVIDER]"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import agent_ls


class Notebook:
    """What the agent noted down during a session."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @agent_ls.tool
    def note(self, text: Annotated[str, "one sentence"]) -> str:
        """Write a note for the report at the end."""
        self.notes.append(text)
        return f"note {len(self.notes)} of at most 20"

    @agent_ls.tool
    def notes_so_far(self) -> list[str]:
        """All notes so far."""
        return self.notes


async def main(folder: str, task: str, provider: str = "") -> None:
    mine = Notebook()
    tools = [mine.note, mine.notes_so_far]
    async with agent_ls.open_session(folder, provider=provider, tools=tools, trusted=True) as session:
        await session.ask(task)
    print("\n".join(f"- {note}" for note in mine.notes))


asyncio.run(main(*sys.argv[1:]))
