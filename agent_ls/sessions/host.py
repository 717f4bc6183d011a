"""The host of this process: an editor, or a program that embeds the agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

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
    HTTP requests. `personal` False: sessions get no hooks, tools, MCP servers, memory, skills or subagents of the
    user's account.
    """

    adapters: Mapping[str, ProviderAdapter] = field(default_factory=dict)
    profiles: Mapping[str, OwnProfile] = field(default_factory=dict)
    tools: Sequence[Tool[Any]] = ()
    profile_options: ProfileOptions = DEFAULT_OPTIONS
    environment: ExecutionEnvironment | None = None
    pages: WebFetcher | None = None
    personal: bool = True


NO_EDITOR = EditorServices()
NO_PARTS = ProgramParts()
