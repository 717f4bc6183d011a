"""What a rich editor answers to language queries, over FramedClient: a table of answers, or silence, or nonsense."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.support.framed_client import FramedClient, is_told

Answer: TypeAlias = Callable[[dict[str, Any]], Any]
"""Given the params of a request: its result, a string for an error, None for no answer at all."""


async def answer_queries(
    client: FramedClient, answers: Mapping[str, Answer], asked: list[dict[str, Any]]
) -> None:
    """Answers each client_request that the table names, until cancelled; `asked` gets the data of all of them."""

    async def answer(event: dict[str, Any]) -> None:
        data = event["params"]["data"]
        asked.append(data)
        if data["what"] not in answers:
            return
        result = answers[data["what"]](data["params"])
        reply = {"sessionId": event["params"]["sessionId"], "requestId": data["requestId"]}
        if isinstance(result, str):
            await client.request("agent/clientAnswer", {**reply, "error": result})
        elif result is not None:
            await client.request("agent/clientAnswer", {**reply, "result": result})

    await client.with_each(is_told("client_request"), answer)
