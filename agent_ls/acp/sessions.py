"""The methods that a client can call: sessions, prompts, settings."""

from __future__ import annotations

import logging
import os.path
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from agent_ls.acp.capabilities import KEYS_METHOD, auth_method, has_usable_provider, initialize_result
from agent_ls.acp.client import ClientFacts
from agent_ls.acp.commands import OWN, BuiltInCommands, commands_update
from agent_ls.acp.conversation import AcpConversation, NotBegunError
from agent_ls.acp.errors import AUTH_REQUIRED, INTERNAL, RpcError, invalid
from agent_ls.acp.options import Choices, OptionChange, config_options, mode_state, read_change
from agent_ls.acp.prompts import Prompt, read_prompt
from agent_ls.acp.servers import ClientServers, read_client_servers
from agent_ls.acp.subagents import split_id
from agent_ls.acp.updates import Update
from agent_ls.acp.wire import AcpWire, WireReply, unknown_method
from agent_ls.features.mcp.prompt_commands import prompt_commands, prompt_text
from agent_ls.loop.calls.redaction import redacted
from agent_ls.loop.errors import UnknownTerminalError
from agent_ls.services.errors import SessionOwnedError
from agent_ls.services.permissions.ignore_file import IgnoreFile
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec

log = logging.getLogger(__name__)

PAGE = 50
Params: TypeAlias = Mapping[str, Any]
Method: TypeAlias = Callable[[Params], Awaitable[Any]]


