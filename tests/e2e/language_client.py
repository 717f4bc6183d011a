"""Answers language queries as a rich editor does, from a table of answers that may be missing or invalid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.support.framed_client import FramedClient, is_event

Answer: TypeAlias = Callable[[dict[str, Any]], Any]
"""Returns the result for the params of a request; a string is an error, None means no answer."""


async def answer_queries(
    client: FramedClient, answers: Mapping[str, Answer], asked: list[dict[str, Any]]
) -> None:
    """Answer each client_request that the table names, until cancelled. `asked` collects the data of all requests."""

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

    await client.with_each(is_event("client_request"), answer)
