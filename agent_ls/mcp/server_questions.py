"""Ask the user the questions of a server, while the time limits of its running calls stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import mcp_types as types
from pydantic import ValidationError

from agent_ls.mcp.descriptions import Elicitation, ElicitationReply
from agent_ls.mcp.session_errors import RequestLimit


class Asker:
    """Asks the user the questions of a server. The time limits of running calls stop while the user answers."""

    def __init__(self, elicit: Callable[[Elicitation], Awaitable[ElicitationReply]]) -> None:
        self._elicit = elicit
        self._limits: list[RequestLimit] = []

    @contextmanager
    def during(self, limit: RequestLimit) -> Iterator[None]:
        """Pause a call's time limit whenever the user is asked, until the end of the block."""
        self._limits.append(limit)
        try:
            yield
        finally:
            self._limits.remove(limit)

    async def ask(self, asked: Elicitation) -> ElicitationReply:
        begun = anyio.current_time()
        waiting = list(self._limits)
        for limit in waiting:
            limit.pause()
        try:
            return await self._elicit(asked)
        finally:
            for limit in waiting:
                limit.resume(anyio.current_time() - begun)

    async def open_pages(self, data: Any) -> bool:
        """Ask the user to open the pages that a refused call names. Returns whether the user has opened all."""
        try:
            named = types.ElicitationRequiredErrorData.model_validate(data).elicitations
        except ValidationError:
            return False
        for page in named:
            if (await self.ask(Elicitation(page.message, url=page.url))).action != "accept":
                return False
        return bool(named)
