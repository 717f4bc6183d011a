"""Every request of a session is answered by the program or declined, so no session waits forever."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.loop.events.types import ProcessingEnd, TurnLimit, Warning
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "H18", "L15")

DEADLINE_S = 240
ASK = call("ask_user", question="Which colour?", choices=["red", "blue"])
WRITE = call("write_file", file_path="new.txt", content="x\n")


def last_request(model: FakeProvider) -> str:
    """Return the texts of the model's last request."""
    return str(model.requests[-1].messages)


WAITS: list[Any] = [
    pytest.param(ASK, {}, "did not answer", id="question"),
    pytest.param(call("shell", command="touch a"), {}, "nobody can approve", id="approval"),
    pytest.param(WRITE, {"mode": "edits", "review": "before"}, "no `review_changes`", id="proposal"),
    pytest.param(
        call("web_fetch", url="http://127.0.0.1:9/"),
        {"mode": "full", "settings": {"webFetch": True}},
        "nobody can approve",
        id="site",
    ),
]


@pytest.mark.req("H6")
@pytest.mark.parametrize(("wait", "given", "word"), WAITS)
async def test_without_callbacks_requests_are_declined_and_the_model_gets_the_reason(
    wait: Any, given: dict[str, Any], word: str, tmp_path: Path
) -> None:
    model = FakeProvider([wait, text("So be it.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, **given)) as session:
            assert await session.ask("go") == "So be it."
    assert word in last_request(model) and "Changed since you" not in last_request(model)
    assert list((tmp_path / "project").iterdir()) == []


@pytest.mark.parametrize(
    "limits", [{"tokensPerInput": 1}, {"tokensPerSession": 1}, {"secondsPerInput": 1e-9}], ids=str
)
async def test_a_limit_without_a_callback_ends_the_turn(limits: dict[str, float], tmp_path: Path) -> None:
    model = FakeProvider([call("read_file", file_path="none"), text("Never said.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, settings={"limits": limits})) as session:
            events = [event async for event in session.run("go")]
    (end,) = (event for event in events if isinstance(event, ProcessingEnd))
    assert end.reason == "limit"
    assert any(isinstance(event, TurnLimit) for event in events)


async def test_a_folder_without_a_trust_decision_is_read_only_and_does_not_block_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    model = FakeProvider([WRITE, text("I may not.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:
            assert await session.ask("go") == "I may not."
    assert list((tmp_path / "project").iterdir()) == []


async def test_session_trust_applies_to_the_following_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    model = FakeProvider([WRITE, text("I may not."), WRITE, text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:
        await session.ask("go")
        assert list((tmp_path / "project").iterdir()) == []
        await session.trust()
        assert await session.ask("again") == "Done."
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["new.txt"]


def plain(answer: Any) -> Callable[[Any], Any]:
    return lambda asked: answer


def coroutine(answer: Any) -> Callable[[Any], Any]:
    async def called(asked: Any) -> Any:
        return answer

    return called


@pytest.mark.parametrize("made", [plain, coroutine], ids=["plain", "async"])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("blue", "The user answers:\\nblue"),
        (["red"], "red"),
        (None, "did not answer"),
        ("", "did not answer"),
    ],
    ids=str,
)
async def test_the_answer_callback_answers_a_question_of_the_model(
    made: Callable[[Any], Any], answer: Any, expected: str, tmp_path: Path
) -> None:
    model = FakeProvider([ASK, text("Fine.")])
    async with agent_ls.open_session(**options(tmp_path, model, answer=made(answer))) as session:
        assert await session.ask("go") == "Fine."
    assert expected in last_request(model)


def fails(asked: object) -> Any:
    raise RuntimeError("no idea")


@pytest.mark.parametrize("answer", [fails, plain(["red", "blue"])], ids=["raises", "two answers for one"])
async def test_an_invalid_answer_callback_result_declines_the_question_with_a_warning(
    answer: Callable[[Any], Any], tmp_path: Path
) -> None:
    model = FakeProvider([ASK, text("Fine.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, answer=answer)) as session:
            events = [event async for event in session.run("go")]
    assert "did not answer" in last_request(model)
    assert [event.code for event in events if isinstance(event, Warning)] == ["program"]


async def test_a_turn_continues_past_a_limit_as_often_as_the_callback_allows(tmp_path: Path) -> None:
    asked: list[str] = []

    def extend(question: agent_ls.QuestionAsked) -> bool:
        asked.append(question.question)
        return len(asked) < 2

    model = FakeProvider([call("read_file", file_path="none")] * 5)
    given = options(tmp_path, model, extend_limit=extend, settings={"limits": {"tokensPerInput": 15}})
    async with agent_ls.open_session(**given) as session:
        events = [event async for event in session.run("go")]
    assert len(model.requests) == 2 and len(asked) == 2 and "15 tokens" in asked[0]
    assert [event.reason for event in events if isinstance(event, ProcessingEnd)] == ["limit"]


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
@pytest.mark.parametrize("goes_on", [True, False])
async def test_extend_limit_decides_whether_a_session_goes_on_without_a_log(
    goes_on: bool, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    model = FakeProvider([text("Hello."), call("shell", command="touch made"), text("Done.")])
    given = options(tmp_path, model, mode="full", state_dir=state, extend_limit=lambda question: goes_on)
    async with agent_ls.open_session(**given) as session:
        await session.ask("hello")
        shutil.rmtree(state)
        state.write_text("")  # nothing can be written there
        events = [event async for event in session.run("go")]
    reasons = [event.reason for event in events if isinstance(event, ProcessingEnd)]
    assert reasons == ["completed" if goes_on else "error"]
    assert (tmp_path / "project" / "made").exists() == goes_on


@pytest.mark.parametrize("limit", ["maxTurns", "maxToolRoundsPerInput"])
async def test_limits_of_calls_end_the_turn_without_the_callback(limit: str, tmp_path: Path) -> None:
    asked: list[object] = []
    model = FakeProvider([call("read_file", file_path="none")] * 3)
    given = options(
        tmp_path, model, extend_limit=lambda question: asked.append(question), settings={limit: 1}
    )
    async with agent_ls.open_session(**given) as session:
        events = [event async for event in session.run("go")]
    assert asked == [] and [it.reason for it in events if isinstance(it, ProcessingEnd)] == ["limit"]


async def test_ask_raises_when_a_limit_ended_the_turn(tmp_path: Path) -> None:
    model = FakeProvider([call("read_file", file_path="none")] * 2)
    given = options(tmp_path, model, settings={"limits": {"tokensPerInput": 1}})
    async with agent_ls.open_session(**given) as session:
        with pytest.raises(RuntimeError, match=r"reached: 1 token\b"):
            await session.ask("go")


@pytest.mark.req("H6")
@pytest.mark.parametrize("keeps", [True, False])
async def test_the_review_changes_callback_decides_proposed_changes(keeps: bool, tmp_path: Path) -> None:
    seen: list[tuple[str, ...]] = []

    async def review(hunks: Sequence[agent_ls.Hunk]) -> bool:
        seen.append(tuple(Path(hunk.path).name for hunk in hunks))
        return keeps

    other = call("write_file", file_path="other.txt", content="y\n")
    model = FakeProvider([WRITE, other, text("Done.")])
    given = options(tmp_path, model, mode="edits", review="before", review_changes=review)
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**given) as session:
            assert await session.ask("go") == "Done."
    assert seen == [("new.txt",), ("other.txt",)]
    names = sorted(path.name for path in (tmp_path / "project").iterdir())
    assert names == (["new.txt", "other.txt"] if keeps else [])


async def test_with_answers_later_pending_requests_are_answered_by_session_methods(tmp_path: Path) -> None:
    model = FakeProvider([ASK, call("shell", command="touch made"), WRITE, text("Done.")])
    given = options(
        tmp_path, model, review="before", answers_later=True, settings={"limits": {"tokensPerInput": 45}}
    )
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**given) as session:
            said: list[str] = []
            async for _ in session.run("go"):
                for waiting in session.pending():
                    if isinstance(waiting, agent_ls.QuestionAsked):
                        session.reply(waiting.question_id, waiting.choices[0])
                        said.append(waiting.choices[0])
                    else:
                        session.approve(waiting.request_id, True)
                        said.append(waiting.tool)
                if any(hunk.state == "proposed" for hunks in session.hunks().values() for hunk in hunks):
                    assert await session.review("keep") == []
                    said.append("keep")
    assert said == ["red", "shell", "keep", "Go on"]
    assert sorted(path.name for path in (tmp_path / "project").iterdir()) == ["made", "new.txt"]


async def test_a_second_answer_is_refused_as_long_as_the_session_lives(tmp_path: Path) -> None:
    model = FakeProvider([ASK, call("shell", command="touch made"), text("Done.")])
    refused: list[str] = []
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, answers_later=True)) as session:
            waiting: list[agent_ls.ApprovalRequested | agent_ls.QuestionAsked] = []
            async for _ in session.run("go"):
                for request in session.pending():
                    waiting.append(request)
                    answer_twice(session, request, refused)
            for request in waiting:  # also after the turn
                with pytest.raises((agent_ls.UnknownApprovalError, agent_ls.UnknownQuestionError)):
                    answer_twice(session, request, refused)
    assert refused == ["UnknownQuestionError", "UnknownApprovalError"]


def answer_twice(
    session: agent_ls.AgentSession,
    request: agent_ls.ApprovalRequested | agent_ls.QuestionAsked,
    refused: list[str],
) -> None:
    """Answer a request, and once more, as two people with the same button would."""

    def answer() -> None:
        if isinstance(request, agent_ls.QuestionAsked):
            session.reply(request.question_id)
        else:
            session.approve(request.request_id, True)

    answer()
    try:
        answer()
    except (agent_ls.UnknownApprovalError, agent_ls.UnknownQuestionError) as error:
        refused.append(type(error).__name__)


async def test_an_approval_request_of_a_subagent_is_declined_without_an_approve_callback(
    tmp_path: Path,
) -> None:
    spawn = [
        call("spawn_agent", task="Look."),
        call("shell", command="touch a"),
        text("Refused."),
        text("So."),
    ]
    model = FakeProvider(spawn)
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            await session.ask("go")
    assert list((tmp_path / "project").iterdir()) == []


@pytest.mark.req("R4")
async def test_a_pending_question_of_a_resumed_session_is_declined_without_an_answer_callback(
    tmp_path: Path,
) -> None:
    model = FakeProvider([ASK])
    async with agent_ls.open_session(**options(tmp_path, model, answers_later=True)) as session:
        async for event in session.run("go"):
            if event.kind == "question_asked":
                break
        kept = session.id
    again = FakeProvider([text("Continued."), text("Second.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, again, resume=kept)) as session:
            async for event in session.events():  # the resumed turn continues without an input
                if event.kind == "processing_end":
                    break
    assert "did not answer" in str(again.requests)


@pytest.mark.req("R4", "H6")
@pytest.mark.parametrize(
    ("wait", "given", "kind"),
    [
        pytest.param(call("shell", command="touch a"), {}, "approval_requested", id="approval"),
        pytest.param(WRITE, {"mode": "edits", "review": "before"}, "hunk_state", id="proposal"),
    ],
)
async def test_approvals_and_hunks_pending_from_an_ended_program_are_declined_after_resume(
    wait: Any, given: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    model = FakeProvider([wait])
    async with agent_ls.open_session(**options(tmp_path, model, answers_later=True, **given)) as session:
        async for event in session.run("go"):
            if event.kind == kind:
                break
        kept = session.id
    again = FakeProvider([text("Continued."), text("Second.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, again, **given, resume=kept)) as session:
            async for event in session.events():
                if event.kind == "processing_end":
                    break
            assert await session.ask("and now?") == "Second."
    assert list((tmp_path / "project").iterdir()) == []
    assert "nobody can " in str(again.requests[0].messages)


async def test_a_pending_limit_question_ends_the_turn_after_resume_without_a_callback(tmp_path: Path) -> None:
    read = call("read_file", file_path="none")
    limits = {"settings": {"limits": {"tokensPerInput": 1}}}
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider([read]), answers_later=True, **limits)
    ) as session:
        async for event in session.run("go"):
            if event.kind == "question_asked":
                break
        kept = session.id
    again = FakeProvider([text("Second.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, again, resume=kept)) as session:
            async for event in session.events():
                if isinstance(event, ProcessingEnd):
                    assert event.reason == "limit"
                    break
            assert await session.ask("and now?") == "Second."


ANSWERS: list[Any] = [True, False, agent_ls.ApprovalAnswer("allow"), agent_ls.ApprovalAnswer("deny")]


@pytest.mark.parametrize("later", [False, True], ids=["callback", "later"])
@pytest.mark.parametrize("answer", ANSWERS, ids=str)
async def test_a_program_decides_unless_its_answer_names_somebody(
    tmp_path: Path, answer: agent_ls.ApprovalAnswer | bool, later: bool
) -> None:
    model = FakeProvider([WRITE, text("Done.")])
    more: dict[str, Any] = {"answers_later": True} if later else {"approve": lambda request: answer}
    async with agent_ls.open_session(**options(tmp_path, model, trusted=True, **more)) as session:
        events: list[Any] = []
        async for event in session.run("go"):
            events.append(event)
            if later and isinstance(event, agent_ls.ApprovalRequested):
                session.approve(event.request_id, answer)
    (resolved,) = [it for it in events if isinstance(it, agent_ls.ApprovalResolved)]
    assert resolved.decided_by == "program"
    assert ("The program said no." in last_request(model)) is (resolved.decision == "deny")


async def test_an_answer_of_a_program_may_name_who_decided(tmp_path: Path) -> None:
    answer = agent_ls.ApprovalAnswer("deny", decided_by="ann")
    model = FakeProvider([WRITE, text("Done.")])
    given = options(tmp_path, model, trusted=True, approve=lambda request: answer)
    async with agent_ls.open_session(**given) as session:
        events = [event async for event in session.run("go")]
    (resolved,) = [it for it in events if isinstance(it, agent_ls.ApprovalResolved)]
    assert resolved.decided_by == "ann" and "The user said no." in last_request(model)


@pytest.mark.req("R4", "E2", "E7")
@pytest.mark.parametrize("wait", [ASK, WRITE], ids=["question", "approval"])
async def test_a_pending_request_of_a_resumed_session_says_which_session_it_is_of(
    tmp_path: Path, wait: Any
) -> None:
    model = FakeProvider([wait, text("Done.")])
    given, first = options(tmp_path, model, trusted=True), dict[str, Any]()
    async with agent_ls.open_session(**given, answers_later=True) as session:
        async for event in session.run("go"):
            if isinstance(event, agent_ls.ApprovalRequested | agent_ls.QuestionAsked):
                first = event.as_json()
                break
    async with agent_ls.open_session(**given, resume=session.id, answers_later=True) as session:
        assert [it.as_json() for it in session.pending()] == [first]
    seen: list[Any] = []
    callbacks: dict[str, Any] = dict.fromkeys(("approve", "answer"), seen.append)
    async with agent_ls.open_session(**given, resume=session.id, **callbacks) as session:
        async for event in session.events():
            if isinstance(event, agent_ls.ProcessingEnd):
                break
    assert [it.as_json() for it in seen] == [first]


@pytest.mark.parametrize("by", ["", "ann"])
async def test_a_program_is_asked_about_trust_in_each_session_whoever_decides(
    tmp_path: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> agent_ls.ApprovalAnswer:
        asked.append(request.effect["type"])
        return agent_ls.ApprovalAnswer("allow", decided_by=by)

    given = options(tmp_path, FakeProvider([text("One."), text("Two.")]), approve=approve, personal=True)
    for _ in range(2):
        async with agent_ls.open_session(**given) as session:
            await session.ask("go")
    assert asked == ["TrustEffect"] * 2
