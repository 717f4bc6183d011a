from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm import sse
from agent_ls.llm.errors import StreamError
from agent_ls.llm.sse import Frame, SseDecoder
from tests.support.codec_runs import cut


def frames_of(chunks: list[bytes]) -> list[Frame]:
    decoder = SseDecoder()
    return [frame for chunk in chunks for frame in decoder.feed(chunk)] + decoder.close()


CASES = {
    "one": (b"data: x\n\n", [Frame("", "x")]),
    "named": (b"event: ping\ndata: {}\n\n", [Frame("ping", "{}")]),
    "crlf": (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [Frame("a", "1"), Frame("", "2")]),
    "cr": (b"event: a\rdata: 1\r\rdata: 2\r\r", [Frame("a", "1"), Frame("", "2")]),
    "mixed ends": (b"event: a\r\ndata: 1\n\rdata: 2\r\n\n", [Frame("a", "1"), Frame("", "2")]),
    "joined data": (b"data: a\ndata: b\ndata:\n\n", [Frame("", "a\nb\n")]),
    "one blank is dropped": (b"data:  two\n\n", [Frame("", " two")]),
    "no blank": (b"data:x:y\n\n", [Frame("", "x:y")]),
    "comments": (b": OPENROUTER PROCESSING\n\n: x\ndata: 1\n: y\n\n", [Frame("", "1")]),
    "a failure in a field of its own": (b'error: {"a": 1}\n\n', [Frame("error", '{"a": 1}')]),
    "an object in no field": (b'data: 1\n\n{\n  "a": {\n  }\n}\n', [Frame("", "1"), Frame("", '{\n  "a": {\n  }\n}')]),
    "unknown fields": (b"id: 7\nretry: 10\nother: z\ndata: 1\n\n", [Frame("", "1")]),
    "no data, no frame": (b"event: x\n\ndata\n\ndata:\n\n", []),
    "name does not linger": (b"event: x\n\ndata: 1\n\n", [Frame("", "1")]),
    "bom": (b"\xef\xbb\xbfdata: 1\n\n", [Frame("", "1")]),
    "no line ends": ("data: a\u2028b\u0085c\x0bd\x0c\n\n".encode(), [Frame("", "a\u2028b\u0085c\x0bd\x0c")]),
    "not utf-8": (b"data: a\xff\n\n", [Frame("", "a\ufffd")]),
    "padding": (b"data: {}   \n\n", [Frame("", "{}   ")]),
    "blank line never came": (b"data: 1\n", [Frame("", "1")]),
    "line never ended": (b"data: 1\n\ndata: 2", [Frame("", "1"), Frame("", "2")]),
    "line cut in its JSON": (b'data: 1\n\ndata: {"a": 2', [Frame("", "1")]),
    "last line is whole JSON": (b'data: 1\n\ndata: {"a": 2}', [Frame("", "1"), Frame("", '{"a": 2}')]),
    "last line is the end mark": (b"data: [DONE]", [Frame("", "[DONE]")]),
    "last line is a cut end mark": (b"data: [DO", []),
    "bare JSON without a line end": (b'{"error": {"code": 1}}', [Frame("", '{"error": {"code": 1}}')]),
}  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), CASES.values(), ids=CASES)
def test_a_stream_in_any_chunks_has_the_same_frames(data: bytes, expected: list[Frame]) -> None:
    assert frames_of([data]) == expected
    assert frames_of([data[i : i + 1] for i in range(len(data))]) == expected
    for at in range(len(data)):
        assert frames_of([data[:at], b"", data[at:]]) == expected


LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "", "event: x", ": comment", "data:", "id: 1"]),
        st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=12).map("data: {}".format),
    ),
    max_size=12,
)


@given(lines=LINES, ends=st.lists(st.sampled_from(["\n", "\r\n", "\r"])), sizes=st.lists(st.integers(1, 9)))
def test_any_chunking_gives_the_same_frames(lines: list[str], ends: list[str], sizes: list[int]) -> None:
    data = "".join(line + (ends[i % len(ends)] if ends else "\n") for i, line in enumerate(lines)).encode()
    assert frames_of(cut(data, sizes)) == frames_of([data])


def test_a_frame_is_returned_as_soon_as_its_blank_line_arrives() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: 1\r") == []
    assert decoder.feed(b"\n\r") == [Frame("", "1")]
    assert decoder.feed(b"\ndata: 2\n\n") == [Frame("", "2")]


def test_an_endless_line_is_refused_at_a_size_limit() -> None:
    decoder = SseDecoder()
    chunk = b"x" * (sse.MAX_LINE_BYTES // 4)
    for _ in range(4):
        decoder.feed(chunk)
    with pytest.raises(StreamError, match="a line of more than"):
        decoder.feed(b"x")
