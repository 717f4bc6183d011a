"""What the editor shows and knows: documents, completion, selection, problems."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Params, Wire
from agent_ls.server.protocol.inputs import InputPart


class TextDocumentContent(Params):
    """The text of an `agent-ls:` document. A request of the protocol itself, from 3.18 on."""

    method: ClassVar[str] = "workspace/textDocumentContent"
    uri: str


class TextDocumentContentResult(Wire):
    text: str


class Commands(Params):
    """What a message may begin with (`/tests`)."""

    method: ClassVar[str] = "agent/commands"
    session_id: str | None = None


class CommandInfo(Wire):
    name: str
    description: str
    argument_hint: str | None = None


class CommandsResult(Wire):
    commands: tuple[CommandInfo, ...]


class Complete(Params):
    """What the letters behind `@` or `/` may mean, the best first. Without a session the folder, else the first."""

    method: ClassVar[str] = "agent/complete"
    workspace_folder: str | None = None
    session_id: str | None = None
    trigger: Literal["@", "/"]
    query: str = Field(max_length=500)
    limit: int = Field(default=30, ge=1, le=200)


class Completion(Wire):
    """`part` is what the input gets when it is chosen."""

    kind: Literal["file", "folder", "command", "problems", "selection"]
    label: str
    detail: str | None = None
    part: InputPart


class CompleteResult(Wire):
    items: tuple[Completion, ...]


class EditorSelection(Wire):
    """Lines and characters from 0, as positions of the language server protocol. Start and end alike: the cursor."""

    start_line: int = Field(ge=0)
    start_character: int = Field(default=0, ge=0)
    end_line: int = Field(ge=0)
    end_character: int = Field(default=0, ge=0)


class EditorState(Params):
    """Notification: what the user looks at. `unsynced` are open, dirty documents that are not synced to us."""

    method: ClassVar[str] = "agent/editorState"
    active_uri: str | None = None
    selection: EditorSelection | None = None
    visible_uris: tuple[str, ...] = ()
    unsynced: tuple[str, ...] = ()


class Diagnostic(Wire):
    """A problem that a tool of the editor's found. `severity`: 1 error, 2 warning, 3 information, 4 hint."""

    start_line: int = Field(ge=0)
    start_character: int = Field(default=0, ge=0)
    end_line: int = Field(ge=0)
    end_character: int = Field(default=0, ge=0)
    severity: int = Field(default=1, ge=1, le=4)
    message: str
    source: str | None = None
    code: str | int | None = None


class Diagnostics(Params):
    """Notification: all problems of one file, as they are now. `settled` false: the tools are still at work."""

    method: ClassVar[str] = "agent/diagnostics"
    uri: str
    version: int | None = None
    settled: bool = True
    items: tuple[Diagnostic, ...]
