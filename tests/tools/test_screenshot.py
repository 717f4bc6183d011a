"""The picture of a screen says what the screen says."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from tests.tools.screenshot import CELL_WIDTH, MARGIN, PICTURE, Cell, svg

SVG = "{http://www.w3.org/2000/svg}"
DEFAULT = {"foreground": 0xEEEEEE, "background": 0x111111}


def row(*parts: tuple[str, dict[str, Any]]) -> list[Cell]:
    return [(char, look) for text, look in parts for char in text]


def test_a_screen_becomes_text_where_it_renders_in_its_colours() -> None:
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


def test_the_picture_in_the_docs_shows_a_change_and_a_question() -> None:
    words = " ".join(ElementTree.parse(PICTURE).getroot().itertext())

    for text in ("agent 1 of 1", "Run this command?", "allow once", "waiting for you", "walkthrough"):
        assert text in words
