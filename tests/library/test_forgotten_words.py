"""A program that forgets `await` or `async`, or passes an object for its id, learns what to write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "R5")

Use = Callable[[Any], object]


def in_with(thing: Any) -> None:
    with thing:
        pass


UNOPENED: dict[str, tuple[Use, type[Exception], str]] = {
    "method": (lambda opening: opening.ask("go"), AttributeError, "await open_session"),
    "property": (lambda opening: opening.id, AttributeError, "async with open_session"),
    "with": (in_with, TypeError, "open_session_sync"),
}


@pytest.mark.parametrize(("use", "error", "hint"), UNOPENED.values(), ids=UNOPENED)
async def test_a_session_that_is_not_open_says_how_to_open_it(
    tmp_path: Path, use: Use, error: type[Exception], hint: str
) -> None:
    opening = agent_ls.open_session(**options(tmp_path, FakeProvider()))
    with pytest.raises(error, match=hint):
        use(opening)
    assert not hasattr(opening, "ask") and not (tmp_path / "state").exists()


async def test_a_use_without_async_says_what_to_write(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        with pytest.raises(TypeError, match=r"await session\.close"):
            in_with(session)
        with pytest.raises(TypeError, match="async for"):
            list(session.events())  # type: ignore[call-overload]  # what is tested
        with pytest.raises(TypeError, match=r"session\.ask"):
            await session.run("go")  # type: ignore[misc]  # what is tested


IDS: dict[str, tuple[Use, str]] = {
    "turn_id": (lambda it: it.session.roll_back(it.event), "turn_id"),
    "fork": (lambda it: it.session.fork(it.event), "turn_id"),
    "request_id": (lambda it: it.session.approve(it.session.pending()[0], True), "request_id"),
    "resume": (lambda it: agent_ls.open_session(resume=it.session), "id"),
    "hunk_ids": (lambda it: it.session.review("keep", [it.hunk]), "id"),
    "queued_id": (lambda it: it.session.remove_queued(it.session.queue[0]), "queued_id"),
}


class Objects:
    """The objects that a program gets from a session."""

    def __init__(self, session: agent_ls.AgentSession, event: agent_ls.Event) -> None:
        self.session, self.event = session, event
        self.hunk = agent_ls.Hunk(
            id="h-1", session_id="", turn_id="", call_id="", path="", what="content", state="pending",
            base_start=0, base_end=0, start=0, end=0, base_lines=(), lines=(),
        )  # fmt: skip


@pytest.mark.parametrize("name", IDS)
async def test_an_object_instead_of_its_id_is_refused_with_the_attribute_to_pass(
    tmp_path: Path, name: str
) -> None:
    use, attribute = IDS[name]
    model = FakeProvider([call("shell", command="touch made"), text("Done.")])
    given = options(tmp_path, model, trusted=True, answers_later=True)
    async with agent_ls.open_session(**given) as session:
        events = session.run("go")
        async for event in events:
            if isinstance(event, agent_ls.ApprovalRequested):
                break
        session.follow_up("later")
        with pytest.raises(agent_ls.AppError) as caught:
            made = use(Objects(session, event))
            assert asyncio.iscoroutine(made)
            await made
        assert f"`{attribute}`" in caught.value.hint


async def test_a_session_that_was_aborted_is_closed_at_once(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        session.send("go")
        session.abort()
        with pytest.raises(agent_ls.SessionClosedError):
            session.run("more")


@pytest.mark.parametrize(
    ("name", "hint"), [("mine2", "mine?"), ("antropic", "anthropic?"), ("nope", "adapters")]
)
async def test_an_unknown_provider_is_refused_with_those_of_the_program(
    tmp_path: Path, name: str, hint: str
) -> None:
    given = options(tmp_path, FakeProvider()) | {"adapters": {"mine": FakeProvider()}, "provider": "mine"}
    async with agent_ls.open_session(**given) as session:
        with pytest.raises(agent_ls.AppError, match=r"anthropic, .*, walkthrough, mine") as caught:
            await session.configure(provider=name)
    assert hint in caught.value.hint
