"""What a user sends becomes one text and images; what is none of that is named."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_ls.llm.messages import ImagePart
from agent_ls.server.errors import InvalidParamsError, UnknownCommandError
from agent_ls.server.inputs import text_and_images
from agent_ls.server.protocol import (
    CommandInput,
    DiagnosticsInput,
    FileInput,
    FolderInput,
    ImageInput,
    InputPart,
    SelectionInput,
    TextInput,
)


def told(parts: Sequence[InputPart]) -> tuple[str, tuple[ImagePart, ...]]:
    return text_and_images(parts, lambda path: f"problems of {path}")


@pytest.mark.req("H12")
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([TextInput(text="hello")], "hello"),
        ([TextInput(text="look at"), FileInput(uri="file:///a%20b.py")], "look at\n\nFile: /a b.py"),
        ([FileInput(uri="untitled:1"), TextInput(text=" ")], "File: untitled:1"),
        ([FolderInput(uri="file:///src/")], "Folder: /src"),
        ([DiagnosticsInput()], "problems of None"),
        ([DiagnosticsInput(uri="file:///a.py")], "problems of /a.py"),
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
    assert told(parts) == (text, ())


def test_an_image_is_bytes_and_needs_no_text() -> None:
    parts = [ImageInput(media_type="image/png", data="AAE=")]
    assert told(parts) == ("", (ImagePart(data=b"\0\1", media_type="image/png"),))


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
        told([part])


@pytest.mark.req("T12")
def test_a_command_begins_with_what_was_typed_and_says_what_to_do() -> None:
    text, _ = told([CommandInput(name="tests", arguments=" of the cart "), FileInput(uri="file:///a.py")])
    first, *rest = text.split("\n\n")
    assert first == "/tests of the cart"
    assert rest[0].startswith("Write tests") and rest[-1] == "File: /a.py"
    with pytest.raises(UnknownCommandError, match="/dance"):
        told([CommandInput(name="dance")])


@pytest.mark.req("X6", "R6")
def test_selection_of_an_ignored_file_is_not_told_and_a_secret_in_another_is_taken_out() -> None:
    parts = [
        SelectionInput(uri=f"file:///{name}", start_line=0, end_line=1, text=f"{name} sesame")
        for name in ("hidden.txt", "a.txt")
    ]
    text, _ = text_and_images(
        [TextInput(text="sesame"), *parts, DiagnosticsInput()],
        lambda path: "bad: sesame",
        lambda text: text.replace("sesame", "[gone]"),
        lambda path: path == "/hidden.txt",
    )
    assert text.split("\n\n") == [
        "sesame",
        "Selected in /hidden.txt: blocked by policy, .agent-ls-ignore names it.",
        "Selected in /a.txt, lines 1 to 1:\n```\na.txt [gone]\n```",
        "bad: [gone]",
    ]
