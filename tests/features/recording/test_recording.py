from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.environments.base import ExecResult, FileState, GrepLine, GrepResult
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.features.recording.codec import to_json_value, value_of
from agent_ls.features.recording.sharing import Redaction
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.errors import RateLimitError
from agent_ls.llm.messages import Origin, ReasoningPart, ToolCallPart
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.llm.stream import ReasoningEnd, StreamFinish, ToolCallEnd
from agent_ls.loop.events.types import AssistantTextStart, ProcessingEnd, QuestionAsked
from agent_ls.replay.session import BadRecordingError, ReplayResult, read_recording, replay
from agent_ls.services.errors import AppError
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.host import ProgramParts
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec
from tests.docs.pages import ROOT
from tests.support.fake_provider import FakeProvider, Gate, reasoning, text, tool_call
from tests.support.session_rig import DEADLINE_S, Talk, allow

pytestmark = pytest.mark.req("H13")

GOLDEN = ROOT / "tests" / "golden" / "recording" / "walkthrough.jsonl"
SECRET = "sk-secret-of-the-test-0123"


def call(name: str, id_: str, **arguments: Any) -> Any:
    return tool_call(name, json.dumps(arguments), id_)


def model() -> FakeProvider:
    return FakeProvider(
        [
            [
                reasoning("Hm."),
                text("I look."),
                call("read_file", "c1", file_path="a.txt"),
                call("glob", "c2", pattern="*"),
            ],
            call("read_file", "c3", file_path="none.txt"),
            call("edit_file", "c4", file_path="a.txt", old_string="one", new_string="two"),
            call("shell", "c5", command=f"echo '{SECRET}'; exit 3"),
            text("Done."),
        ]
    )