class OpenSessions:
    """All sessions that this client has opened. `apply_settings` applies the client's settings to a folder."""

    def __init__(
        self,
        manager: SessionManager,
        wire: AcpWire,
        tasks: TaskGroup,
        client: ClientFacts,
        client_id: str,
        apply_settings: Callable[[str], Awaitable[Sequence[str]]],
    ) -> None:
        self.client = client
        self.manager = manager
        self._wire = wire
        self._tasks = tasks
        self._client_id = client_id
        self._apply_settings = apply_settings
        self._commands = BuiltInCommands(manager, client_id)
        self._open: dict[str, AcpConversation] = {}
        self._folders: dict[str, tuple[str, ...]] = {}
        self._servers: dict[str, ClientServers] = {}
        self._opening = anyio.Lock()
        self.methods: dict[str, Method] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
        }

    def folders_of(self, session_id: str) -> Sequence[str]:
        """Return the additional folders that the client opened for one session."""
        return self._folders.get(session_id, ())

    async def request(self, method: str, params: Any) -> Any:
        """Handle a request.

        Raises:
            RpcError, or an application error that errors.py lists.
        """
        handler = self.methods.get(method)
        if handler is None:
            raise unknown_method(method)
        if params is not None and not isinstance(params, dict):
            raise invalid("The client sent parameters that are not an object")
        return await handler(params or {})

    def notice(self, method: str, params: Any) -> None:
        """Handle a notification; unknown ones are ignored."""
        if method == "session/cancel" and isinstance(params, dict):
            session_id = params.get("sessionId")
            session_id, agent_id = split_id(session_id if isinstance(session_id, str) else "")
            if conversation := self._open.get(session_id):
                if agent_id:
                    conversation.live.session.agents.stop_running(agent_id)
                else:
                    conversation.cancel()

    # --- start

    async def _initialize(self, params: Params) -> Any:
        """Answer an `initialize` request that start.py did not answer: a second one, or one with invalid
        parameters.

        The request changes nothing.
        """
        if type(params.get("protocolVersion")) not in (int, str):
            raise invalid("The client named no protocol version", "Update the client.")
        return initialize_result(self.client)

    async def _authenticate(self, params: Params) -> Any:
        if params.get("methodId") != KEYS_METHOD:
            raise invalid("This way to sign in does not exist", "Use `agent-ls keys set PROVIDER`.")
        if not self._has_key() and not await anyio.to_thread.run_sync(has_usable_provider):
            words = auth_method(self.client)["description"]
            raise RpcError(
                AUTH_REQUIRED, "No provider has an API key yet", f"No provider has an API key yet. {words}"
            )
        return {}

    def _has_key(self) -> bool:
        return any(it.has_key and it.key_variable for it in self.manager.models.providers())

    # --- sessions

    async def _new(self, params: Params) -> Any:
        folder, others = _folder(params), _other_folders(params)
        problems = await self._apply_settings(folder)
        live = await self.manager.new_session(SessionSpec(workspace_folder=folder))
        self._folders[live.id] = others
        conversation = self._follow(live)
        self._take_servers(conversation, params)
        for problem in problems:
            conversation.send_text(f"{problem}\n", "agent_thought_chunk")
        result = {"sessionId": live.id, **self._state(live)}
        return await self._with_commands(result, conversation)

    async def _load(self, params: Params) -> Any:
        conversation = await self._open_conversation(params)
        live = conversation.live
        last = live.session.last_seq
        try:
            events = await anyio.to_thread.run_sync(live.events_since, 0, last)
        # Remove the conversation: its events are not sent, so a later prompt must not use it.
        except BaseException:
            conversation.stop_sending()
            raise
        conversation.replay(events)
        conversation.start(after=last)
        _tell_folder(conversation, params)
        self._take_servers(conversation, params)
        return await self._with_commands(self._state(live), conversation)

    async def _resume(self, params: Params) -> Any:
        conversation = await self._open_conversation(params)
        conversation.start(after=0)
        _tell_folder(conversation, params)
        self._take_servers(conversation, params)
        return await self._with_commands(self._state(conversation.live), conversation)

    async def _with_commands(self, result: Mapping[str, Any], conversation: AcpConversation) -> WireReply:
        """Return the result of a request that opens a session. The list of commands is sent after the result."""
        return WireReply(result, partial(conversation.send, await _commands_of(conversation.live)))

    async def _open_conversation(self, params: Params) -> AcpConversation:
        """Open the session to load or resume, and return it. Its events are not sent to the client yet."""
        session_id = _session_id(params)
        others = _other_folders(params) if "additionalDirectories" in params else None
        live = await self._find_live(session_id)
        await self._apply_settings(live.summary().workspace_folder)
        if others is not None:
            self._folders[live.id] = others
        known = self._open.get(session_id)
        made = self._make(live)
        if known and not known.is_over:
            made.replace(known)
        return made

    async def _list(self, params: Params) -> Any:
        folder, cursor = params.get("cwd"), params.get("cursor")
        if folder is not None and not (isinstance(folder, str) and (not folder or os.path.isabs(folder))):
            raise invalid(
                "The client requested the sessions of a folder, but sent no absolute path of a folder"
            )
        if cursor is not None and not isinstance(cursor, str):
            raise invalid(
                "The cursor is unknown: use the cursor that came with the previous page of sessions"
            )
        found, next_cursor = await self.manager.list_sessions(folder or None, cursor, PAGE)
        listed = [
            {
                "sessionId": it.id, "cwd": it.workspace_folder, "title": it.title or None, "updatedAt": it.updated,
                **({"additionalDirectories": list(others)} if (others := self._folders.get(it.id)) else {}),
            }
            for it in found
        ]  # fmt: skip
        return {"sessions": listed} | ({"nextCursor": next_cursor} if next_cursor else {})

    async def _close(self, params: Params) -> Any:
        session_id = _session_id(params)
        if conversation := self._open.get(session_id):
            conversation.cancel()
        await self.manager.close_session(session_id)
        self._folders.pop(session_id, None)
        self._servers.pop(session_id, None)
        return {}

    async def _delete(self, params: Params) -> Any:
        session_id = _session_id(params)
        if conversation := self._open.get(session_id):
            conversation.cancel()
        await self.manager.delete_session(session_id, force=True)
        self._folders.pop(session_id, None)
        self._servers.pop(session_id, None)
        return {}

    # --- prompts

    async def _prompt(self, params: Params) -> Any:
        conversation = await self.conversation(_session_id(params))
        prompt = self.read_prompt(conversation, params.get("prompt"))
        if prompt.command in OWN:
            reason = await self._commands.run(conversation, prompt.command, prompt.arguments)
        else:
            for words in prompt.unread:
                conversation.send_text(f"{words}\n", "agent_thought_chunk")
            await conversation.live.warn_of_missing_files(prompt.typed)
            text = await _with_command(conversation.live, prompt)
            try:
                reason = await conversation.prompt(text, prompt.images)
            except NotBegunError as closed:
                # An earlier message failed and closed the session; this message opens the session again.
                await conversation.live.ended.wait()
                again = await self.conversation(conversation.id)
                reason = await again.prompt(text, prompt.images, closed.key)
        return {"stopReason": reason}

    async def check_prompt(self, params: Params) -> None:
        """Check that a prompt can be accepted.

        Raises:
            RpcError: the session or the blocks of the prompt are not valid.
        """
        conversation = await self.conversation(_session_id(params))
        self.read_prompt(conversation, params.get("prompt"))

    async def cancel_command(self, session_id: object, call_id: object) -> dict[str, Any]:
        """End the command or the subagent of a call. Its result says that the user has stopped it.

        Raises:
            RpcError: no such command and no such subagent runs in this session.
        """
        session = (await self.conversation(_session_id({"sessionId": session_id}))).live.session
        agent_id, is_agent, _ = str(call_id).partition("#")
        if is_agent and session.agents.stop_running(agent_id):
            return {}
        try:
            await session.terminals.kill(str(call_id))
        except UnknownTerminalError as error:
            raise invalid(str(error), error.hint) from None
        return {}

    def read_prompt(self, conversation: AcpConversation, blocks: object) -> Prompt:
        folder = conversation.live.summary().workspace_folder
        folders = (folder, *self._folders.get(conversation.id, ()))
        secrets = self.manager.secrets()
        return read_prompt(
            blocks, clean=lambda text: redacted(text, secrets), is_ignored=IgnoreFile(tuple(folders))
        )

    async def conversation(self, session_id: str) -> AcpConversation:
        """Return a session of this client. A session that an error has closed is opened again.

        Raises:
            RpcError: no session of this id was opened by this client.
        """
        conversation = self._open.get(session_id)
        if conversation and not conversation.is_closing:
            return conversation
        async with self._opening:
            if (found := self._open.get(session_id)) and not found.is_closing:
                return found
            live = await self._find_live(session_id)
            self.manager.owners.check_owned(live)
            made = self._make(live)
            made.start(after=live.session.last_seq)
            return made

    async def _find_live(self, session_id: str) -> LiveSession:
        try:
            return await self.manager.open_session(session_id)
        except SessionOwnedError as error:
            how = "Close the session there and load it again, or take it over with the request `_agent-ls/takeOver`."
            words = str(error).split(":")[0]
            raise RpcError(
                INTERNAL, words[:1].upper() + words[1:], f"{words[:1].upper()}{words[1:]}. {how}"
            ) from None

    def _follow(self, live: LiveSession) -> AcpConversation:
        conversation = self._make(live)
        conversation.start(after=0)
        return conversation

    def _make(self, live: LiveSession) -> AcpConversation:
        made = AcpConversation(
            live,
            self._wire,
            self.client,
            self._client_id,
            self._tasks,
            self.manager.review,
            on_end=self._forget_conversation,
        )
        self._open[live.id] = made
        return made

    def prompts_changed(self, session_id: str) -> None:
        """Send the list of commands again if the prompts of MCP servers in it have changed."""
        conversation = self._open.get(session_id)
        if conversation is None:
            return
        names = tuple(it.name for it in prompt_commands(conversation.live.servers))
        if names == conversation.listed_prompts or self._tasks.cancel_scope.cancel_called:
            return
        conversation.listed_prompts = names

        async def send() -> None:
            update = await _commands_of(conversation.live)
            if not conversation.is_over:
                conversation.send(update)

        self._tasks.start_soon(send)

    def _forget_conversation(self, conversation: AcpConversation) -> None:
        if self._open.get(conversation.id) is conversation:
            del self._open[conversation.id]

    # --- settings

    async def _set_mode(self, params: Params) -> Any:
        conversation = await self.conversation(_session_id(params))
        change = read_change("mode", params.get("modeId"), conversation.live.summary(), self._choices())
        await self._configure(conversation, change)
        return WireReply({}, lambda: conversation.send(self._options_update(conversation.live)))

    async def _set_config_option(self, params: Params) -> Any:
        conversation = await self.conversation(_session_id(params))
        live = conversation.live
        change = read_change(params.get("configId"), params.get("value"), live.summary(), self._choices())
        await self._configure(conversation, change)

        def then() -> None:
            if change.mode:
                conversation.send(
                    {"sessionUpdate": "current_mode_update", "currentModeId": live.approver.mode}
                )

        return WireReply({"configOptions": config_options(live.summary(), self._choices())}, then)

    async def _configure(self, conversation: AcpConversation, change: OptionChange) -> None:
        await conversation.live.configure(
            provider=change.provider,
            model=change.model,
            effort=change.effort,
            mode=change.mode,
            review=change.review,
        )

    def _state(self, live: LiveSession) -> dict[str, Any]:
        summary = live.summary()
        return {"modes": mode_state(summary.mode), "configOptions": config_options(summary, self._choices())}

    def _options_update(self, live: LiveSession) -> dict[str, Any]:
        options = config_options(live.summary(), self._choices())
        return {"sessionUpdate": "config_option_update", "configOptions": options}

    def show_options(self, session_ids: Sequence[str]) -> None:
        """Send the client the options of these sessions."""
        for conversation in (self._open[it] for it in session_ids if it in self._open):
            conversation.send(self._options_update(conversation.live))

    def _choices(self) -> Choices:
        return Choices(self.manager.models.models(), self.manager.models.providers())

    # --- MCP servers of the client

    def _take_servers(self, conversation: AcpConversation, params: Params) -> None:
        """Store the MCP servers in the parameters of a request that opens a session.

        Servers that the user approves are connected at the next message.
        """
        if "mcpServers" not in params:
            return
        before, found = self.servers_of(conversation.id), read_client_servers(params["mcpServers"])
        self._servers[conversation.id] = found
        for problem in found.problems:
            if problem not in before.problems:
                conversation.send_text(f"{problem}\n", "agent_thought_chunk")

    def servers_of(self, session_id: str) -> ClientServers:
        """Return the MCP servers that the client configured for one session."""
        return self._servers.get(session_id) or ClientServers()


