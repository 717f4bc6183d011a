"""Truncation of long outputs."""

from __future__ import annotations

from hypothesis import given, strategies as st

from agent_ls.environments.base import DroppedOutput, Stream
from agent_ls.environments.local.processes.output import BackgroundOutput, CommandOutput

STREAMS: st.SearchStrategy[Stream] = st.sampled_from(("stdout", "stderr"))
PIECES = st.lists(st.tuples(STREAMS, st.text(alphabet="abc\n", max_size=9)))


def collected(pieces: list[tuple[Stream, str]], kept_chars: int) -> CommandOutput:
    output = CommandOutput(kept_chars)
    for stream, text in pieces:
        output.add(stream, text)
    return output


@given(PIECES)
def test_output_below_the_limit_is_complete_and_in_order(pieces: list[tuple[Stream, str]]) -> None:
    output = collected(pieces, 1_000)
    assert output.text("stdout", "stderr") == "".join(text for _, text in pieces)
    assert output.text("stderr") == "".join(text for stream, text in pieces if stream == "stderr")
    assert output.dropped("stdout", "stderr") == DroppedOutput()


@given(PIECES, st.integers(min_value=2, max_value=20))
def test_output_above_the_limit_keeps_its_start_and_end_and_counts_the_dropped_characters(
    pieces: list[tuple[Stream, str]], kept_chars: int
) -> None:
    whole = "".join(text for _, text in pieces)
    output = collected(pieces, kept_chars)
    dropped = max(len(whole) - kept_chars, 0)
    gone = whole[kept_chars // 2 : kept_chars // 2 + dropped]
    assert output.dropped("stdout", "stderr") == DroppedOutput(dropped, gone.count("\n"), dropped)
    head, tail = kept_chars // 2, kept_chars - kept_chars // 2
    expected = whole[:head] + DroppedOutput(dropped).marker + whole[-tail:] if dropped else whole
    assert output.text("stdout", "stderr") == expected


def test_a_stream_without_dropped_output_contains_no_dropped_line() -> None:
    output = collected([("stderr", "error\n"), ("stdout", "x" * 100)], 20)
    assert output.text("stderr") == "error\n"
    assert DroppedOutput(86).marker in output.text("stdout")


@given(
    st.lists(st.text(alphabet="ab", min_size=1, max_size=9)),
    st.none() | st.integers(0, 40),
    st.integers(0, 60),
)
def test_background_output_keeps_its_end_and_its_offsets_also_when_it_is_shrunk(
    pieces: list[str], kept: int | None, offset: int
) -> None:
    output = BackgroundOutput(kept_chars=30)
    for piece in pieces:
        output.add(piece)
    if kept is not None:
        output.shrink(kept)
    whole = "".join(pieces)
    start = max(len(whole) - min(30 if kept is None else kept, 30), 0)
    gone = DroppedOutput(start - offset).marker if offset < start else ""
    assert output.read(offset) == (gone + whole[max(offset, start) :], len(whole))
