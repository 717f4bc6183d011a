"""Public reports of long conversations, approvals of calls at once, links, file modes and hidden characters."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.errors import ServerError
from agent_ls.llm.requests import Request, Usage
from agent_ls.llm.stream import StreamEvent
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.services.review.decision_request import Selection
from tests.features.test_unfinished_operation_reports import back
from tests.features.test_worktrees import OLD, call, edit, shell
from tests.sessions.test_compaction import chat, compacted
from tests.sessions.test_resume_reports import ANSWERS, said, small_context
from tests.support.fake_provider import FakeProvider, Gate, Piece, end, error, problem_of, text, tool_call
from tests.support.reports import reported
from tests.support.session_rig import PROVIDER, allow, deny, running

pytestmark = pytest.mark.req("L13", "X8")


class Noting(FakeProvider):
    """A model that also writes summaries, and counts them."""

    noted = 0

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        is_summary = "take over the notes" in request.messages[0].text
        self.noted += is_summary
        source = FakeProvider([text("NOTES")]).stream(request) if is_summary else super().stream(request)
        async for event in source:
            yield event


@pytest.mark.report("anomalyco/opencode#48827")
async def test_a_compaction_that_makes_too_little_room_is_not_repeated(tmp_path: Path) -> None:
    step: list[Piece] = [
        text("word " * 500),
        tool_call("glob", '{"pattern": "*"}'),
        end("tool_calls", Usage(9_000, 50)),
    ]
    model = Noting([[*step]] * 30)
    async with running(tmp_path, model=model, settings=small_context(8_000)) as rig:
        await rig.talk(say="go")
        assert (len(model.requests), model.noted <= 3) == (31, True)


@pytest.mark.report("xuzhougeng/wisp-science#632")
async def test_a_failed_compaction_leaves_no_words_of_its_own(tmp_path: Path) -> None:
    failed: list[Piece] = [error(ServerError("overloaded", provider=PROVIDER))] * 4
    async with running(tmp_path, [*ANSWERS, *failed, text("after")]) as rig:
        talk = await rig.talk()
        await chat(talk, 6)
        await compacted(rig, talk)
        asked = rig.model.requests[-1].messages[-1].text
        await talk.say("go on")
        assert "<transcript>" in asked and "<transcript>" not in said(rig) and "message 0" in said(rig)


@pytest.mark.report("earendil-works/pi#7253")
async def test_a_compaction_that_is_asked_for_and_due_runs_once(tmp_path: Path) -> None:
    gate = Gate()
    full: list[Piece] = [text("long ", gate, "answer"), end("stop", Usage(19_000, 50))]
    model = Noting([*[text(f"a{n}") for n in range(8)], full])
    async with running(tmp_path, model=model, settings=small_context(20_000)) as rig:
        talk = await rig.talk()
        for number in range(8):
            await talk.say(f"m{number} " + "word " * 300)
        talk.live.session.submit("m8")
        await gate.reached.wait()
        talk.live.session.compact()
        gate.open()
        await talk.until("processing_end", 9)
        await talk.say("next")
        await talk.say("and next")
        assert model.noted == 1


@pytest.mark.report("olimorris/codecompanion.nvim#2149")
async def test_a_refused_call_of_two_has_a_result(tmp_path: Path) -> None:
    def answer(request: ApprovalRequested) -> ApprovalAnswer:
        return deny(request) if "touch a" in request.summary else allow(request)

    calls = [shell("a", "touch a"), shell("b", "touch b")]
    async with running(tmp_path, [calls, text("ok"), text("ok")]) as rig:
        talk = await rig.talk("ask", answer, say="go")
        await talk.say("more")
        assert problem_of(rig.model.requests[-1].messages) == ""
        assert [it.is_error for it in rig.results()] == [True, False]


@pytest.mark.report("OpenHands/software-agent-sdk#5097")
@pytest.mark.report("justrach/codegraff#179")
@pytest.mark.parametrize("is_roll_back", [False, True])
async def test_links_and_modes_survive_an_edit_and_its_way_back(tmp_path: Path, is_roll_back: bool) -> None:
    project, outside = tmp_path / "project", tmp_path / "dotfiles"
    for folder in (project, outside):
        folder.mkdir()
    files = (outside / "rc", project / "run.sh")
    for file in files:
        file.write_text(OLD)
        file.chmod(0o755)
    (project / "second").symlink_to(outside / "rc")
    (project / "first").symlink_to("second")
    edits = [*edit("e", "two", "TWO", "first"), *edit("f", "two", "TWO", "run.sh")]
    whole = call("write_file", "w", file_path="run.sh", content="new\n")
    async with running(tmp_path, [*[[it] for it in (*edits, whole)], text("ok")]) as rig:
        talk = await rig.talk("full", say="go")
        assert [file.read_text() for file in files] == [OLD.replace("two", "TWO"), "new\n"]
        if is_roll_back:
            await back(rig, talk)
        else:
            await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
    assert [(file.read_text(), file.stat().st_mode & 0o777) for file in files] == [(OLD, 0o755)] * 2
    assert (project / "first").readlink() == Path("second") and (project / "second").is_symlink()


HIDDEN: list[Any] = [
    reported("NousResearch/hermes-agent#81403", "\U0001d173"),
    *"\u200b\u202e\u00a0\u115f\u1160\u17b4\u180b\u2800\u3164\uffa0\ufff9\x9b\U0001bca0\U000e0041\U000e0100\U000e0fff",
]  # fmt: skip


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda it: f"{ord(it):x}")
async def test_a_request_names_a_character_that_cannot_be_seen(tmp_path: Path, hidden: str) -> None:
    async with running(tmp_path, [[shell("a", f"echo a{hidden}b")], text("ok")]) as rig:
        talk = await rig.talk("ask", deny, say="go")
        assert f"U+{ord(hidden):04X}" in talk.of(ApprovalRequested)[0].reason
