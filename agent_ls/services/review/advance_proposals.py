"""Pure: transitions of a file's proposals, part of `advance`.

Each function returns the file's next value and the effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.proposals import rebase_group
from agent_ls.services.review.change_events import build_proposed_hunk
from agent_ls.services.review.effects import By, Effect, JudgeHunk, PublishProposed, TextsChanged
from agent_ls.services.review.proposal_notes import JudgedHunk
from agent_ls.services.review.reviewed_file import Proposal, ReviewedFile

Advanced: TypeAlias = tuple[ReviewedFile, Sequence[Effect]]


def add_proposal(file: ReviewedFile, proposal: Proposal, by: By) -> Advanced:
    """Add a proposal, and publish hunks that have not been published yet."""
    number = 1 + max((it.number for it in file.proposals), default=0)
    proposal = replace(proposal, number=number)
    file, effects = publish_news(replace(file, proposals=(*file.proposals, proposal)), proposal, by)
    file, more = remove_decided(file)
    return file, (*effects, *more)


def compare_proposals(file: ReviewedFile) -> Advanced:
    """Compare all proposals with the file's text, except a proposal that is being written."""
    effects: list[Effect] = []
    text, path = file.ledger.current_text, file.path
    for proposal in file.proposals:
        if file.pending_write and file.pending_write.number == proposal.number:
            continue
        moved = replace(proposal, groups=tuple(rebase_group(group, text) for group in proposal.groups))
        news = _find_news(moved)
        file, published = publish_news(file, moved, "editor")
        effects += published
        for hunk in news:
            if hunk.state == "kept":
                shown = build_proposed_hunk(file.ledger, hunk)
                effects.append(JudgeHunk(*proposal.call, JudgedHunk(path, shown, "made")))
    file, more = remove_decided(file)
    return file, (*effects, *more)


def publish_news(file: ReviewedFile, proposal: Proposal, by: By, comment: str = "") -> Advanced:
    """Replace a proposal by its new version, and publish the hunks that differ from what clients know."""
    news = _find_news(proposal)
    proposal = replace(proposal, published=_get_displayed(proposal))
    proposals = tuple(proposal if it.number == proposal.number else it for it in file.proposals)
    file = replace(file, proposals=proposals)
    if not news:
        return file, ()
    shown = tuple(build_proposed_hunk(file.ledger, hunk) for hunk in news)
    return file, (PublishProposed(proposal.call[0], shown, by, comment),)


def _find_news(proposal: Proposal) -> list[LedgerHunk]:
    now = _get_displayed(proposal)
    return [hunk for hunk in proposal.hunks if proposal.published.get(hunk.id) != now[hunk.id]]


def _get_displayed(proposal: Proposal) -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return {hunk.id: (hunk.state, hunk.base_lines, hunk.agent_lines) for hunk in proposal.hunks}


def remove_decided(file: ReviewedFile) -> Advanced:
    """Remove proposals without pending hunks; remember the final states of their hunks."""
    states = {hunk.id: hunk.state for proposal in file.proposals for hunk in proposal.hunks}
    news = {id_: state for id_, state in states.items() if file.decided.get(id_) != state}
    written = file.pending_write.number if file.pending_write else None  # may still be taken back
    left = tuple(it for it in file.proposals if it.pending_hunks or it.number == written)
    decided = {**file.decided, **news} if news else file.decided
    return replace(file, proposals=left, decided=decided), (TextsChanged(),)
