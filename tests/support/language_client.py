"""What a rich editor answers to language queries, over FramedClient: a table of answers, or silence, or nonsense."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.support.framed_client import FramedClient, until_hung_up

Answer: TypeAlias = Callable[[dict[str, Any]], Any]
"""Given the params of a request: its result, a string for an error, None for no answer at all."""


async def answer_queries(
    client: FramedClient, answers: Mapping[str, Answer], asked: list[dict[str, Any]]
) -> None:
    """Answers each client_request that the table names, until cancelled; `asked` gets the data of all of them."""
    seen = 0
    with until_hung_up():
        while True:
            event = await client.wait_for(
                lambda m: m.get("params", {}).get("kind") == "client_request", after=seen, deadline_s=math.inf
            )
            seen = client.received.index(event, seen) + 1
            data = event["params"]["data"]
            asked.append(data)
            if data["what"] not in answers:
                continue
            result = answers[data["what"]](data["params"])
            reply = {"sessionId": event["params"]["sessionId"], "requestId": data["requestId"]}
            if isinstance(result, str):
                await client.request("agent/clientAnswer", {**reply, "error": result})
            elif result is not None:
                await client.request("agent/clientAnswer", {**reply, "result": result})
