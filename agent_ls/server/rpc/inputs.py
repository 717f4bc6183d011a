"""Pure: turn the parts of `agent/submit` into one text and images for the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from agent_ls.features.slash_commands import maybe_command
from agent_ls.llm.messages import ImagePart
from agent_ls.policy.named_places import IGNORED_BY
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.protocol import (
    CommandInput,
    CommitInput,
    DiagnosticsInput,
    DiffInput,
    FileInput,
    FolderInput,
    ImageInput,
    InputPart,
    PageInput,
    ResourceInput,
    SelectionInput,
    SymbolInput,
    TerminalTextInput,
    TextInput,
)
from agent_ls.server.transport.errors import BadInputError, UnknownCommandError
from agent_ls.services.context.attachments import BadImageError, image_part
from agent_ls.text import format_code_block


def text_and_images(
    parts: Sequence[InputPart],
    problems: Callable[[str | None], str],
    clean: Callable[[str], str] = lambda text: text,
    is_ignored: Callable[[str], bool] = lambda path: False,
) -> tuple[str, tuple[ImagePart, ...]]:
    """Return the text and the images of a user's message.

    `problems(path)` lists the diagnostics of a file, or of all files for None. `clean` removes secrets from
    the contents of files and tools; the user's own words stay as they are. If `is_ignored` is true for a
    file, only the file's name is sent.

    Raises:
        BadInputError: the message is empty, an image is invalid, or a mention was not read before.
        UnknownCommandError.
    """
    texts: list[str] = []
    images: list[ImagePart] = []
    for part in parts:
        match part:
            case TextInput():
                texts.append(part.text)
            case FileInput():
                texts.append(f"File: {_path_or_uri(part.uri)}")
            case FolderInput():
                texts.append(f"Folder: {_path_or_uri(part.uri)}")
            case DiagnosticsInput():
                texts.append(clean(problems(_path_or_uri(part.uri) if part.uri else None)))
            case ResourceInput():  # not read earlier, because there is no session
                texts.append(f"Resource of the MCP server {part.server}: {part.uri}")
            case SymbolInput() | DiffInput() | CommitInput() | TerminalTextInput() | PageInput():
                raise BadInputError(
                    "the message has a mention whose content could not be read, so the message was not sent",
                    "remove the mention, and send the message again",
                )
            case CommandInput():
                texts.append(_command(part))
            case SelectionInput():
                ignored = is_ignored(_path_or_uri(part.uri))
                texts.append(_blocked(part.uri) if ignored else clean(_selection(part)))
            case ImageInput():
                images.append(_image(part))
            case _:
                assert_never(part)
    text = "\n\n".join(text for text in texts if text.strip())
    if not text and not images:
        raise BadInputError("the message is empty", "write a message, then send it")
    return text, tuple(images)


def _blocked(uri: str) -> str:
    return f"Selected in {_path_or_uri(uri)}: blocked by policy, {IGNORED_BY}."


def _selection(part: SelectionInput) -> str:
    lines = f"lines {part.start_line + 1} to {max(part.start_line + 1, part.end_line)}"
    return f"Selected in {_path_or_uri(part.uri)}, {lines}:\n{format_code_block(part.text)}"


def _command(part: CommandInput) -> str:
    if command := maybe_command(part.name):
        return command.prompt_text(part.arguments)
    raise UnknownCommandError(part.name)


def _path_or_uri(uri: str) -> str:
    return maybe_path(uri) or uri


def _image(part: ImageInput) -> ImagePart:
    try:
        return image_part(part.media_type, part.data)
    except BadImageError as error:
        raise BadInputError(str(error), error.hint) from None
