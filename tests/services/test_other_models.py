"""Models for single purposes and fallback models: which model answers, at what price, and the warnings about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.errors import (
    AuthenticationError,
    ContextLengthError,
    LlmError,
    NetworkError,
    NotFoundError,
    OverloadedError,
    QuotaExceededError,
    RequestTooLargeError,
)
from agent_ls.llm.messages import Role
from agent_ls.llm.requests import Usage
from agent_ls.loop.events.types import (
    Compaction,
    Error,
    Retry,
    SubagentChanged,
    Title,
    ToolCallEnd,
    UsageReport,
    Warning,
)
from agent_ls.services.models.service import make_profile
from agent_ls.services.settings.model import Settings, parse_settings
from agent_ls.services.settings.untrusted import restrict_settings
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import FakeProvider, Gate, Piece, end, error, text, tool_call
from tests.support.processes import eventually
from tests.support.reports import reported
from tests.support.session_rig import Talk, running

pytestmark = pytest.mark.req("H25", "U8")

OPENAI = "openai/gpt-6.1-terra"
USED = Usage(1_000, 100)


def settings(**models: Any) -> Settings:
    retry = {"maxRetries": 1, "baseDelayMs": 0}
    return Settings.model_validate({"walkthroughPauseMs": 0, "models": models, "retry": retry})


def warnings(talk: Talk) -> list[str]:
    return [it.message for it in talk.of(Warning) if it.code == "model_fallback"]


def overloaded() -> LlmError:
    return OverloadedError("Anthropic is overloaded.", provider="anthropic", status=529)


async def test_a_fallback_continues_the_turn_with_its_own_tools_and_price(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch"
    made: list[Piece] = [text("Made."), end("stop", USED)]
    other = FakeProvider([tool_call("apply_patch", json.dumps({"patch": patch}), id="p"), made])
    script: list[Piece] = [
        tool_call("glob", '{"pattern": "*"}', id="g"),
        error(overloaded()),
        error(overloaded()),
    ]
    async with running(
        tmp_path, [*script, text("Myself.")], settings=settings(fallbacks=[OPENAI]), others={"openai": other}
    ) as rig:
        talk = await rig.talk("full", say="go")
        assert (rig.folder / "made.txt").read_text() == "made\n"
        assert len(talk.of(Retry)) == 1  # the retry policy is used up first
        (warning,) = warnings(talk)
        assert (
            "anthropic/" in warning
            and "Anthropic is overloaded. " in warning
            and f"{OPENAI} answers" in warning
        )
        price = make_profile("openai", "gpt-6.1-terra").cost_usd(USED)
        assert price and talk.of(UsageReport)[-1].call_cost_usd == pytest.approx(price)
        asked = other.requests[0]
        assert "apply_patch" in [tool.name for tool in asked.tools]
        assert "edit_file" not in [tool.name for tool in asked.tools]
        await talk.say("again")
        assert len(rig.model.requests) == 4  # the session's model answers the next message again
        assert talk.live.session.profile.id == "anthropic"


@pytest.mark.parametrize(
    "failure",
    [
        QuotaExceededError("No credit is left.", provider="anthropic"),
        NotFoundError("There is no such model.", provider="anthropic"),
        NetworkError("The address cannot be reached.", provider="anthropic"),
        reported(
            "openclaw/openclaw#147644",
            ContextLengthError(
                "The request has more tokens than a minute allows.", provider="anthropic", status=429
            ),
            id="tokens per minute",
        ),
        RequestTooLargeError("The request is too large.", provider="anthropic", status=413),
    ],
)
async def test_a_fallback_answers_for_each_kind_of_unavailability(tmp_path: Path, failure: LlmError) -> None:
    other = FakeProvider([text("Here.")])
    script = [error(failure)] * 2
    async with running(
        tmp_path, script, settings=settings(fallbacks=[OPENAI]), others={"openai": other}
    ) as rig:
        talk = await rig.talk(say="go")
        assert len(warnings(talk)) == 1 and talk.of(Error) == []
        assert talk.live.session.state == "IDLE"


async def test_a_request_that_is_too_large_is_not_sent_without_end(tmp_path: Path) -> None:
    """Without a fallback, the turn ends with the provider's hint after at most one more try."""
    refused = ContextLengthError(
        "Too many tokens for one minute.", provider="anthropic", hint="Raise the limit."
    )
    async with running(tmp_path, [error(refused)] * 9, settings=settings()) as rig:
        talk = await rig.talk(say="go")
        assert talk.of(Error)[-1].hint == "Raise the limit."
        assert len(rig.model.requests) <= 2


