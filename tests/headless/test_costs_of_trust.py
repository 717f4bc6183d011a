"""Count what provenance, guide and evidence read: nothing in a turn, and later only what is new."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import FileChange, ProcessingEnd, TerminalExit, TerminalOpen
from agent_ls.loop.turn_facts import Judgement, TurnEvidence
from agent_ls.sessions.guide.facts import FactsReader
from agent_ls.sessions.stored.provenance import Blamer
from agent_ls.store.layout import Layout
from tests.headless.test_blame import READ, Project, edit, project
from tests.support.commands import environment, provider_variables
from tests.support.loopback import ChatServer, ToolCall

__all__ = ["project"]

_counts: Counter[str] = Counter()
_is_counting = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _is_counting and event == "open":
        _counts[Path(str(arguments[0])).name] += 1


sys.addaudithook(_hook)


@contextmanager
def opened() -> Iterator[Counter[str]]:
    """Count which files are opened, by name."""
    global _is_counting
    _counts.clear()
    _is_counting = True
    try:
        yield _counts
    finally:
        _is_counting = False


def test_a_command_is_judged_once_and_only_after_a_change() -> None:
    asked: list[str] = []

    def judge(command: str) -> Judgement:
        asked.append(command)
        return "decisive"

    evidence = TurnEvidence(judge)
    for number in range(3):
        evidence.follow(TerminalOpen(f"a{number}", f"a{number}", "before"))
    evidence.follow(FileChange("e", "/a.py", "modify", 1, 1, ""))
    for number in range(200):
        evidence.follow(TerminalOpen(f"c{number}", f"c{number}", "pytest"))
        evidence.follow(TerminalExit(f"c{number}", 0))
        evidence.facts()
        evidence.follow(ProcessingEnd("completed"))

    assert asked == ["pytest"] * 200


def test_blame_reads_a_log_again_only_if_it_grew(project: Project) -> None:
    project.ask("add one", edit("first\n", "first\none\n"))
    (log,) = (project.home / "state").rglob("log.jsonl")
    for number in range(20):
        shutil.copytree(log.parent, log.parent.parent / f"s-{number:016x}")
    blamer = Blamer(Layout(project.home / "state"))
    with opened() as first:
        blamer.blame(project.file)
        assert first["log.jsonl"] == 21
    with opened() as second:
        blamer.blame(project.file)
        assert second["log.jsonl"] == 0
    with log.open("ab") as file:
        file.write(b'{"event":{}}\n')
    with opened() as third:
        blamer.blame(project.file)
        assert third["log.jsonl"] == 1


def test_a_guide_that_is_shown_while_the_user_types_reads_no_test_again(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"test_{number}.py").write_text(f"name_{number}()\n")
    reader, path = FactsReader(), str(tmp_path / "a.py")
    with opened() as first:
        reader.read(str(tmp_path), {path: "x\n"}, {}, tmp_path)
        assert first.total() == 50
    with opened() as second:
        reader.read(str(tmp_path), {path: "xy\n"}, {}, tmp_path)
        assert not second
    (tmp_path / "test_7.py").write_text("a_new_name()\n")
    with opened() as third:
        facts = reader.read(str(tmp_path), {path: "xyz\n"}, {}, tmp_path)
        assert third.total() == 1
    assert facts.test_words is not None and "a_new_name" in facts.test_words
    assert "name_7" not in facts.test_words and "name_8" in facts.test_words


@pytest.mark.group("processes")
def test_a_turn_reads_no_more_in_a_large_project_with_many_sessions(project: Project) -> None:
    def play(old: str, new: str) -> list[str]:
        command = ToolCall("shell", {"command": "python3 -m compileall -q a.py"})
        notes = project.home / "notes"
        with ChatServer([[READ], [edit(old, new)], [command], "Done."]) as server:
            environ = environment(project.home, **provider_variables(server))
            argv = [sys.executable, "-m", "tests.headless.counting_exec", str(notes), "exec", "--trust"]
            argv += ["--mode", "full", "change it"]
            subprocess.run(argv, cwd=project.folder, env=environ, check=True, capture_output=True)
        return notes.read_text().splitlines()

    project.ask("before", edit("last", "second"))
    small = play("first", "one")
    (log, *_) = (project.home / "state").rglob("log.jsonl")
    for number in range(100):
        shutil.copytree(log.parent, log.parent.parent / f"s-{number:016x}")
    folder = project.folder / "tests"
    folder.mkdir()
    for number in range(300):
        (folder / f"test_{number}.py").write_text("first()\n")
    large = play("one", "two")

    def logs(notes: list[str]) -> int:
        return sum(line.startswith("read ") and line.endswith("log.jsonl") for line in notes)

    assert 0 < logs(large) == logs(small)
    assert not [line for line in large if line.startswith("read ") and "/tests/test_" in line]
    known = {"agent_ls.loop.turn_facts"}
    assert known <= set(large), "modules are noted"
    for name in ("agent_ls.review.guide", "agent_ls.sessions.guide", "agent_ls.sessions.stored.provenance"):
        assert not [it for it in large if it.startswith(name)]
