"""Add the notes of the user and, in a trusted folder, of the project to the prompt.

Notes are read once and stored with the session. So neither new notes nor a resume change the prefix of the
session's requests, which is in the provider's prompt cache. The tool `remember` is offered if there are notes,
or after the session's first /remember.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from posixpath import join as join_posix

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.features.base import SessionFeature
from agent_ls.features.slash_commands import maybe_command
from agent_ls.profiles.base import ProviderProfile
from agent_ls.text import decode
from agent_ls.tools.remember import MEMORY_FILE as MEMORY_FILE, NAME, remember_tool

BUDGET_CHARS = 8 * 1024
"""Maximum length of the project's notes in a prompt. Longer notes lose their beginning, which is the oldest part."""

USER_BUDGET_CHARS = 4 * 1024
"""Maximum length of the user's notes for all projects in a prompt."""

MEMORY_TEXT, USER_TEXT, MEMORY_TOOL = "memoryText", "userMemoryText", "memoryTool"
"""Keys in the session's stored configuration.

Their values are the project's notes, the user's notes, and whether the session has the tool remember.
"""

HEADING = (
    f"# Memory\n\nNotes from earlier sessions in {MEMORY_FILE}, which the user may have edited. Follow "
    "these notes. Correct a note in the file if it turns out to be wrong."
)
USER_HEADING = (
    "# Memory of the user\n\nNotes of the user for the sessions of all projects, in {file}. Follow "
    "these notes unless the project's own notes and documents say otherwise."
)
LEFT_OUT = "[Older notes are left out here; read the file for all notes.]"

Config = Mapping[str, object]


class SessionMemory(SessionFeature):
    """The notes of a session. `files` accesses files with their unsaved text, by the path policy.

    `stored` is the configuration in the session's log; `remember` adds values to it. `trusted` returns whether
    the folder is trusted: notes of an untrusted folder are not read. `user_file` is the absolute path of the
    user's notes for all projects, "" for none.
    """

    def __init__(
        self,
        files: ExecutionEnvironment,
        *,
        trusted: Callable[[], Awaitable[bool]],
        stored: Config,
        remember: Callable[[dict[str, str | bool]], None],
        user_file: str = "",
    ) -> None:
        self._files = files
        self._trusted = trusted
        self._text, self._user_text = (
            text if isinstance(text := stored.get(name), str) else None for name in (MEMORY_TEXT, USER_TEXT)
        )
        self._user_file = user_file
        self._has_tool = stored.get(MEMORY_TOOL) is True
        self._remember = remember

    def on_input(self, text: str) -> None:
        """Offer the tool from now on if the text of an input contains the command /remember."""
        command = maybe_command("remember")
        if command and command.text in text:
            self._offer()

    async def prepare(self, profile: ProviderProfile) -> None:
        if self._text is None and await self._trusted():
            path = join_posix(self._files.working_directory(), MEMORY_FILE)
            self._text = await read_notes(self._files, path, BUDGET_CHARS)
            self._remember({MEMORY_TEXT: self._text})
        if self._user_text is None and self._user_file:
            self._user_text = await read_notes(self._files, self._user_file, USER_BUDGET_CHARS)
            if self._user_text:
                self._remember({USER_TEXT: self._user_text})
        if self._text or self._user_text:
            self._offer()
        if self._has_tool and profile.registry.lookup(NAME) is None:
            profile.registry.register(remember_tool(self._user_file))

    def layer(self) -> str:
        user_heading = USER_HEADING.format(file=self._user_file)
        layers = (_layer(user_heading, self._user_text), _layer(HEADING, self._text))
        return "\n\n".join(filter(None, layers))

    def _offer(self) -> None:
        if not self._has_tool:
            self._has_tool = True
            self._remember({MEMORY_TOOL: True})


def _layer(heading: str, text: str | None) -> str:
    return f"{heading}\n\n<memory>\n{text}\n</memory>" if text else ""


async def read_notes(files: ExecutionEnvironment, path: str, budget: int) -> str:
    """Return the newest notes in a file, at most `budget` characters; "" if there are none or on a read error."""
    try:
        data = await files.read_bytes(path)
    except EnvError:
        return ""
    text = decode(data).text.strip().replace("</memory", "<\\/memory")
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= budget:
        return text
    _, _, end = text[-budget:].partition("\n")
    return f"{LEFT_OUT}\n{end}"
