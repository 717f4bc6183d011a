"""What the handler of a message may use. Handlers hand work on; nothing of theirs runs on by itself."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import isabs, normpath

from agent_ls.server import to_wire
from agent_ls.server.client_requests import ClientRequests
from agent_ls.server.editor_host import LspEditorHost
from agent_ls.server.errors import InvalidParamsError, NotOpenError
from agent_ls.server.event_sender import EventSenders
from agent_ls.server.from_lsp import maybe_path
from agent_ls.server.hello import ClientAbilities
from agent_ls.server.protocol import SessionInfo
from agent_ls.server.seams import Bench, Live
from agent_ls.server.shown_texts import ShownTexts


@dataclass(frozen=True, slots=True)
class Context:
    """`client_id` names the connection; `root` is the folder the editor opened, "" for none."""

    bench: Bench
    host: LspEditorHost
    client: ClientAbilities
    client_id: str
    root: str
    senders: EventSenders
    requests: ClientRequests
    shown_texts: ShownTexts

    def live(self, session_id: str) -> Live:
        """
        Raises:
            NotOpenError: a session that is stored, closed, or unknown.
        """
        if live := self.bench.live(session_id):
            return live
        raise NotOpenError(session_id)

    def session_info(self, live: Live) -> SessionInfo:
        return to_wire.session_info(live.summary(), live.session)

    def folder(self, given: str | None) -> str:
        """The path of a workspace folder, given as a uri or a path; the editor's own when none is given."""
        path = maybe_path(given) or given if given else self.root
        if not path or not isabs(path):
            raise InvalidParamsError(
                "workspaceFolder", "no folder is open in the editor; name one by its uri"
            )
        return normpath(path)
