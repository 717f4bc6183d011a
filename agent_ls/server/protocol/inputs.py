"""Parts of a user's message: text, files, selections, images, problems, commands."""

from __future__ import annotations

from typing import Literal, TypeAlias

from agent_ls.server.protocol.base import Wire


class TextInput(Wire):
    type: Literal["text"] = "text"
    text: str


class FileInput(Wire):
    """A mentioned file: the model gets its path, and reads the file itself."""

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
    """An image. `data` is its content in base64."""

    type: Literal["image"] = "image"
    media_type: str
    data: str


class FolderInput(Wire):
    """A mentioned folder: the model gets its path, and lists the folder itself."""

    type: Literal["folder"] = "folder"
    uri: str


class DiagnosticsInput(Wire):
    """The problems that the client has reported (agent/diagnostics) for the file `uri`, or for all files if
    `uri` is missing.
    """

    type: Literal["diagnostics"] = "diagnostics"
    uri: str | None = None


class CommandInput(Wire):
    """A slash command that agent/commands has listed; `arguments` is the text after the command's name."""

    type: Literal["command"] = "command"
    name: str
    arguments: str = ""


class ResourceInput(Wire):
    """A resource of an MCP server of the session: its content is read when the message is sent."""

    type: Literal["resource"] = "resource"
    server: str
    uri: str


class SymbolInput(Wire):
    """A symbol found by a language server: its lines are read when the message is sent. Lines count from 0."""

    type: Literal["symbol"] = "symbol"
    name: str
    uri: str
    start_line: int = 0
    end_line: int = 0


class DiffInput(Wire):
    """Git changes since the last commit; with `staged` only those in the index. Read when the message is sent."""

    type: Literal["diff"] = "diff"
    staged: bool = False


class CommitInput(Wire):
    """A git commit. Its log message and diff are read when the user's message is sent. `revision` is any name
    that git resolves, for example a hash, a branch or `HEAD~2`.
    """

    type: Literal["commit"] = "commit"
    revision: str


class TerminalTextInput(Wire):
    """The text of a terminal that the client displays. Without `text`: the output of the background process
    `name`.
    """

    type: Literal["terminal"] = "terminal"
    name: str
    text: str | None = None


class PageInput(Wire):
    """A web page, fetched when the message is sent; the user is asked for permission first."""

    type: Literal["page"] = "page"
    url: str


InputPart: TypeAlias = (
    TextInput
    | FileInput
    | SelectionInput
    | ImageInput
    | FolderInput
    | DiagnosticsInput
    | CommandInput
    | ResourceInput
    | SymbolInput
    | DiffInput
    | CommitInput
    | TerminalTextInput
    | PageInput
)
