"""The host of this process: an editor, or a program that embeds the agent; and what its client has open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.lowlevel

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.profiles.options import DEFAULT_OPTIONS, ProfileOptions

if TYPE_CHECKING:
    from agent_ls.environments.editor_host import EditorHost
    from agent_ls.environments.language_host import LanguageHost
    from agent_ls.environments.terminal_host import TerminalHost
    from agent_ls.llm.adapter import ProviderAdapter
    from agent_ls.services.changes.watched_files import FileWatch
    from agent_ls.services.context.editor import EditorStatus
    from agent_ls.services.models.service import OwnProfile
    from agent_ls.services.permissions.trust import Trusting
    from agent_ls.services.settings.model import Settings
    from agent_ls.tools.base import Tool
    from agent_ls.tools.web_fetch import WebFetcher

ClientFiles: TypeAlias = Callable[[str, ExecutionEnvironment], ExecutionEnvironment]
"""Returns an environment that also has the session's client's unsaved text of open files.

The arguments are a session id and the environment of the disk.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorServices:
    """Services of the editor for sessions. A service is None if the editor does not offer it, or there is no editor.

    `host` provides the open documents, `status` reports the user's position in them. `watch` reports changed
    files. `terminals` display commands and pass on what the user types. `language` provides language tools.
    `client_files` replaces `host` for a client without change events.
    """

    host: EditorHost | None = None
    status: EditorStatus | None = None
    watch: FileWatch | None = None
    terminals: TerminalHost | None = None
    language: LanguageHost | None = None
    client_files: ClientFiles | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramParts:
    """Parts that an embedding program provides.

    `adapters` are its own providers by name, and `profiles` describe how to use their models. `tools` and
    `profile_options` apply to each profile. `environment` replaces access to this machine, `pages` replaces
    HTTP requests. `confines`: the environment itself confines read-only commands. `personal` False: sessions get no
    hooks, tools, MCP servers, memory, skills or subagents of the user's account.
    """

    adapters: Mapping[str, ProviderAdapter] = field(default_factory=dict)
    profiles: Mapping[str, OwnProfile] = field(default_factory=dict)
    tools: Sequence[Tool[Any]] = ()
    profile_options: ProfileOptions = DEFAULT_OPTIONS
    environment: ExecutionEnvironment | None = None
    confines: bool = False
    pages: WebFetcher | None = None
    personal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """The client of this process: what it has open now, and the functions that are called when something changes.

    - `trusting`: which folders count as trusted (services/permissions/trust.py); `trusted_folders` returns those that
      the client trusts. `keeps_trust` False: decisions about trust are not stored.
    - `folders`: returns the open workspace folders. A session works in these folders and in its own folder (H1).
    - `session_folders`, `session_servers`: return, by session id, the additional folders and the MCP servers that the
      client opened or configured for one session only.
    - `notebooks`: whether session folders contain notebooks; None: search each folder when its session is opened.
    - `lists_servers`: the client is an editor with a list of MCP servers, which messages may name.
    - `on_settings`: called after each change of settings, for components that read settings directly.
    - `on_trust`: awaited after each decision about trust, before the turn that asked for it continues.
    - `on_servers`: called with a session id after a change of an MCP server's state, tools, prompts or resources. Must
      not block.
    """

    trusting: Trusting = "asked"
    keeps_trust: bool = True
    trusted_folders: Callable[[], Sequence[str]] = tuple
    folders: Callable[[], Sequence[str]] = tuple
    session_folders: Callable[[str], Sequence[str]] = lambda session_id: ()
    session_servers: Callable[[str], Mapping[str, Mapping[str, Any]]] = lambda session_id: {}
    notebooks: bool | None = None
    lists_servers: bool = False
    on_settings: Callable[[Settings], object] = lambda settings: None
    on_trust: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint
    on_servers: Callable[[str], None] = lambda session_id: None


NO_EDITOR = EditorServices()
NO_PARTS = ProgramParts()
NO_CLIENT = ClientState()
