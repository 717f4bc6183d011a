"""The parts of a user's message become one text and images; invalid parts are reported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_ls.llm.messages import ImagePart
from agent_ls.policy.named_places import IGNORED_BY
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
from agent_ls.server.rpc.inputs import text_and_images
from agent_ls.server.transport.errors import BadInputError, UnknownCommandError


def read_parts(parts: Sequence[InputPart]) -> tuple[str, tuple[ImagePart, ...]]:
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
def test_input_parts_are_converted_to_text_for_the_model(parts: list[InputPart], text: str) -> None:
    assert read_parts(parts) == (text, ())


def test_a_prompt_with_only_an_image_is_valid_and_the_image_is_decoded_to_bytes() -> None:
    parts = [ImageInput(media_type="image/png", data="iVBORw==")]
    assert read_parts(parts) == ("", (ImagePart(data=b"\x89PNG", media_type="image/png"),))


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (TextInput(text=" \n"), "empty"),
        (ImageInput(media_type="image/png", data="?"), "damaged"),
        (ImageInput(media_type="image/png", data="AAE="), "no content"),
        (ImageInput(media_type="image/png", data=""), "no content"),
        (ImageInput(media_type="image/svg+xml", data=""), r"image/svg\+xml"),
    ],
)
def test_invalid_input_parts_are_refused_with_the_reason(part: InputPart, reason: str) -> None:
    with pytest.raises(BadInputError, match=reason):
        read_parts([part])


@pytest.mark.req("T12")
def test_a_command_prompt_contains_the_typed_command_and_then_the_command_instructions() -> None:
    text, _ = read_parts(
        [CommandInput(name="tests", arguments=" of the cart "), FileInput(uri="file:///a.py")]
    )
    first, *rest = text.split("\n\n")
    assert first == "/tests of the cart"
    assert rest[0].startswith("Write tests") and rest[-1] == "File: /a.py"
    with pytest.raises(UnknownCommandError, match="/dance"):
        read_parts([CommandInput(name="dance")])


@pytest.mark.req("X6", "R6")
def test_a_selection_of_an_ignored_file_is_left_out_and_a_secret_is_redacted() -> None:
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
        f"Selected in /hidden.txt: blocked by policy, {IGNORED_BY}.",
        "Selected in /a.txt, lines 1 to 1:\n```\na.txt [gone]\n```",
        "bad: [gone]",
    ]
