"""Files that are no files: the agent works in a dictionary. python examples/in_memory.py "what to do" [PROVIDER]"""

from __future__ import annotations

import asyncio
import sys

import agent_ls


async def main(task: str, provider: str = "") -> None:
    place = agent_ls.MemoryEnvironment({"notes.txt": "milk\neggs\n"}, working_directory="/notes")
    async with agent_ls.open_session(
        environment=place, provider=provider, mode="full", trusted=True
    ) as session:
        print(await session.ask(task))
    print((await place.read_bytes("notes.txt")).decode())


asyncio.run(main(*sys.argv[1:]))
