"""Pages of a log's items: equal to those of the whole log, also with a partial last line, at constant cost (H2, H3)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agent_ls.llm.requests import Usage
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.items import ItemReducer
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Envelope,
    FileChange,
    ProcessingEnd,
    RecordedEvent,
    SteeringInjected,
    SteeringQueued,
    ToolCallEnd,
    ToolCallStart,
    UsageReport,
    UserInput,
)
from agent_ls.store import pages
from agent_ls.store.log import Header, SessionLog, event_record, record

HEADER = Header("s-1", "2026-01-01T00:00:00.000Z", "/w", "fake", "m")

IDS = st.integers(0, 2).map(str)
EVENTS = st.one_of(
    st.builds(UserInput, st.text(max_size=5)),
    st.builds(AssistantTextStart, IDS),
    st.builds(AssistantTextEnd, IDS, st.text(max_size=5)),
    st.builds(lambda i: ToolCallStart(f"c{i}", 0, "grep", "{}", "x"), IDS),
    st.builds(lambda i, o: ToolCallEnd(f"c{i}", "grep", o, "x", False, "", 1, len(o)), IDS, st.text(max_size=5)),
    st.builds(lambda i: FileChange("c0", f"/w/{i}", "modify", 1, 1, ""), IDS),
    st.builds(lambda i: SteeringQueued(f"st{i}", "x"), IDS),
    st.builds(lambda i: SteeringInjected(f"st{i}", "x"), IDS),
    st.builds(lambda i: ApprovalRequested(f"a{i}", "c0", "t", "s", "r", {}, "d"), IDS),
    st.builds(lambda i: ApprovalResolved(f"a{i}", "allow", "once", "me"), IDS),
    st.just(UsageReport(Usage(), Usage(), 1, 2)),
    st.just(ProcessingEnd("completed")),
)  # fmt: skip


def enveloped(events: list[RecordedEvent]) -> list[Envelope]:
    return [Envelope("s-1", seq, "now", event, "t-1") for seq, event in enumerate(events, start=1)]


def written(path: Path, envelopes: list[Envelope], between: bytes = b"") -> Path:
    path.unlink(missing_ok=True)
    log = SessionLog.create(path, HEADER, lambda error: pytest.fail(str(error)))
    for envelope in envelopes:
        log.append(event_record(event_codec.encode(envelope)), between)
    log.close()
    return path


def folded(envelopes: list[Envelope]) -> ItemReducer:
    reducer = ItemReducer()
    for envelope in envelopes:
        reducer.add(envelope)
    return reducer


def conversation(turns: int, bulk: str = "") -> list[RecordedEvent]:
    events: list[RecordedEvent] = []
    for n in range(turns):
        events += [
            UserInput(f"input {n}"),
            AssistantTextStart(f"p{n}"),
            AssistantTextEnd(f"p{n}", f"answer {n}{bulk}"),
            ToolCallStart(f"c{n}", 0, "edit_file", "{}", "edit"),
            FileChange(f"c{n}", f"/w/{n}.py", "modify", n, 1, ""),
            ToolCallEnd(f"c{n}", "edit_file", "done", "done", False, "", 1, 4),
            ProcessingEnd("completed"),
        ]
    return events


@pytest.mark.req("H3")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENTS, max_size=30), limit=st.integers(1, 7))
def test_items_reduced_from_live_events_equal_items_read_from_the_log_and_from_pages(
    tmp_path: Path, events: list[RecordedEvent], limit: int
) -> None:
    live = enveloped(unique(events))
    path = written(tmp_path / "log.jsonl", live, between=record("turn", {"pad": "x" * 300}))
    expected = folded(live).items

    assert pages.all_items(path) == expected
    assert page_by_page(path, limit) == expected
    assert pages.snapshot(path, len(live), 500).items == expected[::-1]


def unique(events: list[RecordedEvent]) -> list[RecordedEvent]:
    """Return the events without repeated starts, because an id starts once in a session."""
    seen: set[str] = set()
    kept = []
    for event in events:
        if isinstance(event, AssistantTextStart | ToolCallStart | SteeringQueued | ApprovalRequested):
            if (key := str(event)) in seen:
                continue
            seen.add(key)
        kept.append(event)
    return kept


def page_by_page(path: Path, limit: int) -> tuple[Any, ...]:
    found: list[Any] = []
    before = None
    while True:
        page = pages.read_page(path, before, limit)
        found += page.items
        assert len(page.items) == limit or not page.more
        if not page.more:
            return tuple(reversed(found))
        before = page.items[-1].seq


@pytest.mark.req("H3")
def test_a_snapshot_at_an_event_ignores_later_events_of_the_log(tmp_path: Path) -> None:
    live = enveloped(conversation(3))
    path = written(tmp_path / "log.jsonl", live)

    for last in range(len(live) + 1):
        assert pages.snapshot(path, last, 500).items == folded(live[:last]).items[::-1]


@pytest.mark.req("R3")
@pytest.mark.parametrize("torn", [b'{"event":{"sessionId":"s-1","seq":8,"ki', b"x" * 200_000])
def test_a_partial_last_line_is_ignored(tmp_path: Path, torn: bytes) -> None:
    live = enveloped(conversation(1))
    path = written(tmp_path / "log.jsonl", live)
    with path.open("ab") as file:
        file.write(torn)

    assert pages.read_page(path, None, 100).items == folded(live).items[::-1]
    assert pages.last_seq(path) == 7
    assert len(pages.events_between(path, 0)) == 7


@pytest.mark.req("R3")
def test_damaged_and_foreign_lines_in_the_middle_are_skipped(tmp_path: Path) -> None:
    live = enveloped(conversation(2))
    foreign = b'{"event":{"sessionId":"s-1","seq":3,"kind":"from_the_future","timestamp":"","data":{}}}\n'
    damaged = b'{"event":{"sessionId":"s-1"\n{"event":[]}\n\xff\xfe\n' + b"[" * 5000 + b"\n"
    path = written(tmp_path / "log.jsonl", live, between=foreign + damaged)

    assert page_by_page(path, 3) == folded(live).items


@pytest.mark.req("R3")
def test_after_a_kill_the_history_contains_the_logged_part_of_an_unfinished_text(tmp_path: Path) -> None:
    live = enveloped([UserInput("hi"), AssistantTextStart("p")])
    path = written(tmp_path / "log.jsonl", live)
    with path.open("ab") as file:
        file.write(record("partial", {"partId": "p", "offset": 0, "text": "I beg"}))
        file.write(record("partial", {"partId": "p", "offset": 5, "text": "in"}))
        file.write(record("partial", {"partId": "p"}))

    assert pages.read_page(path, None, 1).items[0].body.text == "I begin"  # type: ignore[union-attr]


@pytest.mark.req("H2", "H3")
def test_the_number_of_bytes_read_for_a_page_does_not_grow_with_the_session(tmp_path: Path) -> None:
    read = {}
    for turns in (100, 2_000):
        path = written(tmp_path / f"{turns}.jsonl", enveloped(conversation(turns, bulk="y" * 500)))
        total = turns * 7
        with pages.open_part(path) as log:
            page = pages.page_of(log, total // 2, 50)
            assert len(page.items) == 50 and page.more
            read[turns] = log.bytes_read

    # The search takes a few more steps, and reads one chunk in each.
    assert read[2_000] < read[100] + 12 * pages.CHUNK_BYTES


class CountedBytes(bytes):
    """Bytes that count how many bytes are copied when they are added to others."""

    copied = 0

    def __add__(self, other: Any) -> bytes:
        CountedBytes.copied += len(self) + len(other)
        return bytes(self) + bytes(other)

    def __radd__(self, other: Any) -> bytes:
        CountedBytes.copied += len(self) + len(other)
        return bytes(other) + bytes(self)


class CountedFile(io.FileIO):
    def read(self, size: int | None = -1, /) -> Any:
        return CountedBytes(super().read(size))


def test_reading_a_long_line_copies_each_byte_a_few_times(tmp_path: Path) -> None:
    lines = [b"first", b"x" * 40 * pages.CHUNK_BYTES, b"last"]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join([*lines, b""]))
    CountedBytes.copied = 0
    with CountedFile(path) as file:
        log = pages.LogPart(file)
        assert [*log.forward(0)] == lines
        assert [*log.backward(log.size)] == lines[::-1]
    assert CountedBytes.copied <= 4 * log.size
