"""Accept or revert whole hunks of a ledger in one call."""

from __future__ import annotations

from collections.abc import Collection

from agent_ls.review.decisions import Decision, apply_decision
from agent_ls.review.ledger import FileLedger, LedgerChange


def keep_hunks(ledger: FileLedger, ids: Collection[str]) -> LedgerChange:
    """Accept the current text of these hunks."""
    return apply_decision(ledger, Decision(frozenset(ids), "kept"))


def undo_hunks(ledger: FileLedger, ids: Collection[str]) -> LedgerChange:
    """Revert these hunks."""
    return apply_decision(ledger, Decision(frozenset(ids), "undone"))
