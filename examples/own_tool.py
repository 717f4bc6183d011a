"""A function as a tool of the model: python examples/own_tool.py FOLDER "what to do" [PROVIDER]"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import agent_ls

PRICES = {"apple": 1.20, "pear": 1.80}


@agent_ls.tool
async def price_of(fruit: Annotated[str, "its name in the singular"]) -> str:
    """What a fruit costs in the shop, in euros."""
    return f"{PRICES[fruit]:.2f}"


async def main(folder: str, task: str, provider: str = "") -> None:
    async with agent_ls.open_session(folder, provider=provider, tools=[price_of], trusted=True) as session:
        print(await session.ask(task))


asyncio.run(main(*sys.argv[1:]))
