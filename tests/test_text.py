"""Lines and their numbers, in whole texts and in parts of long ones, and bytes that are not valid text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from agent_ls.text import (
    NotEncodableError,
    TextLines,
    count_lines,
    decode,
    encode,
    encode_changed,
    join_sentences,
    looks_binary,
    render_terminal_output,
    reveal_controls,
    split_lines,
)
from tests.support.reports import reported

TEXTS = st.text(st.sampled_from("ab\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029\U0001f600"), max_size=20)
LF_TEXTS = st.text(st.sampled_from("ab\n\n\x0c\u2028"), max_size=20)


@given(TEXTS | LF_TEXTS)
def test_lines_are_split_only_at_lf_crlf_and_cr(text: str) -> None:
    assert split_lines(text) == re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z", text)


@given(TEXTS | LF_TEXTS)
def test_count_lines_equals_the_number_of_split_lines(text: str) -> None:
    assert count_lines(text) == len(split_lines(text))


@given(TEXTS | LF_TEXTS, st.lists(st.slices(8) | st.integers(-8, 8), min_size=1, max_size=6))
def test_text_lines_read_in_any_order_equal_the_lines_of_the_whole_text(
    text: str, keys: list[slice | int]
) -> None:
    lines, split = TextLines(text), split_lines(text)
    assert len(lines) == len(split)
    assert [_looked_at(lines, key) for key in keys] == [_looked_at(split, key) for key in keys]


def _looked_at(lines: Sequence[str], key: slice | int) -> object:
    try:
        return lines[key]
    except IndexError:
        return IndexError


def test_slices_of_a_long_text_contain_the_correct_lines_at_any_position() -> None:
    text = "".join(f"{n}" * (n % 40) + "\n" for n in range(20_000))
    lines, split = TextLines(text), split_lines(text)
    for start in (0, 19_990, 3, 700, 701, 12_345, 19_999):
        assert lines[start : start + 5] == split[start : start + 5]


@pytest.mark.parametrize(
    ("data", "is_valid"),
    [
        (b"plain", True),
        ("é😀".encode(), True),
        (b"a\xffb", True),
        (b"a\xff\x01b", False),
        (b"\xff\xfea\0", True),
        (b"\xed\xa0\x80", False),
    ],
)
def test_bytes_that_are_not_valid_text_are_detected_and_preserved(data: bytes, is_valid: bool) -> None:
    decoded = decode(data)
    assert decoded.is_valid is is_valid
    assert encode(decoded) == data


@pytest.mark.req("T5")
@pytest.mark.parametrize(
    ("printed", "left"),
    [
        ("plain\ntext\n", "plain\ntext\n"),
        ("\x1b[1;31mred\x1b[0m and \x1b]0;title\x07blue\n", "red and blue\n"),
        ("10%\r20%\r30%\rdone\n", "done\n"),
        ("loading...\rok\n", "okading...\n"),
        ("loading...\r\x1b[Kok\n", "ok\n"),
        ("loading...\x1b[2K\x1b[1Gok\n", "ok\n"),
        ("ab\x08\x08x\n", "xb\n"),
        ("a\x1b[3Cb\x1b[2DX\n", "a  Xb\n"),
        ("of windows\r\nas it is\r\n", "of windows\r\nas it is\r\n"),
        ("old\rnew\r\n", "new\r\n"),
        ("before\x1b[?1049hfull\nscreen\x1b[?1049lafter\n", "beforeafter\n"),
        reported(
            "daintreehq/daintree#1108",
            "before\n\x1b[?1049hTraceback: no config file\n",
            "before\nTraceback: no config file",
            id="died-on-the-other-screen",
        ),
        ("\x1b[?47h\x1b[2J\x1b[1;1Hfirst\x1b[5;3Hfatal: not a terminal", "first\nfatal: not a terminal"),
        ("a\x1b[?1049hdropped\x1b[?1049lb\n\x1b[?1049h~\r\n~\r\nkept", "ab\nkept"),
        ("\x1b[999999999C!\n", f"{' ' * 10_000}!\n"),
        ("cut \x1b[", "cut "),
        ("\x1b(B\x1b[mend\x1b7\x1b8 of colours\x1b=\x1bc\n", "end of colours\n"),
        reported(
            "borisfaure/terminology#115",
            "O\x1b7\x1b[24;80HA\x1b8K\n",
            "OK\nA",
            id="a text at the bottom",
        ),
        (
            "\x1b7\x1b[0;23r\x1b8\x1b[1AGet\n\x1b7\x1b[24;0f[ 3%]\x1b[m\x1b8Unpack\n\x1b7\x1b[24;0f[90%]\x1b8Done\n",
            "Get\nUnpack\nDone\n[90%]",
        ),
        ("one\n\x1b[s\x1b[24;1Hbar\x1b[utwo\n\x1b7\x1b[24;1f\x1b[K\x1b8", "one\ntwo\n"),
        ("\x1b7| working\x1b8\x1b7/ working\x1b8\x1b[Kdone\n", "done\n"),
        ("\x1b[sloading\x1b[uok\n", "okading\n"),
        ("not saved\x1b8!\n", "!ot saved\n"),
        ("an image \x1b_Gf=100;AA\nAA\x1b\\and \x1bPq#0~~\x1b\\one more", "an image and one more"),
        ("bell\x07 \x0ebox\x0f a\x00b\x1b", "bell box a\x00b"),
        pytest.param(f"\x1b[{'1' * 5_000}Gx\ry\n", "y\n", id="a number of 5000 digits"),
        ("", ""),
    ],
)
def test_rendered_terminal_output_omits_overwritten_text_and_control_sequences(
    printed: str, left: str
) -> None:
    assert render_terminal_output(printed) == left


@pytest.mark.req("H7")
def test_control_characters_are_replaced_by_visible_symbols_in_approval_text() -> None:
    hidden = "ls \x1b];rm -r build;\x07\r\t\u202e\x9b\n"

    assert reveal_controls(hidden) == "ls \u241b];rm -r build;\u2407\u240d\t\ufffd\ufffd\n"


def test_a_terminal_line_overwritten_100000_times_is_rendered_as_its_final_state() -> None:
    assert render_terminal_output("".join(f"{n}%\r" for n in range(100_000)) + "done     \n") == "done     \n"


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("data", "text", "encoding", "is_guessed"),
    [
        (b"caf\xe9\n", "café\n", "cp1252", True),
        (b"\x93quoted\x94 \x80\n", "“quoted” €\n", "cp1252", True),
        (b"\x81\xe9\n", "\x81é\n", "latin-1", True),
        (
            b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
            "# -*- coding: latin-1 -*-\nx = 'é'\n",
            "iso8859-1",
            False,
        ),
        (b"#!/usr/bin/python\n# vim: set fileencoding=koi8-r :\n\xc1\n", None, "koi8-r", False),
        (b'<?xml version="1.0" encoding="ISO-8859-15"?>\n<a>\xa4</a>\n', None, "iso8859-15", False),
        (b"<html><head><meta charset=shift_jis></head>\x82\xa0\n", None, "shift_jis", False),
        (
            b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">\xc0',
            None,
            "cp1251",
            False,
        ),
        (b'@charset "iso-8859-2";\n/* \xb3 */\n', None, "iso8859-2", False),
        (b"# coding: latin-1\nplain\n", None, "iso8859-1", False),
        ("# coding: latin-1\né\n".encode(), "# coding: latin-1\né\n", "utf-8", False),
        (b"# coding: no-such-codec\n\xe9\n", "# coding: no-such-codec\né\n", "cp1252", True),
        (b"# coding: rot13\n\xe9\n", "# coding: rot13\né\n", "cp1252", True),
        (b'<?xml version="1.0" encoding="UTF-16"?>\n<a/>\n', None, "utf-8", False),
        (b"# coding: shift_jis\n\xff\xe9\n", "# coding: shift_jis\nÿé\n", "cp1252", True),
        ("naïve ".encode() + b"\xe9", "naïve \udce9", "utf-8", False),
        (b"\xe9\x01\x02", "\udce9\x01\x02", "utf-8", False),
    ],
)
def test_a_file_is_decoded_and_encoded_in_the_detected_encoding(
    data: bytes, text: str | None, encoding: str, is_guessed: bool
) -> None:
    decoded = decode(data)
    assert (decoded.encoding, decoded.is_guessed) == (encoding, is_guessed)
    assert text is None or decoded.text == text
    assert encode(decoded) == data


@given(st.binary(max_size=40) | st.binary(max_size=40).map(lambda data: b"# coding: shift_jis\n" + data))
def test_arbitrary_bytes_are_unchanged_after_decoding_and_encoding(data: bytes) -> None:
    assert encode(decode(data)) == data


@pytest.mark.req("T2")
def test_a_character_that_cannot_be_encoded_is_reported_with_its_line() -> None:
    form = decode(b"# coding: latin-1\n\xe9\n")
    with pytest.raises(NotEncodableError, match=r"line 3: '€' \(U\+20AC\) cannot be written in iso8859-1"):
        encode_changed(form, form.text + "€\n")


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"# coding: latin-1\n\xe9\n", "# coding: utf-8\né€\n", "# coding: utf-8\né€\n".encode()),
        (b"# coding: latin-1\n\xe9\n", "é\n", "é\n".encode()),
        (b"caf\xe9\n", "café, né\n", b"caf\xe9, n\xe9\n"),
        (b"", "# coding: cp1251\nя\n", b"# coding: cp1251\n\xff\n"),
    ],
)
def test_a_changed_encoding_declaration_in_a_file_changes_the_encoding(
    before: bytes, text: str, after: bytes
) -> None:
    assert encode_changed(decode(before), text) == after


@pytest.mark.parametrize(
    ("message", "hint", "joined"),
    [
        (
            "No session x is stored.",
            "`agent-ls sessions` lists them",
            "No session x is stored. `agent-ls sessions` lists them",
        ),
        ("no provider is set up", "enter a key", "no provider is set up. Enter a key"),
        ("Really?", "Yes.", "Really? Yes."),
        ("alone", "", "alone"),
        ("", "the known names are a, b", "the known names are a, b"),
        (" ", "", ""),
    ],
)
def test_message_and_hint_are_two_sentences_with_one_stop(message: str, hint: str, joined: str) -> None:
    assert join_sentences(message, hint) == joined


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be"])
def test_utf_32_is_binary_and_not_read_as_utf_16(encoding: str) -> None:
    data = "\ufeffhello\n".encode(encoding)
    assert looks_binary(data) and decode(data).encoding == "utf-8" and encode(decode(data)) == data
