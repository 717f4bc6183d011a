"""A run goes on after refusals that a change of the conversation mends, and says what happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.errors import InvalidRequestError, ProviderError, RequestTooLargeError
from agent_ls.llm.messages import ImagePart
from agent_ls.loop.events.types import Warning
from tests.headless.test_exec import SERVERS, play
from tests.support.commands import environment, provider_variables, run
from tests.support.fake_provider import FakeProvider, error, text
from tests.support.loopback import (
    AnthropicServer,
    ChatServer,
    CutStream,
    ErrorReply,
    GeminiServer,
    LoopbackProvider,
    OpenAIResponsesServer,
    Reasoning,
    Reply,
    Text,
    ToolCall,
)
from tests.support.sessions import running_session

LOOK = [Reasoning("Think."), ToolCall("read_file", {"file_path": "a.py"})]
REFUSALS: list[Any] = [
    pytest.param(
        OpenAIResponsesServer,
        {
            "error": {
                "message": "The encrypted content gAAA could not be verified.",
                "code": "invalid_encrypted_content",
            }
        },
        id="openai",
    ),
    pytest.param(
        OpenAIResponsesServer, {"error": {"message": "Item with id 'rs_1' not found."}}, id="openai-item"
    ),
    pytest.param(
        AnthropicServer,
        {
            "error": {
                "type": "invalid_request_error",
                "message": "messages.1.content.0: Invalid `signature` in `thinking` block",
            }
        },
        id="anthropic",
    ),
    pytest.param(
        GeminiServer,
        {"error": {"code": 400, "message": "Thought signature is not valid", "status": "INVALID_ARGUMENT"}},
        id="gemini",
    ),
    pytest.param(
        ChatServer, {"error": {"message": "Invalid signature in reasoning_details", "code": 400}}, id="chat"
    ),
]


@pytest.mark.req("L3")
@pytest.mark.parametrize(("server_type", "body"), REFUSALS)
def test_a_run_goes_on_without_reasoning_that_the_provider_refuses(
    server_type: Callable[..., LoopbackProvider], body: Any, project: Path
) -> None:
    script = [LOOK, ErrorReply(400, body), "Fine.", ErrorReply(400, body), "Again fine."]
    with server_type(script, allow_violations=True) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        first = run("exec", "--json", "do it", cwd=project, environ=environ)
        assert (first.code, len(server.requests)) == (0, 3), first
        session = json.loads(first.out.splitlines()[0])["sessionId"]
        second = run("exec", "--resume", session, "more", cwd=project, environ=environ)
    said = first.out + first.err
    assert "Fine." in said and "earlier reasoning" in said
    assert second.code == 0, second
    assert "Again fine." in second.out


@pytest.mark.report("anomalyco/opencode#37735")
@pytest.mark.report("janhq/jan#8712")
@pytest.mark.parametrize("answer", [[], [Reasoning("Hm.")]], ids=["empty", "reasoning only"])
@pytest.mark.parametrize("server_type", SERVERS)
def test_an_empty_answer_is_told(
    server_type: type[LoopbackProvider], answer: list[Any], project: Path
) -> None:
    done, _ = play(server_type, [Reply(answer)], project)
    assert done.code == 0, done
    assert "without a text" in done.out + done.err


@pytest.mark.parametrize("server_type", SERVERS)
def test_an_answer_that_breaks_before_its_first_character_is_asked_for_again(
    server_type: type[LoopbackProvider], project: Path
) -> None:
    done, server = play(server_type, [[Text(), CutStream()], "Fine."], project)
    assert (done.code, len(server.requests)) == (0, 2), done


async def test_a_session_goes_on_after_an_image_that_the_provider_refuses() -> None:
    refused = error(InvalidRequestError("messages.0: image exceeds 5 MB maximum", provider="fake"))
    provider = FakeProvider([refused, text("ok"), text("again")])
    async with running_session(provider) as session:
        session.session.submit("look", images=[ImagePart(b"x", media_type="image/png")])
        await session.idle()
        await session.say("more")
        assert [warning.code for warning in session.recorder.of(Warning)] == ["images_dropped"]
    sent = [[part for message in request.messages for part in message.parts] for request in provider.requests]
    assert [any(isinstance(part, ImagePart) for part in parts) for parts in sent] == [True, False, False]


@pytest.mark.report("code-yeongyu/senpi#302")
@pytest.mark.report("NousResearch/hermes-agent#76039")
@pytest.mark.parametrize(
    ("refused", "sent"),
    [
        (RequestTooLargeError("Request Entity Too Large", provider="fake"), [1, 2, 1, 1]),
        (
            InvalidRequestError("media exceeds size limit: max 10485760 bytes (2013)", provider="fake"),
            [1, 2, 0, 0],
        ),
    ],
    ids=["body", "one image"],
)
async def test_images_that_are_too_large_are_left_out(refused: ProviderError, sent: list[int]) -> None:
    provider = FakeProvider([text("ok"), error(refused), text("ok"), text("again")])
    async with running_session(provider) as session:
        for message in ("first", "second"):
            session.session.submit(message, images=[ImagePart(message.encode(), media_type="image/png")])
            await session.idle()
        await session.say("more")
        assert [warning.code for warning in session.recorder.of(Warning)] == ["images_dropped"]
    found = [[part for it in request.messages for part in it.parts] for request in provider.requests]
    images = [[part for part in parts if isinstance(part, ImagePart)] for parts in found]
    assert [len(each) for each in images] == sent
    assert sent[2] == 0 or images[2][0].data == b"second"


async def test_the_last_image_is_left_out_too_before_the_conversation_is_summarized() -> None:
    refused = error(RequestTooLargeError("Request Entity Too Large", provider="fake"))
    provider = FakeProvider([refused, text("ok")])
    async with running_session(provider) as session:
        session.session.submit("look", images=[ImagePart(b"x", media_type="image/png")])
        await session.idle()
    assert len(provider.requests) == 2
    assert not any(isinstance(part, ImagePart) for it in provider.requests[1].messages for part in it.parts)


WORDS: list[Any] = [
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Prompt exceeds max length",
    "You sent 50,000 tokens, but 32,768 is all we take",
]


@pytest.mark.req("L12")
@pytest.mark.parametrize("words", WORDS)
def test_a_conversation_that_is_too_long_in_any_words_is_compacted_and_sent_again(
    words: str, project: Path
) -> None:
    rounds: list[Any] = [[ToolCall("read_file", {"file_path": "a.py", "offset": n})] for n in range(1, 15)]
    script = [*rounds, ErrorReply(400, {"error": {"message": words}}), "## Goal\nTo be done.", "Fine."]
    done, server = play(ChatServer, script, project)
    assert (done.code, len(server.requests)) == (0, 17), done
    assert "Fine." in done.out


def test_the_hint_for_a_first_message_that_is_too_long_does_not_speak_of_a_key(project: Path) -> None:
    done, _ = play(
        ChatServer,
        [ErrorReply(413, {"error": {"message": "Request body too large for m. Max size: 8000 tokens."}})],
        project,
    )
    assert done.code == 1
    assert "key" not in done.out.lower() and "images" not in done.out.lower()
