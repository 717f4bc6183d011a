"""The hints of errors speak to a program: they name methods and arguments, not buttons and commands."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.library.hints import HINTS
from agent_ls.loop.calls.approval import UnknownApprovalError
from agent_ls.loop.errors import CompactionOffError, NothingToCompactError, SessionBusyError
from agent_ls.loop.questions import UnknownQuestionError
from agent_ls.services.errors import (
    BadChoiceError,
    SessionOwnedError,
    UnappliedChangesError,
    UnknownProviderChoiceError,
    UnknownSessionError,
)
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "R5")

Use = Callable[[Any], Awaitable[object]]
OFF: dict[str, Any] = {"settings": {"context": {"compaction": "off"}}}


async def approve(session: agent_ls.AgentSession) -> None:
    session.approve("a-1", True)


async def reply(session: agent_ls.AgentSession) -> None:
    session.reply("q-1", "yes")


async def ask_twice(session: agent_ls.AgentSession) -> None:
    session.run("go")
    await session.ask("again")


USES: dict[type[Exception], tuple[dict[str, Any], Use]] = {
    UnknownApprovalError: ({}, approve),
    UnknownQuestionError: ({}, reply),
    NothingToCompactError: ({}, agent_ls.AgentSession.compact),
    CompactionOffError: (OFF, agent_ls.AgentSession.compact),
    SessionBusyError: ({}, ask_twice),
}


@pytest.mark.parametrize("kind", USES, ids=[it.__name__ for it in USES])
async def test_an_error_of_a_session_has_the_hint_for_programs(tmp_path: Path, kind: type[Exception]) -> None:
    more, use = USES[kind]
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]), **more)) as session:
        with pytest.raises(kind) as caught:
            await use(session)
    error: Any = caught.value
    assert error.hint == HINTS[kind] and error.__notes__ == [error.hint]


OPENINGS: dict[type[Exception], dict[str, Any]] = {
    UnknownSessionError: {"resume": "s-0"},
    UnknownProviderChoiceError: {"provider": "mine", "adapters": {}},
}


@pytest.mark.parametrize("kind", OPENINGS, ids=[it.__name__ for it in OPENINGS])
async def test_an_error_of_opening_has_the_hint_for_programs(tmp_path: Path, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        await agent_ls.open_session(**options(tmp_path, FakeProvider()) | OPENINGS[kind])
    error: Any = caught.value
    assert error.hint == HINTS[kind]


@pytest.mark.parametrize("setting", ["maxToolRoundsPerInput", "maxTurns"])
async def test_the_hint_of_a_limit_that_is_a_setting_names_the_call_that_raises_it(
    setting: str, tmp_path: Path
) -> None:
    listed = call("list_dir", path=".")
    model = FakeProvider([listed, listed, text("Done."), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, settings={setting: 1})) as session:
        with pytest.raises(agent_ls.TurnFailedError) as caught:
            await session.ask("go")
        assert f'configure(settings={{"{setting}": ' in caught.value.hint
        with pytest.raises(BadChoiceError) as wrong:
            await session.configure(limits={setting: 9})
        assert wrong.value.hint == f'pass it by settings={{"{setting}": 9}}'
        await session.configure(settings={setting: 9})
        assert await session.ask("go") == "Done."


async def test_a_session_of_a_provider_that_is_not_passed_again_is_refused(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([text("One.")])) | {"provider": "mine"}
    given["adapters"] = {"mine": FakeProvider([text("One.")])}
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
    with pytest.raises(UnknownProviderChoiceError) as caught:
        await agent_ls.open_session(**given | {"adapters": {}, "provider": "", "resume": session.id})
    assert not str(caught.value).endswith(".")


async def test_resuming_what_is_not_stored_names_the_two_arguments(tmp_path: Path) -> None:
    with pytest.raises(BadChoiceError, match="stored=False"):
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), resume="s-0", stored=False))


def test_the_hints_name_what_exists() -> None:
    for kind, hint in HINTS.items():
        for name in ("follow_up", "interrupt", "pending", "bring_changes", "configure", "wait_until_idle"):
            assert name not in hint or hasattr(agent_ls.AgentSession, name), kind
    given = {*inspect.signature(agent_ls.open_session).parameters}
    assert {"state_dir", "personal", "adapters"} <= given
    assert {SessionOwnedError, UnappliedChangesError} <= {*HINTS}


@pytest.mark.req("T11")
async def test_a_warning_about_an_mcp_server_names_no_editor(tmp_path: Path) -> None:
    servers = {"mcp": {"servers": {"one": {"command": "/no/such/program"}}}}
    given = options(tmp_path, FakeProvider([text("Hi.")]), trusted=True, settings=servers)
    async with agent_ls.open_session(**given, approve=lambda request: True) as session:
        events = [event async for event in session.run("go")]
    warned = [event.message for event in events if isinstance(event, agent_ls.Warning)]
    assert any("agent-ls mcp test one" in message for message in warned), warned
    assert not any(name in message for message in warned for name in ("Neovim", "VS Code", "AgentLs"))
