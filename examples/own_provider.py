"""A model of your own, registered by name: python examples/own_provider.py FOLDER "what to do" """

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator

import agent_ls
from agent_ls.llm.messages import TextPart
from agent_ls.llm.requests import FinishReason, Request, Response, Usage
from agent_ls.llm.stream import StreamEvent, StreamFinish, StreamStart, TextDelta, TextEnd, TextStart


class Echo:
    """A provider that repeats what it was told; a real one would ask its server here."""

    name = "echo"

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        said = f"You said: {request.messages[-1].text}"
        yield StreamStart("r1", request.model)
        yield TextStart(0)
        yield TextDelta(0, said)
        yield TextEnd(0, TextPart(said))
        yield StreamFinish(FinishReason("stop"), Usage(input_tokens=10, output_tokens=5), {})

    async def complete(self, request: Request) -> Response:
        raise NotImplementedError("the agent streams")

    async def close(self) -> None:
        pass


def echo_profile(model: str) -> agent_ls.ProviderProfile:
    """How to speak to it: the tools and the prompt that its models are used to."""
    return agent_ls.ProviderProfile(
        id="echo",
        model=model or "echo-1",
        base_prompt="You repeat what you are told.",
        registry=agent_ls.ToolRegistry(),
        context_window_tokens=8_000,
    )


async def main(folder: str, task: str) -> None:
    async with agent_ls.open_session(
        folder, provider="echo", adapters={"echo": Echo()}, profiles={"echo": echo_profile}
    ) as session:
        print(await session.ask(task))


asyncio.run(main(*sys.argv[1:]))
