"""OAuth tokens of HTTP servers belong to one address. Another address, even with the same server name, gets none."""

from __future__ import annotations

import pytest

from agent_ls.mcp.login_store import KeptLogin, LoginStore, name_of
from tests.mcp.conformance_client import Kept

pytestmark = pytest.mark.req("T11", "H17")

URL = "https://issues.example/mcp"


async def test_an_oauth_token_is_returned_only_for_its_own_server_url_and_registered_as_secret() -> None:
    secrets, hidden = Kept(), list[str]()
    tokens = LoginStore(URL, secrets, hidden.extend)
    await tokens.keep(KeptLogin("token-of-issues", "refresh-of-issues"))

    again = await LoginStore(URL, secrets, hidden.extend).read()
    assert again and again.access == "token-of-issues"
    assert set(hidden) >= {"token-of-issues", "refresh-of-issues"}
    other = "https://evil.example/mcp"
    assert await LoginStore(other, secrets, hidden.extend).read() is None
    # Not even if the stored entry is copied to the name of another address.
    secrets.put(name_of(other), secrets.secret(name_of(URL)))
    assert await LoginStore(other, secrets, hidden.extend).read() is None


async def test_a_forgotten_login_leaves_no_token() -> None:
    secrets = Kept()
    tokens = LoginStore(URL, secrets, lambda values: None)
    await tokens.keep(KeptLogin("token-of-issues"))
    await tokens.forget()
    assert await tokens.read() is None and not secrets.kept
