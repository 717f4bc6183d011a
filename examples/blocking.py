"""Without an event loop, with every request answered: python examples/blocking.py FOLDER "what to do" [PROVIDER]"""

from __future__ import annotations

import sys

import agent_ls


def answer(question: agent_ls.QuestionAsked) -> str:
    """Take the model's first choice, or let it decide."""
    return question.choices[0] if question.choices else "as you think best"


def main(folder: str, task: str, provider: str = "") -> None:
    with agent_ls.open_session_sync(
        folder,
        provider=provider,
        trusted=True,
        approve=lambda request: request.tool == "write_file",
        answer=answer,
        extend_limit=lambda question: False,
        settings={"limits": {"tokensPerInput": 100_000}},
    ) as session:
        print(session.ask(task))


main(*sys.argv[1:])
