"""A script that cannot be played is refused where it is written, and an image without content where it is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.llm import AudioPart, Client, ConfigurationError, DocumentPart, Message, Role, build_request
from tests.library.sessions import options

pytestmark = pytest.mark.req("H13", "U5")

UNPLAYABLE: list[Any] = [
    7,
    None,
    {"shell": {}},
    ("shell",),
    ("shell", "ls"),
    ("shell", {"command": "ls"}, "more"),
    ("shell", {"lines": {1, 2}}),
    ["Said.", ("shell", "ls")],
    [["nested"]],
    ValueError,
]


@pytest.mark.parametrize("answer", UNPLAYABLE, ids=lambda answer: f"{answer!s:.30}")
def test_an_answer_that_cannot_be_played_is_refused_with_its_number(answer: Any) -> None:
    with pytest.raises(TypeError, match=r"answer 2 .*a tool call such as"):
        agent_ls.ScriptedModel("First.", answer)


async def test_texts_calls_lists_and_errors_are_played(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel(
        ["Looking.", ("glob", {"pattern": "*"})],
        ("glob", {"pattern": "*.py"}),
        "Done.",
        ConnectionError("lost"),
    )
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        assert await session.ask("go") == "Done."
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    "part", [agent_ls.ImagePart(), DocumentPart(), AudioPart()], ids=["image", "document", "audio"]
)
async def test_a_part_without_content_is_refused(tmp_path: Path, part: Any) -> None:
    model = agent_ls.ScriptedModel("Seen.")
    request = build_request("m", messages=[Message(Role.USER, (part,))], provider="test")
    with pytest.raises(ConfigurationError, match="neither data nor a url"):
        await Client({"test": model}).complete(request)
    if isinstance(part, agent_ls.ImagePart):
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            with pytest.raises(agent_ls.AppError, match="neither data nor a url"):
                await session.ask("Look.", images=[part])
    assert model.requests == []


async def test_subagents_can_have_a_script_of_their_own(tmp_path: Path) -> None:
    main = agent_ls.ScriptedModel(("spawn_agent", {"task": "look"}), "Done.", "Done.")
    other = agent_ls.ScriptedModel("Found.")
    given: dict[str, Any] = {
        "provider": "test",
        "adapters": {"test": main, "sub": other},
        "settings": {"models": {"subagents": "sub/x"}},
    }
    async with agent_ls.open_session(**options(tmp_path, main) | given) as session:
        assert await session.ask("go") == "Done."
    assert [request.provider for request in other.requests] == ["sub"]
