"""The facts of a guided review: reasons and problems from the log, the user's lines and the tests from the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.environments.base import sha256
from agent_ls.loop.events.codec import encode
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    DiagnosedFile,
    EditDiagnosed,
    Envelope,
    FileChange,
    Hunk,
    HunkStateChanged,
    RecordedEvent,
    SteeringInjected,
    ToolCallEnd,
    ToolCallStart,
    UserInput,
)
from agent_ls.sessions.guide.facts import FactsReader
from agent_ls.sessions.guide.log import GuideLog
from agent_ls.sessions.guide.reasons import Reasons, last_line
from agent_ls.store.blobs import write_blob
from agent_ls.store.journal import RecordedWrite


def start(call_id: str, index: int = 0) -> ToolCallStart:
    return ToolCallStart(call_id, index, "edit_file", "{}", "a.py")


def end(call_id: str) -> ToolCallEnd:
    return ToolCallEnd(
        call_id, "edit_file", "", "", is_error=False, error_kind="", duration_ms=1, output_chars=0
    )


def hunk(state: str = "pending", call_id: str = "c1", *, looked: bool = False) -> Hunk:
    return Hunk(
        "h1", "s", "t", call_id, "/w/a.py", "content", state, 0, 1, 0, 1, ("a\n",), ("b\n",), looked=looked  # type: ignore[arg-type]
    )  # fmt: skip


def reasons(*events: RecordedEvent) -> dict[str, str]:
    followed = Reasons()
    for event in events:
        followed.follow(Envelope("s", 1, "", event, "t"))
    return followed.of


ASKED = UserInput("round\nup")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([ASKED, AssistantTextEnd("p", "I round:"), start("c1")], {"c1": "I round"}),
        ([ASKED, start("c1")], {"c1": "for \u201cround up\u201d, step 1"}),
        (
            [ASKED, AssistantTextEnd("p", "Both."), start("c1"), start("c2", 1), end("c1"), start("c3")],
            {"c1": "Both.", "c2": "Both.", "c3": "for \u201cround up\u201d, step 2"},
        ),
        ([ASKED, SteeringInjected("i", "down"), start("c1")], {"c1": "for \u201cdown\u201d, step 1"}),
        ([start("c1")], {"c1": ""}),
    ],
)
def test_the_reason_is_what_the_model_said_at_the_call_else_what_the_user_asked(
    events: Sequence[RecordedEvent], expected: dict[str, str]
) -> None:
    assert reasons(*events) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Plan\n\n- **Round** it:\n", "Round it"),
        ("**I rename the function:** `old` says nothing.", "I rename the function: old says nothing."),
        ("> - `f(**kwargs)` takes `**`", "f(**kwargs) takes **"),
        ("**I print the total:**", "I print the total"),
        ("```\n", ""),
        ("\x1b[31mred\u202e", "[31mred"),
        ("x" * 500, "x" * 119 + "…"),
        ("", ""),
    ],
)
def test_a_reason_is_one_short_line_without_control_characters(text: str, line: str) -> None:
    assert last_line(text) == line


def log_of(folder: Path, events: Sequence[RecordedEvent]) -> GuideLog:
    lines = [encode(Envelope("s", at, "", event, "t")) for at, event in enumerate(events, 1)]
    path = folder / "log.jsonl"
    path.write_bytes(b"".join(b'{"event":%b}\n' % line for line in lines))
    return GuideLog(path)


def diagnosed(
    *new: str, fixed: tuple[str, ...] = (), call_id: str = "c1", is_settled: bool = True
) -> EditDiagnosed:
    return EditDiagnosed(call_id, (DiagnosedFile("/w/a.py", len(new), is_settled, new, fixed),))


@pytest.mark.parametrize(
    ("events", "problems"),
    [
        ([], None),
        ([diagnosed()], 0),
        ([diagnosed(is_settled=False)], None),
        ([diagnosed("p1", is_settled=False)], 1),
        ([diagnosed("p1", "p2"), diagnosed(fixed=("p1",), call_id="c2")], 1),
    ],
)
def test_new_problems_count_until_they_are_fixed(
    tmp_path: Path, events: Sequence[RecordedEvent], problems: int | None
) -> None:
    change = FileChange("c1", "/w/a.py", "modify", 1, 1, "", (hunk(),))
    log = log_of(tmp_path, [change, *events])
    log.read()

    assert log.problems(hunk()) == problems


def test_the_log_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    change = FileChange("c1", "/w/a.py", "modify", 1, 1, "", (hunk(),))
    log = log_of(tmp_path, [change])
    log.read()
    assert log.guided(log.hunks["h1"]).state == "notLooked"

    more = HunkStateChanged("/w/a.py", (hunk(looked=True),), "look")
    with log.path.open("ab") as file:
        file.write(b'{"event":%b}\n{"event":{"half' % encode(Envelope("s", 2, "", more, "t")))
    log.read()
    assert log.guided(log.hunks["h1"]).state == "looked"

    with log.path.open("ab") as file:
        gone = Envelope("s", 3, "", HunkStateChanged("/w/a.py", (hunk("gone"),), "editor"), "t")
        file.write(b'":1}}\n{"event":%b}\n' % encode(gone))
    log.read()
    assert log.hunks == {}


def test_a_line_is_the_users_if_neither_the_agent_nor_the_old_file_had_it(tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    before, after = b"one\ntwo\n", b"one\nagent\ntwo\n"
    names = [write_blob(tmp_path / "blobs", data) for data in (before, after)]
    write = RecordedWrite(path, "c1", "t", names[0], names[1])

    def typed(text: str, writes: Sequence[RecordedWrite]) -> object:
        facts = FactsReader().read(str(tmp_path), {path: text}, {path: writes}, tmp_path / "blobs")
        return facts.of(path).typed

    assert typed("one\nagent\nmine\ntwo\n", [write]) == [(2, 3)]
    assert typed("one\nagent\ntwo\n", [write]) == []
    assert typed("one\n", []) is None
    lost = RecordedWrite(path, "c2", "t", names[1], sha256(b"lost"))
    assert typed("one\nagent\nmine\n", [write, lost]) is None


def test_names_in_tests_are_found_on_disk_and_in_unsaved_tests(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("total()")
    (tmp_path / "node_modules" / "tests").mkdir(parents=True)
    (tmp_path / "node_modules" / "tests" / "test_b.js").write_text("other()")
    unsaved = {str(tmp_path / "test_c.py"): "fresh()", str(tmp_path / "a.py"): "plain()"}

    facts = FactsReader().read(str(tmp_path), unsaved, {}, tmp_path)

    assert facts.test_words is not None
    assert {"total", "fresh"} <= set(facts.test_words)
    assert not {"other", "plain"} & set(facts.test_words)


@pytest.mark.parametrize(("name", "is_sensitive"), [(".vscode/tasks.json", True), ("a.py", False)])
def test_files_that_others_run_are_sensitive(tmp_path: Path, name: str, is_sensitive: bool) -> None:
    path = str(tmp_path / name)

    assert FactsReader().read(str(tmp_path), {path: None}, {}, tmp_path).of(path).is_sensitive is is_sensitive


def test_a_damaged_log_gives_what_can_be_read(tmp_path: Path) -> None:
    log = log_of(tmp_path, [FileChange("c1", "/w/a.py", "modify", 1, 1, "", (hunk(),))])
    with log.path.open("ab") as file:
        file.write(b'{"change":[]}\n{"change":{}}\n{"change":1}\n{"event":{"kind":"hunk_state"}}\n\xff\n')
    log.read()

    assert list(log.hunks) == ["h1"] and log.writes == {}
