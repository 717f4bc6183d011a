"""Services that the handlers of messages use. Handlers start no tasks of their own; they call these services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from os.path import isabs, normpath
from typing import TYPE_CHECKING

from agent_ls.features.slash_commands import maybe_command
from agent_ls.llm.messages import ImagePart
from agent_ls.loop.calls.redaction import redacted
from agent_ls.server.editor.client_requests import ClientRequests
from agent_ls.server.editor.host import LspEditorHost
from agent_ls.server.editor.virtual_documents import VirtualDocuments
from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.from_lsp import is_path, maybe_path
from agent_ls.server.protocol import CommandInput, InputPart, SessionInfo, TextInput
from agent_ls.server.rpc import to_wire
from agent_ls.server.rpc.event_sender import EventSenders
from agent_ls.server.rpc.inputs import text_and_images
from agent_ls.server.transport.errors import BadInputError, NotOpenError, UnknownCommandError
from agent_ls.services.permissions.ignore_file import IgnoreFile
from agent_ls.system import relative_to_folder

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession
    from agent_ls.sessions.manager import SessionManager


@dataclass(frozen=True, slots=True)
class Context:
    """Services for one connection. `client_id` names the connection; `folders` returns the folders open in
    the editor now.

    `wait_for_settings` returns when the editor has answered the request for its settings. Handlers that create a
    session first await `wait_for_settings`.
    """

    manager: SessionManager
    host: LspEditorHost
    client: ClientAbilities
    client_id: str
    folders: Callable[[], Sequence[str]]
    senders: EventSenders
    requests: ClientRequests
    virtual_documents: VirtualDocuments
    wait_for_settings: Callable[[], Awaitable[None]]

    def require_live(self, session_id: str) -> LiveSession:
        """Return a session that is open in this process.

        Raises:
            NotOpenError: the session is only stored, is closed, or is unknown.
        """
        if live := self.manager.find_live(session_id):
            return live
        raise NotOpenError(session_id)

    async def require_open(self, session_id: str) -> LiveSession:
        """Return the session. Open it first if it is stored: a user who writes to a closed session wants to
        continue it.

        Raises:
            UnknownSessionError, SessionOwnedError, AppError.
        """
        live = self.manager.find_live(session_id)
        return live if live and not live.session.is_closing else await self.manager.open_session(session_id)

    def convert_input(self, parts: Sequence[InputPart]) -> tuple[str, tuple[ImagePart, ...]]:
        """Convert the parts of a user's message to the text and images for the model.

        Raises:
            BadInputError: the message is empty.
            UnknownCommandError.
        """

        def problems(path: str | None) -> str:
            return self.host.diagnostics.format_problems(path, str)

        def clean(text: str) -> str:
            return redacted(text, self.manager.secrets())

        return text_and_images(parts, problems, clean, IgnoreFile(tuple(self.folders())))

    async def expand_parts(self, parts: Sequence[InputPart], live: LiveSession) -> Sequence[InputPart]:
        """Replace names of the user's own commands and skills by their texts, both in command parts and at
        the beginning of typed text.

        Raises:
            UnknownCommandError.
        """
        found: list[InputPart] = []
        for part in parts:
            if isinstance(part, CommandInput) and not maybe_command(part.name):
                text = await live.skills.expand(part.name, part.arguments)
                if text is None:
                    raise UnknownCommandError(part.name)
                found.append(TextInput(text=text))
            elif isinstance(part, TextInput) and part.text.startswith(("$", "/")):
                found.append(TextInput(text=await live.skills.expand_message(part.text)))
            else:
                found.append(part)
        return found

    async def has_command(self, name: str, live: LiveSession) -> bool:
        """Return whether a message of this session may begin with `/name`."""
        return maybe_command(name) is not None or (await live.skills.read_current()).find(name) is not None

    def session_info(self, live: LiveSession) -> SessionInfo:
        return to_wire.session_info(live.summary(), live.session)

    def folder(self, given: str | None) -> str:
        """Return the path of a workspace folder that is given as a URI or a path.

        None means the innermost folder around the active file, else the first folder of the editor.

        Raises:
            BadInputError: no folder is open, or the path is not absolute.
        """
        path = maybe_path(given) or given if given else self._folder_in_front()
        if not path or not isabs(path) or not is_path(path):
            raise BadInputError("no folder is open in the editor", "open a folder, and try again")
        return normpath(path)

    def _folder_in_front(self) -> str:
        folders, active = self.folders(), self.host.view.active
        around = [folder for folder in folders if relative_to_folder(active, folder)]
        return max(around, key=len) if around else next(iter(folders), "")
