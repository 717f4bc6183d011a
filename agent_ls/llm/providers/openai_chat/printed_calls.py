"""Detect tool calls in the text of an answer. Some servers do not parse the calls that a model writes.

Accepted formats, which models were trained on:

    <tool_call>{"name": "glob", "arguments": {"pattern": "*.py"}}</tool_call>
    <tool_call><function=glob><parameter=pattern>*.py</parameter></function></tool_call>
    <function=glob>{"pattern": "*.py"}</function>
    [TOOL_CALLS][{"name": "glob", "arguments": {"pattern": "*.py"}}]
    <|python_tag|>{"name": "glob", "parameters": {"pattern": "*.py"}}
    {"name": "glob", "arguments": {"pattern": "*.py"}}          (as the whole answer, in a ```json fence or not)

The model may also quote these formats in a text. So text counts as calls only under three conditions: the
first tag begins a line outside a code fence, the request offers the named tools, and only calls follow until
the end of the answer. Otherwise everything stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

_MARKS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>")
_LONGEST_MARK = max(map(len, _MARKS))
_FENCE = "```"

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\s]+)>\s*(.*?)\s*(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?\s*(.*?)\s*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PrintedCall:
    """A call found in text. `arguments` is a JSON object as text."""

    name: str
    arguments: str


class PrintedCalls:
    """Separates the text of an answer from calls. `feed` returns the text to display, without text that may be calls.

    `tools` are the names of the offered tools. `lenient`: calls count even if text follows them. The text
    protocol (text_tools.py) sets `lenient`, because some models continue with invented results after the
    calls that it asks for.
    """

    def __init__(self, tools: Collection[str], *, lenient: bool = False) -> None:
        self._tools = frozenset(tools)
        self._lenient = lenient
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

    def close(self) -> tuple[str, list[PrintedCall], bool]:
        """Return the rest of the text, the calls, and whether text was dropped.

        Only with `lenient`, text after the calls, a truncated call and a call of an unknown tool are dropped.
        """
        text = self._line + "".join(self._held)
        self._line, self._held = "", []
        if not self._is_holding:
            return text, [], False
        calls, rest = _calls(text, self._tools)
        if calls and (self._lenient or not rest.strip()):
            return "", calls, bool(rest.strip())
        if self._lenient and _begins_with_mark(text):
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
        may_become = any(mark.startswith(said) for mark in (*_MARKS, _FENCE)) and not ends
        if may_become and len(said) < _LONGEST_MARK:
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
            if said.strip() in (_FENCE, "```json", "```tool_call"):
                return self._hold(line)
        self._has_begun = True
        self._is_fenced = not self._is_fenced
        self._line_is_open = ends
        return line

    def _hold_start(self, line: str, said: str) -> bool:
        if said.startswith(_MARKS) or (not self._has_begun and said.startswith("{")):
            self._hold(line)
            return True
        return False

    def _hold(self, line: str) -> str:
        self._is_holding = True
        self._held.append(line)
        return ""


def _begins_with_mark(text: str) -> bool:
    return text.lstrip().startswith(_MARKS)


def _calls(text: str, tools: frozenset[str]) -> tuple[list[PrintedCall], str]:
    """Return the calls at the start of `text` (possibly none), and the text after these calls."""
    said = text.strip()
    if said.startswith("[TOOL_CALLS]"):
        return _json_calls(said.removeprefix("[TOOL_CALLS]"), tools)
    if said.startswith("<|python_tag|>"):
        return _json_calls(said.removeprefix("<|python_tag|>").removesuffix("<|eom_id|>"), tools)
    if said.startswith(_FENCE):
        found = _FENCED.match(said)
        if found is None:
            return [], said
        calls, rest = _json_calls(found[1], tools)
        return calls, rest + said[found.end() :]
    if said.startswith("{"):
        return _json_calls(said, tools)
    return _tagged_calls(said, tools)


def _tagged_calls(said: str, tools: frozenset[str]) -> tuple[list[PrintedCall], str]:
    calls: list[PrintedCall] = []
    while found := _TAGGED.match(said) or _FUNCTION.match(said):
        whole = found[0] if found.re is _FUNCTION else found[1]
        made = _function_call(whole, tools) if whole.startswith("<function=") else _tagged_json(whole, tools)
        if not made:
            break
        calls += made
        said = said[found.end() :].lstrip()
    return calls, said


def _tagged_json(text: str, tools: frozenset[str]) -> list[PrintedCall]:
    calls, rest = _json_calls(text, tools)
    return [] if rest.strip() else calls


def _function_call(text: str, tools: frozenset[str]) -> list[PrintedCall]:
    found = _FUNCTION.match(text)
    if found is None or found[1] not in tools:
        return []
    if found[2].startswith("{") or not found[2]:
        value = _parse_json(found[2] or "{}")
        return [PrintedCall(found[1], _to_json(value))] if isinstance(value, dict) else []
    parameters = {name: _value(text) for name, text in _PARAMETER.findall(found[2])}
    return [PrintedCall(found[1], _to_json(parameters))] if parameters else []


def _value(text: str) -> Any:
    """Parse the value of a parameter: JSON numbers, literals and structures. Other text is returned unchanged."""
    value = _parse_json(text)
    return text if value is None or isinstance(value, str) else value


def _json_calls(text: str, tools: frozenset[str]) -> tuple[list[PrintedCall], str]:
    """Parse consecutive objects, or a list of them."""
    calls: list[PrintedCall] = []
    rest = text.strip()
    while rest.startswith(("{", "[")):
        try:
            value, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            break
        made = [_json_call(item, tools) for item in (value if isinstance(value, list) else [value])]
        whole = [call for call in made if call is not None]
        if len(whole) < len(made) or not made:
            break
        calls += whole
        rest = rest[end:].lstrip(" \t\r\n;,")
    return calls, rest


def _json_call(value: Any, tools: frozenset[str]) -> PrintedCall | None:
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    inner: dict[str, Any] = function if isinstance(function, dict) else value
    name = inner.get("name")
    arguments = next((inner[key] for key in ("arguments", "parameters") if key in inner), None)
    if not isinstance(name, str) or name not in tools:
        return None
    if isinstance(arguments, str):
        arguments = _parse_json(arguments)
    return PrintedCall(name, _to_json(arguments)) if isinstance(arguments, dict) else None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
