"""Separate reasoning in `<think>` tags from the text while it streams.

Some chat templates put the opening tag into the prompt, so that the answer has only the closing tag. When this is
noticed, the reasoning is already shown as text. `was_unopened` tells it, so that the next answers of the model are
read as if the tag were there.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from agent_ls.patterns import regex

# <think> of DeepSeek and Qwen, <mm:think> of MiniMax, <seed:think> of Seed, and <thinking>, <thought>, <think_intent> …
_OPENING = regex(r"<((?:\w{1,10}:)?(?:think|thought|reasoning)\w{0,20})>")
_BEGUN = regex(r"<[\w:]{0,40}")  # it may become one
# Magistral, Kimi-VL, Cohere, Sky-T1 and Gemma 4
_MARKS = {
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel>thought": "<channel|>",
}

_UNOPENED = "</think>"
# gpt-oss, from a server that drops the marks of its channels: analysisWe must greet.assistantfinalHello!
_BARE = regex("analysis(?=[A-Z])")
_FENCE = "```"
_ENDED = regex(r"^(?!.*<think>).*[\w.!?)]$")  # the end of reasoning before a tag
KEPT_CHARS = 200
"""How much of the current line is kept, so that a tag in it can be judged."""

Piece: TypeAlias = tuple[Literal["text", "reasoning"], str]


class ThinkTags:
    """Splits an answer into text and reasoning while it streams.

    An answer has reasoning if it begins with `<think>` or a similar mark. `is_opened`: the answer begins
    with reasoning although it has no opening tag. `is_strict`: only an opening tag begins reasoning, neither a closing
    one alone nor the bare name of a channel of gpt-oss.
    """

    def __init__(self, *, is_opened: bool = False, is_strict: bool = False) -> None:
        self._is_strict = is_strict
        self._beginnings = (*_MARKS,) if is_strict else (*_MARKS, "analysis")
        self.was_unopened = False
        """Whether the answer has a closing tag without an opening one."""
        self._state: Literal["start", "opened", "thinking", "closed", "text"] = "start"
        self._is_opened = is_opened
        self._held = ""
        self._open = self._close = ""
        self._before = ""  # the text so far, from the last line end on
        self._fences = 0
        self._assumed: list[str] = []  # reasoning that is the answer itself if no closing tag follows

    @property
    def is_plain(self) -> bool:
        """Whether the answer so far is text that began with no tag, and no part of it is held back."""
        return self._state == "text" and not self._open and not self._held

    def feed(self, piece: str) -> list[Piece]:
        text, self._held = self._held + piece, ""
        out: list[Piece] = []
        if self._state == "start":
            text = self._begin(text)
        while text:
            if self._state == "opened":  # drop the line ends after the tag
                text = text.lstrip("\r\n")
                self._state = "thinking" if text else "opened"
            elif self._state == "thinking":
                text = self._think(text, out)
            elif self._state == "closed":
                text = text.lstrip("\r\n" if self.was_unopened else None)
                self._state = "text" if text else "closed"
            else:
                at = self._next_block(text)
                said = self._say(text) if at < 0 else text[:at]
                text = "" if at < 0 else self._reopen(text[at:])
                out += [("text", said)] if said else []
        return out

    def close(self) -> list[Piece]:
        """Return the text that is still held back. Call this at the end of the answer."""
        held, self._held = self._held, ""
        if self._state == "thinking" and self._assumed:  # there was no reasoning
            said: list[Piece] = [("reasoning", held)] if held else []
            return [*said, ("text", "".join(self._assumed) + held)]
        if self._state == "text" and self._find_unopened(held, self._before, self._fences) >= 0:
            self.was_unopened, held = True, ""
        if not held:
            return []
        return [("reasoning" if self._state == "thinking" else "text", held)]

    def _begin(self, text: str) -> str:
        said = text.lstrip()
        opening = next((mark for mark in _MARKS if said.startswith(mark)), "")
        closing = _MARKS.get(opening, "")
        if found := _OPENING.match(said):
            opening, closing = found[0], f"</{found[1]}>"
        if opening:
            self._state, self._open, self._close = "opened", opening, closing
            return said.removeprefix(opening)
        if not self._is_strict and _BARE.match(said):
            self._state, self._close, self._is_opened = "thinking", "assistantfinal", True
            self._assumed.append("analysis")
            return said.removeprefix("analysis")
        # The text so far is empty, or the beginning of the tag.
        if _BEGUN.fullmatch(said) or any(mark.startswith(said) for mark in self._beginnings):
            self._held = text
            return ""
        if self._is_opened:
            self._state, self._close = "thinking", _UNOPENED
            return text
        if self._find_unopened(text, "", 0) >= 0:  # a whole answer
            self.was_unopened, self._state, self._close = True, "thinking", _UNOPENED
            return text
        self._state = "text"
        return text

    def _next_block(self, text: str) -> int:
        """Return where an answer that began with reasoning reasons again, by the same tag; -1 if it does not.

        A tag in code is quoted.
        """
        at = text.find(self._open) if self._open else -1
        if at < 0:
            return -1
        before = self._before + text[:at]
        is_quoted = before.endswith("`") or (self._fences + before.count(_FENCE)) % 2
        return -1 if is_quoted else at

    def _reopen(self, text: str) -> str:
        self._state, self._is_opened, self._assumed, self._before = "opened", True, [self._open], ""
        return text.removeprefix(self._open)

    def _say(self, text: str) -> str:
        """Return the text to show now. The first closing tag without an opening one is left out."""
        if self.was_unopened:
            return text
        at = self._find_unopened(text, self._before, self._fences)
        if at >= 0:
            self.was_unopened, self._state = True, "closed"
            rest = text[at + len(_UNOPENED) :]
            gap = "\n\n" if rest[:1].isalnum() and (self._before + text[:at]).strip(" ") else ""
            rest = rest.lstrip("\r\n")
            self._state = "text" if rest else "closed"
            return text[:at] + gap + rest
        keep = max(partial_mark_length(text, _UNOPENED), partial_mark_length(text, self._open))
        if text.endswith(_UNOPENED):  # the next character decides
            keep = len(_UNOPENED)
        said, self._held = text[: len(text) - keep], text[len(text) - keep :]
        *lines, self._before = (self._before + said).split("\n")
        self._fences += sum(line.count(_FENCE) for line in lines)
        self._shorten_line()
        return said

    def _shorten_line(self) -> None:
        """Forget the beginning of a long line, but not its fences: each delta must cost the same."""
        cut = len(self._before) - KEPT_CHARS
        if cut < KEPT_CHARS:
            return
        while cut and self._before[cut - 1] == "`":
            cut -= 1
        gone = self._before[:cut]
        self._fences += gone.count(_FENCE)
        self._before = ("…" if gone.strip() else "") + self._before[cut:]

    def _find_unopened(self, text: str, before: str, fences: int) -> int:
        """Return the place of a closing tag that ends reasoning, -1 if there is none.

        It begins or ends its line outside of a code block, or is between two words without a space: a sentence may
        quote the tag. `before` is the text of the line before `text`, and `fences` the number of code fences before.
        """
        at = -1 if self._is_strict else text.find(_UNOPENED)
        while at >= 0:
            line = (before + text[:at]).rpartition("\n")[2]
            rest = text[at + len(_UNOPENED) :]
            is_alone = not line.strip() or rest.startswith(("\n", "\r"))
            is_between = _ENDED.search(line) is not None and rest[:1].isalnum() and not line.count("`") % 2
            if (is_alone or is_between) and not (fences + (before + text[:at]).count(_FENCE)) % 2:
                return at
            at = text.find(_UNOPENED, at + 1)
        return -1

    def _think(self, text: str, out: list[Piece]) -> str:
        thought, closed, rest = text.partition(self._close)
        if closed:
            self._state = "closed"
        else:
            keep = partial_mark_length(thought, self._close)
            thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if self._is_opened:
            self._assumed.append(thought)
            if closed:
                self._assumed, self._is_opened = [], False
        if thought:
            out.append(("reasoning", thought))
        return rest


def partial_mark_length(text: str, mark: str) -> int:
    """Return the length of the longest suffix of `text` that is a proper prefix of `mark`."""
    longest = min(len(text), len(mark) - 1)
    return next((size for size in range(longest, 0, -1) if mark.startswith(text[-size:])), 0)