async def _commands_of(live: LiveSession) -> Update:
    found = await live.skills.read_current()
    return commands_update(found.for_user, prompt_commands(live.servers))


async def _with_command(live: LiveSession, prompt: Prompt) -> str:
    """Return the text of a prompt. If the prompt begins with a command or skill, the instructions of the
    command or skill are included.
    """
    text = await live.skills.expand(prompt.command, prompt.arguments) if prompt.command else None
    if text is None and any(it.name == prompt.command for it in prompt_commands(live.servers)):
        text = await prompt_text(live.servers, prompt.command, prompt.arguments)
    if text is None:
        return prompt.text
    _, _, rest = prompt.text.partition("\n\n")
    return f"{text}\n\n{rest}" if rest and prompt.arguments not in rest else text


def _tell_folder(conversation: AcpConversation, params: Params) -> None:
    """Tell the user if the client has opened a session in another folder than that in which it works."""
    named, folder = params.get("cwd"), conversation.live.summary().workspace_folder
    if not isinstance(named, str) or not os.path.isabs(named) or "\0" in named:
        return
    if os.path.realpath(named) != os.path.realpath(folder):
        words = f"This session works in {folder}, not in {named}. Begin a new session to work there.\n"
        conversation.send_text(words, "agent_thought_chunk")


def _session_id(params: Params) -> str:
    found = params.get("sessionId")
    if not isinstance(found, str) or not found:
        raise invalid("The client named no session")
    return found


def _folder(params: Params) -> str:
    found = params.get("cwd")
    if isinstance(found, str) and found and "\0" not in found and not os.path.isabs(found):
        raise invalid(
            "The folder of the session is a relative path", "The client has to send an absolute path."
        )
    if not isinstance(found, str) or not found or "\0" in found:
        raise invalid("The client named no folder to work in", "Open a folder, and try again.")
    return os.path.normpath(found)


def _other_folders(params: Params) -> tuple[str, ...]:
    found = params.get("additionalDirectories")
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(it, str) and os.path.isabs(it) for it in found):
        raise invalid("The client sent additional folders that are not a list of absolute paths")
    return tuple(os.path.normpath(it) for it in found)
