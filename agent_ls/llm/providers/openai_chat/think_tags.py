"""Separate reasoning in `<think>` tags from the text while it streams."""

from __future__ import annotations

from typing import Literal, TypeAlias

# the marks of DeepSeek and Qwen, of other models, of Magistral and of Seed
_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
}

Piece: TypeAlias = tuple[Literal["text", "reasoning"], str]


class ThinkTags:
    """Splits an answer into text and reasoning while it streams.

    Only an answer that begins with `<think>`, or another mark in `_TAGS`, has reasoning.
    """

    def __init__(self) -> None:
        self._state: Literal["start", "opened", "thinking", "closed", "text"] = "start"
        self._held = ""
        self._close = ""

    def feed(self, piece: str) -> list[Piece]:
        text, self._held = self._held + piece, ""
        out: list[Piece] = []
        if self._state == "start":
            text = self._begin(text)
        if self._state == "opened":  # drop the line ends after the tag
            text = text.lstrip("\r\n")
            self._state = "thinking" if text else "opened"
        if self._state == "thinking":
            text = self._think(text, out)
        if self._state == "closed":
            text = text.lstrip("\r\n")
            self._state = "text" if text else "closed"
        if self._state == "text" and text:
            out.append(("text", text))
        return out

    def close(self) -> list[Piece]:
        """Return the text that is still held back. Call this at the end of the answer."""
        held, self._held = self._held, ""
        if not held:
            return []
        return [("reasoning" if self._state == "thinking" else "text", held)]

    def _begin(self, text: str) -> str:
        said = text.lstrip()
        for opening, closing in _TAGS.items():
            if said.startswith(opening):
                self._state, self._close = "opened", closing
                return said.removeprefix(opening)
        if any(
            opening.startswith(said) for opening in _TAGS
        ):  # the text so far is empty, or the beginning of the tag
            self._held = text
            return ""
        self._state = "text"
        return text

    def _think(self, text: str, out: list[Piece]) -> str:
        thought, closed, rest = text.partition(self._close)
        if closed:
            self._state = "closed"
        else:
            keep = partial_mark_length(thought, self._close)
            thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if thought:
            out.append(("reasoning", thought))
        return rest


def partial_mark_length(text: str, mark: str) -> int:
    """Return the length of the longest suffix of `text` that is a proper prefix of `mark`."""
    longest = min(len(text), len(mark) - 1)
    return next((size for size in range(longest, 0, -1) if mark.startswith(text[-size:])), 0)
