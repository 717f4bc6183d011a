"""Pictures have the text of the screen, and those in the docs show what the docs describe."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from tests.docs.pages import ROOT
from tests.tools.screenshot import CELL_WIDTH, MARGIN, PICTURE, RECORDING, Cell, Frame, animated_svg, svg

SVG = "{http://www.w3.org/2000/svg}"
DEFAULT = {"foreground": 0xEEEEEE, "background": 0x111111}


def row(*parts: tuple[str, dict[str, Any]]) -> list[Cell]:
    return [(char, look) for text, look in parts for char in text]


def test_the_text_of_a_screen_is_drawn_at_its_position_in_its_colours() -> None:
    rows = [row(("┃ ", {"foreground": 0xFFFF00}), ("  a<b ", {"bold": True}), ("&", {"reverse": True}))]

    picture = ElementTree.fromstring(svg(rows, DEFAULT, "A <screen>"))

    assert picture.findtext(f"{SVG}title") == "A <screen>"
    texts = picture.findall(f".//{SVG}text")
    assert [(text.text, text.get("fill"), text.get("font-weight")) for text in texts] == [
        ("a<b", "#eeeeee", "bold"),
        ("&", "#111111", None),
    ]
    assert texts[0].get("x") == f"{MARGIN + 4 * CELL_WIDTH:g}"
    fills = [rect.get("fill") for rect in picture.findall(f".//{SVG}rect")]
    assert fills == ["#111111", "#ffff00", "#eeeeee"]


def test_the_screenshot_in_the_docs_contains_a_change_and_an_approval_prompt() -> None:
    words = " ".join(ElementTree.parse(PICTURE).getroot().itertext())

    for text in ("agent 1 of 1", "Run this command?", "allow once", "waiting for you", "walkthrough"):
        assert text in words


def test_consecutive_spaces_shift_the_following_words_in_a_screenshot() -> None:
    picture = ElementTree.fromstring(svg([row(("a  b c", {}))], DEFAULT, "Gap"))

    texts = [(text.text, text.get("x")) for text in picture.findall(f".//{SVG}text")]
    assert texts == [("a", f"{MARGIN:g}"), ("b c", f"{MARGIN + 3 * CELL_WIDTH:g}")]


def test_screens_of_a_recording_are_shown_one_after_the_other() -> None:
    frames = [Frame([row((text, {}))], seconds) for text, seconds in (("first", 1.0), ("second", 3.0))]

    picture = animated_svg(frames, DEFAULT, "A recording")

    groups = ElementTree.fromstring(picture).findall(f".//{SVG}g[@class='frame']")
    assert ["".join(group.itertext()).strip() for group in groups] == ["first", "second"]
    assert "@keyframes f0{0.00%{visibility:visible}25.00%{visibility:hidden}}" in picture
    assert (
        "@keyframes f1{0%{visibility:hidden}25.00%{visibility:visible}100.00%{visibility:visible}}" in picture
    )
    assert "prefers-reduced-motion" in picture


def test_the_recording_of_neovim_shows_all_steps_from_prompt_to_accepted_changes() -> None:
    groups = ElementTree.parse(RECORDING).getroot().findall(f".//{SVG}g[@class='frame']")
    screens = [" ".join(group.itertext()) for group in groups]
    story = ["Find out why", "Make this change?", "agent 1 of 1", "agent 1 of 2", "All tests pass.", "2 kept"]

    first = [next(i for i, screen in enumerate(screens) if words in screen) for words in story]
    assert first == sorted(first)
    assert "agent 1 of" not in screens[-1]
    assert RECORDING.stat().st_size < 400_000


def test_the_vs_code_recording_is_a_small_animated_webp_image() -> None:
    data = (ROOT / "docs/images/vscode-demo.webp").read_bytes()

    assert data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) < 400_000
    assert [kind for kind, _ in chunks(data)].count(b"ANMF") == steps_of_the_recording()


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Return the kinds and the contents of the parts of a WebP file."""
    at = 12
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at + 4)
        yield data[at : at + 4], data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def steps_of_the_recording() -> int:
    """Return the number of pictures that the recording's script takes; each call of `allow` takes one."""
    script = (ROOT / "tests/editors/vscode/recording.mjs").read_text("utf-8")
    return len(re.findall(r"^  await (?:step|allow)\(", script, re.MULTILINE))
