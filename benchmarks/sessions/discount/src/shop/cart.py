"""What somebody is about to buy."""

from __future__ import annotations


def discount(total: float, percent: float) -> float:
    """The total with so many percent taken off."""
    return total - percent
