"""Detect tool calls in the text of an answer. Some servers do not parse the calls that a model writes.

call_dialects.py parses the calls; a call can also be the whole answer, in a code fence or not.

The model may also quote these formats in a text. So text counts as calls only under three conditions: the
first tag begins a line outside a code fence, the request offers the named tools, and only calls follow until
the end of the answer. Otherwise everything stays text.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from agent_ls.llm.providers.call_dialects import MARKS, PrintedCall, parse_calls
from agent_ls.patterns import regex

_FENCE = "```"
_FENCES = (_FENCE, "```json", "```tool_call", "```tool_code", "```xml")
_FENCED = regex(r"```(?:json|tool_call|tool_code|xml)?\s*(.*?)\s*```", re.DOTALL)

_MARKED_LINE = regex(rf"^[ \t]*(?={'|'.join(map(re.escape, MARKS))})", re.MULTILINE)


class PrintedCalls:
    """Separates the text of an answer from calls. `feed` returns the text to display, without text that may be calls.

    `tools` are the names of the offered tools. `lenient`: calls count even if text follows them. The text
    protocol (text_tools.py) sets `lenient`, because some models continue with invented results after the
    calls that it asks for. `bare`: JSON without a mark can be a call, if it is the whole answer.
    """

    def __init__(self, tools: Collection[str], *, lenient: bool = False, bare: bool = True) -> None:
        self._tools = frozenset(tools)
        self._marks = (*MARKS, *(f"[{tool}(" for tool in self._tools))
        self._longest_mark = max(map(len, self._marks))
        self._lenient = lenient
        self._bare = bare
        self._held: list[str] = []
        self._is_holding = False  # whether all further text is held back
        self._line = ""  # the start of the current line, while it may still become a tag of a call
        self._is_fenced = False
        self._has_begun = False
        self._line_is_open = True  # whether the start of the current line is still unclassified

    def feed(self, piece: str) -> str:
        """Return the text that can be displayed now."""
        if not self._tools:
            return piece
        return "".join(map(self._feed_part, piece.splitlines(keepends=True)))

    @property
    def held(self) -> str:
        """The text that `feed` has not returned yet."""
        return self._line + "".join(self._held)

    def close(self) -> tuple[str, list[PrintedCall], bool]:
        """Return the rest of the text, the calls, and whether text was dropped.

        Only with `lenient`, text after the calls, a truncated call and a call of an unknown tool are dropped.
        """
        text = self._line + "".join(self._held)
        self._line, self._held = "", []
        if not self._is_holding:
            return text, [], False
        calls, rest = leading_calls(text, self._tools)
        if calls and (self._lenient or not rest.strip()):
            return "", calls, bool(rest.strip())
        if self._lenient and text.lstrip().startswith(self._marks):
            return (
                "",
                [],
                True,
            )  # a truncated call, or a call of an unknown tool: its JSON is not displayed
        return text, [], False

    def _feed_part(self, part: str) -> str:
        """Add a part of a line, with or without its line ending. Return the text to display now."""
        if self._is_holding:
            self._held.append(part)
            return ""
        ends = part.endswith(("\n", "\r"))
        if not self._line_is_open:
            self._line_is_open = ends
            return part
        line, self._line = self._line + part, ""
        said = line.lstrip()
        if not said and not ends:
            self._line = line
            return ""
        if not said:
            return line
        if said.startswith(_FENCE):
            return self._fence(line, said, ends=ends)
        if not self._is_fenced and self._hold_start(line, said):
            return ""
        may_become = any(mark.startswith(said) for mark in (*self._marks, _FENCE)) and not ends
        if may_become and len(said) < self._longest_mark:
            self._line = line
            return ""
        self._has_begun = True
        self._line_is_open = ends
        return line

    def _fence(self, line: str, said: str, *, ends: bool) -> str:
        if not self._has_begun and not self._is_fenced:
            if not ends:
                self._line = line  # only the complete line says whether the fence may contain a call
                return ""
            if self._bare and said.strip() in _FENCES:
                return self._hold(line)
        self._has_begun = True
        self._is_fenced = not self._is_fenced
        self._line_is_open = ends
        return line

    def _hold_start(self, line: str, said: str) -> bool:
        if said.startswith(self._marks) or (
            self._bare and not self._has_begun and said.startswith(("{", "[{"))
        ):
            self._hold(line)
            return True
        return False

    def _hold(self, line: str) -> str:
        self._is_holding = True
        self._held.append(line)
        return ""


def leading_calls(text: str, tools: Collection[str]) -> tuple[list[PrintedCall], str]:
    """Return the calls at the start of `text` (possibly none), and the text after these calls."""
    said = text.strip()
    if not said.startswith(_FENCE):
        return parse_calls(said, tools)
    found = _FENCED.match(said)
    if found is None:
        return [], said
    calls, rest = parse_calls(found[1], tools)
    return calls, rest + said[found.end() :]


def calls_at_end(text: str, tools: Collection[str]) -> list[PrintedCall]:
    """Return the calls with which a text ends, after a line that begins with a mark; empty if there are none."""
    if not tools:
        return []
    for found in _MARKED_LINE.finditer(text):
        calls, rest = parse_calls(text[found.end() :], tools)
        if calls and not rest:
            return calls
    return []
