"""What a callback returns is checked: everything but an exact yes is a no, which names the callback and the value."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.loop.events.types import ApprovalResolved
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "H18", "X8")

DEADLINE_S = 240
SHELL = call("shell", command="touch made")
WRITE = call("write_file", file_path="made", content="x\n")


def answer(*args: Any, **given: Any) -> agent_ls.ApprovalAnswer:
    """Return an answer as a program without a type checker makes it."""
    return agent_ls.ApprovalAnswer(*args, **given)


UNUSABLE: list[Any] = [
    *(answer(decision) for decision in ("no", "Deny", "ALLOW", "allow ", "", None, False, True, 1)),
    answer("allow", "galaxy"),
    answer("allow", scope=None),
    answer("allow", reason=5),
    answer("allow", decided_by=5),
    answer("allow", rule_id=5),
    answer("allow", command=5),
    answer("allow", client_key=None),
    agent_ls.ApprovalAnswer,
    *("yes", "allow", 1, None, [True], {"decision": "allow"}),
]


async def events_of(given: dict[str, Any]) -> list[Any]:
    """Return the events of a turn, after which the session still works."""
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**given) as session:
            events: list[Any] = [event async for event in session.run("go")]
            assert await session.ask("again") == "Still here."
            return events


def script(*steps: Any) -> FakeProvider:
    return FakeProvider([*steps, text("So be it."), text("Still here.")])


def decisions(events: Sequence[Any]) -> list[str]:
    return [event.decision for event in events if isinstance(event, ApprovalResolved)]


def made(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "project").iterdir()]


def reason_of(model: FakeProvider) -> str:
    return str(model.requests[-1].messages)


@pytest.mark.parametrize("value", UNUSABLE, ids=str)
async def test_an_unusable_answer_to_an_approval_is_a_logged_denial(
    value: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = script(SHELL)
    events = await events_of(options(tmp_path, model, approve=lambda request: value))
    assert made(tmp_path) == [] and decisions(events) == ["deny"]
    assert "the `approve` callback of the program returned" in reason_of(model)
    assert [it.levelno for it in caplog.records if "`approve` callback" in it.message] == [logging.ERROR]


@pytest.mark.parametrize("value", [answer("no"), answer(None), "yes"], ids=str)
async def test_an_unusable_answer_grants_no_trust(
    value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    given = options(tmp_path, script(SHELL), mode="full", approve=lambda request: value)
    events = await events_of(given)
    assert made(tmp_path) == [] and "allow" not in decisions(events)


@pytest.mark.parametrize("value", UNUSABLE, ids=str)
async def test_the_same_answers_are_refused_by_the_method(value: Any, tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(
            **options(tmp_path, FakeProvider([SHELL]), answers_later=True)
        ) as session:
            async for event in session.run("go"):
                if isinstance(event, agent_ls.ApprovalRequested):
                    with pytest.raises(agent_ls.AppError):
                        session.approve(event.request_id, value)
                    assert session.pending() == (event,)
                    break
    assert made(tmp_path) == []
