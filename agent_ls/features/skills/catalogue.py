"""Pure: format the list of skills in the system prompt, within a share of the model's context
window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_ls.features.skills.values import UserCommand
from agent_ls.llm.requests import CHARS_PER_TOKEN

MAX_CHARS = 8_000
WINDOW_SHARE = 0.02
SHORTEST_DESCRIPTION = 20

_INTRODUCTION = (
    "# Skills\n"
    "Instructions for particular kinds of work. When your task fits a description, call use_skill with that name "
    "before you begin."
)


class CatalogueEntry(Protocol):
    """Interface of an entry in a list for the model, such as a skill or a kind of subagent."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...


def catalogue_text(skills: Sequence[UserCommand], window_tokens: int) -> str:
    """Return the part of the system prompt that lists the skills: an introduction and one line for each skill.

    Returns "" without skills.

    The lines take at most 2 % of the context window, and at most 8,000 characters. If they are longer, long
    descriptions are cut to the same length. If descriptions would become too short, the last skills are listed
    by name only. If the names are still too long, the last skills are left out.
    """
    if not skills:
        return ""
    limit = min(MAX_CHARS, int(window_tokens * WINDOW_SHARE * CHARS_PER_TOKEN))
    return f"{_INTRODUCTION}\n" + "\n".join(list_within(skills, limit))


def list_within(skills: Sequence[CatalogueEntry], limit: int) -> list[str]:
    """Return one line for each skill, with about `limit` characters in total at most.

    `skills` must not be empty.
    """
    longest = max(len(skill.description) for skill in skills)
    lines = [_line(skill, longest) for skill in skills]
    for length in range(longest - 1, SHORTEST_DESCRIPTION - 1, -1):
        if _size(lines) <= limit:
            return lines
        lines = [_line(skill, length) for skill in skills]
    described = len(skills)
    while described and _size(lines) > limit:
        described -= 1
        lines[described] = f"- {skills[described].name}"
    listed = len(lines)
    while listed and _size(lines[:listed]) > limit:
        listed -= 1
    left_out = len(lines) - listed
    return [*lines[:listed], *([f"({left_out} more are not listed)"] if left_out else [])]


def _line(skill: CatalogueEntry, length: int) -> str:
    description = skill.description
    if len(description) > length:
        description = description[: length - 1].rstrip() + "…"
    return f"- {skill.name}: {description}"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)
