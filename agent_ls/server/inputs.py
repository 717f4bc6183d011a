"""What a user sends, as the model is told it: parts of agent/submit to one text and images. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import assert_never

from agent_ls.app.slash_commands import maybe_command
from agent_ls.llm.messages import ImagePart
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.server.errors import InvalidParamsError, UnknownCommandError
from agent_ls.server.from_lsp import maybe_path
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

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def text_and_images(
    parts: Sequence[InputPart],
    problems: Callable[[str | None], str],
    clean: Callable[[str], str] = lambda text: text,
    is_ignored: Callable[[str], bool] = lambda path: False,
) -> tuple[str, tuple[ImagePart, ...]]:
    """`problems` tells those of one path, else all. `clean` takes secrets out of what files and tools say.

    The user's own words are left as they are. `is_ignored`: of this file nothing is told.

    Raises:
        InvalidParamsError: there is nothing in it, or an image that is none.
        UnknownCommandError.
    """
    texts: list[str] = []
    images: list[ImagePart] = []
    for part in parts:
        match part:
            case TextInput():
                texts.append(part.text)
            case FileInput():
                texts.append(f"File: {_place(part.uri)}")
            case FolderInput():
                texts.append(f"Folder: {_place(part.uri)}")
            case DiagnosticsInput():
                texts.append(clean(problems(_place(part.uri) if part.uri else None)))
            case CommandInput():
                texts.append(_command(part))
            case SelectionInput():
                ignored = is_ignored(_place(part.uri))
                texts.append(_blocked(part.uri) if ignored else clean(_selection(part)))
            case ImageInput():
                images.append(_image(part))
            case _:
                assert_never(part)
    text = "\n\n".join(text for text in texts if text.strip())
    if not text and not images:
        raise InvalidParamsError("input", "there is no text in it")
    return text, tuple(images)


def _blocked(uri: str) -> str:
    return f"Selected in {_place(uri)}: blocked by policy, {IGNORE_FILE} names it."


def _selection(part: SelectionInput) -> str:
    fence = "```"
    while fence in part.text:
        fence += "`"
    body = part.text if part.text.endswith("\n") else part.text + "\n"
    lines = f"lines {part.start_line + 1} to {max(part.start_line + 1, part.end_line)}"
    return f"Selected in {_place(part.uri)}, {lines}:\n{fence}\n{body}{fence}"


def _command(part: CommandInput) -> str:
    if command := maybe_command(part.name):
        return command.told(part.arguments)
    raise UnknownCommandError(part.name)


def _place(uri: str) -> str:
    return maybe_path(uri) or uri


def _image(part: ImageInput) -> ImagePart:
    if part.media_type not in IMAGE_TYPES:
        raise InvalidParamsError(
            "input", f"an image of type {part.media_type!r}; models take {', '.join(IMAGE_TYPES)}"
        )
    try:
        return ImagePart(data=base64.b64decode(part.data, validate=True), media_type=part.media_type)
    except (binascii.Error, ValueError):
        raise InvalidParamsError("input", "the data of an image is not base64") from None
