from __future__ import annotations

from typing import get_args

import pytest

from agent_ls.environments.effects import FetchEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Judgement, Mode, Refuse, Situation

pytestmark = pytest.mark.req("P4", "X8")
PAGE = FetchEffect("https://docs.example/a?b=c")
ROUTER = FetchEffect("http://router.example:8080/", "192.168.1.1")


def judged(effect: FetchEffect, *grants: str, mode: Mode = "ask") -> Judgement:
    return judge(effect, Situation(mode, Places(("/w",), "/home/u"), frozenset(grants)))


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("effect", [PAGE, ROUTER])
def test_fetch_without_a_rule_needs_approval_and_is_refused_in_plan_mode(
    effect: FetchEffect, mode: Mode
) -> None:
    assert isinstance(judged(effect, mode=mode), Refuse if mode == "plan" else Ask)


def test_fetch_when_the_workspace_is_not_trusted_then_is_refused() -> None:
    places = Places(("/w",), "/home/u")
    judgement = judge(PAGE, Situation("full", places, frozenset(("fetch:docs.example",)), is_trusted=False))
    assert isinstance(judgement, Refuse) and "trusted" in judgement.reason


def test_fetch_approval_offers_a_host_rule_and_for_private_networks_only_per_session() -> None:
    asked, private = judged(PAGE), judged(ROUTER)
    assert isinstance(asked, Ask) and isinstance(private, Ask)
    assert [(rule.id, rule.scope) for rule in asked.rules] == [
        ("fetch:docs.example", scope) for scope in ("session", "project", "user")
    ]
    assert [(rule.id, rule.scope) for rule in private.rules] == [
        ("fetch:router.example:8080@192.168.1.1", "session")
    ]
    assert "private network (192.168.1.1)" in private.reason


@pytest.mark.parametrize(
    ("effect", "grant", "is_allowed"),
    [
        pytest.param(PAGE, "fetch:docs.example", True, id="host"),
        pytest.param(FetchEffect("http://docs.example:80/"), "fetch:docs.example", True, id="usual-port"),
        pytest.param(FetchEffect("https://DOCS.example./x"), "fetch:docs.example", True, id="same-name"),
        pytest.param(FetchEffect("https://docs.example:8443/"), "fetch:docs.example", False, id="other-port"),
        pytest.param(FetchEffect("https://a.docs.example/"), "fetch:docs.example", False, id="host-below"),
        pytest.param(
            FetchEffect("https://docs.example.evil/"), "fetch:docs.example", False, id="host-beside"
        ),
        pytest.param(
            FetchEffect("https://docs.example@evil/"), "fetch:docs.example", False, id="name-for-host"
        ),
        pytest.param(ROUTER, "fetch:router.example:8080", False, id="became-private"),
        pytest.param(ROUTER, "fetch:router.example:8080@192.168.1.2", False, id="moved"),
        pytest.param(ROUTER, "fetch:router.example:8080@192.168.1.1", True, id="private"),
    ],
)
def test_fetch_rule_covers_exactly_its_host_and_port(
    effect: FetchEffect, grant: str, is_allowed: bool
) -> None:
    assert isinstance(judged(effect, grant, mode="full"), Allow if is_allowed else Ask)


def test_fetch_digest_differs_by_url_and_by_address() -> None:
    effects = (PAGE, ROUTER, FetchEffect(ROUTER.url), FetchEffect(PAGE.url + "d"))
    assert len({effect.digest for effect in effects}) == len(effects)
