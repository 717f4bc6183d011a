"""Logins at MCP servers that broke other clients, each in its smallest form, at a server on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.mcp.logins import asked_for, entry_of, logged_in, tried
from tests.mcp.oauth_server import METADATA, OPENID, PRM, LoginOddities, login_server

pytestmark = pytest.mark.req("T11")

PLACE = "/eve/v1/.well-known/oauth-protected-resource"
AT_PLACE = f"{{at}}{PLACE}"
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
        pytest.param(
            challenged(f'Bearer resource_metadata = "{AT_PLACE}"'),
            id="blanks",
            marks=pytest.mark.report(
                "vercel-labs/fx#481",
                "the metadata is only where the challenge says, and the login does not find it",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            challenged(f"Bearer resource_metadata='{AT_PLACE}'"),
            id="single quotes",
            marks=pytest.mark.report(
                "QwenLM/qwen-code#5343",
                "blanks and single quotes in a challenge hide where the metadata is",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(challenged(f"BEARER Resource_Metadata={AT_PLACE}, error=x"), id="no quotes"),
        pytest.param(
            challenged(f'Bearer realm="a resource_metadata=b, c", resource_metadata="{AT_PLACE}"'),
            id="in a text",
            marks=pytest.mark.report(
                "QwenLM/qwen-code#5344",
                "the text of another parameter is taken for the address of the metadata",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            LoginOddities(
                challenges=[
                    f'Bearer realm="x", resource_metadata="{{at}}{PRM}", resource_metadata="{{at}}{PRM}/mcp"'
                ]
            ),
            id="two addresses",
            marks=pytest.mark.report(
                "getsentry/sentry-mcp#939",
                "a challenge names two addresses of metadata, and the first one does not exist",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            challenged(f'Basic realm="a, b", Bearer resource_metadata="{AT_PLACE}"', 'Digest realm="c"'),
            id="several schemes",
            marks=pytest.mark.report(
                "btsouth/toolport#598",
                "challenges of several schemes are mixed up",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            LoginOddities(challenges=["Bearer"], resource_at=[PRM]),
            id="root",
            marks=pytest.mark.report(
                "archestra-ai/archestra#7246",
                "metadata at the root of the server only is not found",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(LoginOddities(challenges=[], resource_at=[]), id="no metadata of the resource"),
        pytest.param(
            issued("", "/"),
            id="slash of the issuer",
            marks=pytest.mark.report(
                "anomalyco/opencode#50036",
                "the issuer ends with a slash that the list of login servers does not have",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            issued("/", ""),
            id="slash in the list",
            marks=pytest.mark.report(
                "github/copilot-cli#4606",
                "the list of login servers has a slash that the issuer does not have",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            issued("/oauth2/", "/oauth2/", METADATA + "/oauth2"),
            id="slash behind a path",
            marks=pytest.mark.report(
                "openai/codex#37373",
                "the slash behind the path of an issuer is dropped, and then misses",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(issued("/oauth2", "/oauth2/", METADATA + "/oauth2"), id="slash of a path"),
        pytest.param(
            issued("/realms/t", "/realms/t", "/realms/t" + OPENID),
            id="metadata behind the path",
            marks=pytest.mark.report(
                "modelcontextprotocol/inspector#2296",
                "metadata behind the path of the login server is not found",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            issued("", "", OPENID),
            id="openid",
            marks=pytest.mark.report(
                "modelcontextprotocol/typescript-sdk#616",
                "a login server has metadata in the form of OpenID only",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            LoginOddities(metadata={"code_challenge_methods_supported": None}),
            id="no pkce",
            marks=pytest.mark.report(
                "vercel/ai#18674",
                "a login server that does not announce PKCE is refused, although it knows it",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            LoginOddities(metadata={"scopes_supported": "a b", "service_documentation": "no address"}),
            id="odd metadata",
        ),
        pytest.param(
            LoginOddities(is_form=True),
            id="form",
            marks=pytest.mark.report(
                "modelcontextprotocol/typescript-sdk#759",
                "tokens in the form of a query cannot be read",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            LoginOddities(tokens={"expires_in": "5250", "ext_expires_in": "5250"}),
            id="lifetime as text",
            marks=pytest.mark.report(
                "LibreChat-AI/librechat.ai#420",
                "the lifetime of a token is a text, and the login fails",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(LoginOddities(tokens={"expires_in": 5250.5, "scope": ["a", "b"]}), id="odd tokens"),
        pytest.param(
            LoginOddities(tokens={"expires_in": 0}),
            id="no lifetime",
            marks=pytest.mark.report(
                "QwenLM/qwen-code#5355",
                "a lifetime of 0 s counts as no end, and the token is never renewed",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            LoginOddities(tokens={"expires_in": None, "token_type": "bearer"}),
            id="lifetime unknown",
            marks=[
                pytest.mark.report(
                    "danny-avila/LibreChat#13248",
                    "a token of unknown lifetime is never renewed",
                    area="mcp",
                    before="failed",
                ),
                pytest.mark.report(
                    "desplega-ai/agent-swarm#368",
                    "the kind of a token is sent in lower case, and the server refuses it",
                    area="mcp",
                    before="passed",
                ),
            ],
        ),
        pytest.param(
            LoginOddities(refreshed={"refresh_token": None}),
            id="kept refresh token",
            marks=pytest.mark.report(
                "modelcontextprotocol/rust-sdk#921",
                "a renewal that names no new refresh token loses the old one",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            LoginOddities(
                token_at="/oauth2/api/v1/token", authorize_at="/oauth2/go", register_at="/oauth2/new"
            ),
            id="paths",
            marks=pytest.mark.report(
                "modelcontextprotocol/python-sdk#3240",
                "after a restart a token is renewed at an address that was guessed",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            LoginOddities(refusal=(400, "application/json", b'{"error": "invalid_token"}')),
            id="400",
            marks=pytest.mark.report(
                "2anki/2anki.net#4488",
                "a token that has expired is refused with 400, and is never renewed",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            LoginOddities(registers_with=200),
            id="200",
            marks=pytest.mark.report(
                "GluuFederation/oxAuth#1790",
                "a registration is answered with 200",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
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
            marks=pytest.mark.report(
                "matrix-org/matrix-authentication-service#2848",
                "a registration is answered with an id only",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            LoginOddities(
                registered={"client_uri": "", "contacts": "a@b", "scope": ["a"], "client_id_issued_at": "now"}
            ),
            id="odd registration",
        ),
        pytest.param(
            registered(POST, token_endpoint_auth_method=POST),
            id="post",
            marks=pytest.mark.report(
                "openai/codex#40928",
                "the secret of a client is sent in another way than the server has said",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            registered(BASIC, token_endpoint_auth_method=BASIC),
            id="basic",
            marks=pytest.mark.report(
                "BerriAI/litellm#31635",
                "a secret with a colon is not encoded in the header",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            registered(BASIC, token_endpoint_auth_method=None, client_secret_expires_at=None),
            id="basic, not said",
            marks=pytest.mark.report(
                "cloudflare/workers-oauth-provider#164",
                "a registration with a secret that does not say until when",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            registered(POST, token_endpoint_auth_method=BASIC),
            id="says basic, knows post",
            marks=pytest.mark.report(
                "archestra-ai/archestra#7977",
                "a login server announces a header for the secret and reads only the body",
                area="mcp",
                before="failed",
            ),
        ),
        pytest.param(
            LoginOddities(resource={"resource": "{at}"}),
            id="origin",
            marks=pytest.mark.report(
                "agentconnect-md/agentconnect#2119",
                "the metadata names the origin, and not the address of the server",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(LoginOddities(resource={"authorization_servers": None}), id="no list"),
        pytest.param(
            LoginOddities(header=("CF-Access-Client-Id", "me")),
            id="headers of the user",
            marks=pytest.mark.report(
                "nicobailon/pi-mcp-adapter#530",
                "headers of the user are missing in the requests of the login",
                area="mcp",
                before="failed",
            ),
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
        pytest.param(
            LoginOddities(resource={"scopes_supported": ["a", "b"]}, metadata={"scopes_supported": ["c"]}),
            "a b",
            id="of the resource",
            marks=pytest.mark.report(
                "punkpeye/mcp-remote#162",
                "the permissions that the metadata of the server names are not asked for",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            LoginOddities(resource={"scopes_supported": []}, metadata={"scopes_supported": []}),
            None,
            id="none",
            marks=pytest.mark.report(
                "punkpeye/mcp-remote#216",
                "an empty list of permissions is replaced by others, which the server refuses",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            LoginOddities(
                resource={"scopes_supported": ["a"]}, metadata={"scopes_supported": ["a", "openid"]}
            ),
            "a",
            id="no other",
            marks=pytest.mark.report(
                "anthropics/claude-code#41610",
                "a permission that the login server does not name is asked for",
                area="mcp",
                before="passed",
            ),
        ),
        pytest.param(
            LoginOddities(challenges=['Bearer scope="d0:invoke"']), "d0:invoke", id="of the challenge"
        ),
    ],
)
async def test_permissions_are_asked_for_as_the_server_names_them(
    odd: LoginOddities, scope: str | None, tmp_path: Path
) -> None:
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert asked_for(seen).get("scope") == scope


@pytest.mark.report(
    "anthropics/claude-code#52871",
    "the name of the resource gets a slash that it does not have",
    area="mcp",
    before="passed",
)
@pytest.mark.report(
    "apify/mcpc#395",
    "the name of the resource is missing in a renewal, and the new token is refused",
    area="mcp",
    before="failed",
)
async def test_the_resource_is_named_as_the_server_names_it_also_in_renewals(tmp_path: Path) -> None:
    with login_server(LoginOddities(resource={"resource": "{at}"})) as seen:
        await logged_in(tmp_path, entry_of(seen))
        seen.expire()
        await tried(tmp_path, entry_of(seen))
        given = [asked_for(seen), *seen.of("/token")]
        assert [it["resource"] for it in given] == [seen.at] * 3


@pytest.mark.report(
    "apify/mcpc#269",
    "the redirect goes to 127.0.0.1, and the registered one to localhost",
    area="mcp",
    before="failed",
)
@pytest.mark.report(
    "aipoch/open-science#1562",
    "a client that was registered with a port is sent to another one",
    area="mcp",
    before="failed",
)
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
