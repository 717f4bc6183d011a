"""The answer to `initialize` (pure), and what the client said it can do. Imports nothing heavy, on purpose.

An editor waits for this answer, and the types of the language server protocol take longer to import than all
else together. So the answer is written here, by hand, from the message as plain JSON: it can be sent before
anything is imported (start.py), and is the only one there is (jsonrpc.py sends the same).

What a client can do is told by its capabilities, never by its name. The exceptions are the tables below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agent_ls._version import __version__

PROTOCOL_VERSION = 1
"""Of the `agent/*` messages; the same as protocol.VERSION, which is too heavy to be imported here."""

SCHEME = "agent-ls"
"""Of documents whose text this server gives (features/contents.py)."""

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}

GRANTED = ("events", "review", "approvals", "terminal", "save", "diagnostics", "notebooks", "language")
"""What of `experimental.agentLs` this server makes use of."""

COMMAND = "agentLs/command"
"""What `workspace/executeCommand` of one of ours is called inside (jsonrpc.py)."""

STOCK_COMMANDS = (
    "agentLs.send",
    "agentLs.show",
    "agentLs.stop",
    "agentLs.answer",
    "agentLs.approve",
    "agentLs.deny",
    "agentLs.keep",
    "agentLs.undo",
    "agentLs.ask",
    "agentLs.takeOver",
)
"""What an editor without a plugin may do by name (stock/face.py). A plugin has requests of its own for it."""

_ACTION_KINDS = ["quickfix.agentLs", "refactor.agentLs", "source.agentLs"]

# Neovim ends a line at LF only: a CR that is not part of its "dos" line ending is an ordinary character of the
# line, and counts in its positions. The protocol would end a line there.
_NEWLINE_ONLY = frozenset({"Neovim"})

# Neovim prints the label of each edit as a message; with more than one the user has to press a key.
_PRINTS_LABELS = frozenset({"Neovim"})


@dataclass(frozen=True, slots=True)
class ClientAbilities:
    """What the client announced. All of a rich client's fields are False for a stock one.

    `process_id` is the editor's, which we outlive by no more than seconds; None when not told.
    `text_document_content`: it shows documents whose text a server gives.
    `code_action_literals` to `work_done_progress` are what the stock face asks for.
    `watched_files`: it tells of changes of the files that it is asked to watch, `relative_patterns` by folder and name.
    `workspace_trusted`: the user has said in the editor that he trusts the workspace. It is believed because only a
    plugin writes these capabilities, never a file of the workspace.
    `configuration`: it can be asked for settings; `configuration_registration`: it tells of changes once told to.
    `version_mismatch`: it speaks `agent/*`, but not our version, and so is treated as stock.
    """

    name: str = ""
    process_id: int | None = None
    encoding: Encoding = "utf-16"
    newline_only: bool = False
    prints_labels: bool = False
    apply_edit_refused: bool = False
    apply_edit_announced: bool = False
    text_document_content: bool = False
    events: bool = False
    review: bool = False
    approvals: bool = False
    terminal: bool = False
    save: bool = False
    diagnostics: bool = False
    notebooks: bool = False
    notebook_sync: bool = False
    language: bool = False
    code_action_literals: bool = False
    code_lens: bool = False
    code_lens_refresh: bool = False
    completion: bool = False
    publish_diagnostics: bool = False
    work_done_progress: bool = False
    watched_files: bool = False
    relative_patterns: bool = False
    workspace_trusted: bool = False
    configuration: bool = False
    configuration_registration: bool = False
    version_mismatch: bool = False

    @property
    def is_rich(self) -> bool:
        return self.events


def client_abilities(params: dict[str, Any]) -> ClientAbilities:
    """Reads the parameters of `initialize`. What is not as it should be counts as not said."""
    capabilities = _object(params, "capabilities")
    told = _object(params, "clientInfo").get("name")
    name = told if isinstance(told, str) else ""
    process_id = params.get("processId")
    wanted = _object(capabilities, "experimental", "agentLs")
    speaks = wanted.get("version") == PROTOCOL_VERSION
    granted = {field: speaks and wanted.get(field) is True for field in GRANTED}
    return ClientAbilities(
        name=name,
        process_id=process_id if type(process_id) is int and process_id > 0 else None,
        encoding=_encoding(_object(capabilities, "general").get("positionEncodings")),
        newline_only=name in _NEWLINE_ONLY,
        prints_labels=name in _PRINTS_LABELS,
        # Kate and others can apply edits without saying so; only an explicit "no" is believed.
        apply_edit_announced=_object(capabilities, "workspace").get("applyEdit") is True,
        apply_edit_refused=_object(capabilities, "workspace").get("applyEdit") is False,
        text_document_content=isinstance(_object(capabilities, "workspace").get("textDocumentContent"), dict),
        code_action_literals=_has(capabilities, "textDocument", "codeAction", "codeActionLiteralSupport"),
        code_lens=_has(capabilities, "textDocument", "codeLens"),
        code_lens_refresh=_object(capabilities, "workspace", "codeLens").get("refreshSupport") is True,
        completion=_has(capabilities, "textDocument", "completion"),
        publish_diagnostics=_has(capabilities, "textDocument", "publishDiagnostics"),
        notebook_sync=_has(capabilities, "notebookDocument", "synchronization"),
        work_done_progress=_object(capabilities, "window").get("workDoneProgress") is True,
        configuration=_object(capabilities, "workspace").get("configuration") is True,
        configuration_registration=_registers(capabilities, "workspace", "didChangeConfiguration"),
        watched_files=_registers(capabilities, "workspace", "didChangeWatchedFiles"),
        relative_patterns=_object(capabilities, "workspace", "didChangeWatchedFiles").get(
            "relativePatternSupport"
        )
        is True,
        workspace_trusted=speaks and wanted.get("workspaceTrusted") is True,
        version_mismatch=bool(wanted) and not speaks,
        **granted,
    )


def initialize_result(client: ClientAbilities) -> dict[str, Any]:
    capabilities: dict[str, Any] = {
        "positionEncoding": client.encoding,
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
    }
    if client.notebook_sync:
        selector = {"notebook": {"notebookType": "jupyter-notebook", "scheme": "file"}}
        capabilities["notebookDocumentSync"] = {"notebookSelector": [selector], "save": True}
    if client.text_document_content:
        capabilities["workspace"]["textDocumentContent"] = {"schemes": [SCHEME]}
    if client.is_rich:
        granted = {field: getattr(client, field) for field in GRANTED}
        capabilities["experimental"] = {"agentLs": {"version": PROTOCOL_VERSION, **granted}}
    else:
        capabilities |= _stock(client)
    return {"capabilities": capabilities, "serverInfo": {"name": "agent-ls", "version": __version__}}


def _stock(client: ClientAbilities) -> dict[str, Any]:
    """What an editor without a plugin is offered; commands have no capability of their own that all announce."""
    offered: dict[str, Any] = {
        "executeCommandProvider": {"commands": list(STOCK_COMMANDS)},
        "codeActionProvider": {"codeActionKinds": _ACTION_KINDS} if client.code_action_literals else True,
    }
    if client.code_lens:
        offered["codeLensProvider"] = {"resolveProvider": False}
    if client.completion:
        offered["completionProvider"] = {"triggerCharacters": ["@", "/"], "resolveProvider": False}
    return offered


def _has(value: dict[str, Any], *path: str) -> bool:
    *above, last = path
    return isinstance(_object(value, *above).get(last), dict)


def _registers(value: dict[str, Any], *path: str) -> bool:
    return _object(value, *path).get("dynamicRegistration") is True


def _encoding(offered: object) -> Encoding:
    """The client's first that we know; the list is in its order of preference."""
    for kind in offered if isinstance(offered, list) else ():
        if isinstance(kind, str) and (known := _ENCODINGS.get(kind)):
            return known
    return "utf-16"


def _object(value: dict[str, Any], *path: str) -> dict[str, Any]:
    for key in path:
        inner = value.get(key)
        if not isinstance(inner, dict):
            return {}
        value = inner
    return value
