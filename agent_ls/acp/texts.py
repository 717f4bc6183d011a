"""Read and write texts of a client by `fs/read_text_file` and `fs/write_text_file`, with time limits."""

from __future__ import annotations

import anyio

from agent_ls.acp.client import ClientFacts
from agent_ls.acp.errors import RpcError
from agent_ls.acp.wire import AcpWire, ClientDisconnectedError

READ_S = 2.0
WRITE_S = 10.0
MAX_SILENT = 2
"""After this many read requests without a response, no read request is sent until the client responds to a write."""


class WireTexts:
    """Implements ClientTexts: reads and writes texts in the client for one session."""

    def __init__(self, wire: AcpWire, client: ClientFacts, session_id: str) -> None:
        self._wire = wire
        self._client = client
        self._session_id = session_id
        self._silent = 0

    @property
    def can_write(self) -> bool:
        return self._client.writes_files and self._silent < MAX_SILENT

    async def read(self, path: str) -> str | None:
        if self._silent >= MAX_SILENT:
            return None
        with anyio.move_on_after(READ_S) as limit:
            result = await self._ask("fs/read_text_file", {"path": path})
            self._silent = 0
            content = result.get("content") if isinstance(result, dict) else None
            return content if isinstance(content, str) else None
        if limit.cancelled_caught:
            self._silent += 1
        return None

    async def write(self, path: str, text: str) -> bool:
        with anyio.move_on_after(WRITE_S):
            result = await self._ask("fs/write_text_file", {"path": path, "content": text})
            return not isinstance(result, RpcError)
        return False

    async def _ask(self, method: str, params: dict[str, str]) -> object:
        try:
            return await self._wire.ask(method, {"sessionId": self._session_id, **params})
        except RpcError as error:
            return error
        except ClientDisconnectedError:
            return None
