"""Neovim ends in the middle of a turn. The next Neovim shows the old transcript, and the provider accepts requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import TEXT, OpenRig, only_linux
from tests.acceptance.rig import NvimRig, Wire, end_process
from tests.support.loopback import Gate, Reasoning, Text, ToolCall
from tests.support.processes import Fifo, is_running

READ = ToolCall("read_file", {"file_path": "notes.txt"})
LOOK = [Reasoning("It must be read."), Text("I look."), READ]

ends = pytest.mark.parametrize("how", ["killed", "quit"])


@pytest.fixture
def fifo(project: Path) -> Iterator[Fifo]:
    with Fifo(project / "fifo") as pipe:
        yield pipe


def end(rig: NvimRig, how: str) -> None:
    if how == "killed":
        rig.nvim.kill()
    else:
        rig.nvim.close()


@pytest.mark.req("R3", "R4", "H3", "H10")
@ends
def test_an_interrupted_streaming_turn_is_restored_with_its_partial_text(
    open_rig: OpenRig, wire: Wire, how: str
) -> None:
    gate = Gate()
    edit = wire.edit("notes.txt", "three", "THREE")
    made = open_rig([LOOK, [edit], [Text("Half of an", gate, " answer.")], "All done."])
    made.open("notes.txt")
    made.submit("Shout the third line.")
    gate.wait_reached()
    before = made.wait_transcript("Half of an")
    assert made.state == "PROCESSING"

    end(made, how)
    made.model.requests[-1].wait_disconnected()
    nvim = made.open("notes.txt")
    made.resume()
    after = made.wait_done("Session resumed.")

    before = before[:-2]  # without the progress display at the end
    assert after[: len(before)] == before
    notices = [line for line in after[len(before) :] if line.startswith("·")]
    assert notices == ["· Stopped.", "· Session resumed."]
    assert made.hunk_states() == ["gone"]  # the buffer was never saved, so the change went with it
    assert nvim.lines() == TEXT.split()
    made.submit("Go on.")
    made.wait_done("All done.")
    said = wire.said(made.model.requests[-1].body)
    assert [who for who, _ in said][1:7] == ["assistant", "call", "result", "call", "result", "assistant"]
    assert said[6] == ("assistant", "Half of an")
    assert said[-1] == ("user", "Go on.")


@pytest.mark.req("R3", "R4", "L16", "H3", "H10")
@ends
def test_an_interrupted_command_is_restored_with_its_output_and_an_interrupted_result(
    open_rig: OpenRig, wire: Wire, fifo: Fifo, how: str
) -> None:
    command = "echo begun; echo up > fifo; sleep 600"
    made = open_rig([LOOK, [Text("I run it."), ToolCall("shell", {"command": command})], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Run it.")
    made.allow()
    assert fifo.next_line() == "up"
    nvim.wait_screen("│ begun")

    end(made, how)
    nvim = made.open("notes.txt")
    made.resume()
    after = made.wait_done("Session resumed.")

    shown = [line for line in after if line.startswith(("❯", "I ", "✓", "✗", "·"))]
    assert shown == [
        "❯ Run it.",
        "I look.",
        "✓ Read notes.txt · 9 lines",
        "I run it.",
        "✗ Ran echo begun; echo up > fifo; sleep 600",
        "· Stopped.",
        "· Session resumed.",
    ]
    made.submit("Go on.")
    made.wait_done("All done.")
    said = wire.said(made.model.requests[-1].body)
    assert [who for who, _ in said][-4:] == ["assistant", "call", "result", "user"]
    result = said[-2][1]
    assert "begun" in result
    assert "nterrupted" in result
    assert said[-1] == ("user", "Go on.")


@pytest.mark.req("R3", "R4", "H6", "H10")
def test_saved_pending_changes_are_restored(open_rig: OpenRig, wire: Wire) -> None:
    made = open_rig([LOOK, [wire.edit("notes.txt", "three", "THREE")], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Shout the third line.")
    made.wait_done("All done.")
    nvim.cmd("write")
    (hunk,) = made.hunks("notes.txt")

    nvim.kill()
    nvim = made.open("notes.txt")
    made.resume()

    made.wait_hunk_states("pending")
    assert [again["id"] for again in made.hunks("notes.txt")] == [hunk["id"]]
    nvim.wait_until(lambda: made.marks() == 1, "one mark")
    nvim.keys("3G:AgentLs undo<CR>")
    nvim.wait_lines(TEXT.split())


@only_linux
@pytest.mark.req("R4", "L16", "H10")
def test_resume_in_a_new_editor_waits_until_the_previous_server_has_shut_down(
    open_rig: OpenRig, fifo: Fifo
) -> None:
    stubborn = "trap '' TERM; echo $$ > fifo; while :; do sleep 1; done"
    made = open_rig([[Text("I run it."), ToolCall("shell", {"command": stubborn})], "All done."])
    made.open("notes.txt")
    made.submit("Run it.")
    made.allow()
    pid = int(fifo.next_line())
    try:
        made.nvim.kill()
        made.open("notes.txt")
        made.resume()

        made.wait_done("Session resumed.")
        assert not is_running(pid)
        assert "another process" not in "\n".join(made.transcript())
        made.submit("Go on.")
        made.wait_done("All done.")
    finally:
        end_process(pid)
