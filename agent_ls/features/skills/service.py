"""The skills and commands of one session: read them again at each input, and expand them when they
are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import anyio.to_thread

from agent_ls.environments.instruction_files import (
    LOCAL_FILES,
    InstructionFiles,
    LocalInstructionFiles,
    Signature,
    UnreadableFileError,
    list_other_files,
)
from agent_ls.features.base import SessionFeature
from agent_ls.features.skills.catalogue import catalogue_text
from agent_ls.features.skills.loader import load_user_commands, read_body
from agent_ls.features.skills.placeholders import expand_command, insert_arguments, wrap_instructions
from agent_ls.features.skills.values import NO_COMMANDS, UserCommand, UserCommands
from agent_ls.features.slash_commands import maybe_command
from agent_ls.front_matter import FrontMatterError
from agent_ls.paths import is_below
from agent_ls.patterns import regex
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.settings.model import SkillSettings
from agent_ls.tools.base import ToolError

if TYPE_CHECKING:
    from agent_ls.features.skills.agents import AgentKinds

MAX_LISTED_FILES = 100
NOT_THERE = "The other files in the folder of this skill are on the user's machine, and cannot be used here."
_BEGINS = regex(r"([/$])([\w][\w.:-]*)(?:\s+(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Flags that say whether the session offers the tools for skills and for kinds of subagents."""

    skills: bool = True
    agents: bool = False


ONLY_SKILLS = OfferedTools()


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """The folder whose skills a session uses.

    `is_trusted` returns whether its files may be used now. `files` accesses the machine that has
    the folder; None: the session has no skills. If the folder is on another machine, only the texts of the
    user's own skills can be used, because the other files of these skills are on this machine. `is_ignored`
    returns whether the user's ignore file matches a path.
    """

    path: str
    is_trusted: Callable[[], bool]
    files: InstructionFiles | None = LOCAL_FILES
    is_ignored: Callable[[str], bool] = lambda path: False


