"""Logins at MCP servers that end, are refused or run at once, as users of other clients reported them."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import anyio
import httpx2
import pytest

from agent_ls.mcp.login_store import LoginStore
from agent_ls.mcp.stored_login import StoredLogin
from agent_ls.services.errors import AppError
from tests.mcp.conformance_client import Kept
from tests.mcp.logins import asked_for, browse, entry_of, logged_in, tried
from tests.mcp.oauth_server import Answer, LoginOddities, Seen, login_server
from tests.mcp.plans import user_file
from tests.mcp.rig import running, servers_of, until_state
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

CALL = tool_call("closed__echo")
PAGE = b"<!DOCTYPE html><p>Try again later"


def refused(error: str) -> Answer:
    return 400, "application/json", f'{{"error": "{error}"}}'.encode()


async def why_not(tmp_path: Path, seen: Seen, show: object = browse, **more: object) -> str:
    """Log in, which fails; return what the user reads."""
    with pytest.raises(AppError) as failed:
        await logged_in(tmp_path, entry_of(seen, **more), {}, show)  # type: ignore[arg-type]
    return str(failed.value)


# --- logins that fail


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        reported(
            "modelcontextprotocol/inspector#167",
            LoginOddities(metadata={"registration_endpoint": None}, register_at="/none"),
            "oauthClientId",
            id="no registration",
        ),
        pytest.param(
            LoginOddities(registration=refused("invalid_redirect_uri")),
            "invalid_redirect_uri",
            id="registration",
        ),
        reported(
            "OpenRouterLabs/spawn#2038",
            LoginOddities(denied="The user said no"),
            "The user said no",
            id="denied",
        ),
        pytest.param(
            LoginOddities(token=(200, "application/json", b'{"error": "bad_verification_code"}')),
            "bad_verification_code",
            id="refused with 200",
        ),
        reported(
            "anthropics/claude-ai-mcp#560",
            LoginOddities(resource={"resource": "https://other.example/mcp"}),
            "https://other.example/mcp",
            id="metadata of another server",
        ),
        reported(
            "makeplane/plane-mcp-server#220",
            LoginOddities(denied="Redirect URI does not match"),
            "Redirect URI does not match",
            id="redirect",
        ),
        reported(
            "SmartBear/smartbear-mcp#682",
            LoginOddities(metadata={"issuer": "{at}/backend/oauthproxy"}),
            "backend/oauthproxy",
            id="another issuer",
        ),
        pytest.param(LoginOddities(denied="\x1b[31mno\x1b[0m"), "no", id="control characters"),
        pytest.param(LoginOddities(token=(502, "text/html", PAGE)), "502", id="page"),
        pytest.param(LoginOddities(token=(200, "text/html", PAGE)), "no token", id="page with 200"),
        pytest.param(
            LoginOddities(token=(200, "application/json", b'{"token_type": "Bearer"}')),
            "no token",
            id="no token",
        ),
    ],
)
async def test_a_login_that_fails_says_why_and_leaves_no_login(
    odd: LoginOddities, words: str, tmp_path: Path
) -> None:
    with login_server(odd) as seen:
        said = await why_not(tmp_path, seen)
        assert words in said and "DOCTYPE" not in said and said.isprintable()
        with pytest.raises(AppError):
            await tried(tmp_path, entry_of(seen))


async def test_a_login_that_cannot_be_stored_says_so(tmp_path: Path) -> None:
    (tmp_path / "state" / "mcp-keys.json").mkdir(parents=True)
    with login_server(LoginOddities()) as seen:
        assert "stored" in await why_not(tmp_path, seen)


class Full(Kept):
    """Secrets on a disk that is full."""

    def put(self, name: str, secret: str) -> None:
        raise OSError("no space left on device")


async def test_a_renewed_login_that_cannot_be_stored_is_used_by_its_session(tmp_path: Path) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen))
        secrets = Full()
        stored = json.loads((tmp_path / "state" / "mcp-keys.json").read_text("utf-8"))
        secrets.kept = stored["keys"]
        auth = StoredLogin(seen.url, LoginStore(seen.url, secrets, lambda values: None), {})
        async with httpx2.AsyncClient(auth=auth) as client:
            for _ in range(3):
                seen.expire()
                assert (await client.post(seen.url, json=message)).status_code == 200


@pytest.mark.report("NousResearch/hermes-agent#98759")
async def test_a_new_login_that_fails_keeps_the_old_one(tmp_path: Path) -> None:
    odd = LoginOddities()
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        odd.denied = "no"
        await why_not(tmp_path, seen)
        assert await tried(tmp_path, entry_of(seen))


@pytest.mark.report("BaseIntelligence/bounty-challenge#44315", "smart-mcp-proxy/mcpproxy-go#1067")
async def test_a_redirect_of_an_earlier_login_does_not_end_this_one(tmp_path: Path) -> None:
    async def with_an_old_tab(address: str) -> None:
        redirect = httpx2.URL(address).params["redirect_uri"]
        async with httpx2.AsyncClient() as browser:
            for query in ("code=old&state=old", "error=access_denied&state=old", "code=old", ""):
                assert (await browser.get(f"{redirect}?{query}")).status_code == 404
        await browse(address)

    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen), {}, with_an_old_tab)
        assert await tried(tmp_path, entry_of(seen))


@pytest.mark.report("anthropics/claude-code#43081", "anthropics/claude-code#78422")
async def test_a_browser_that_redirects_twice_ends_no_login(tmp_path: Path) -> None:
    async def twice(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            redirected = (await browser.get(address)).headers["location"]
            assert [(await browser.get(redirected)).status_code for _ in range(2)] == [200, 200]

    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen), {}, twice)
        assert await tried(tmp_path, entry_of(seen)) and {"state", "redirect_uri"} <= asked_for(seen).keys()


@pytest.mark.report("medusajs/medusa#15331")
async def test_a_refusal_without_a_state_is_told(tmp_path: Path) -> None:
    async def refuse(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            await browser.get(f"{httpx2.URL(address).params['redirect_uri']}?error=invalid_scope")

    with login_server(LoginOddities()) as seen:
        assert "invalid_scope" in await why_not(tmp_path, seen, refuse)


@pytest.mark.report("anomalyco/opencode#30888")
async def test_a_login_whose_port_is_in_use_says_so_at_once(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as seen, socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        said = await why_not(tmp_path, seen, oauth={"redirectUri": f"http://127.0.0.1:{port}/callback"})
        assert str(port) in said and not seen.authorizations


@pytest.mark.report("anthropics/claude-code#4760", "nicobailon/pi-mcp-adapter#97", "diillson/chatcli#1308")
async def test_a_new_login_registers_a_new_client(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen))
        del seen.clients["client-1"]
        seen.refreshes.clear()
        seen.expire()
        with pytest.raises(AppError):
            await tried(tmp_path, entry_of(seen))
        await logged_in(tmp_path, entry_of(seen))
        assert await tried(tmp_path, entry_of(seen))


@pytest.mark.report("microsoft/copilot-intellij-feedback#1969")
async def test_two_servers_of_one_login_server_have_their_own_logins(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as one, login_server(LoginOddities()) as two:
        shared = LoginOddities(resource={"authorization_servers": [one.at]})
        with login_server(shared) as three:
            three.valid = one.valid  # tokens of the first login server
            for seen in (one, two, three):
                await logged_in(tmp_path, entry_of(seen))
                assert await tried(tmp_path, entry_of(seen))
            assert len(one.clients) == 2 and {it["resource"] for it in one.of("/token")} == {
                one.url,
                three.url,
            }


# --- logins that end


@pytest.mark.parametrize(
    "answer",
    [
        reported("can1357/oh-my-pi#1908", refused("invalid_grant"), id="invalid_grant"),
        reported("obot-platform/obot#7501", refused("invalid_request"), id="invalid_request"),
        pytest.param((401, "application/json", b'{"error":"invalid_client"}'), id="invalid_client"),
        reported("zonlabs/mcp-ts#150", refused("Invalid refresh token"), id="words"),
        reported("PrefectHQ/fastmcp#4901", (401, "application/json", b'{"error":"invalid_grant"}'), id="401"),
    ],
)
async def test_a_login_that_has_ended_is_asked_for_once(answer: Answer, tmp_path: Path) -> None:
    with login_server(LoginOddities(refresh=answer)) as seen:
        await logged_in(tmp_path, entry_of(seen))
        seen.expire()
        user_file(tmp_path / "state", closed={"url": seen.url})
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk("full")
            await talk.say("go")
            server = await until_state(talk, "closed", "login")
            assert "mcp login closed" in server.error
        assert len(seen.of("/token")) == 2


@pytest.mark.parametrize(
    "answer", [(503, "text/html", PAGE), (400, "text/html", PAGE), (200, "text/html", PAGE)]
)
@pytest.mark.report("aaif-goose/goose#12016")
async def test_a_renewal_that_fails_for_a_moment_keeps_the_login(answer: Answer, tmp_path: Path) -> None:
    odd = LoginOddities(refresh=answer)
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        seen.expire()
        with pytest.raises(AppError) as failed:
            await tried(tmp_path, entry_of(seen))
        assert str(answer[0]) in str(failed.value)
        odd.refresh = None
        assert await tried(tmp_path, entry_of(seen))


@pytest.mark.report("anthropics/claude-code#84440")
async def test_several_sessions_renew_one_login_in_turn(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen))
        seen.expire()
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(tried, tmp_path, entry_of(seen))
        assert len(seen.of("/token")) == 2


# --- within a session


async def results_of(tmp_path: Path, seen: Seen, *between: object) -> list[str]:
    """Call the tool once before and once after each of `between` runs, in one session; return the results."""
    user_file(tmp_path / "state", closed={"url": seen.url})
    script: list[Piece] = [piece for _ in range(len(between) + 1) for piece in (CALL, text("done"))]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full")
        await talk.say("go")
        for change in between:
            change()  # type: ignore[operator]
            await talk.say("go on")
        return [str(it.content) for it in rig.results()]


@pytest.mark.report("modelcontextprotocol/typescript-sdk#2031")
async def test_a_token_that_expires_in_a_session_is_renewed_and_the_call_is_made(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert await results_of(tmp_path, seen, seen.expire, seen.expire) == [
            "called 1",
            "called 2",
            "called 3",
        ]


@pytest.mark.report("anomalyco/opencode#34074", "HQBase/hqbase#41")
async def test_calls_at_once_and_other_processes_share_one_renewal(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen))
        user_file(tmp_path / "state", closed={"url": seen.url})
        async with running(tmp_path, [CALL, text("one"), [CALL, CALL, CALL], text("two"), CALL]) as rig:
            talk = await rig.talk("full", say="go")
            seen.expire()
            await talk.say("go on")
            seen.expire()
            await tried(tmp_path, entry_of(seen))  # as another process, which renews the token
            await talk.say("go on")
            assert [str(it.content) for it in rig.results()] == [f"called {number}" for number in range(1, 6)]
        assert len(seen.of("/token")) == 3


@pytest.mark.report("anthropics/claude-code#30272")
async def test_a_login_that_is_revoked_in_a_session_is_told_to_the_model_and_shown(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as seen:
        await logged_in(tmp_path, entry_of(seen))
        user_file(tmp_path / "state", closed={"url": seen.url})
        async with running(tmp_path, [CALL, text("done"), CALL, text("done")]) as rig:
            talk = await rig.talk("full")
            await talk.say("go")
            seen.expire()
            seen.refreshes.clear()
            await talk.say("go on")
            assert "mcp login closed" in str(rig.results()[-1].content)
            assert (await until_state(talk, "closed", "login")).state == "login"


@pytest.mark.report("anomalyco/opencode#21702")
@pytest.mark.report("openai/codex#14144")
@pytest.mark.parametrize("has_login", [False, True])
async def test_a_login_in_a_terminal_is_used_with_the_next_message(tmp_path: Path, has_login: bool) -> None:
    with login_server(LoginOddities()) as seen:
        if has_login:
            await logged_in(tmp_path, entry_of(seen))
            seen.refreshes.clear()
            seen.expire()
        user_file(tmp_path / "state", closed={"url": seen.url})
        async with running(tmp_path, [text("hello"), CALL, text("done")]) as rig:
            talk = await rig.talk("full")
            await talk.say("hello")
            await until_state(talk, "closed", "login")
            await logged_in(tmp_path, entry_of(seen))
            await talk.say("go")
            assert rig.results()[0].content == "called 1"


@pytest.mark.report("modelcontextprotocol/python-sdk#3209")
async def test_an_open_stream_does_not_keep_calls_waiting(tmp_path: Path) -> None:
    with login_server(LoginOddities(holds_stream=True)) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert await results_of(tmp_path, seen, seen.expire) == ["called 1", "called 2"]
        assert seen.streams


@pytest.mark.report("liketrek/TREK#1475")
async def test_a_session_that_a_renewal_has_ended_is_begun_again(tmp_path: Path) -> None:
    with login_server(LoginOddities(ends_session=True)) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert await results_of(tmp_path, seen, seen.expire) == ["called 1", "called 2"]


@pytest.mark.report("anthropics/claude-code#44652")
@pytest.mark.report("anthropics/claude-code#68720", "anthropics/claude-code#28258")
async def test_a_permission_that_a_call_lacks_is_named_and_asked_for_by_the_next_login(
    tmp_path: Path,
) -> None:
    odd = LoginOddities(resource={"scopes_supported": ["read"]}, scope_of_calls="products:write")
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        said = await results_of(tmp_path, seen)
        assert "products:write" in said[0] and "closed" in said[0]
        await logged_in(tmp_path, entry_of(seen))
        assert asked_for(seen)["scope"] == "read products:write"
        assert await results_of(tmp_path, seen) == ["called 1"]


@pytest.mark.report("Kilo-Org/kilocode#12768")
async def test_a_refused_header_of_the_user_is_named(tmp_path: Path) -> None:
    with login_server(LoginOddities()) as seen:
        entry = {"url": seen.url, "headers": {"Authorization": "Bearer wrong"}}
        user_file(tmp_path / "state", closed=entry)
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk("full")
            await talk.say("go")
            server = servers_of(talk).server("closed")
            assert server and "Authorization" in server.error and "mcp login" not in server.error
