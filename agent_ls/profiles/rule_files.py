"""Rules of other agents: files of instructions for all tasks, for some files, or for some tasks.

`.cursor/rules` (`globs`, `alwaysApply`), `.github/instructions` (`applyTo`) and `.claude/rules` (`paths`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError, InvalidPatternError
from agent_ls.environments.globs import compile_glob, find_readings
from agent_ls.front_matter import FrontMatterError, MarkdownPage, parse_page
from agent_ls.text import decode

MAX_RULES = 100
MAX_DEPTH = 3
MAX_BYTES = 64 * 1024
MAX_DESCRIPTION = 300
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_NEXT = re.compile(r",(?![^{]*\})")


@dataclass(frozen=True, slots=True)
class _RulePlace:
    """A folder with rules. `globs` is the field with patterns. `without`: whether a rule without patterns always
    applies.
    """

    folder: str
    suffix: str
    globs: str
    without: bool


PLACES = (
    _RulePlace(".github/instructions", ".instructions.md", "applyTo", without=False),
    _RulePlace(".claude/rules", ".md", "paths", without=True),
    _RulePlace(".cursor/rules", ".mdc", "globs", without=False),
)


@dataclass(frozen=True, slots=True)
class ScopedRule:
    """A rule. `path` and `globs` are relative to the folder that contains `.cursor`, `.github` or `.claude`.

    With `always`, the rule applies to all tasks; otherwise to files that match `globs`, or to tasks that fit
    `description`.
    """

    path: str
    text: str
    always: bool = False
    globs: tuple[str, ...] = ()
    description: str = ""

    def covers(self, path: str) -> bool:
        """Return whether the rule applies to a file, given relative to the folder of `globs`."""
        return any(_matches(glob, path) for glob in self.globs)


async def find_rules(environment: ExecutionEnvironment, folder: str, separator: str) -> list[ScopedRule]:
    """Return the rules in `folder`, sorted by path. Files that cannot be read are left out."""
    rules: list[ScopedRule] = []
    for place in PLACES:
        base = separator.join((folder.rstrip(separator), *place.folder.split("/")))
        try:
            entries = await environment.list_directory(base, MAX_DEPTH)
        except EnvError:
            continue
        for entry in entries:
            if entry.is_dir or not entry.name.endswith(place.suffix) or len(rules) >= MAX_RULES:
                continue
            try:
                data = await environment.read_bytes(
                    base + separator + entry.name.replace("/", separator), MAX_BYTES
                )
            except EnvError:
                continue
            rules.append(_parse(f"{place.folder}/{entry.name}", decode(data).text, place))
    return [rule for rule in rules if rule.text]


def _parse(path: str, text: str, place: _RulePlace) -> ScopedRule:
    try:
        page = parse_page(text)
    except FrontMatterError:
        page = MarkdownPage(text=text.strip())
    globs = _globs(page.rows.get(place.globs))
    always = str(page.rows.get("alwaysApply", "")).lower() == "true" or "**" in globs or "**/*" in globs
    always |= place.without and not globs
    return ScopedRule(path, page.text, always, globs, page.string("description")[:MAX_DESCRIPTION])


def _globs(value: object) -> tuple[str, ...]:
    """Return the patterns in a field: a list, or a text with commas."""
    texts = value if isinstance(value, list) else _NEXT.split(value) if isinstance(value, str) else ()
    found = (text.strip().strip(_QUOTES).strip() for text in texts if isinstance(text, str))
    return tuple(glob.removeprefix("./").removeprefix("/") for glob in found if glob)


def _matches(glob: str, path: str) -> bool:
    """Return whether a pattern matches a path. A pattern without a slash matches names, a folder all its files."""
    glob = f"{glob}**" if glob.endswith("/") else glob
    name = path if "/" in glob else path.rpartition("/")[2]
    try:
        return any(compile_glob(reading).fullmatch(name) for reading in find_readings(glob))
    except InvalidPatternError:
        return False


def list_for_tasks(rules: Sequence[ScopedRule]) -> str:
    """Return a text that names the rules that apply to some tasks, "" for none."""
    lines = [
        f"- {rule.path}: {rule.description or rule.path}"
        for rule in rules
        if not rule.always and not rule.globs
    ]
    return "\n".join((FOR_TASKS, *lines)) if lines else ""


FOR_TASKS = "These files have further instructions. Read one before a task that fits its description:"
