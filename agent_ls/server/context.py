"""What the handler of a message may use. Handlers hand work on; nothing of theirs runs on by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from os.path import isabs, normpath

from agent_ls.app.ignore_file import IgnoreFile
from agent_ls.app.slash_commands import maybe_command
from agent_ls.llm.messages import ImagePart
from agent_ls.loop.redaction import redacted
from agent_ls.server import to_wire
from agent_ls.server.client_requests import ClientRequests
from agent_ls.server.editor_host import LspEditorHost
from agent_ls.server.errors import InvalidParamsError, NotOpenError
from agent_ls.server.event_sender import EventSenders
from agent_ls.server.from_lsp import is_path, maybe_path
from agent_ls.server.hello import ClientAbilities
from agent_ls.server.inputs import text_and_images
from agent_ls.server.protocol import InputPart, SessionInfo
from agent_ls.server.seams import Bench, Live
from agent_ls.server.shown_texts import ShownTexts
from agent_ls.system import below


@dataclass(frozen=True, slots=True)
class Context:
    """`client_id` names the connection; `folders` are those that the editor has open now.

    `settled` returns once the editor was heard about its settings; what makes a session waits for it."""

    bench: Bench
    host: LspEditorHost
    client: ClientAbilities
    client_id: str
    folders: Callable[[], Sequence[str]]
    senders: EventSenders
    requests: ClientRequests
    shown_texts: ShownTexts
    settled: Callable[[], Awaitable[None]]

    def live(self, session_id: str) -> Live:
        """
        Raises:
            NotOpenError: a session that is stored, closed, or unknown.
        """
        if live := self.bench.live(session_id):
            return live
        raise NotOpenError(session_id)

    def told(self, parts: Sequence[InputPart]) -> tuple[str, tuple[ImagePart, ...]]:
        """What a user sends, as the model is told it.

        Raises:
            InvalidParamsError: there is nothing in it. UnknownCommandError.
        """

        def problems(path: str | None) -> str:
            return self.host.diagnostics.told(path, str)

        def clean(text: str) -> str:
            return redacted(text, self.bench.secrets())

        return text_and_images(parts, problems, clean, IgnoreFile(tuple(self.folders())))

    def command(self, name: str) -> bool:
        """Whether a message may begin with `/name`."""
        return maybe_command(name) is not None

    def session_info(self, live: Live) -> SessionInfo:
        return to_wire.session_info(live.summary(), live.session)

    def folder(self, given: str | None) -> str:
        """The path of a workspace folder, given as a uri or a path.

        None: that of the file in front of the user, the innermost of nested ones, else the editor's first.
        """
        path = maybe_path(given) or given if given else self._folder_in_front()
        if not path or not isabs(path) or not is_path(path):
            raise InvalidParamsError(
                "workspaceFolder", "no folder is open in the editor; name one by its uri"
            )
        return normpath(path)

    def _folder_in_front(self) -> str:
        folders, active = self.folders(), self.host.view.active
        around = [folder for folder in folders if below(active, folder)]
        return max(around, key=len) if around else next(iter(folders), "")
