"""Decoding frames gives the encoded ones, regardless of the pieces in which the bytes arrive (H5)."""

from __future__ import annotations

import pytest

from agent_ls.relay.frames import OUTPUT, RUN, FrameDecoder, decode_words, encode_frame, encode_words

SAID = (
    encode_frame(OUTPUT, b"\0\xff" * 10) + encode_frame(OUTPUT) + encode_words(RUN, "/größe", "", 7, "\udcff")
)


@pytest.mark.req("H5")
@pytest.mark.parametrize("size", [1, 3, 7, len(SAID)])
def test_decoded_frames_do_not_depend_on_how_the_bytes_are_split(size: int) -> None:
    frames = FrameDecoder()
    found = [item for at in range(0, len(SAID), size) for item in frames.feed(SAID[at : at + size])]

    assert found[:2] == [(OUTPUT, b"\0\xff" * 10), (OUTPUT, b"")]
    kind, payload = found[2]
    assert (kind, decode_words(payload)) == (RUN, ["/größe", "", "7", "\udcff"])


@pytest.mark.req("H5")
def test_a_length_beyond_all_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="a frame of"):
        FrameDecoder().feed(b"O\xff\xff\xff\xff")
