"""State of the editor: documents, completion, selection, diagnostics."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Params, Wire
from agent_ls.server.protocol.inputs import InputPart


class TextDocumentContent(Params):
    """The text of an `agent-ls:` document. A standard LSP request, since LSP 3.18."""

    method: ClassVar[str] = "workspace/textDocumentContent"
    uri: str


class TextDocumentContentResult(Wire):
    text: str


class Memory(Params):
    """Returns the URIs of the two files in which the agent keeps notes for later sessions: one for the
    project, and one for all projects of the user. The files may not exist.
    """

    method: ClassVar[str] = "agent/memory"
    workspace_folder: str | None = None


class MemoryResult(Wire):
    project: str
    user: str


class Commands(Params):
    """Lists the slash commands (`/tests`) with which a message may begin."""

    method: ClassVar[str] = "agent/commands"
    session_id: str | None = None


class CommandInfo(Wire):
    name: str
    description: str
    argument_hint: str | None = None


class CommandsResult(Wire):
    commands: tuple[CommandInfo, ...]


class Complete(Params):
    """Returns completions for the text after `@` or `/`, best first. Files are those of the session's folder;
    without `sessionId`, those of `workspaceFolder` or else of the active file's folder.
    """

    method: ClassVar[str] = "agent/complete"
    workspace_folder: str | None = None
    session_id: str | None = None
    trigger: Literal["@", "/"]
    query: str = Field(max_length=500)
    limit: int = Field(default=30, ge=1, le=200)


class Completion(Wire):
    """One completion. The client adds `part` to the message when the user chooses the completion."""

    kind: Literal[
        "file",
        "folder",
        "command",
        "problems",
        "selection",
        "resource",
        "symbol",
        "diff",
        "commit",
        "terminal",
        "page",
    ]
    label: str
    detail: str | None = None
    part: InputPart


class CompleteResult(Wire):
    items: tuple[Completion, ...]


class EditorSelection(Wire):
    """Lines and characters from 0, as in LSP. Equal start and end: the cursor."""

    start_line: int = Field(ge=0)
    start_character: int = Field(default=0, ge=0)
    end_line: int = Field(ge=0)
    end_character: int = Field(default=0, ge=0)


class EditorState(Params):
    """Notification: the user's view. `unsynced` are open, dirty documents that are not synced to the server."""

    method: ClassVar[str] = "agent/editorState"
    active_uri: str | None = None
    selection: EditorSelection | None = None
    visible_uris: tuple[str, ...] = ()
    unsynced: tuple[str, ...] = ()


class Diagnostic(Wire):
    """A problem found by a tool of the editor. `severity`: 1 error, 2 warning, 3 information, 4 hint."""

    start_line: int = Field(ge=0)
    start_character: int = Field(default=0, ge=0)
    end_line: int = Field(ge=0)
    end_character: int = Field(default=0, ge=0)
    severity: int = Field(default=1, ge=1, le=4)
    message: str
    source: str | None = None
    code: str | int | None = None


class Diagnostics(Params):
    """Notification: all current problems of one file. `settled` false: the editor's tools are still checking
    the file.
    """

    method: ClassVar[str] = "agent/diagnostics"
    uri: str
    version: int | None = None
    settled: bool = True
    items: tuple[Diagnostic, ...]
