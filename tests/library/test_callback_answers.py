"""Values that callbacks return: everything but an exact yes is a no, which names the callback and the value."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.loop.events.types import ApprovalResolved, Warning
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "H18", "X8")

DEADLINE_S = 240
SHELL = call("shell", command="touch made")
WRITE = call("write_file", file_path="made", content="x\n")


@agent_ls.tool(category="write")
def send() -> str:
    """Send it."""
    return "sent"


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


UNFIT: list[Any] = [
    pytest.param(WRITE, {}, answer("allow", command="echo 1"), id="command for a write"),
    pytest.param(SHELL, {}, answer("deny", command="echo 1"), id="denied command"),
    pytest.param(SHELL, {}, answer("allow", command="  "), id="blank command"),
    pytest.param(
        call("send"), {"tools": [send]}, answer("allow", command="ls"), id="command for an own tool"
    ),
    pytest.param(SHELL, {}, answer("allow", scope="session", rule_id="zz"), id="unknown rule"),
    pytest.param(SHELL, {}, answer("allow", rule_id="zz"), id="rule without a scope"),
    pytest.param(SHELL, {}, answer("allow", scope="session"), id="scope without a rule"),
    pytest.param(WRITE, {}, "wide", id="a scope wider than the rule's"),
]


def widened(request: agent_ls.ApprovalRequested) -> agent_ls.ApprovalAnswer:
    """Return an answer with a rule of the request, for longer than the rule is offered."""
    rule = next(it for it in request.rules if it.scope == "session")
    return answer("allow", scope="user", rule_id=rule.id)


@pytest.mark.parametrize(("wait", "given", "value"), UNFIT)
async def test_an_answer_that_does_not_fit_the_request_is_a_denial_with_the_reason(
    wait: Any, given: dict[str, Any], value: Any, tmp_path: Path
) -> None:
    model = script(wait)
    approve = widened if value == "wide" else lambda request: value
    events = await events_of(options(tmp_path, model, approve=approve, **given))
    assert made(tmp_path) == [] and decisions(events) == ["deny"]
    assert "the `approve` callback of the program returned" in reason_of(model)


async def test_an_answer_with_a_rule_of_the_request_allows_alike_calls(tmp_path: Path) -> None:
    asked: list[agent_ls.ApprovalRequested] = []

    def approve(request: agent_ls.ApprovalRequested) -> agent_ls.ApprovalAnswer:
        asked.append(request)
        rule = next(it for it in request.rules if it.scope == "session")
        return answer("allow", scope=rule.scope, rule_id=rule.id)

    other = call("write_file", file_path="other", content="y\n")
    await events_of(options(tmp_path, script(WRITE, other), approve=approve))
    assert len(asked) == 1 and sorted(made(tmp_path)) == ["made", "other"]


async def test_a_session_that_has_ended_is_not_busy(tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE_S):
        session = await agent_ls.open_session(**options(tmp_path, FakeProvider([SHELL]), answers_later=True))
        async for event in session.run("go"):
            if isinstance(event, agent_ls.ApprovalRequested):
                break
        assert session.is_busy and session.pending()
        await session.close()
    assert session.state == "CLOSED" and not session.is_busy


READ = call("read_file", file_path="none")
LIMITED = {"settings": {"limits": {"tokensPerInput": 1}}}
BEFORE = {"mode": "edits", "review": "before"}
ASK = call("ask_user", question="Which colour?", choices=["red", "blue"])
NOT_BOOLS: list[Any] = ["yes", "keep", 1, None, [True]]


@pytest.mark.parametrize(
    ("name", "wait", "given", "value"),
    [
        *(("extend_limit", READ, LIMITED, value) for value in NOT_BOOLS),
        *(("review_changes", WRITE, BEFORE, value) for value in NOT_BOOLS),
        *(("answer", ASK, {}, value) for value in (5, True, {"red"}, range(3), ["red", 5], ["red", "blue"])),
    ],
    ids=str,
)
async def test_other_callbacks_that_return_a_wrong_value_decline_with_a_reason(
    name: str, wait: Any, given: dict[str, Any], value: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = script(wait)
    if name == "extend_limit":
        model = FakeProvider([wait, text("Still here.")])
    events = await events_of(options(tmp_path, model, **{name: lambda asked: value}, **given))
    assert made(tmp_path) == []
    (warning,) = (event for event in events if isinstance(event, Warning))
    assert warning.code == "program" and f"the `{name}` callback of the program returned" in warning.message
    assert [it.levelno for it in caplog.records if f"`{name}` callback" in it.message] == [logging.ERROR]
    if name != "extend_limit":
        assert f"the `{name}` callback of the program returned" in reason_of(model)


async def test_the_model_reads_that_the_review_callback_raised(tmp_path: Path) -> None:
    def review(hunks: object) -> bool:
        raise OSError("no reviewer")

    model = script(WRITE)
    await events_of(options(tmp_path, model, **BEFORE, review_changes=review))
    assert "`review_changes` callback of the program raised OSError: no reviewer" in reason_of(model)


NO_PARAMETER: list[Callable[..., Any]] = [lambda: True, lambda a, b: True, lambda *, request: True]


@pytest.mark.parametrize("callback", NO_PARAMETER, ids=["none", "two", "by name"])
@pytest.mark.parametrize("name", ["approve", "answer", "extend_limit", "review_changes"])
async def test_a_callback_that_takes_no_request_is_refused_at_the_opening(
    name: str, callback: Callable[..., Any], tmp_path: Path
) -> None:
    with pytest.raises(agent_ls.AppError, match=name):
        await agent_ls.open_session(**options(tmp_path, FakeProvider([]), **{name: callback}))


@pytest.mark.parametrize(
    "callback", [bool, lambda request, more=None: True, lambda *args: True], ids=["bool", "default", "any"]
)
async def test_a_callback_with_defaults_or_without_a_signature_is_used(callback: Any, tmp_path: Path) -> None:
    events = await events_of(options(tmp_path, script(SHELL), approve=callback))
    assert decisions(events) == ["allow"] and made(tmp_path) == ["made"]


async def test_the_method_refuses_a_command_that_does_not_fit_and_the_request_stays(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([WRITE]), answers_later=True)
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**given) as session:
            async for event in session.run("go"):
                if isinstance(event, agent_ls.ApprovalRequested):
                    with pytest.raises(agent_ls.BadReplacementError):
                        session.approve(event.request_id, answer("allow", command="echo 1"))
                    assert session.pending() == (event,)
                    break
