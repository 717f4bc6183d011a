"""The folders of sessions, and how sessions are found and listed (R7)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import Envelope, Title, UserInput, Warning
from agent_ls.store.errors import SessionLockedError, StoreError
from agent_ls.store.layout import Layout, workspace_key
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession, SessionStore


def _store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "state", on_failure=lambda _, error: pytest.fail(str(error)))


def _header(session_id: str, workspace: Path, title: str = "") -> Header:
    return Header(session_id, "2026-01-01T00:00:00.000Z", str(workspace), "fake", "m", title)


def _say(session: OpenSession, *events: UserInput | Title | Warning) -> None:
    for seq, event in enumerate(events, start=1):
        envelope = Envelope(session.folder.name, seq, "t", event)
        session.recorder.event(envelope, event_codec.encode(envelope))


@pytest.mark.req("R7")
def test_the_default_root_is_the_users_state_folder() -> None:
    assert Layout().root == Path(os.environ["XDG_STATE_HOME"]) / "agent-ls"


@pytest.mark.req("R7")
def test_all_paths_of_a_workspace_have_the_same_workspace_key(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "w")
    keys = {
        workspace_key(str(path)) for path in (tmp_path / "w", tmp_path / "link", tmp_path / "x" / ".." / "w")
    }
    assert len(keys) == 1
    assert workspace_key(str(tmp_path)) not in keys


async def test_a_created_session_is_locked_until_closed_and_can_then_be_opened_again(tmp_path: Path) -> None:
    store = _store(tmp_path)
    made = store.create(_header("s-1", tmp_path))
    _say(made, UserInput("hello"))
    with pytest.raises(SessionLockedError):
        store.open("s-1")
    assert store.read("s-1").last_seq == 1
    made.close()
    opened = store.open("s-1")
    assert opened.stored is not None
    assert opened.stored.last_seq == 1
    ref = await opened.recorder.output("c", "text")
    assert opened.output(ref, 0, 10) == b"text"
    opened.close()
    note = store.layout.workspace_folder(str(tmp_path)) / "workspace.json"
    assert str(tmp_path) in note.read_text(encoding="utf-8")


def test_creating_a_session_with_an_existing_id_leaves_no_lock(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.create(_header("s-1", tmp_path)).close()
    with pytest.raises(FileExistsError):
        store.create(_header("s-1", tmp_path))
    store.open("s-1").close()


@pytest.mark.parametrize("bad", ["", "..", "../x", "a/b", "a\\b", "*", "." * 3, "x" * 101, "a\0b"])
def test_creating_or_opening_a_session_with_an_invalid_id_is_refused(tmp_path: Path, bad: str) -> None:
    store = _store(tmp_path)
    with pytest.raises(StoreError):
        store.create(_header(bad, tmp_path))
    with pytest.raises(StoreError, match="No session"):
        store.open(bad)


@pytest.mark.req("R7", "H2")
def test_sessions_are_listed_newest_first_with_title_and_last_event_number(tmp_path: Path) -> None:
    store = _store(tmp_path)
    one, two = tmp_path / "one", tmp_path / "two"
    for number, (session_id, workspace) in enumerate([("s-1", one), ("s-2", two), ("s-3", one)]):
        session = store.create(_header(session_id, workspace))
        filler: list[UserInput | Title | Warning] = [Warning("x" * 1000)] * 200
        titles: dict[str, list[UserInput | Title | Warning]] = {
            "s-1": [UserInput("fix the\nlogin bug")],
            "s-2": [UserInput("u"), Title("Fix it")],
            "s-3": [],
        }
        _say(session, *titles[session_id], *filler)
        session.close()
        os.utime(session.folder / "log.jsonl", (1_700_000_000 + number, 1_700_000_000 + number))
    broken = store.layout.session_folder(str(one), "s-9")
    broken.mkdir(parents=True)
    (broken / "log.jsonl").write_bytes(b"not a log")
    listed = store.sessions()
    assert [(s.header.session_id, s.title, s.last_seq) for s in listed] == [
        ("s-3", "", 200),
        ("s-2", "Fix it", 202),
        ("s-1", "fix the", 201),
    ]
    assert listed[0].updated == "2023-11-14T22:13:22.000Z"
    assert [s.header.session_id for s in store.sessions(str(one))] == ["s-3", "s-1"]
    assert store.sessions(str(tmp_path / "none")) == []


def test_the_session_title_is_that_of_the_last_title_event_or_else_of_the_header(tmp_path: Path) -> None:
    store = _store(tmp_path)
    session = store.create(_header("s-1", tmp_path, "From the start"))
    assert store.sessions()[0].title == "From the start"
    _say(session, UserInput('say "kind":"title"'), Title("First"), Warning("w"), Title('Last "one" {}'))
    session.close()
    assert store.sessions()[0].title == 'Last "one" {}'


@pytest.mark.req("R7")
def test_session_summaries_are_read_lazily_and_again_only_if_the_log_or_title_changed(tmp_path: Path) -> None:
    store = _store(tmp_path)
    for number in range(3):
        session = store.create(_header(f"s-{number}", tmp_path, "before"))
        session.close()
        os.utime(session.folder / "log.jsonl", (1_700_000_000 + number, 1_700_000_000 + number))
    layout, listed = store.layout, store.layout.list_sessions(str(tmp_path))
    assert [session.session_id for session in listed] == ["s-2", "s-1", "s-0"]
    assert next(layout.summaries(listed)).header.session_id == "s-2"
    for found in listed:
        log = found.folder / "log.jsonl"
        times = log.stat().st_mtime_ns
        log.write_bytes(log.read_bytes().replace(b'"before"', b'"behind"'))
        os.utime(log, ns=(times, times))
    titles = [summary.title for summary in layout.summaries(listed)]
    assert titles == ["before", "behind", "behind"]  # only the first one had been read already
    (listed[0].folder / "title").write_text("named")
    assert [summary.title for summary in layout.sessions()] == ["named", "behind", "behind"]
    (listed[1].folder / "log.jsonl").write_bytes(b"not a log")
    assert [summary.header.session_id for summary in layout.sessions()] == ["s-2", "s-0"]