async def test_a_fallback_without_a_key_or_with_an_unknown_provider_is_skipped_with_a_reason(
    tmp_path: Path,
) -> None:
    names = ["gemini/gemini-4-argon", "nobody/model", OPENAI]
    other = FakeProvider([text("Here.")])
    script = [error(overloaded()), error(overloaded())]
    async with running(tmp_path, script, settings=settings(fallbacks=names), others={"openai": other}) as rig:
        talk = await rig.talk(say="go")
        keyless, unknown, answers = warnings(talk)
        assert "gemini/gemini-4-argon is skipped" in keyless and "GEMINI_API_KEY" in keyless
        assert "nobody/model is skipped" in unknown
        assert OPENAI in answers


@pytest.mark.report("alphaXiv/agents#57")
async def test_the_last_error_is_reported_when_no_fallback_answers(tmp_path: Path) -> None:
    other = FakeProvider([error(QuotaExceededError("No credit is left at OpenAI.", provider="openai"))])
    script = [error(overloaded()), error(overloaded())]
    async with running(
        tmp_path, script, settings=settings(fallbacks=[OPENAI, OPENAI]), others={"openai": other}
    ) as rig:
        talk = await rig.talk(say="go")
        assert [it.message for it in talk.of(Error)] == ["No credit is left at OpenAI."]
        assert (len(rig.model.requests), len(other.requests)) == (2, 1)


async def test_no_fallback_model_is_used_after_a_wrong_key_or_a_partial_answer(tmp_path: Path) -> None:
    other = FakeProvider()
    broken: list[Piece] = [text("Half"), error(overloaded())]
    wrong = error(AuthenticationError("The key is wrong.", provider="anthropic"))
    async with running(
        tmp_path, [broken, wrong], settings=settings(fallbacks=[OPENAI]), others={"openai": other}
    ) as rig:
        talk = await rig.talk(say="go")
        await talk.say("again")
        assert other.requests == [] and warnings(talk) == []
        assert [it.error_kind for it in talk.of(Error)] == ["overloaded", "authentication"]


@pytest.mark.req("L13")
async def test_the_compaction_model_writes_the_summary_with_the_sessions_model_as_fallback(
    tmp_path: Path,
) -> None:
    other = FakeProvider(
        [[text("## Goal\nBy the other."), end("stop", USED)], error(AuthenticationError("Wrong key."))]
    )
    script = [*[text(f"answer {n}") for n in range(9)], text("## Goal\nMy own.")]
    async with running(
        tmp_path, script, settings=settings(compaction=OPENAI), others={"openai": other}
    ) as rig:
        talk = await rig.talk()
        for number in range(8):
            await talk.say(f"message {number}")
        window = talk.of(UsageReport)[-1].context_window_tokens
        talk.live.session.compact()
        await talk.until("processing_end", 9)
        assert talk.of(Compaction)[-1].summary == "## Goal\nBy the other."
        spent = talk.of(UsageReport)[-1]
        assert spent.call_cost_usd == pytest.approx(make_profile("openai", "gpt-6.1-terra").cost_usd(USED))
        assert spent.context_window_tokens == window
        await talk.say("message 8")
        talk.live.session.compact()
        await talk.until("processing_end", 11)
        assert talk.of(Compaction)[-1].summary == "## Goal\nMy own."
        (warning,) = warnings(talk)
        assert warning.startswith(f"{OPENAI} wrote no summary: Wrong key. anthropic/")


