"""Ask a server for an older version of the protocol, if it refuses ours where it should negotiate."""

from __future__ import annotations

import re
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS


class AskingStream:
    """Wraps the stream of messages to a server, and asks for another version of the protocol than the SDK."""

    def __init__(self, stream: Any, version: str) -> None:
        self._stream = stream
        self._version = version

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, types.JSONRPCRequest) and message.method == "initialize" and message.params:
            message.params["protocolVersion"] = self._version
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def close(self) -> None:
        self._stream.close()

    async def __aenter__(self) -> AskingStream:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


def supported_version(refusal: str) -> str:
    """Return the newest version of the protocol that a server names when it refuses ours, "" for none."""
    named = re.findall(r"\b20\d\d-\d\d-\d\d\b", refusal) if "version" in refusal.lower() else []
    older = [
        it for it in HANDSHAKE_PROTOCOL_VERSIONS if it in named and it != HANDSHAKE_PROTOCOL_VERSIONS[-1]
    ]
    return older[-1] if older else ""
