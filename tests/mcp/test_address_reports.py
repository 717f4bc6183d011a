"""Servers by HTTP and their logins in public reports, each in its smallest form."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.config import parse_server
from agent_ls.services.errors import AppError
from tests.mcp.logins import asked_for, entry_of, logged_in, tried
from tests.mcp.oauth_server import METADATA, PRM, LoginOddities, login_server
from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import user_file
from tests.mcp.rig import running, until_state
from tests.mcp.test_http_reports import check_new_sessions
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")


ODD = {
    "temporary": Oddities(path="/mcp/"),
    "permanent": Oddities(of_post={"initialize": [(308, {"location": "/mcp"}, "")]}),
    "no content": Oddities(of_notice=(204, b"")),
    "words": Oddities(of_notice=(200, b"No response")),
    "null": Oddities(of_notice=(200, b"null")),
    "no stream": Oddities(of_get=405),
    "in use": Oddities(
        of_get=400, get_body='{"error": "session already exists"}', get_kind="application/json"
    ),
}


@pytest.mark.report("opensearch-project/opensearch-mcp-server-py#271")  # fmt: skip
@pytest.mark.report("anomalyco/opencode#6247")  # fmt: skip
@pytest.mark.report("epam/ai-dial-core#1667")  # fmt: skip
@pytest.mark.report("metorial/metorial-platform#444")  # fmt: skip
@pytest.mark.report("justadityaraj/shim-mcp#8")  # fmt: skip
@pytest.mark.report("weaviate/weaviate#12789")  # fmt: skip
async def test_servers_with_redirects_and_odd_statuses_are_used(tmp_path: Path) -> None:
    with ExitStack() as open_servers:
        urls = {name: open_servers.enter_context(odd_server(odd)) for name, odd in ODD.items()}
        user_file(tmp_path / "state", **{name: {"url": url} for name, url in urls.items()})
        script: list[Piece] = [*(tool_call(f"{it.replace(' ', '_')}__echo") for it in ODD), text("done")]
        async with running(tmp_path, script) as rig:
            await (await rig.talk("full")).say("go")
            said = {name: it.content for name, it in zip(ODD, rig.results(), strict=True)}
    assert said == dict.fromkeys(ODD, "called 1")


@pytest.mark.report("modelcontextprotocol/modelcontextprotocol#2755")  # fmt: skip
async def test_the_target_of_a_redirect_that_turns_a_request_into_get_is_named(tmp_path: Path) -> None:
    answers = [(301, {"location": "https://a.example/mcp"}, "")]
    with odd_server(Oddities(of_post={"server/discover": answers, "initialize": [*answers]})) as url:
        with pytest.raises(AppError, match=r"https://a\.example/mcp"):
            await tried(tmp_path, parse_server("odd", {"url": url}, "user"))


LOST = {
    "invalid": Oddities(lost=200,
        lost_body=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid or expired session"}}'),
    "numbered": Oddities(lost=200,
        lost_body=b'{"jsonrpc":"2.0","id":{id},"error":{"code":-32602,"message":"Unknown session"}}'),
    "found": Oddities(lost=200,
        lost_body=b'{"jsonrpc":"2.0","id":{id},"error":{"code":-32600,"message":"Bad Request: Session not found"}}'),
}  # fmt: skip


@pytest.mark.report("justadityaraj/shim-mcp#8")  # fmt: skip
async def test_a_lost_session_in_an_answer_about_parameters_is_begun_anew(tmp_path: Path) -> None:
    await check_new_sessions(tmp_path, LOST)


@pytest.mark.report("ballerina-platform/ballerina-library#9161")  # fmt: skip
async def test_a_server_that_refuses_the_end_of_a_session_is_left_without_a_word(tmp_path: Path) -> None:
    with odd_server(odd := Oddities()) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), text("done")]) as rig:
            talk = await rig.talk("full", say="go")
            await until_state(talk, "odd", "running")
    assert any(it.startswith("DELETE s") for it in odd.made)


ORIGIN = {"resource": "{at}"}
LOGINS: list[Any] = [
    reported("PrimeIntellect-ai/prime-agent#2357", LoginOddities(resource=ORIGIN)),
    reported("akutishevsky/nutrition-mcp#51", LoginOddities(challenges=("Bearer",), resource_at=(PRM,))),
    reported("exa-labs/exa-mcp-server#387", LoginOddities(challenges=("Bearer",), resource_at=(PRM + "/mcp",))),
    pytest.param(LoginOddities(challenges=(), resource_at=(), metadata_at=(METADATA,)), id="no document"),
    pytest.param(LoginOddities(tokens={"token_type": None, "expires_in": "3600"}), id="no type"),
    pytest.param(LoginOddities(tokens={"expires_in": None, "token_type": "bearer"}), id="no end"),
]  # fmt: skip


@pytest.mark.parametrize("odd", LOGINS)
async def test_a_login_finds_what_it_needs(odd: LoginOddities, tmp_path: Path) -> None:
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert await tried(tmp_path, entry_of(seen)) and asked_for(seen)["client_id"]


RENEWED: list[Any] = [
    reported("onyx-dot-app/onyx#13330", LoginOddities(is_form=True)),
    reported("dust-tt/dust#22773", LoginOddities(refreshed={"expires_in": None, "token_type": None})),
    reported("astashov/liftosaur#560", LoginOddities()),
]  # fmt: skip


@pytest.mark.parametrize("odd", RENEWED)
async def test_a_login_is_renewed_twice_in_each_form_of_answers(odd: LoginOddities, tmp_path: Path) -> None:
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        for _ in range(2):
            seen.expire()
            assert await tried(tmp_path, entry_of(seen))
        assert len(seen.authorizations) == 1