async def test_the_title_model_replaces_the_first_line_as_session_title(tmp_path: Path) -> None:
    other = FakeProvider([[text("Prices in cents\n"), end("stop", USED)]])
    async with running(tmp_path, settings=settings(titles=OPENAI), others={"openai": other}) as rig:
        talk = await rig.talk(say="please look at cart.py, the prices are wrong")
        await eventually(lambda: [it.title for it in talk.of(Title)][1:] == ["Prices in cents"])
        sent = other.requests[0]
        assert sent.tools == () and "prices are wrong" in sent.messages[1].text
        assert sent.messages[0].role is Role.SYSTEM
        assert USED.input_tokens in [it.call.input_tokens for it in talk.of(UsageReport)]


@pytest.mark.req("A1")
async def test_the_title_model_does_not_replace_a_title_that_the_user_set_during_its_call(
    tmp_path: Path,
) -> None:
    gate = Gate()
    other = FakeProvider([[gate, text("Prices in cents\n"), end("stop", USED)]])
    async with running(tmp_path, settings=settings(titles=OPENAI), others={"openai": other}) as rig:
        talk = await rig.talk(say="please look at cart.py, the prices are wrong")
        await gate.reached.wait()
        talk.live.rename("Of the user")
        gate.open()
        await eventually(lambda: USED.input_tokens in [it.call.input_tokens for it in talk.of(UsageReport)])
    assert talk.of(Title)[-1].title == "Of the user"


@pytest.mark.req("A1")
async def test_a_subagent_with_a_configured_model_gets_the_tools_of_that_model(
    tmp_path: Path,
) -> None:
    other = FakeProvider([[text("Looked."), end("stop", USED)]])
    script: list[Piece] = [spawn("look"), wait_for("agent_1"), text("Done.")]
    async with running(
        tmp_path, script, settings=settings(subagents=OPENAI), others={"openai": other}
    ) as rig:
        talk = await rig.talk(say="go")
        assert [it.output for it in talk.of(SubagentChanged)] == ["", "Looked."]
        assert {it.model for it in talk.of(SubagentChanged)} == {"gpt-6.1-terra"}
        names = [tool.name for tool in other.requests[0].tools]
        assert "apply_patch" in names and "ask_user" not in names and "spawn_agent" not in names
        ended = talk.of(ToolCallEnd)[-1]
        assert "Looked." in ended.output


@pytest.mark.req("A1")
async def test_the_fallback_of_a_subagent_gets_no_tool_that_the_subagent_lacks(tmp_path: Path) -> None:
    other = FakeProvider([text("Looked.")])
    cast = Cast([spawn("look"), wait_for("agent_1")], {"look": [error(overloaded()), error(overloaded())]})
    async with running(
        tmp_path, model=cast, settings=settings(fallbacks=[OPENAI]), others={"openai": other}
    ) as rig:
        talk = await rig.talk(say="go")
        assert [it.output for it in talk.of(SubagentChanged)] == ["", "Looked."]
    (asked,) = other.requests
    names = [tool.name for tool in asked.tools]
    assert "apply_patch" in names and "ask_user" not in names and "spawn_agent" not in names


def test_a_model_name_without_a_provider_is_refused_with_the_expected_format() -> None:
    found, problems = parse_settings({"models": {"fallbacks": ["gpt-6.1-terra"]}})
    assert found.models.fallbacks == []
    assert len(problems) == 1 and "PROVIDER/MODEL" in problems[0] and "models.fallbacks" in problems[0]


def test_model_settings_of_an_untrusted_workspace_are_ignored_and_reported() -> None:
    kept, problems = restrict_settings(
        Settings(), settings(fallbacks=[OPENAI]).model_copy(update={"retry": Settings().retry})
    )
    assert kept.models == Settings().models
    assert any("agentLs.models" in sentence for sentence in problems)
