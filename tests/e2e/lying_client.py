"""An editor on a real connection that reports false results of edits, in a different way for each file name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import anyio
from lsprotocol import types as lsp

from tests.support.editor import Editor
from tests.support.framed_client import FramedClient, ResponseError

Lie: TypeAlias = Literal["honest", "drops", "half", "refuses", "null", "fails", "mute", "late", "tells first"]

LIES: dict[str, Lie] = {
    "honest.txt": "honest",
    "drops.txt": "drops",
    "half.txt": "half",
    "refuses.txt": "refuses",
    "null.txt": "null",
    "fails.txt": "fails",
    "mute.txt": "mute",
    "late.txt": "late",
    "first.txt": "tells first",
}
"""The behaviour by file name. `drops` reports "applied" and does nothing; `half` applies one of several edits;
`null` and `fails` apply the edits and answer null or an error; `mute` applies them and never answers; `late` answers
long before it applies them; `tells first` sends the change before the answer; `refuses` applies none and answers so.
"""

REPORTED_AS_DONE = frozenset({"honest", "null", "fails", "mute", "late", "tells first"})
"""The behaviours after which the document contains the edit."""

LATE_S = 1.0


class LyingClient(Editor):
    """The editor. `asked` counts the received edits by uri."""

    def __init__(self, client: FramedClient, tasks: anyio.abc.TaskGroup, name: str = "vscode") -> None:
        super().__init__(client, name)
        self._tasks = tasks
        self.asked: dict[str, int] = {}

    async def _apply_edit(self, params: Any) -> dict[str, Any]:
        (change,) = params["edit"]["documentChanges"]
        uri = change["textDocument"]["uri"]
        self.asked[uri] = self.asked.get(uri, 0) + 1
        if change["textDocument"]["version"] != self.documents[uri].version:
            return {"applied": False}
        edits = list(reversed(change["edits"]))
        match LIES[Path(uri).name]:
            case "honest" | "tells first":
                await self._make(uri, edits)
            case "half":
                await self._make(uri, edits[:1])
            case "refuses":
                return {"applied": False, "failureReason": "not now"}
            case "null":
                await self._make(uri, edits)
                return None  # type: ignore[return-value]
            case "fails":
                await self._make(uri, edits)
                raise ResponseError({"code": -32603, "message": "it broke"})
            case "mute":
                await self._make(uri, edits)
                await anyio.sleep_forever()
            case "late":
                self._tasks.start_soon(self._make_late, uri, edits)
            case "drops":
                pass
        return {"applied": True}

    async def _make_late(self, uri: str, edits: list[Any]) -> None:
        await anyio.sleep(LATE_S)  # simulates a slow editor; no check depends on this time
        await self._make(uri, edits)

    async def _make(self, uri: str, edits: list[Any]) -> None:
        document = self.documents[uri]
        for edit in edits:
            where = lsp.Range(*(lsp.Position(**edit["range"][end]) for end in ("start", "end")))
            document.apply_change(lsp.TextDocumentContentChangePartial(range=where, text=edit["newText"]))
        await self._changed(document, [{"range": edit["range"], "text": edit["newText"]} for edit in edits])
