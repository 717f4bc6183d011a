"""Separate the messages of gpt-oss, if a server passes on its channels as text.

    <|channel|>analysis<|message|>Reasoning.<|end|><|start|>assistant<|channel|>final<|message|>The answer.<|return|>

A message with `to=` in its header is a call, which printed_calls.py reads.
"""

from __future__ import annotations

import re
from typing import Literal

from agent_ls.llm.providers.think_tags import Piece, partial_mark_length
from agent_ls.patterns import regex

_STARTS = ("<|channel|>", "<|start|>assistant")
_HEAD_END = "<|message|>"
_MAX_HEAD = 300
_ENDS = ("<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>")
_END = regex("|".join(map(re.escape, _ENDS)))
_Kind = Literal["text", "reasoning", "call", "other"]


class Channels:
    """Splits an answer that begins with a channel. Another answer is one text."""

    def __init__(self) -> None:
        self._is_on: bool | None = None  # None: the answer has not begun
        self._held = ""
        self._kind: _Kind | None = None  # of the message whose content arrives; None: its header arrives
        self._has_text = False

    def feed(self, piece: str) -> list[Piece]:
        if self._is_on is False:
            return [("text", piece)]
        text, self._held = self._held + piece, ""
        if self._is_on is None:
            said = text.lstrip()
            if any(start.startswith(said) for start in _STARTS):
                self._held = text
                return []
            self._is_on = said.startswith(_STARTS)
            if not self._is_on:
                return [("text", text)]
        return self._split(text)

    def close(self) -> list[Piece]:
        """Return the text that is still held back. Call this at the end of the answer."""
        held, self._held = self._held, ""
        if self._kind is None and self._is_on:  # a header without a message
            return []
        return self._say(held) if self._is_on else [("text", held)] if held else []

    def _split(self, text: str) -> list[Piece]:
        out: list[Piece] = []
        while text:
            if self._kind is None:
                head, found, rest = text.partition(_HEAD_END)
                if not found and len(text) <= _MAX_HEAD:
                    self._held = text
                    break
                if not found:
                    self._kind = "text"
                    continue
                out += self._begin(head)
                text = rest
            elif end := _END.search(text):
                out += self._say(text[: end.start()])
                self._kind = None
                # The next header begins with this mark, unless it only ends the message.
                text = text[end.start() if end[0] in ("<|start|>", "<|channel|>") else end.end() :]
            else:
                keep = max(partial_mark_length(text, mark) for mark in _ENDS)
                out += self._say(text[: len(text) - keep])
                self._held, text = text[len(text) - keep :], ""
        return out

    def _begin(self, head: str) -> list[Piece]:
        self._kind = _kind(head)
        if self._kind != "call":
            return []
        line = "\n" if self._has_text else ""
        self._has_text = True
        return [("text", f"{line}{head.strip()}{_HEAD_END}")]

    def _say(self, text: str) -> list[Piece]:
        if not text or self._kind in (None, "other"):
            return []
        if self._kind == "reasoning":
            return [("reasoning", text)]
        self._has_text = True
        return [("text", text)]


def _kind(head: str) -> _Kind:
    if "<|start|>" in head and not head.strip().startswith("<|start|>assistant"):
        return "other"  # a result that the model has invented
    if " to=" in head:
        return "call"
    return "reasoning" if "analysis" in head else "text"
