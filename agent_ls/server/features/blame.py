"""Tell who wrote the lines of a file: for plugins as ranges, for other editors as hover and code action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_ls.display.words import local_minute
from agent_ls.server import protocol as wire
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route
from agent_ls.server.transport.errors import InvalidParamsError
from agent_ls.services.errors import BadChoiceError
from agent_ls.text import to_display_line

if TYPE_CHECKING:
    from agent_ls.sessions.stored.provenance import BlamedLine, BlamedText
    from agent_ls.sessions.stored.written_files import LineOrigin

MESSAGE_CHARS = 200
_DECISIONS = {"kept": "kept", "pending": "not decided", "edited": "edited by you"}


async def blame(context: Context, params: wire.Blame) -> wire.BlameResult:
    path = maybe_path(params.uri)
    if not path:
        raise InvalidParamsError(params.method, f"uri: {params.uri} is not the URI of a file")
    document = context.host.open_document(path)
    lines = await blamed_lines(context, path)
    origins: dict[LineOrigin, int] = {}
    ranges, at = [], 0
    for author, origin, count in lines.runs():
        end = at + count
        index = None if origin is None else origins.setdefault(origin, len(origins))
        ranges.append(wire.BlamedRange(range=(at, end), author=author, origin=index))
        at = end
    return wire.BlameResult(
        ranges=tuple(ranges),
        origins=tuple(map(_to_wire, origins)),
        version=document.version if document else None,
    )


async def blamed_lines(context: Context, path: str) -> BlamedText:
    """Return the author of each line of a file as it is in the editor, else on disk.

    Raises:
        BadChoiceError: the file cannot be read, or is not text.
    """
    document = context.host.open_document(path)
    return await context.manager.archive.blame(path, document.text if document else None)


def _to_wire(origin: LineOrigin) -> wire.BlameOrigin:
    return wire.BlameOrigin.of(origin, message=to_display_line(origin.message, MESSAGE_CHARS))


def describe(line: BlamedLine) -> str:
    """Return one row about the author of a line, without mark-up."""
    if line.origin is None:
        return (
            "Written by you, or by another program"
            if line.author == "user"
            else "Not known who wrote this line"
        )
    origin = line.origin
    parts = [
        f"Written by the agent{f' ({origin.model})' if origin.model else ''}",
        f"for \u201c{to_display_line(origin.message, MESSAGE_CHARS)}\u201d" if origin.message else "",
        local_minute(origin.time),
        _DECISIONS.get(origin.decision, ""),
    ]
    return " · ".join(filter(None, parts))


async def hover(context: Context, path: str, line: int) -> dict[str, object] | None:
    """Return the hover of a line that the agent wrote; None for other lines."""
    try:
        lines = await blamed_lines(context, path)
    except BadChoiceError:
        return None
    if line >= len(lines) or lines[line].origin is None:
        return None
    # Plain text, because the message may contain mark-up.
    return {"contents": {"kind": "plaintext", "value": describe(lines[line])}}


class AgentFiles:
    """Tells which files the agent has changed. Stored sessions are asked once after a file is opened or saved."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._has_lines: dict[str, bool] = {}

    async def has(self, path: str) -> bool:
        """Return whether the agent has changed the file."""
        if self._context.manager.review.knows(path):
            return True
        if path not in self._has_lines:
            try:
                lines = await blamed_lines(self._context, path)
                self._has_lines[path] = lines.has_agent_lines
            except BadChoiceError:
                self._has_lines[path] = False
        return self._has_lines[path]

    def forget(self, path: str) -> None:
        self._has_lines.pop(path, None)


ROUTES = (route(wire.Blame, blame),)
