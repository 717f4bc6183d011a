"""Parts of a user's message: text, files, selections, images, problems, commands."""

from __future__ import annotations

from typing import Literal, TypeAlias

from agent_ls.server.protocol.base import Wire


class TextInput(Wire):
    type: Literal["text"] = "text"
    text: str


class FileInput(Wire):
    """A mentioned file: the model gets its path, and reads it by itself."""

    type: Literal["file"] = "file"
    uri: str


class SelectionInput(Wire):
    """A selection, sent with its text. Lines count from 0, `endLine` is exclusive."""

    type: Literal["selection"] = "selection"
    uri: str
    start_line: int
    end_line: int
    text: str


class ImageInput(Wire):
    """`data` is base64."""

    type: Literal["image"] = "image"
    media_type: str
    data: str


class FolderInput(Wire):
    """A mentioned folder: the model gets its path, and lists it by itself."""

    type: Literal["folder"] = "folder"
    uri: str


class DiagnosticsInput(Wire):
    """The problems that the client has reported (agent/diagnostics): of one file, else of all."""

    type: Literal["diagnostics"] = "diagnostics"
    uri: str | None = None


class CommandInput(Wire):
    """One of agent/commands; `arguments` is the text after its name."""

    type: Literal["command"] = "command"
    name: str
    arguments: str = ""


class ResourceInput(Wire):
    """A resource of an MCP server of the session: its content is read when the message is sent."""

    type: Literal["resource"] = "resource"
    server: str
    uri: str


InputPart: TypeAlias = (
    TextInput
    | FileInput
    | SelectionInput
    | ImageInput
    | FolderInput
    | DiagnosticsInput
    | CommandInput
    | ResourceInput
)
