"""Rules of other agents: files of instructions for all tasks, for some files, or for some tasks.

Agents differ in the folder and in the fields of the header: `globs` and `alwaysApply` (Cursor, Continue), `applyTo`
(Copilot), `paths` (Claude Code, Cline), `trigger` (Windsurf), `inclusion` and `fileMatchPattern` (Kiro), `type`
(Augment). People copy rules from one folder to another, so every field counts in every folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import anyio

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError, InvalidPatternError
from agent_ls.environments.globs import compile_glob, find_readings
from agent_ls.front_matter import FrontMatterError, MarkdownPage, parse_page
from agent_ls.patterns import regex
from agent_ls.text import decode

MAX_RULES = 100
MAX_DEPTH = 3
MAX_BYTES = 64 * 1024
MAX_DESCRIPTION = 300
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_NEXT = regex(r",(?![^{]*\})")


@dataclass(frozen=True, slots=True)
class _RulePlace:
    """A folder with rules. `without`: whether a rule without patterns always applies. `other`: folders in it that have
    no rules.
    """

    folder: str
    suffixes: tuple[str, ...]
    without: bool
    other: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Return whether a file, relative to the folder, is a rule."""
        last = name.rpartition("/")[2]
        is_named = any(last.endswith(suffix) if suffix else "." not in last for suffix in self.suffixes)
        return is_named and not name.startswith(self.other or "/")


_MARKDOWN = (".md", ".mdc")
_TEXT = (".md", ".mdc", ".txt")
_ANY = (*_TEXT, "")  # "": also names without an ending
PLACES = (
    _RulePlace(".github/instructions", (".instructions.md",), without=False),
    _RulePlace(".claude/rules", _MARKDOWN, without=True),
    _RulePlace(".cursor/rules", (".mdc",), without=False),
    _RulePlace(".clinerules", _TEXT, without=True, other=("workflows/", "hooks/", "skills/")),
    _RulePlace(".roo/rules", _ANY, without=True),
    _RulePlace(".roo/rules-code", _ANY, without=True),
    _RulePlace(".kilocode/rules", _MARKDOWN, without=True),
    _RulePlace(".windsurf/rules", _MARKDOWN, without=True),
    _RulePlace(".devin/rules", _MARKDOWN, without=False),
    _RulePlace(".kiro/steering", _MARKDOWN, without=True),
    _RulePlace(".continue/rules", _MARKDOWN, without=True),
    _RulePlace(".augment/rules", _MARKDOWN, without=False),
    _RulePlace(".amazonq/rules", _MARKDOWN, without=True),
    _RulePlace(".trae/rules", _MARKDOWN, without=True),
    _RulePlace(".qwen/rules", _MARKDOWN, without=True),
    _RulePlace(".opencode/rules", _MARKDOWN, without=True),
    _RulePlace(".junie/guidelines", _MARKDOWN, without=True),
    _RulePlace(".agents/rules", _MARKDOWN, without=False),
)

_SKILLS = tuple(
    _RulePlace(name, ("SKILL.md",), without=False) for name in (".agents/skills", ".claude/skills")
)
WITH_SKILLS = (*PLACES, *_SKILLS)
"""The places below the working folder: a skill there is named with its description, as a rule for some tasks."""

_GLOBS = ("globs", "paths", "applyTo", "fileMatchPattern", "glob")
_MODES = ("trigger", "inclusion", "type")
_ALWAYS = ("always_on", "always", "always_apply")


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


def rule_folders(folder: str, separator: str) -> list[str]:
    """Return the folders below `folder` that may have rules."""
    return [_base(folder, place, separator) for place in WITH_SKILLS]


async def find_rules(
    environment: ExecutionEnvironment,
    folder: str,
    separator: str,
    missing: frozenset[str] = frozenset(),
    places: Sequence[_RulePlace] = PLACES,
) -> list[ScopedRule]:
    """Return the rules in `folder`, sorted by path. Files that cannot be read are left out.

    `missing` are paths that do not exist.
    """
    found: dict[_RulePlace, Sequence[str]] = {}

    async def look(place: _RulePlace, base: str) -> None:
        with suppress(EnvError):
            entries = await environment.list_directory(base, MAX_DEPTH)
            found[place] = [entry.name for entry in entries if not entry.is_dir and place.has(entry.name)]

    async with (
        anyio.create_task_group() as tasks
    ):  # together, because a remote machine answers each after a while
        for place in places:
            if (base := _base(folder, place, separator)) not in missing:
                tasks.start_soon(look, place, base)
    rules: list[ScopedRule] = []
    for place, name in ((it, name) for it in places for name in found.get(it, ())):
        if len(rules) >= MAX_RULES:
            break
        path = _base(folder, place, separator) + separator + name.replace("/", separator)
        try:
            data = await environment.read_bytes(path, MAX_BYTES)
        except EnvError:
            continue
        if b"\0" not in data or data.startswith((b"\xff\xfe", b"\xfe\xff")):
            rules.append(_parse(f"{place.folder}/{name}", decode(data).text, place))
    return [rule for rule in rules if rule.text]


def _base(folder: str, place: _RulePlace, separator: str) -> str:
    return separator.join((folder.rstrip(separator), *place.folder.split("/")))


def _parse(path: str, text: str, place: _RulePlace) -> ScopedRule:
    try:
        page = parse_page(text)
    except FrontMatterError:
        page = MarkdownPage(text=text.strip())
    given = next((page.rows[key] for key in _GLOBS if page.rows.get(key) is not None), None)
    globs = _globs(given)
    says = str(page.rows.get("alwaysApply", "")).lower()
    mode = next((mode for key in _MODES if (mode := page.string(key).lower())), "")
    description = page.string("description")[:MAX_DESCRIPTION]
    always = says == "true" or mode in _ALWAYS or "**" in globs or "**/*" in globs
    if place in _SKILLS:
        is_only_for_user = page.flag("disable-model-invocation", default=False) or not description
        return ScopedRule(path, "" if is_only_for_user else page.text, description=description)
    if mode == "manual" or (given == [] and place.without and not always):
        return ScopedRule(path, "")  # the author has turned it off
    if not globs and not mode and place.without:
        always |= not (says == "false" and description)
    return ScopedRule(path, page.text, always, globs, description)


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


def list_for_tasks(rules: Sequence[ScopedRule], folder: str = "") -> str:
    """Return a text that names the rules that apply to some tasks, "" for none. Their paths begin with `folder`."""
    lines = [
        f"- {folder}{rule.path}: {rule.description or rule.path}"
        for rule in rules
        if not rule.always and not rule.globs
    ]
    return "\n".join((FOR_TASKS, *lines)) if lines else ""


FOR_TASKS = "These files have further instructions. Read one before a task that fits its description:"
