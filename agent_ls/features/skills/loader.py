"""Read all skills and commands of the user and of a trusted project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache

from agent_ls.environments.instruction_files import (
    LOCAL_FILES,
    MAX_FILES,
    InstructionFiles,
    ReadBudget,
    Signature,
    UnreadableFileError,
)
from agent_ls.features.skills.places import SkillFolder, find_places
from agent_ls.features.skills.values import NO_COMMANDS, Origin, UserCommand, UserCommands
from agent_ls.features.slash_commands import NAMES
from agent_ls.front_matter import FrontMatterError, MarkdownPage, parse_page
from agent_ls.patterns import regex
from agent_ls.services.settings.model import SkillSettings

MAX_NAME = 64
MAX_DESCRIPTION = 1024
_STANDARD_NAME = regex(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_USABLE_NAME = regex(r"[\w.:-]+")
_NO_ESCAPE = regex(r"(?<!\\)\\(?![\\btnfre\"uU\s])")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def load_user_commands(
    settings: SkillSettings,
    state: str,
    workspace: str | None,
    *,
    is_ignored: Callable[[str], bool] = lambda path: False,
    files: InstructionFiles = LOCAL_FILES,
) -> UserCommands:
    """Return the skills and commands of the user, and those of `workspace` if it is given. Blocks.

    Pass None for a folder that the user does not trust: no file of this folder is read, because a
    skill's description is an instruction to the model. `state` is the state folder. `files`
    accesses the machine that has the workspace.
    """
    if not settings.enabled:
        return NO_COMMANDS
    reading = _Reading(is_ignored)
    for place in find_places(settings, state, workspace, files):
        if settings.foreign or not place.is_foreign:
            reading.read_place(place)
    reading.name_left_out()
    if reading.budget.is_spent:
        reading.problems.append("Skills: there are too many files and folders; the last ones are left out.")
    return UserCommands([reading.found[name] for name in sorted(reading.found)], reading.problems)


def has_skills(
    settings: SkillSettings,
    state: str,
    workspace: str | None,
    whose: Origin | None = None,
    files: InstructionFiles = LOCAL_FILES,
) -> bool:
    """Return whether the user or `workspace`, trusted or not, has any skill. Blocks.

    `whose` limits the search to skills of one origin.
    """
    places = find_places(settings, state, workspace, files) if settings.enabled else ()
    return any(
        _is_skill(path)
        for place in places
        if place.kind == "skill"
        and whose in (None, place.origin)
        and (settings.foreign or not place.is_foreign)
        for path in place.files.walk(place.folder, place.suffix, ReadBudget(), lambda path: False)
    )


def _is_skill(path: str) -> bool:
    # On most machines the capitals of a name make no difference, so many skills have others.
    return os.path.basename(path).lower() == "skill.md"


@dataclass(slots=True)
class _Reading:
    """Collects the commands of several folders, and the problems in their files."""

    is_ignored: Callable[[str], bool]
    budget: ReadBudget = field(default_factory=ReadBudget)
    found: dict[str, UserCommand] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def read_place(self, place: SkillFolder) -> None:
        skills: list[str] = []
        for path in place.files.walk(place.folder, place.suffix, self.budget, self.is_ignored):
            if place.kind == "skill":
                if not _is_skill(path) or path.startswith(tuple(skills)):
                    continue  # a file of a skill, not a skill of its own
                if os.path.dirname(path) != place.folder:
                    skills.append(os.path.join(os.path.dirname(path), ""))
            command, problems = _read_again(path, place, place.files.signature(path))
            self.problems += problems
            if command:
                self._add(command)

    def name_left_out(self) -> None:
        """Name the files behind links out of their folders as problems, but none that was found elsewhere."""
        known = {os.path.realpath(command.path) for command in self.found.values()}
        self.problems += [
            f"{path}: not used, because a link in a project is followed only within its folder of skills or commands."
            for path in dict.fromkeys(self.budget.left_out)
            if os.path.realpath(path) not in known
        ]

    def _add(self, command: UserCommand) -> None:
        if command.name in NAMES:
            command = replace(command, name=f"{command.origin}:{command.name}")
            self.problems.append(
                f"{command.path}: agent-ls already has a command of that name; call this one as /{command.name}."
            )
        other = self.found.get(command.name)
        if other and other.kind == "skill" and command.kind == "command":
            self.problems.append(
                f"{command.path}: not used, because the skill {other.path} has the same name."
            )
            return
        if other and os.path.realpath(other.path) != os.path.realpath(command.path):
            self.problems.append(f"{other.path}: not used, because {command.path} has the same name.")
        self.found[command.name] = command


@lru_cache(maxsize=2 * MAX_FILES)
def _read_again(
    path: str, place: SkillFolder, signature: Signature | None
) -> tuple[UserCommand | None, tuple[str, ...]]:
    """Return the command in a file, or None, and the problems in the file.

    The result is cached until the signature changes, because an editor requests all commands for each letter
    that the user types after `/`.
    """
    try:
        return _read(path, place)
    except (UnreadableFileError, FrontMatterError) as error:
        return None, (f"{path}: {error}.",)


def _read(path: str, place: SkillFolder) -> tuple[UserCommand, tuple[str, ...]]:
    """Read one skill or command. Return both it and the problems in its file.

    Raises:
        UnreadableFileError, FrontMatterError
    """
    text, signature = place.files.read(path, place.folder)
    page = _toml_page(text) if place.suffix == ".toml" else parse_page(text)
    command = UserCommand(
        name=_name_of(path, place, page),
        description=_CONTROL.sub(" ", page.string("description"))[:MAX_DESCRIPTION],
        kind="skill" if place.kind == "skill" else "command",
        origin=place.origin,
        path=path,
        base=place.folder,
        folder=place.files.real_folder(path),
        signature=signature,
        argument_hint=_CONTROL.sub(" ", page.hint("argument-hint"))[:MAX_DESCRIPTION],
        argument_names=page.names("arguments"),
        for_model=place.kind == "skill" and not page.flag("disable-model-invocation", default=False),
        for_user=page.flag("user-invocable", default=True),
        tools=page.names("allowed-tools") or page.names("tools"),
        files=place.files,
    )
    if place.kind == "skill":
        return command, tuple(f"{path}: {problem}." for problem in _problems_of_skill(command, page))
    return _add_description(command, page), ()


def _problems_of_skill(skill: UserCommand, page: MarkdownPage) -> Iterator[str]:
    """Yield the problems that do not prevent the use of a skill, each as part of a sentence.

    Raises:
        UnreadableFileError: the skill cannot be used at all.
    """
    if not page.rows:
        raise UnreadableFileError(
            "the file has no front matter: lines such as `name: value` between two lines `---`"
        )
    if not skill.description:
        raise UnreadableFileError("the skill has no description, so the model cannot know when to use it")
    if skill.name != os.path.basename(os.path.dirname(skill.path)):
        yield f"its name {skill.name} differs from the name of its folder"
    if not _STANDARD_NAME.fullmatch(skill.name) or len(skill.name) > MAX_NAME:
        yield f"other agents take only names of at most {MAX_NAME} letters a-z, digits and hyphens"
    if not page.string("name"):
        yield "it has no row `name`, so the name of its folder is used"
    if len(page.string("description")) > MAX_DESCRIPTION:
        yield f"its description is longer than {MAX_DESCRIPTION} characters, and is shortened"
    if page.repaired:
        rows = " and ".join(f"`{row}`" for row in page.repaired)
        yield f"other agents cannot read it until you put quotes around the value of {rows}"
    for row in ("disable-model-invocation", "user-invocable"):
        if not isinstance(page.rows.get(row, False), bool):
            yield f"its row `{row}` is ignored, because its value is neither true nor false"


def _toml_page(text: str) -> MarkdownPage:
    """Parse a command in the TOML format of Gemini CLI: `prompt`, and optionally `description`.

    A backslash that begins no escape is kept, and a file with a Markdown header is read as Markdown.
    """
    import tomllib  # imported here, because few users have TOML commands

    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        rows: Mapping[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        with suppress(FrontMatterError):
            if (page := parse_page(text)).rows and page.text:
                return page
        try:
            rows = tomllib.loads(_NO_ESCAPE.sub(r"\\\\", text))
        except tomllib.TOMLDecodeError:
            raise FrontMatterError(f"it is not valid TOML: {error}") from error
    prompt = rows.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise FrontMatterError("the file has no string named `prompt`")
    return MarkdownPage(rows, prompt.strip())


def _name_of(path: str, place: SkillFolder, page: MarkdownPage) -> str:
    """Return the name of a skill or command.

    The name of a skill is its `name` field, or else the name of its folder. A command is named by its path:
    `git/commit.md` defines `git:commit`.
    """
    if place.kind == "skill":
        name = page.string("name") or os.path.basename(os.path.dirname(path))
    else:
        relative = os.path.relpath(path, place.folder)[: -len(place.suffix)]
        name = ":".join(relative.split(os.sep))
        if place.suffix == ".prompt.md":
            name = page.string("name") or name
    name = name.strip().replace(" ", "-")
    if not _USABLE_NAME.fullmatch(name) or len(name) > 2 * MAX_NAME:
        raise UnreadableFileError(f"{name[:MAX_NAME]!r} cannot be a name: use letters, digits and hyphens")
    return name


def _add_description(command: UserCommand, page: MarkdownPage) -> UserCommand:
    """Return the command with a description: its own, or else the first line of its text."""
    if command.description:
        return command
    first = next((line.strip("# \t") for line in page.text.splitlines() if line.strip("# \t")), "")
    return replace(command, description=_CONTROL.sub(" ", first)[:120])


def read_body(command: UserCommand) -> tuple[str, Signature]:
    """Read the current instructions of a skill or command; return them and their signature. Blocks.

    Raises:
        UnreadableFileError, FrontMatterError
    """
    text, signature = command.files.read(command.path, command.base)
    page = _toml_page(text) if command.path.endswith(".toml") else parse_page(text)
    return page.text, signature
