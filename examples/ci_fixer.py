"""Make a check pass, and print the patch for a comment: python examples/ci_fixer.py FOLDER "make test" [PROVIDER]

The last line is the exit code of the check afterwards.
"""

from __future__ import annotations

import asyncio
import sys

import agent_ls


async def main(folder: str, check: str, provider: str = "") -> None:
    session = await agent_ls.open_session(
        folder,
        provider=provider,
        trusted=True,
        mode="edits",
        approve=lambda request: request.effect.get("command") == check,
        settings={"limits": {"secondsPerInput": 600}},
    )
    try:
        async for event in session.run(
            f"The command `{check}` fails. Find the cause, correct it, run it again."
        ):
            match event:
                case agent_ls.ToolCallEnd(name="shell", exit_code=code):
                    print(f"the check ended with {code}", file=sys.stderr)
                case agent_ls.Error(message=message):
                    print(message, file=sys.stderr)
                case _:
                    pass
        print(await session.patch())
        print(f"cost: {session.cost_usd}", file=sys.stderr)
    finally:
        await session.close()
    process = await asyncio.create_subprocess_shell(check, cwd=folder)
    print(await process.wait())


asyncio.run(main(*sys.argv[1:]))