class SessionSkills(SessionFeature):
    """Finds and expands the skills of a session.

    `state` is the state folder. `notify` sends the model a notice. `allow_reading` permits reads
    below a folder without approval; it is called with the folder of a skill that is used.

    The list of skills in the system prompt is made at the first input, and again only when the
    user's trust of the folder changes, so that the provider's prompt cache stays valid. Skills added later are
    announced to the model by a notice.
    """

    def __init__(
        self,
        folder: ProjectFolder,
        state: str,
        *,
        settings: Callable[[], SkillSettings],
        notify: Callable[[str], None] = lambda text: None,
        allow_reading: Callable[[str], None] = lambda folder: None,
        offers: OfferedTools = ONLY_SKILLS,
        is_usable: Callable[[str, str], bool] = lambda provider, model: False,
    ) -> None:
        self._folder = folder
        self._state = state
        self._settings = settings
        self._notify = notify
        self._allow_reading = allow_reading
        self._offers = offers
        self._is_usable = is_usable
        self._layer = ""
        self._kinds_text: tuple[bool, str] | None = None
        self._listed: UserCommands | None = None
        self._listed_trust = False
        self._known: dict[str, Signature] = {}
        self._in_context: dict[str, Signature] = {}
        self._used: dict[str, str] = {}

    async def read_current(self) -> UserCommands:
        """Return the skills and commands that exist now."""
        found, _ = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        return found

    def add_tools(self, profile: ProviderProfile) -> None:
        if self._offers.skills and profile.registry.lookup("use_skill") is None:
            # Imported here, because not every user has skills.
            from agent_ls.features.skills.tool import use_skill_tool

            profile.registry.register(use_skill_tool(self.use))
        if self._offers.agents:
            from agent_ls.features.skills.agent_tool import add_kinds  # few users define kinds of subagents

            add_kinds(profile, self.agents, self._is_usable)

    async def prepare(self, profile: ProviderProfile) -> None:
        if not (self._offers.skills or self._offers.agents):
            return
        window_tokens = profile.context_window_tokens
        found, trusted = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        if self._listed is None or trusted != self._listed_trust:
            self._listed, self._listed_trust = found, trusted
        elif self._offers.skills:
            self._announce(found)
        self._known = {skill.name: skill.signature for skill in found.for_model}
        skills = catalogue_text(self._listed.for_model, window_tokens) if self._offers.skills else ""
        kinds = await self._kinds(window_tokens) if self._offers.agents else ""
        self._layer = "\n\n".join(filter(None, (skills, kinds)))

    def layer(self) -> str:
        return self._layer

    async def agents(self) -> AgentKinds:
        """Return the kinds of subagents that exist now."""
        # Imported here, because few users define kinds of subagents.
        from agent_ls.features.skills.agents import AgentKinds, load_agent_kinds

        def load() -> AgentKinds:
            if self._folder.files is None:
                return AgentKinds()
            folder = self._folder.path if self._folder.is_trusted() else None
            return load_agent_kinds(
                self._settings(),
                self._state,
                folder,
                is_ignored=self._folder.is_ignored,
                files=self._folder.files,
            )

        return await anyio.to_thread.run_sync(load, abandon_on_cancel=True)

    async def _kinds(self, window_tokens: int) -> str:
        """Return the list of kinds of subagents for the system prompt.

        The list is made again only when the user's trust of the folder changes.
        """
        if self._kinds_text is None or self._kinds_text[0] != self._listed_trust:
            from agent_ls.features.skills.agent_tool import kinds_text

            self._kinds_text = self._listed_trust, kinds_text(await self.agents(), window_tokens)
        return self._kinds_text[1]

    async def expand(self, name: str, arguments: str) -> str | None:
        """Return the model's input for `/name arguments`; None if the command does not exist."""
        if built_in := maybe_command(name):
            return built_in.prompt_text(arguments)
        command = (await self.read_current()).find(name)
        if command is None or not command.for_user:
            return None
        return await self._expand(command, arguments)

    async def expand_message(self, message: str) -> str:
        """Expand a user's message into the message that the model gets.

        If it begins with the `/name` of a command or skill, or the `$name` of a skill, the result contains the
        instructions of the command or skill. Other messages are returned unchanged.
        """
        if not (begins := _BEGINS.match(message)):
            return message
        sign, name, arguments = begins[1], begins[2], begins[3] or ""
        if sign == "/":
            return await self.expand(name, arguments) or message
        command = (await self.read_current()).find(name)
        is_skill = command is not None and command.for_user and command.kind == "skill"
        return await self._expand(command, arguments) or message if command and is_skill else message

    async def _expand(self, command: UserCommand, arguments: str) -> str | None:
        try:
            text, _ = await anyio.to_thread.run_sync(read_body, command, abandon_on_cancel=True)
        except (UnreadableFileError, FrontMatterError):
            return None  # the file was removed or changed after it was listed
        self._remember(command)
        expanded = expand_command(command, text, arguments.strip())
        is_whole = command.kind == "command" or self._is_at_place(command)
        return expanded if is_whole else f"{expanded}\n\n{NOT_THERE}"

    async def use(self, name: str, words: str) -> str:
        """Return the instructions of the skill `name` for the model. `words` are the arguments to insert.

        If the instructions are already in the model's context, returns a reference to them instead.

        Raises:
            ToolError: no skill that the model may use has this name, or its file cannot be read.
        """
        found = await self.read_current()
        skill = found.find(name.strip().removeprefix("/"))
        if skill and skill.for_user and not skill.for_model:
            raise ToolError(f"Only the user can start {skill.name}: ask them to send /{skill.name}.")
        if skill is None or not skill.for_model:
            names = [skill.name for skill in found.for_model]
            near = get_close_matches(name, names, n=3) or names[:20]
            raise ToolError(f"There is no skill named {name!r}. Skills: {', '.join(near) or 'none'}.")
        try:
            text, signature = await anyio.to_thread.run_sync(read_body, skill, abandon_on_cancel=True)
        except (UnreadableFileError, FrontMatterError) as error:
            raise ToolError(f"The file of the skill {skill.name} cannot be used: {error}.") from error
        self._remember(skill)
        if not words and self._in_context.get(skill.name) == signature:
            return f"The instructions of {skill.name} are above, unchanged."
        if not words:
            self._in_context[skill.name] = signature
        body = wrap_instructions(skill, insert_arguments(text, words.strip(), skill.argument_names))
        if not self._is_at_place(skill):
            return f"{body}\n\n{NOT_THERE}"
        files = await anyio.to_thread.run_sync(
            list_other_files, skill.path, MAX_LISTED_FILES, skill.files, abandon_on_cancel=True
        )
        return f"{body}\n\nFiles in its folder: {', '.join(files)}" if files else body

    def list_pinned(self) -> list[str]:
        """Return one text that lists the skills in use; an empty list if no skill is in use.

        Called at a compaction, which removes the skills' instructions from the context.
        """
        self._in_context.clear()
        if not self._used:
            return []
        rows = [f"- {name} ({path})" for name, path in self._used.items()]
        return ["\n".join(("# Skills in use", *rows, "Call use_skill to read one again."))]

    def _load(self) -> tuple[UserCommands, bool]:
        """Return all skills and commands, and whether the folder was trusted. Blocks."""
        if self._folder.files is None:
            return NO_COMMANDS, False
        trusted = self._folder.is_trusted()
        found = load_user_commands(
            self._settings(),
            self._state,
            self._folder.path if trusted else None,
            is_ignored=self._folder.is_ignored,
            files=self._folder.files,
        )
        return found, trusted

    def _announce(self, found: UserCommands) -> None:
        for skill in found.for_model:
            known = self._known.get(skill.name)
            if known is None:
                self._notify(f"A new skill is available: {skill.name}: {skill.description}")
            elif known != skill.signature and skill.name in self._used:
                self._notify(f"The skill {skill.name} has changed since you read it.")

    def _remember(self, command: UserCommand) -> None:
        if command.kind == "skill":
            self._used[command.name] = command.path
            if self._is_at_place(command) and not is_below(command.folder, self._folder.path):
                self._allow_reading(command.folder)

    def _is_at_place(self, command: UserCommand) -> bool:
        """Return whether the folder of a skill is on the machine where the session's tools run."""
        here = isinstance(self._folder.files, LocalInstructionFiles)
        return command.files is self._folder.files or (
            here and isinstance(command.files, LocalInstructionFiles)
        )
