"""Pure: decide whether a web page may be fetched. Every mode asks, because a request sends data to a server.

plan, or a workspace that is not trusted    refuse
a rule of the user allows the host          allow
everything else                             ask, and offer rules for the host; for a host in a private network
                                            only a rule for this session
"""

from __future__ import annotations

from agent_ls.addresses import split_address
from agent_ls.environments.effects import FetchEffect
from agent_ls.policy.rules import Rule
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation

FETCH = "fetch:"


def judge_fetch(effect: FetchEffect, situation: Situation) -> Judgement:
    """Decide whether a page may be fetched."""
    if why := situation.held_back:
        return Refuse(f"{why}: nothing is fetched from the web")
    site = _site(effect.url)
    rule_id = f"{FETCH}{site}@{effect.private_address}" if effect.private_address else f"{FETCH}{site}"
    if rule_id in situation.grants:
        return Allow(f"the user allowed pages of {site}", (rule_id,))
    if effect.private_address:
        why = f"{site} is in a private network ({effect.private_address})"
        label = f"Allow pages of {site} at {effect.private_address} in this session"
        return Ask(
            why, (Rule(rule_id, label, "session"),), needs_approval_in_every_mode=True, cause="network"
        )
    return Ask(
        f"the tool requests a page from {site}",
        (
            Rule(rule_id, f"Allow pages of {site} in this session", "session"),
            Rule(rule_id, f"Allow pages of {site} in this project, from now on", "project"),
            Rule(rule_id, f"Allow pages of {site} in all projects, from now on", "user"),
        ),
        needs_approval_in_every_mode=True,
        cause="network",
    )


def id_of_site(url: str) -> str:
    """Return the id of the rule for public pages of a URL's host, "" if the URL has no host."""
    parts, site = split_address(url), _site(url)
    return FETCH + site if parts.scheme in ("http", "https") and parts.hostname else ""


def _site(url: str) -> str:
    """Return the host, with the port if it is not the default."""
    parts = split_address(url)
    host = (parts.hostname or "").rstrip(".")
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return host if parts.port in (None, usual) else f"{host}:{parts.port}"
