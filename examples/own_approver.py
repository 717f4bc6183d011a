"""Who may do what is decided here: python examples/own_approver.py FOLDER "what to do" [PROVIDER]"""

from __future__ import annotations

import asyncio
import sys

import agent_ls


async def approve(request: agent_ls.ApprovalRequested) -> agent_ls.ApprovalAnswer | bool:
    """Edits are fine; anything else is not, and the model is told why."""
    if request.effect["type"] == "WriteEffect":
        return True
    return agent_ls.ApprovalAnswer("deny", reason="no commands here: say what you would have run")


async def main(folder: str, task: str, provider: str = "") -> None:
    async with agent_ls.open_session(folder, provider=provider, approve=approve, trusted=True) as session:
        print(await session.ask(task))
        for path, hunks in session.hunks().items():
            print(path, *(hunk.id for hunk in hunks))
        await session.review("keep")


asyncio.run(main(*sys.argv[1:]))
