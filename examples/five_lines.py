"""Five lines to a session: python examples/five_lines.py FOLDER "what to do" [PROVIDER]"""

from __future__ import annotations

import asyncio
import sys

import agent_ls


async def main(folder: str, task: str, provider: str = "") -> None:
    async with agent_ls.open_session(folder, provider=provider, mode="full", trusted=True) as session:
        async for event in session.run(task):
            print(event)


asyncio.run(main(*sys.argv[1:]))
