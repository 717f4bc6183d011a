"""Frames: any chunking gives the same bodies, and a bad header is reported after the bodies before it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.server.transport.framing import MAX_HEADER_BYTES, FrameError, FrameParser, frame


@given(st.lists(st.binary(max_size=60), max_size=5), st.data())
def test_the_frame_parser_returns_the_same_bodies_for_any_chunking(
    bodies: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(map(frame, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    parser = FrameParser()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += parser.feed(stream[start:end])
    assert found == bodies


def test_the_frame_parser_accepts_single_bytes_and_waits_for_the_end_of_a_message() -> None:
    parser = FrameParser()
    stream = frame(b"{}") + frame(b"more")[:-1]
    assert [body for byte in stream for body in parser.feed(bytes([byte]))] == [b"{}"]
    assert list(parser.feed(b"e")) == [b"more"]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        b"X-Other: whatever\r\nContent-Length:  2 \r\n\r\n",
    ],
)
def test_the_frame_parser_accepts_all_valid_header_variants(header: bytes) -> None:
    assert list(FrameParser().feed(header + b"{}")) == [b"{}"]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"Content-Length: -1\r\n\r\n", "not a number"),
        (b"Content-Length: 0x2\r\n\r\n", "not a number"),
        (b"Content-Length: \xb2\r\n\r\n", "not a number"),
        (b"Content-Length: 101\r\n\r\n", "101 bytes"),
        (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n", "not a number"),
        (b"X: 1\r\n\r\n", "the message header has no Content-Length"),
        (b": 1\r\n\r\n", "without a name"),
        (b"Content-Length: 2\n\n{}", "no end"),
        (b"x" * MAX_HEADER_BYTES, "no end"),
        (b"Content-Type: a; charset=latin-1\r\nContent-Length: 2\r\n\r\n", "UTF-8"),
    ],
)
def test_a_bad_header_is_reported_after_the_bodies_before_it(header: bytes, reason: str) -> None:
    found: list[bytes] = []
    with pytest.raises(FrameError, match=reason):
        for body in FrameParser(max_body_bytes=100).feed(frame(b"first") + header):
            found.append(body)  # noqa: PERF402  # what came before the error is what is tested
    assert found == [b"first"]


@given(st.lists(st.sampled_from([b"{}", b'{"a":1}']), min_size=1, max_size=4), st.data())
def test_the_frame_parser_finds_the_next_message_after_a_bad_header_for_any_chunking(
    bodies: list[bytes], data: st.DataObject
) -> None:
    bad = data.draw(
        st.sampled_from(
            [b"Content-Length: -1\r\n\r\n", b"no header\r\n\r\n", b"Content-Length: 2\n\n{}", b"X: 1\r\n\r\n{}",
             b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"x" * 5_000]
        )
    )  # fmt: skip
    stream = frame(b"first") + bad + b"".join(map(frame, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    parser, reasons, found = FrameParser(), list[str](), list[bytes]()
    parser.on_bad_header = reasons.append
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += parser.feed(stream[start:end])
    assert found == [b"first", *bodies] and len(reasons) == 1
