"""A chat in the terminal: python examples/terminal_chat.py FOLDER [PROVIDER]. An empty line ends it."""

from __future__ import annotations

import asyncio
import sys

import agent_ls


def approve(request: agent_ls.ApprovalRequested) -> bool:
    """Plain callbacks run in a thread, so they may wait for input."""
    return input(f"\n{request.tool} {request.summary}: allow? [y/n] ").strip() == "y"


def answer(question: agent_ls.QuestionAsked) -> str:
    choices = f" ({', '.join(question.choices)})" if question.choices else ""
    return input(f"\n{question.question}{choices} ")


def show(event: agent_ls.Event) -> None:
    match event:
        case agent_ls.Delta(kind="assistant_text_delta", agent_id="", text=text):
            print(text, end="", flush=True)
        case agent_ls.ToolCallStart(agent_id="", name=name, summary=summary):
            print(f"\n* {name} {summary}")
        case agent_ls.ToolCallEnd(agent_id="", is_error=True, summary=summary):
            print(f"  failed: {summary}")
        case agent_ls.FileChange(path=path, added=added, removed=removed):
            print(f"  {path} +{added} -{removed}")
        case agent_ls.Error(message=message, hint=hint):
            print(f"\n{message} {hint}")
        case agent_ls.Warning(message=message) | agent_ls.TurnLimit(message=message):
            print(f"\n{message}")
        case _:
            pass


async def main(folder: str, provider: str = "") -> None:
    async with agent_ls.open_session(
        folder, provider=provider, trusted=True, approve=approve, answer=answer
    ) as session:
        while text := (await asyncio.to_thread(input, "> ")).strip():
            async for event in session.run(text):
                show(event)
            print()


asyncio.run(main(*sys.argv[1:]))
