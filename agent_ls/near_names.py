"""Find the name that somebody meant who wrote a similar one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_SIMILARITY = 0.7
"""Ratio of difflib from which a name is taken for a misspelt one; two words of one stem can have less."""
_SHORTEST_PREFIX = 3
_NO_OTHER_NAMES: Mapping[str, str] = {}


def nearest(name: str, known: Iterable[str], also: Mapping[str, str] = _NO_OTHER_NAMES) -> str:
    """Return the known name that `name` misspells or shortens, ignoring case; "" if there is none.

    `also` are names that others use, in lower case, each with the known name that means the same.
    """
    from difflib import get_close_matches  # imported here, because few names are wrong

    typed = name.casefold()
    if same := also.get(typed):
        return same
    names = {it.casefold(): it for it in known}
    near = next(iter(get_close_matches(typed, names, n=1, cutoff=_SIMILARITY)), "")
    return names.get(near or next((it for it in names if _is_part(typed, it)), ""), "")


def did_you_mean(name: str, known: Iterable[str], also: Mapping[str, str] = _NO_OTHER_NAMES) -> str:
    """Return the question for the nearest known name, such as `did you mean edits?`; "" if there is none."""
    near = nearest(name, known, also)
    return f"did you mean {near}?" if near else ""


def _is_part(typed: str, known: str) -> bool:
    shorter, longer = sorted((typed, known), key=len)
    return len(shorter) >= _SHORTEST_PREFIX and longer.startswith(shorter)
