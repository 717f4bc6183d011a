"""Find the name that somebody meant who wrote a similar one."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """Return the known name that is most like `name`; "" if none has this similarity, from 0 to 1."""
    from difflib import get_close_matches  # imported here, because few names are wrong

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=similarity)), "")


def did_you_mean(name: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """Return the question for the nearest known name, such as `did you mean edits?`; "" if there is none."""
    near = nearest(name, known, similarity)
    return f"did you mean {near}?" if near else ""
