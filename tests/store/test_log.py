"""The log as a file: modes, complete lines, a partial last line, write errors (R3, R7)."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import AssistantTextEnd, AssistantTextStart, Envelope, RecordedEvent
from agent_ls.store.errors import BadSessionError, NewerFormatError, UnknownOutputError
from agent_ls.store.log import Header, SessionLog, parse_header, record
from agent_ls.store.reader import read_session
from agent_ls.store.recorder import OUTPUT_MAX_BYTES, StoreRecorder, read_output

HEADER = Header("s-1", "2026-01-01T00:00:00.000Z", "/w", "fake", "m")


def _fail(error: OSError) -> None:
    pytest.fail(f"the log failed: {error}")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _event(recorder: StoreRecorder, seq: int, event: RecordedEvent) -> None:
    envelope = Envelope("s-1", seq, "t", event, "t-1")
    recorder.event(envelope, event_codec.encode(envelope))


@pytest.mark.req("R7")
async def test_folders_and_files_belong_to_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "deep" / "log.jsonl"
    log = SessionLog.create(path, HEADER, _fail)
    recorder = StoreRecorder(log, path.parent / "outputs", _fail)
    ref = await recorder.output("c1", "text")
    recorder.close()
    folders = (tmp_path / "state", path.parent, path.parent / "outputs")
    assert [_mode(folder) for folder in folders] == [0o700] * 3
    assert [_mode(file) for file in (path, path.parent / "outputs" / f"{ref}.txt")] == [0o600] * 2


async def test_each_record_is_one_line_in_order(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    recorder = StoreRecorder(SessionLog.create(path, HEADER, _fail), tmp_path, _fail)
    recorder.prompt("Be good.\nAlways.")
    _event(recorder, 1, AssistantTextStart("p"))
    recorder.config({"mode": "ask", "effort": None})
    await recorder.sync()
    recorder.close()
    recorder.close()
    lines = path.read_bytes().split(b"\n")
    assert len(lines) == 5
    assert lines[0].startswith(b'{"format":1,"sessionId":"s-1",')
    assert lines[2].startswith(b'{"event":{"sessionId":"s-1","seq":1,"kind":"assistant_text_start"')
    stored = read_session(path)
    assert (stored.state.prompt, stored.state.config) == (
        "Be good.\nAlways.",
        {"mode": "ask", "effort": None},
    )
    assert stored.header == HEADER


@pytest.mark.req("R3")
def test_a_partial_last_line_is_ignored_by_the_reader_and_removed_before_the_next_write(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    log = SessionLog.create(path, HEADER, _fail)
    log.append(record("prompt", "whole"))
    log.close()
    whole = path.read_bytes()
    for torn in (b'{"prompt":"to', b'{"prompt":"a whole record without its line end"}', b"x" * 200_000):
        path.write_bytes(whole + torn)
        assert read_session(path).state.prompt == "whole"
        assert "incomplete" in read_session(path).problems[0]
        again = SessionLog.reopen(path, _fail)
        again.append(record("prompt", "next"))
        again.close()
        assert path.read_bytes() == whole + record("prompt", "next")
        assert read_session(path).problems == ()


@pytest.mark.req("R5", "R3")
def test_lines_that_cannot_be_read_are_skipped_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    recorder = StoreRecorder(SessionLog.create(path, HEADER, _fail), tmp_path, _fail)
    _event(recorder, 1, AssistantTextStart("p"))
    recorder.close()
    bad = [
        b"garbage",
        b'{"event":{"sessionId":"s-1"}}',
        b'{"event":{"sessionId":"s-1","seq":1,"kind":"state","timestamp":"t","data":{"state":"IDLE"}}}',
        b'{"event":{"sessionId":"s-1","seq":2,"kind":"from_the_future","timestamp":"t","data":{}}}',
        b'{"turn":{"type":"user"}}',
        b'{"hologram":1}',
        b'["not an object"]',
        b'{"partial":{"partId":1}}',
        b"",
        b'{"event":{"sessionId":"s-1","seq":5,"kind":"state","timestamp":"t","data":{"state":"IDLE"}}}',
        b"\xff\xfe",
    ]
    with path.open("ab") as file:
        file.write(b"\n".join(bad) + b"\n")
    stored = read_session(path)
    assert stored.last_seq == 5
    assert [event.seq for event in stored.events] == [1, 2, 5]
    assert [event.seq for event in stored.events if event.seq > 1] == [2, 5]
    named = " ".join(stored.problems)
    assert all(f"line {number} was skipped" in named for number in (3, 4, 5, 7, 9, 10, 13))
    assert "events 3 to 4" in named
    assert not any(f"line {number} " in named for number in (6, 8, 11))


@pytest.mark.req("R3")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_recorded_events_survive_kill_9(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, signal, sys\n"
        "from agent_ls.loop.events import codec as event_codec\n"
        "from agent_ls.loop.events.types import Envelope, Warning\n"
        "from agent_ls.store.log import Header, SessionLog\n"
        "from agent_ls.store.recorder import StoreRecorder\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "log = SessionLog.create(path, Header('s-1', '', '/w', '', ''), print)\n"
        "recorder = StoreRecorder(log, path.parent, print)\n"
        "for seq in range(1, 4):\n"
        "    envelope = Envelope('s-1', seq, 't', Warning('w' * seq))\n"
        "    recorder.event(envelope, event_codec.encode(envelope))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "log.jsonl")], check=False)
    assert done.returncode == -signal.SIGKILL
    stored = read_session(tmp_path / "log.jsonl")
    assert (stored.last_seq, stored.problems) == (3, ())


HEADERS: list[tuple[bytes, type[Exception]]] = [
    (b'{"format":2,"sessionId":"s"}\n', NewerFormatError),
    (b'{"format":"x"}\n', NewerFormatError),
    (b"{}\n", BadSessionError),
    (b"[]\n", BadSessionError),
    (b"nothing\n", BadSessionError),
    (b'{"format":1,"sess', BadSessionError),
    (b"", BadSessionError),
]


@pytest.mark.req("R7")
@pytest.mark.parametrize(("content", "error"), HEADERS, ids=range(len(HEADERS)))
def test_a_file_without_a_valid_header_is_refused(
    tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(error):
        read_session(path)


def test_a_header_is_read_as_it_was_written() -> None:
    header = Header("s", "c", "/w\udc80", "p", "m", "Tïtle")
    assert parse_header(header.line().rstrip(b"\n"), "") == header


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system to fail a write with")
async def test_a_full_disk_is_reported_once_and_the_session_continues(tmp_path: Path) -> None:
    failures: list[OSError] = []
    log = SessionLog(Path("/dev/full"), os.open("/dev/full", os.O_WRONLY | os.O_APPEND), failures.append)
    recorder = StoreRecorder(log, tmp_path, failures.append)
    for seq in range(1, 4):
        _event(recorder, seq, AssistantTextEnd("p", "x"))
    recorder.close()
    assert len(failures) == 1


async def test_writes_after_close_are_reported_and_reach_no_other_file(tmp_path: Path) -> None:
    failures: list[OSError] = []
    log = SessionLog.create(tmp_path / "log.jsonl", HEADER, failures.append)
    log.close()
    descriptor = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)
    log.append(record("prompt", "late"))
    await log.sync()
    os.close(descriptor)
    assert (tmp_path / "other").read_bytes() == b""
    assert len(failures) == 1


def test_a_new_log_never_replaces_another(tmp_path: Path) -> None:
    SessionLog.create(tmp_path / "log.jsonl", HEADER, _fail).close()
    with pytest.raises(FileExistsError):
        SessionLog.create(tmp_path / "log.jsonl", HEADER, _fail)


@pytest.mark.req("R3")
def test_partial_records_contain_only_new_text_and_are_joined_when_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    recorder = StoreRecorder(SessionLog.create(path, HEADER, _fail), tmp_path, _fail)
    _event(recorder, 1, AssistantTextStart("p"))
    recorder.partial("p", "one")
    recorder.partial("c:out", "x")
    recorder.partial("p", "one two")
    recorder.close()
    assert b'{"partial":{"partId":"p","offset":3,"text":" two"}}' in path.read_bytes()
    state = read_session(path).state
    assert state.said["p"].text == "one two"
    assert state.outputs == {"c:out": "x"}


@pytest.mark.req("E3")
async def test_outputs_are_read_by_reference_from_an_offset(tmp_path: Path) -> None:
    recorder = StoreRecorder(SessionLog.create(tmp_path / "log", HEADER, _fail), tmp_path / "o", _fail)
    ref = await recorder.output("../../evil", "héllo")
    recorder.close()
    assert read_output(tmp_path / "o", ref, 0, 100) == "héllo".encode()
    assert read_output(tmp_path / "o", ref, 3, 2) == b"ll"
    for unknown in ("../log", "0" * 16, "", f"{ref}/../x"):
        with pytest.raises(UnknownOutputError):
            read_output(tmp_path / "o", unknown, 0, 1)


@pytest.mark.req("E3")
async def test_an_output_over_the_limit_keeps_head_and_tail_with_a_count(tmp_path: Path) -> None:
    recorder = StoreRecorder(SessionLog.create(tmp_path / "log", HEADER, _fail), tmp_path, _fail)
    ref = await recorder.output("c", "a" * OUTPUT_MAX_BYTES + "b" * 10)
    recorder.close()
    half = OUTPUT_MAX_BYTES // 2
    assert read_output(tmp_path, ref, half, 30) == b"\n[... 10 bytes ...]\n" + b"a" * 10
    assert read_output(tmp_path, ref, OUTPUT_MAX_BYTES + 20 - 10, 99) == b"b" * 10


async def test_an_output_that_cannot_be_stored_is_reported_and_has_no_reference(tmp_path: Path) -> None:
    failures: list[OSError] = []
    (tmp_path / "o").write_bytes(b"a file where the folder should be")
    log = SessionLog.create(tmp_path / "log", HEADER, failures.append)
    recorder = StoreRecorder(log, tmp_path / "o", failures.append)
    assert await recorder.output("c", "text") == ""
    recorder.close()
    assert len(failures) == 1
