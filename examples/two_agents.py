"""Two sessions that talk: one writes, one reviews. python examples/two_agents.py FOLDER "what to write" [PROVIDER]"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack

import agent_ls

ROUNDS = 3


async def main(folder: str, task: str, provider: str = "") -> None:
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(
            agent_ls.open_session(folder, provider=provider, mode="edits", trusted=True)
        )
        reviewer = await stack.enter_async_context(
            agent_ls.open_session(
                folder,
                provider=provider,
                mode="plan",
                trusted=True,
                base_prompt="You review the work of a colleague. Say OK alone if nothing is left to do.",
            )
        )
        said = task
        for _ in range(ROUNDS):
            work = await writer.ask(said)
            said = await reviewer.ask(
                f"The task was: {task}\n\nYour colleague says: {work}\n\nWhat is missing?"
            )
            print(f"writer: {work}\nreviewer: {said}")
            if said.strip() == "OK":
                return


asyncio.run(main(*sys.argv[1:]))
