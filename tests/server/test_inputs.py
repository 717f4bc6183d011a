"""What a user sends becomes one text and images; what is none of that is named."""

from __future__ import annotations

import pytest

from agent_ls.llm.messages import ImagePart
from agent_ls.server.errors import InvalidParamsError
from agent_ls.server.inputs import text_and_images
from agent_ls.server.protocol import FileInput, ImageInput, InputPart, SelectionInput, TextInput


@pytest.mark.req("H12")
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([TextInput(text="hello")], "hello"),
        ([TextInput(text="look at"), FileInput(uri="file:///a%20b.py")], "look at\n\nFile: /a b.py"),
        ([FileInput(uri="untitled:1"), TextInput(text=" ")], "File: untitled:1"),
        (
            [SelectionInput(uri="file:///a.py", start_line=4, end_line=6, text="x\ny")],
            "Selected in /a.py, lines 5 to 6:\n```\nx\ny\n```",
        ),
        (
            [SelectionInput(uri="file:///a.md", start_line=0, end_line=0, text="```\n")],
            "Selected in /a.md, lines 1 to 1:\n````\n```\n````",
        ),
    ],
)
def test_parts_are_told_to_the_model_as_text(parts: list[InputPart], text: str) -> None:
    assert text_and_images(parts) == (text, ())


def test_an_image_is_bytes_and_needs_no_text() -> None:
    parts = [ImageInput(media_type="image/png", data="AAE=")]
    assert text_and_images(parts) == ("", (ImagePart(data=b"\0\1", media_type="image/png"),))


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (TextInput(text=" \n"), "no text"),
        (ImageInput(media_type="image/png", data="?"), "base64"),
        (ImageInput(media_type="image/svg+xml", data=""), r"image/svg\+xml"),
    ],
)
def test_what_is_no_input_is_refused_by_name(part: InputPart, reason: str) -> None:
    with pytest.raises(InvalidParamsError, match=reason):
        text_and_images([part])
