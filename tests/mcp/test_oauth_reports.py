"""Logins at MCP servers that broke other clients, each in its smallest form, at a server on loopback."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.logins import asked_for, entry_of, logged_in, tried
from tests.mcp.oauth_server import METADATA, OPENID, PRM, LoginOddities, login_server
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

PLACE = "/eve/v1/.well-known/oauth-protected-resource"
AT_PLACE = f"{{at}}{PLACE}"
GONE = "http://127.0.0.1:9"
ELSEWHERE = LoginOddities(resource_at=[], metadata_at=[], register_at="/a", authorize_at="/b", token_at="/c")
"""A server that is no login server and names none."""
ECHOED = ("redirect_uris", "grant_types", "response_types", "client_name", "token_endpoint_auth_method")
POST, BASIC = "client_secret_post", "client_secret_basic"


def challenged(*challenges: str) -> LoginOddities:
    """Return a server whose metadata is only where its challenges say."""
    return LoginOddities(challenges=challenges, resource_at=[PLACE])


def issued(listed: str, issuer: str, *metadata_at: str) -> LoginOddities:
    """Return a server whose metadata lists one login server, which calls itself `issuer`."""
    return LoginOddities(
        resource={"authorization_servers": [f"{{at}}{listed}"]},
        metadata={"issuer": f"{{at}}{issuer}"},
        metadata_at=metadata_at or [METADATA],
    )


def registered(method: str, **members: Any) -> LoginOddities:
    """Return a server that demands that clients prove themselves in this way, and registers them with `members`."""
    return LoginOddities(method=method, registered={"client_secret": "s3:c%t", **members})


@pytest.mark.parametrize(
    "odd",
    [
        reported("vercel-labs/fx#481", challenged(f'Bearer resource_metadata = "{AT_PLACE}"'), id="blanks"),
        reported(
            "QwenLM/qwen-code#5343", challenged(f"Bearer resource_metadata='{AT_PLACE}'"), id="single quotes"
        ),
        pytest.param(challenged(f"BEARER Resource_Metadata={AT_PLACE}, error=x"), id="no quotes"),
        reported(
            "QwenLM/qwen-code#5344",
            challenged(f'Bearer realm="a resource_metadata=b, c", resource_metadata="{AT_PLACE}"'),
            id="in a text",
        ),
        reported(
            "getsentry/sentry-mcp#939",
            LoginOddities(
                challenges=[
                    f'Bearer realm="x", resource_metadata="{{at}}{PRM}", resource_metadata="{{at}}{PRM}/mcp"'
                ]
            ),
            id="two addresses",
        ),
        reported(
            "btsouth/toolport#598",
            challenged(f'Basic realm="a, b", Bearer resource_metadata="{AT_PLACE}"', 'Digest realm="c"'),
            id="several schemes",
        ),
        reported(
            "archestra-ai/archestra#7246", LoginOddities(challenges=["Bearer"], resource_at=[PRM]), id="root"
        ),
        pytest.param(LoginOddities(challenges=[], resource_at=[]), id="no metadata of the resource"),
        reported(
            "coder/xum#3734",
            LoginOddities(challenges=['Bearer realm="x"'], resource_at=[]),
            id="issuer of the origin",
        ),
        reported(
            "modelcontextprotocol/modelcontextprotocol#971", LoginOddities(challenges=[]), id="no challenge"
        ),
        reported("vercel/ai#20236", issued("/", "/"), id="slash in both"),
        reported("modelcontextprotocol/python-sdk#1919", issued("/", ""), id="slash of Google"),
        reported(
            "punkpeye/mcp-remote#292",
            LoginOddities(registered={"redirect_uris": ["https://mcp.example.com/callback"]}),
            id="another redirect",
        ),
        reported(
            "modelcontextprotocol/modelcontextprotocol#1331",
            LoginOddities(resource={"authorization_servers": [GONE, "{at}"]}),
            id="first login server is gone",
        ),
        pytest.param(
            LoginOddities(resource={"authorization_servers": [GONE, GONE, "{at}"]}), id="third login server"
        ),
        reported("anomalyco/opencode#50036", issued("", "/"), id="slash of the issuer"),
        reported("github/copilot-cli#4606", issued("/", ""), id="slash in the list"),
        reported(
            "openai/codex#37373",
            issued("/oauth2/", "/oauth2/", METADATA + "/oauth2"),
            id="slash behind a path",
        ),
        pytest.param(issued("/oauth2", "/oauth2/", METADATA + "/oauth2"), id="slash of a path"),
        reported(
            "modelcontextprotocol/inspector#2296",
            issued("/realms/t", "/realms/t", "/realms/t" + OPENID),
            id="metadata behind the path",
        ),
        reported("modelcontextprotocol/typescript-sdk#616", issued("", "", OPENID), id="openid"),
        reported(
            "vercel/ai#18674",
            LoginOddities(metadata={"code_challenge_methods_supported": None}),
            id="no pkce",
        ),
        pytest.param(
            LoginOddities(metadata={"scopes_supported": "a b", "service_documentation": "no address"}),
            id="odd metadata",
        ),
        reported("modelcontextprotocol/typescript-sdk#759", LoginOddities(is_form=True), id="form"),
        reported(
            "LibreChat-AI/librechat.ai#420",
            LoginOddities(tokens={"expires_in": "5250", "ext_expires_in": "5250"}),
            id="lifetime as text",
        ),
        pytest.param(LoginOddities(tokens={"expires_in": 5250.5, "scope": ["a", "b"]}), id="odd tokens"),
        reported("QwenLM/qwen-code#5355", LoginOddities(tokens={"expires_in": 0}), id="no lifetime"),
        pytest.param(
            LoginOddities(tokens={"expires_in": None, "token_type": "bearer"}),
            id="lifetime unknown",
            marks=[
                pytest.mark.report("danny-avila/LibreChat#13248"),
                pytest.mark.report("desplega-ai/agent-swarm#368"),
            ],
        ),
        reported(
            "modelcontextprotocol/rust-sdk#921",
            LoginOddities(refreshed={"refresh_token": None}),
            id="kept refresh token",
        ),
        reported(
            "modelcontextprotocol/python-sdk#3240",
            LoginOddities(
                token_at="/oauth2/api/v1/token", authorize_at="/oauth2/go", register_at="/oauth2/new"
            ),
            id="paths",
        ),
        reported(
            "2anki/2anki.net#4488",
            LoginOddities(refusal=(400, "application/json", b'{"error": "invalid_token"}')),
            id="400",
        ),
        reported("GluuFederation/oxAuth#1790", LoginOddities(registers_with=200), id="200"),
        reported(
            "matrix-org/matrix-authentication-service#2848",
            LoginOddities(
                registered=dict.fromkeys(
                    (
                        "redirect_uris",
                        "grant_types",
                        "response_types",
                        "client_name",
                        "token_endpoint_auth_method",
                    )
                )
            ),
            id="only an id",
        ),
        pytest.param(
            LoginOddities(
                registered={"client_uri": "", "contacts": "a@b", "scope": ["a"], "client_id_issued_at": "now"}
            ),
            id="odd registration",
        ),
        reported("openai/codex#40928", registered(POST, token_endpoint_auth_method=POST), id="post"),
        reported("BerriAI/litellm#31635", registered(BASIC, token_endpoint_auth_method=BASIC), id="basic"),
        reported(
            "cloudflare/workers-oauth-provider#164",
            registered(BASIC, token_endpoint_auth_method=None, client_secret_expires_at=None),
            id="basic, not said",
        ),
        reported(
            "archestra-ai/archestra#7977",
            registered(POST, token_endpoint_auth_method=BASIC),
            id="says basic, knows post",
        ),
        reported(
            "agentconnect-md/agentconnect#2119", LoginOddities(resource={"resource": "{at}"}), id="origin"
        ),
        pytest.param(LoginOddities(resource={"authorization_servers": None}), id="no list"),
        reported(
            "nicobailon/pi-mcp-adapter#530",
            LoginOddities(header=("CF-Access-Client-Id", "me")),
            id="headers of the user",
        ),
    ],
)
async def test_a_login_at_an_odd_server_succeeds_and_is_renewed(odd: LoginOddities, tmp_path: Path) -> None:
    with login_server(odd) as seen:
        headers = dict([odd.header]) if odd.header else {}
        entry = entry_of(seen, headers=headers)
        await logged_in(tmp_path, entry)
        assert [it.name for it in await tried(tmp_path, entry)] == ["echo"]
        for _ in range(2):
            seen.expire()
            assert [it.name for it in await tried(tmp_path, entry)] == ["echo"]
        assert len(seen.authorizations) == 1


@pytest.mark.parametrize(
    ("odd", "scope"),
    [
        reported(
            "punkpeye/mcp-remote#162",
            LoginOddities(resource={"scopes_supported": ["a", "b"]}, metadata={"scopes_supported": ["c"]}),
            "a b",
            id="of the resource",
        ),
        reported(
            "punkpeye/mcp-remote#216",
            LoginOddities(resource={"scopes_supported": []}, metadata={"scopes_supported": []}),
            None,
            id="none",
        ),
        reported(
            "anthropics/claude-code#41610",
            LoginOddities(
                resource={"scopes_supported": ["a"]}, metadata={"scopes_supported": ["a", "openid"]}
            ),
            "a",
            id="no other",
        ),
        pytest.param(
            LoginOddities(challenges=['Bearer scope="d0:invoke"']), "d0:invoke", id="of the challenge"
        ),
        reported(
            "giantswarm/mcp-debug#41",
            LoginOddities(
                challenges=['Bearer scope="files:read"'], resource={"scopes_supported": ["files:write"]}
            ),
            "files:read",
            id="challenge before metadata",
        ),
        reported(
            "evoila/meho#912",
            LoginOddities(
                resource={"scopes_supported": ["openid"]}, metadata={"scopes_supported": ["openid"]}
            ),
            "openid",
            id="no offline access",
        ),
        reported(
            "openai/codex#15643",
            LoginOddities(resource={"scopes_supported": ["of the resource"]}),
            "of the resource",
            id="only of the resource",
        ),
    ],
)
async def test_permissions_are_asked_for_as_the_server_names_them(
    odd: LoginOddities, scope: str | None, tmp_path: Path
) -> None:
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert asked_for(seen).get("scope") == scope


@pytest.mark.report("better-auth/better-auth#3411")
async def test_offline_access_is_asked_for_with_consent(tmp_path: Path) -> None:
    scopes = {"scopes_supported": ["openid", "offline_access"]}
    with login_server(LoginOddities(resource=scopes, metadata=scopes)) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert asked_for(seen)["prompt"] == "consent" and "offline_access" in asked_for(seen)["scope"]


NAMED = 'Bearer error="invalid_request", resource_metadata="{at}/.well-known/oauth-protected-resource/mcp"'


@pytest.mark.parametrize(
    ("changes", "oauth"),
    [
        reported(
            "punkpeye/mcp-remote#192", {"challenges": [NAMED], "resource_at": [f"{PRM}/mcp"]}, {}, id="named"
        ),
        reported(
            "BuilderIO/agent-native#5268", {}, {"authServerMetadataUrl": f"{{at}}{METADATA}"}, id="address"
        ),
        pytest.param({}, {"issuer": "{at}/"}, id="issuer"),
        pytest.param(
            {"resource_at": [f"{PRM}/mcp"]}, {"authorizationServerUrl": "{at}"}, id="other than named"
        ),
        pytest.param({}, {"tokenUrl": "{at}/token"}, id="address of tokens"),
    ],
)
async def test_the_login_server_is_another_host(
    changes: dict[str, Any], oauth: dict[str, str], tmp_path: Path
) -> None:
    with login_server(LoginOddities()) as other:
        named = {"authorization_servers": [GONE if oauth else other.at]}
        with login_server(replace(ELSEWHERE, resource=named, **changes)) as seen:
            seen.valid = other.valid
            entry = entry_of(seen, oauth={key: it.replace("{at}", other.at) for key, it in oauth.items()})
            await logged_in(tmp_path, entry)
            assert await tried(tmp_path, entry) and len(other.authorizations) == 1


async def test_the_second_login_server_is_asked_if_the_first_registers_nobody(tmp_path: Path) -> None:
    with login_server(replace(ELSEWHERE)) as first, login_server(LoginOddities()) as second:
        resource = {"authorization_servers": [first.at, second.at]}
        with login_server(replace(ELSEWHERE, resource=resource, resource_at=[f"{PRM}/mcp"])) as seen:
            seen.valid = second.valid
            await logged_in(tmp_path, entry_of(seen))
            assert await tried(tmp_path, entry_of(seen))


@pytest.mark.report("anthropics/claude-code#52871")
@pytest.mark.report("apify/mcpc#395")
async def test_the_resource_is_named_as_the_server_names_it_also_in_renewals(tmp_path: Path) -> None:
    with login_server(LoginOddities(resource={"resource": "{at}"})) as seen:
        await logged_in(tmp_path, entry_of(seen))
        seen.expire()
        await tried(tmp_path, entry_of(seen))
        given = [asked_for(seen), *seen.of("/token")]
        assert [it["resource"] for it in given] == [seen.at] * 3


@pytest.mark.report("apify/mcpc#269")
@pytest.mark.report("aipoch/open-science#1562")
@pytest.mark.parametrize("method", [POST, BASIC])
async def test_a_client_that_is_registered_beforehand_logs_in(
    method: str, tmp_path: Path, free_tcp_port: int
) -> None:
    redirect = f"http://localhost:{free_tcp_port}/back"
    odd = LoginOddities(
        method=method, secret="s3c", redirects=[redirect], metadata={"registration_endpoint": None}
    )
    with login_server(odd) as seen:
        login = {"clientId": "known", "clientSecret": "${SECRET}", "redirectUri": redirect, "scopes": "x y"}
        entry = entry_of(seen, oauth=login)
        await logged_in(tmp_path, entry, {"SECRET": "s3c"})
        seen.expire()
        assert await tried(tmp_path, entry, {"SECRET": "s3c"}) and asked_for(seen)["scope"] == "x y"
