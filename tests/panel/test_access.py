"""Tokens, cookies, hosts and origins that a panel accepts."""

from __future__ import annotations

import pytest

from agent_ls.panel.access import Access, is_loopback_host, is_own_origin

pytestmark = pytest.mark.req("H29")


def test_token_is_exchanged_for_a_cookie_once() -> None:
    access = Access(4711)
    token = access.new_token()
    cookie = access.redeem(token)
    assert cookie and access.has_cookie(f"other=1; agent-ls-panel-4711={cookie}")
    assert access.redeem(token) is None
    assert access.set_cookie(cookie).endswith("; Path=/; HttpOnly; SameSite=Strict")


def test_cookie_of_another_panel_is_refused() -> None:
    one, other = Access(1), Access(1)
    cookie = one.redeem(one.new_token())
    assert not other.has_cookie(f"{other.cookie_name}={cookie}")


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost", "localhost:9999", "[::1]:80", "127.1.2.3"])
def test_loopback_hosts_are_accepted_with_any_port(host: str) -> None:
    assert is_loopback_host(host)


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("http://127.0.0.1:80", True), ("http://127.0.0.1:81", False), ("https://127.0.0.1:80", False),
        ("http://localhost:80", False), ("null", False), ("", False),
    ],
)  # fmt: skip
def test_origin_must_equal_the_panels_own_scheme_host_and_port(origin: str, *, is_own: bool) -> None:
    assert is_own_origin({"Host": "127.0.0.1:80", "Origin": origin}) is is_own
