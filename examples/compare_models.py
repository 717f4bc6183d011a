"""One lesson, then the same question to several models: python examples/compare_models.py FOLDER LESSON QUESTION MODEL…

Each model continues a copy of the session, so that all of them have the same lesson behind them.
"""

from __future__ import annotations

import asyncio
import sys

import agent_ls


async def answer(copy: str, model: str, question: str) -> str:
    try:
        async with agent_ls.open_session(resume=copy, model=model) as session:
            said = await session.ask(question)
            return f"{model}: {said} ({session.usage.output_tokens} tokens)"
    except agent_ls.TurnFailedError as error:
        return f"{model} failed: {error} {error.hint}"


async def main(folder: str, lesson: str, question: str, *models: str) -> None:
    async with agent_ls.open_session(folder, mode="plan", trusted=True) as session:
        print(await session.ask(lesson))
        copies = [await session.fork() for _ in models]
    answers = (answer(copy, model, question) for copy, model in zip(copies, models, strict=True))
    print(*await asyncio.gather(*answers), sep="\n")


asyncio.run(main(*sys.argv[1:]))
