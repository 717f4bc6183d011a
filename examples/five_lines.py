"""Five lines to a session: python examples/five_lines.py FOLDER "what to do" [PROVIDER]"""

from __future__ import annotations

import sys

import anyio

import agent_ls


async def main(folder: str, task: str, provider: str = "") -> None:
    async with agent_ls.open_session(folder, provider=provider, mode="full", trusted=True) as session:
        async for event in session.run(task):
            print(event.kind, event.data)


anyio.run(main, *sys.argv[1:])
