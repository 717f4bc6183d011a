"""Timing and usage of a session: as two tables for reading, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agent_ls.loop.events.codec import camel_json
from agent_ls.loop.events.figures import Figures, RoundFigures, ToolFigures

_ROUND = (
    "round", "turn", "agent", "first s", "model s", "in", "cached", "out", "USD", "retries", "calls", "failed",
    "tools s",
)  # fmt: skip
_TOOL = ("tool", "calls", "failed", "median s", "longest s", "output chars")


def as_json(figures: Figures) -> dict[str, Any]:
    return {
        "rounds": [camel_json(each) for each in figures.rounds],
        "tools": [camel_json(each) for each in figures.tools],
    }


def as_text(figures: Figures) -> str:
    """Return two tables in seconds, tokens and US dollars; "-" is unknown."""
    turns: dict[str, int] = {}
    rounds = [
        _round(number, turns.setdefault(each.turn_id, len(turns) + 1), each)
        for number, each in enumerate(figures.rounds, 1)
    ]
    parts = [_table(_ROUND, rounds)] if rounds else ["no model calls"]
    if figures.tools:
        parts.append(_table(_TOOL, map(_tool, figures.tools)))
    return "\n\n".join(parts)


def _round(number: int, turn: int, each: RoundFigures) -> Sequence[str]:
    usage = each.usage
    return (
        str(number), str(turn), each.agent_id or "-", _seconds(each.first_output_ms), _seconds(each.model_ms),
        str(usage.input_tokens), _format_tokens(usage.cache_read_tokens), str(usage.output_tokens),
        "-" if each.cost_usd is None else f"{each.cost_usd:.4f}", str(each.retries), str(each.tool_calls),
        str(each.failed_calls), _seconds(each.tools_ms),
    )  # fmt: skip


def _tool(each: ToolFigures) -> Sequence[str]:
    return (
        each.name, str(each.calls), str(each.failed), _seconds(each.median_ms), _seconds(each.longest_ms),
        str(each.output_chars),
    )  # fmt: skip


def _seconds(ms: float | None) -> str:
    return "-" if ms is None else f"{ms / 1000:.2f}"


def _format_tokens(tokens: int | None) -> str:
    return "-" if tokens is None else str(tokens)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
