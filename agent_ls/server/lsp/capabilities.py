"""Pure: the result of `initialize`, and the capabilities of the client. Imports no large module.

An editor waits for this result, and importing the LSP types takes longer than all other imports together. So
the result is plain JSON, built by hand: start.py sends the result before anything is imported, and jsonrpc.py
sends the same result.

Features depend on a client's capabilities, never on the client's name, except for the tables of names below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agent_ls._version import __version__

PROTOCOL_VERSION = 1
"""Version of the `agent/*` messages. Equals protocol.VERSION; the module `protocol` is too large to import
here.
"""

SCHEME = "agent-ls"
"""URI scheme of documents whose text this server provides (features/contents.py)."""

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}

GRANTED = (
    "events",
    "review",
    "approvals",
    "terminal",
    "save",
    "diagnostics",
    "notebooks",
    "language",
    "details",
)
"""Members of the client's capability `experimental.agentLs` that this server uses."""

COMMAND = "agentLs/command"
"""Method name by which jsonrpc.py passes on `workspace/executeCommand` for a command of agent-ls. It is used
only inside the server.
"""

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
    "agentLs.acceptPlan",
    "agentLs.bringChanges",
    "agentLs.blame",
)
"""Commands for editors without a plugin (chat/ui.py). A plugin uses `agent/*` requests instead."""

FINDING_COMMANDS = ("agentLs.fixFinding", "agentLs.explainFinding", "agentLs.dismissFinding")
"""Commands of the code actions at a finding of a review (features/findings.py), for all clients."""

_ACTION_KINDS = ["quickfix.agentLs", "refactor.agentLs", "source.agentLs"]

# Neovim ends lines at LF only: a CR outside its "dos" line ending is an ordinary character and counts in positions.
# By the rules of LSP, a CR ends a line.
_NEWLINE_ONLY = frozenset({"Neovim"})

# Neovim prints the label of each edit as a message; after several messages, the user has to press a key.
_PRINTS_LABELS = frozenset({"Neovim"})


