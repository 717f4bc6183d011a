"""Complete words in a chat document: after `@` files, folders, git, MCP resources and more; after `/` commands."""

from __future__ import annotations

from typing import Any

from agent_ls.patterns import regex
from agent_ls.server import protocol as wire
from agent_ls.server.chat import running_sessions, servers
from agent_ls.server.chat.chat_text import mentioned_words, read_chat
from agent_ls.server.features.completion import in_folder
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.from_lsp import convert_position, maybe_path
from agent_ls.server.rpc.context import Context
from agent_ls.system import relative_to_folder
from agent_ls.text import split_lines, strip_ending

LIMIT = 50

_WORD = regex(r"(?:^|(?<=\s))([@/])([^\s@]*)\Z")
_KINDS = {
    "file": 17, "folder": 19, "command": 14, "problems": 18, "resource": 18, "symbol": 3, "diff": 18, "commit": 18,
    "terminal": 18, "page": 18,
}  # fmt: skip
"""The LSP CompletionItemKind of each kind of completion. The kind "selection" is not offered, because
plugin-free clients do not report a selection.
"""


async def completions(
    context: Context, path: str, folder: str, session_id: str | None, line: int, character: int
) -> dict[str, Any]:
    """Return completions for the word before the cursor. After `@` or `/` the list is marked incomplete, so
    that the editor asks again after each key. `session_id` None: the chat has no session yet.
    """
    document = context.host.open_document(path)
    if document is None:
        return {"isIncomplete": False, "items": []}
    client, lines = context.client, split_lines(document.text)
    line, offset = convert_position(lines, line, character, client.encoding, newline_only=client.newline_only)
    content = strip_ending(lines[line]) if line < len(lines) else ""
    found = _WORD.search(content[:offset])
    if not found or (found[1] == "/" and not _begins_message(document.text, line, content, found.start())):
        return {"isIncomplete": False, "items": []}
    params = wire.Complete(
        workspace_folder=folder,
        session_id=session_id,
        trigger="@" if found[1] == "@" else "/",
        query=found[2],
        limit=LIMIT,
    )
    where = {
        "start": {"line": line, "character": to_lsp.character(content, found.start(1), client.encoding)},
        "end": {"line": line, "character": to_lsp.character(content, offset, client.encoding)},
    }
    items = list(await in_folder(context, folder, params))
    for own in (servers, running_sessions):
        if found[1] == "/" and own.COMMAND[1:].startswith(found[2]):
            part = wire.CommandInput(name=own.COMMAND[1:])
            items.append(wire.Completion(kind="command", label=own.COMMAND, detail=own.DETAIL, part=part))
    return {
        "isIncomplete": True,
        "items": [
            _item(item, found[1], where, rank, folder)
            for rank, item in enumerate(items)
            if item.kind in _KINDS and (item.kind != "resource" or _can_be_typed(item.label))
        ],
    }


def _begins_message(text: str, line: int, content: str, start: int) -> bool:
    first = read_chat(text).message_line
    before = split_lines(text)[first:line]
    return not content[:start].strip() and line >= first and not "".join(before).strip()


def _can_be_typed(label: str) -> bool:
    """Return whether `@label` in a message is parsed as exactly this label. A label with spaces or another
    `@`, for example, is not.
    """
    return mentioned_words(f"@{label}") == [label]


def _item(
    item: wire.Completion, trigger: str, where: dict[str, Any], rank: int, folder: str
) -> dict[str, Any]:
    label = item.label
    if isinstance(item.part, wire.FileInput | wire.FolderInput):
        path = maybe_path(item.part.uri) or ""
        # The document has only text, so files of another folder are named by their full path.
        label = label if relative_to_folder(path, folder) else path
    text = label if label.startswith(trigger) else trigger + label
    return {
        "label": text,
        "kind": _KINDS[item.kind],
        "sortText": f"{rank:04}",
        "filterText": text,
        "textEdit": {"range": where, "newText": text},
        **({"detail": item.detail} if item.detail else {}),
    }