async def recorded(
    tmp_path: Path, *inputs: str, settings: Settings | None = None, to: Path | None = None
) -> Path:
    """Record a session that reads, fails to read, edits, runs a command, and asks for approval. Return the file."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "a.txt").write_text("one\n")
    file = to or tmp_path / "run.jsonl"
    rig = SessionManager(
        settings=settings or Settings(),
        credentials=Credentials({"openai": SECRET}),
        state_dir=tmp_path / "state",
        program=ProgramParts(adapters={"anthropic": model()}),
        record_to=None if settings else file,
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(rig.run)
        live = await rig.new_session(
            SessionSpec(workspace_folder=str(project), provider="anthropic", mode="ask")
        )
        talk = Talk(live, allow)
        for words in inputs or ("go",):
            await talk.say(words)
        tasks.cancel_scope.cancel()
    return file


async def played(path: Path) -> ReplayResult:
    return await replay(await anyio.to_thread.run_sync(read_recording, path))


async def test_replay_without_the_project_gives_the_same_events_and_edits(
    tmp_path: Path,
) -> None:
    file = await recorded(tmp_path, "go", "and again")
    project = tmp_path / "project"
    project.rename(tmp_path / "gone")

    result = await played(file)

    assert result.differences == []
    assert (result.calls, result.files) == (6, {str(project / "a.txt"): b"two\n"})
    assert result.events > 20
    assert not project.exists()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_recording_contains_no_known_key(tmp_path: Path) -> None:
    file = await recorded(tmp_path)
    assert SECRET not in file.read_text() and "[secret removed]" in file.read_text()


async def test_with_setting_record_each_new_session_has_a_recording_next_to_the_store(
    tmp_path: Path,
) -> None:
    await recorded(tmp_path, settings=Settings(record=True))
    (file,) = (tmp_path / "state" / "recordings").iterdir()
    assert (await played(file)).differences == []


async def test_without_the_record_setting_no_recording_is_created(tmp_path: Path) -> None:
    await recorded(tmp_path, settings=Settings())
    assert not (tmp_path / "state" / "recordings").exists()


async def test_recording_to_an_existing_file_creates_no_session_and_keeps_the_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text("mine")
    with pytest.raises(BaseExceptionGroup) as refused:
        await recorded(tmp_path)
    (error,) = refused.value.exceptions
    assert isinstance(error, AppError) and str(file) in str(error)
    assert file.read_text() == "mine"


def _said_otherwise(recording: str) -> str:
    lines = recording.split("\n")
    return "\n".join(it.replace("two", "three") if it.startswith('{"said"') else it for it in lines)


CHANGES: list[tuple[str, Callable[[str], str], str]] = [
    ("a file", lambda it: it.replace('{"__text":"one\\n"}', '{"__text":"ONE\\n"}', 1), "call c4"),
    ("an event", lambda it: "Not done.".join(it.rsplit("Done.", 1)), "the session"),
    (
        "an answer is missing",
        lambda it: it.replace('"place":"glob"', '"place":"other"', 1),
        "not recorded: glob",
    ),
    ("what the model said", _said_otherwise, "c4"),
]


@pytest.mark.parametrize(("change", "expected"), [it[1:] for it in CHANGES], ids=[it[0] for it in CHANGES])
async def test_replay_of_a_modified_recording_reports_the_step_that_differs(
    tmp_path: Path, change: Callable[[str], str], expected: str
) -> None:
    file = await recorded(tmp_path)
    whole = file.read_text()
    assert change(whole) != whole
    file.write_text(change(whole))
    result = await played(file)
    assert any(expected in words for words in result.differences), result.differences


async def test_replay_of_a_truncated_recording_reports_differences(tmp_path: Path) -> None:
    file = await recorded(tmp_path)
    lines = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join(lines[: len(lines) // 3]) + b'\n{"said":')
    assert (await played(file)).differences


@pytest.mark.parametrize("content", ["", "{}\n", '{"recording":99}\n', "nonsense\n", "[1]\n"])
def test_an_invalid_recording_is_refused_with_a_hint(tmp_path: Path, content: str) -> None:
    file = tmp_path / "a"
    file.write_text(content)
    for path in (file, tmp_path / "none"):
        with pytest.raises(BadRecordingError) as refused:
            read_recording(path)
        assert refused.value.hint


async def test_the_recorded_walkthrough_session_still_replays() -> None:
    result = await played(GOLDEN)
    assert result.differences == []
    assert list(result.files) == ["/home/ada/shop/shop/cart.py"]


@pytest.mark.parametrize(
    "value",
    [
        ExecResult("out", "err", "outerr", 1, False, 12, "note"),
        FileState("/a", None, b"\xff\0", "kept"),
        GrepResult((GrepLine("a", 1, "x", True),), truncated=True),
        ReasoningEnd(0, ReasoningPart("Hm.", Origin("p", "m", {"signature": "s"}))),
        ToolCallEnd(1, ToolCallPart("c", "n", "{}")),
        StreamFinish(
            FinishReason("stop", "end"), Usage(1, 2, cache_read_tokens=3), {"id": "r"}, ("careful",)
        ),
        b"text\n",
    ],
    ids=lambda it: type(it).__name__,
)
def test_recorded_values_are_decoded_unchanged(value: Any) -> None:
    assert value_of(json.loads(json.dumps(to_json_value(value)))) == value


@pytest.mark.parametrize(
    "error", [PathNotFoundError("/a/b"), RateLimitError("slow down", provider="p", hint="wait")]
)
def test_recorded_errors_are_decoded_with_message_and_fields(error: Exception) -> None:
    again = value_of(json.loads(json.dumps(to_json_value(error))))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_recorded_value_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="Unheard"):
        value_of({"__type": "Unheard"})


SHARED = [
    ("key sk-abcdefghijklmnopqrst here", "key [secret-1] here"),
    ("ghp_abcdefghijklmnopqrstuvwx twice ghp_abcdefghijklmnopqrstuvwx", "[secret-1] twice [secret-1]"),
    ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer [secret-1]"),
    ("https://me:hunter22@example.com/x", "https://[secret-1]@example.com/x"),
    ("mail grace@navy.mil now", "mail person1@example.org now"),
    ("/people/grace/src on cobol-1, by grace; gracefully", "/home/ada/src on machine, by user; gracefully"),
    ("nothing of it", "nothing of it"),
]


@pytest.mark.parametrize(("private", "shown"), SHARED)
def test_private_texts_are_removed_from_a_shared_recording(private: str, shown: str) -> None:
    assert Redaction(home="/people/grace", user="grace", host="cobol-1").redact_recording(private) == shown


async def test_a_shared_recording_can_be_replayed(tmp_path: Path) -> None:
    file = await recorded(tmp_path)
    file.write_text(Redaction(home=str(tmp_path), user="", host="").redact_recording(file.read_text()))
    assert str(tmp_path) not in file.read_text()
    assert (await played(file)).differences == []


async def test_a_session_that_is_closed_during_a_model_call_is_replayed_as_recorded(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    gate = Gate()
    session = await agent_ls.open_session(
        tmp_path / "project",
        provider="anthropic",
        adapters={"anthropic": FakeProvider([[text("Half "), gate]])},
        settings={"record": True},
        state_dir=tmp_path / "state",
        trusted=True,
    )
    session.run("go")
    await gate.reached.wait()
    await session.close()
    (file,) = (tmp_path / "state" / "recordings").iterdir()
    found = await anyio.to_thread.run_sync(read_recording, file)
    assert [it["data"]["reason"] for it in found.events if it["kind"] == "processing_end"] == ["aborted"]
    assert (await replay(found)).differences == []


async def test_steers_queued_messages_answers_and_stops_are_replayed_at_the_same_model_call(
    tmp_path: Path,
) -> None:
    (tmp_path / "project").mkdir()
    gates = [Gate(), Gate()]
    script: list[Any] = [
        [text("I look."), gates[0], call("glob", "c1", pattern="*")],
        call("ask_user", "c2", question="Which?", choices=["red", "blue"]),
        [text("Blue then.")],
        [text("The follow-up.")],
        [text("Half a "), gates[1], text("sentence.")],
        [text("After the stop.")],
    ]
    file = tmp_path / "run.jsonl"
    provider = FakeProvider(script)
    rig = SessionManager(
        settings=Settings(),
        credentials=Credentials(),
        state_dir=tmp_path / "state",
        program=ProgramParts(adapters={"anthropic": provider}),
        record_to=file,
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(rig.run)
        live = await rig.new_session(
            SessionSpec(workspace_folder=str(tmp_path / "project"), provider="anthropic")
        )
        session = live.session
        with anyio.fail_after(DEADLINE_S), session.subscribe() as events:
            session.submit("go")
            async for item in events:
                match item.envelope.event:
                    case AssistantTextStart() if len(provider.requests) == 1:
                        session.steer("and mind the colour")
                        session.follow_up("then this")
                        gates[0].open()
                    case QuestionAsked(question_id=question_id):
                        session.questions.answer(question_id, ("blue",), declined=False, by="test")
                    case ProcessingEnd():
                        break
            session.steer("said while nothing ran")
            session.submit("go on")
            async for item in events:
                match item.envelope.event:
                    case AssistantTextStart():
                        session.interrupt()
                    case ProcessingEnd():
                        break
        tasks.cancel_scope.cancel()
    result = await played(file)
    assert result.differences == []
    assert result.calls == len(provider.requests) == 5