@dataclass(frozen=True, slots=True)
class ClientAbilities:
    """Capabilities of the client. Those that only our plugins announce are False for other editors.

    - `process_id`: the editor's process, None if not sent. The server ends within seconds after the editor.
    - `text_document_content`: can display documents whose text a server provides.
    - `details`: answers the queries of `language` and more: hover, implementations, calls and code actions.
    - `code_action_literals` to `work_done_progress` are used by the chat of plugin-free clients.
    - `plain_edits`: declares that it takes no edits with the document's version. The version is then compared only
      before the edit is sent.
    - `renames_files`, `deletes_files`: performs such operations in a workspace edit. `deletes_files` also
    requires that the client stops at the first failed change. An empty edit with the document's version
    precedes the deletion,
      and fails if the user has just typed.
    - `inline_completion_at_start`: has inline completion, and `initializationOptions` turn it on.
      `inline_completion_registration`: lets the server add and remove it later.
    - `watched_files`: reports changes of files that it is asked to watch; `relative_patterns`: by folder and name.
    - `workspace_trusted`: the user trusts the workspace in the editor. Believed, because only a plugin writes these
      capabilities, never a file of the workspace.
    - `configuration`: can be asked for settings; `configuration_registration`: reports changes after a registration.
    - `version_mismatch`: speaks another version of `agent/*`, and is treated as plugin-free.
    """

    name: str = ""
    process_id: int | None = None
    encoding: Encoding = "utf-16"
    newline_only: bool = False
    prints_labels: bool = False
    apply_edit_refused: bool = False
    apply_edit_announced: bool = False
    plain_edits: bool = False
    text_document_content: bool = False
    renames_files: bool = False
    deletes_files: bool = False
    events: bool = False
    review: bool = False
    approvals: bool = False
    terminal: bool = False
    save: bool = False
    diagnostics: bool = False
    notebooks: bool = False
    notebook_sync: bool = False
    language: bool = False
    details: bool = False
    code_action_literals: bool = False
    code_lens: bool = False
    code_lens_refresh: bool = False
    hover: bool = False
    completion: bool = False
    inline_completion_registration: bool = False
    inline_completion_at_start: bool = False
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
    """Parse the parameters of `initialize`. Invalid values count as missing."""
    capabilities = _object(params, "capabilities")
    client_name = _object(params, "clientInfo").get("name")
    name = client_name if isinstance(client_name, str) else ""
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
        # Kate and other editors apply edits without announcing the capability, so only an explicit false
        # counts.
        apply_edit_announced=_object(capabilities, "workspace").get("applyEdit") is True,
        apply_edit_refused=_object(capabilities, "workspace").get("applyEdit") is False,
        # Neovim applies edits with versions without announcing the capability, so only an explicit false counts.
        plain_edits=_object(capabilities, "workspace", "workspaceEdit").get("documentChanges") is False,
        renames_files="rename" in _resource_operations(capabilities),
        deletes_files="delete" in _resource_operations(capabilities)
        and isinstance(_object(capabilities, "workspace", "workspaceEdit").get("failureHandling"), str),
        text_document_content=isinstance(_object(capabilities, "workspace").get("textDocumentContent"), dict),
        code_action_literals=_has(capabilities, "textDocument", "codeAction", "codeActionLiteralSupport"),
        code_lens=_has(capabilities, "textDocument", "codeLens"),
        code_lens_refresh=_object(capabilities, "workspace", "codeLens").get("refreshSupport") is True,
        completion=_has(capabilities, "textDocument", "completion"),
        hover=_has(capabilities, "textDocument", "hover"),
        inline_completion_registration=_registers(capabilities, "textDocument", "inlineCompletion"),
        inline_completion_at_start=_has(capabilities, "textDocument", "inlineCompletion")
        and _object(params, "initializationOptions", "agentLs").get("suggestions") is True,
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
    if client.inline_completion_at_start:
        capabilities["inlineCompletionProvider"] = {}
    if client.text_document_content:
        capabilities["workspace"]["textDocumentContent"] = {"schemes": [SCHEME]}
    if client.is_rich:
        granted = {field: getattr(client, field) for field in GRANTED}
        capabilities["experimental"] = {"agentLs": {"version": PROTOCOL_VERSION, **granted}}
        capabilities |= _finding_actions(client)
    else:
        capabilities |= _stock(client)
    return {"capabilities": capabilities, "serverInfo": {"name": "agent-ls", "version": __version__}}


def _finding_actions(client: ClientAbilities) -> dict[str, Any]:
    if not (client.publish_diagnostics and client.code_action_literals):
        return {}
    return {
        "executeCommandProvider": {"commands": list(FINDING_COMMANDS)},
        "codeActionProvider": {"codeActionKinds": _ACTION_KINDS[:1]},
    }


def _stock(client: ClientAbilities) -> dict[str, Any]:
    """Return the capabilities for a plugin-free client. Commands are announced in any case, because not all
    of these clients announce `executeCommand`.
    """
    offered: dict[str, Any] = {
        "executeCommandProvider": {"commands": [*STOCK_COMMANDS, *FINDING_COMMANDS]},
        "codeActionProvider": {"codeActionKinds": _ACTION_KINDS} if client.code_action_literals else True,
    }
    if client.hover:
        offered["hoverProvider"] = True
    if client.code_lens:
        offered["codeLensProvider"] = {"resolveProvider": False}
    if client.completion:
        offered["completionProvider"] = {"triggerCharacters": ["@", "/"], "resolveProvider": False}
    return offered


def _resource_operations(capabilities: dict[str, Any]) -> list[object]:
    edit = _object(capabilities, "workspace", "workspaceEdit")
    found = edit.get("resourceOperations")
    return found if edit.get("documentChanges") is True and isinstance(found, list) else []


def _has(value: dict[str, Any], *path: str) -> bool:
    *above, last = path
    return isinstance(_object(value, *above).get(last), dict)


def _registers(value: dict[str, Any], *path: str) -> bool:
    return _object(value, *path).get("dynamicRegistration") is True


def _encoding(offered: object) -> Encoding:
    """Return the first known encoding of the client's list, which is in order of preference; "utf-16" if none
    is known.
    """
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
