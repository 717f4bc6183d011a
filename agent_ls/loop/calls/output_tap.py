"""Publish the output of a running call as deltas, without secrets."""

from __future__ import annotations

from agent_ls.environments.base import Stream
from agent_ls.loop.calls.redaction import StreamRedaction
from agent_ls.loop.emission import Emitter

LIVE_OUTPUT_CHARS = 4 * 1024 * 1024
"""Limit for the live output of one call."""
NOT_LIVE = "\n[... further output is not displayed until the command ends ...]\n"


class OutputTap:
    """Publisher of a running call's output as deltas, until the call ends or LIVE_OUTPUT_CHARS are sent.

    The output is limited because it stays in memory for late subscribers. The end event contains or
    references the complete output.
    """

    def __init__(self, emitter: Emitter, part_id: str, redaction: StreamRedaction) -> None:
        self._emitter = emitter
        self._part_id = part_id
        self._redaction = redaction
        self._stream: Stream = "stdout"
        self._is_open = True
        self._room = LIVE_OUTPUT_CHARS

    def __call__(self, stream: Stream, text: str) -> None:
        if self._is_open and self._room > 0:
            if stream != self._stream:
                self._tell(self._redaction.end())
            self._stream = stream
            self._tell(self._redaction.feed(text))

    def close(self) -> None:
        """Publish the text that was held back as a possible prefix of a secret, and stop publishing. May be
        called repeatedly.
        """
        if self._is_open:
            self._tell(self._redaction.end())
        self._is_open = False

    def _tell(self, text: str) -> None:
        if len(text) > self._room > 0:
            text = text[: self._room] + NOT_LIVE
        if self._room > 0:
            self._room -= len(text)
            self._emitter.append("tool_call_output_delta", self._part_id, text, self._stream)
