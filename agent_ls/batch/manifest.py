"""Read a manifest: each line is one JSON object that describes one task."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from agent_ls.patterns import regex
from agent_ls.policy.modes import UnknownModeError, parse_mode
from agent_ls.policy.situation import Mode
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import setting_problems

MAX_LINE_BYTES = 4 * 1024 * 1024
_ID = regex(r"(?![.])[A-Za-z0-9._-]{1,100}\Z")
_HINT = "`agent-ls docs batch` lists the fields of a task"


def _ignore(hint: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Task:
    """One line of a manifest. Exactly one of `folder` (copied) and `repo` (checked out at `commit`) is set.

    The value is an absolute path on this machine, or the full name of a folder on another machine, such as
    `ssh:HOST:/path`.
    """

    id: str
    prompt: str
    folder: str = ""
    repo: str = ""
    commit: str = ""
    provider: str = ""
    model: str = ""
    effort: str = ""
    mode: Mode = "edits"
    allow: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    check: str = ""
    check_seconds: float = 600
    max_seconds: float = 3600
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The folder or repository from which the work folder is created."""
        return self.repo or self.folder

    @property
    def digest(self) -> str:
        """SHA-256 of all fields. Two tasks with the same digest are identical."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` parts of a manifest. `index` is the number of the part, from 1."""

    index: int = 1
    count: int = 1

    def has(self, task_id: str) -> bool:
        """Return whether the task belongs to this shard. The result depends only on the task's id."""
        digest = hashlib.sha256(task_id.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1


def parse_shard(text: str) -> Shard:
    """Parse a shard such as `2/8`.

    Raises:
        BadChoiceError: `text` is not a valid shard.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise BadChoiceError(
            f"--shard {text}: not a valid shard",
            "write NUMBER/COUNT, for example 2/8 for the second of 8 shards",
        )
    return Shard(int(found[1]), int(found[2]))


def read_manifest(
    path: Path, *, is_remote: bool = False, on_old_name: Callable[[str], object] = _ignore
) -> list[Task]:
    """Read all tasks of a manifest. Relative folders are relative to the manifest's folder. Blocks.

    `on_old_name` is called with a hint for each task that uses an old field or an old name of a mode.

    If `is_remote`, the folders are on another machine. In this case, they are not checked, and are returned as
    written.

    Raises:
        BadChoiceError: the file cannot be read, or a line is invalid; the message has the number of the line.
    """
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    try:
        with path.open("rb") as file:
            for number, data in _numbered(file):
                if len(data) > MAX_LINE_BYTES:
                    _refuse(path, number, f"the line is longer than {MAX_LINE_BYTES // 1024 // 1024} MiB")
                if not data.strip():
                    continue
                task, hint = _parse(data, path, number, is_remote=is_remote)
                if hint:
                    on_old_name(f"{path}, line {number}: {hint}")
                # Each task has a folder named by its id, and some file systems do not distinguish case.
                if first := lines.get(task.id.lower()):
                    _refuse(
                        path,
                        number,
                        f"the id {task.id!r} is already used in line {first} (upper and lower case count as equal)",
                    )
                lines[task.id.lower()] = number
                tasks.append(task)
    except OSError as error:
        raise BadChoiceError(
            f"the manifest {path} cannot be read: {error.strerror}", "name a file that you may read"
        ) from None
    if not tasks:
        raise BadChoiceError(f"the manifest {path} has no tasks", _HINT)
    return tasks


def _numbered(file: Any) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers. A line that is too long is yielded in parts, so that memory stays
    bounded.
    """
    number = 0
    while data := file.readline(MAX_LINE_BYTES + 2):
        number += 1
        yield number, data.removesuffix(b"\n")


def _parse(data: bytes, path: Path, number: int, *, is_remote: bool) -> tuple[Task, str]:
    """Return the task of a line, and a hint if the line uses an old name."""
    try:
        raw = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        _refuse(path, number, "the line is not UTF-8")
    except (ValueError, RecursionError) as error:
        _refuse(path, number, f"the line is not JSON ({getattr(error, 'msg', 'nested too deeply')})")
    if not isinstance(raw, dict):
        _refuse(path, number, "the line is not a JSON object")
    if unknown := sorted(raw.keys() - _FIELDS.keys()):
        _refuse(path, number, f"the field {unknown[0]!r} is unknown")
    values: dict[str, Any] = {}
    for name, value in raw.items():
        expected, attribute = _FIELDS[name]
        if not _is_of(value, expected):
            _refuse(path, number, f"{name!r} must be {expected}")
        values[attribute] = tuple(value) if expected == _TEXTS else value
    if not _ID.match(values.get("id", "")):
        _refuse(
            path, number, "'id' must be 1 to 100 of the characters A-Z a-z 0-9 . _ - and not begin with a dot"
        )
    if not values.get("prompt", "").strip():
        _refuse(path, number, "'prompt' is missing or empty")
    problem, hint = _read_mode(values)
    if problem := problem or _source_problem(values) or _choice_problem(values):
        _refuse(path, number, problem)
    for name in ("folder", "repo"):
        if values.get(name) and not is_remote:
            values[name] = str((path.parent / Path(values[name]).expanduser()).resolve())
            if not Path(values[name]).is_dir():
                _refuse(path, number, f"the folder does not exist: {values[name]}")
    return Task(**values), hint


def _read_mode(values: dict[str, Any]) -> tuple[str, str]:
    """Set the mode of a task from its field `mode`, the setting `mode` or the old field `approve`.

    Return a problem and a hint, each "" if there is none.
    """
    old = values.pop("approve", None)
    settings = values.get("settings", {})
    named = [name for name in (values.get("mode"), settings.get("mode"), old) if name is not None]
    if not named:
        return "", ""
    if len(named) > 1:
        return "give 'mode' only once", ""
    try:
        values["mode"], hint = parse_mode(str(named[0]))
    except UnknownModeError as error:
        return str(error), ""
    values["settings"] = {name: value for name, value in settings.items() if name != "mode"}
    return "", f"the field 'approve' is now 'mode': write \"mode\": \"{values['mode']}\"" if old else hint


def _source_problem(values: Mapping[str, Any]) -> str:
    if bool(values.get("folder")) == bool(values.get("repo")):
        return "give exactly one of 'folder' and 'repo'"
    if values.get("repo") and not values.get("commit"):
        return "'repo' needs 'commit', a revision of that repository"
    if values.get("folder") and values.get("commit"):
        return "'commit' needs 'repo' in place of 'folder'"
    return "'commit' must not begin with '-'" if values.get("commit", "").startswith("-") else ""


def _choice_problem(values: Mapping[str, Any]) -> str:
    for name in ("check_seconds", "max_seconds"):
        if values.get(name, 1) <= 0:
            return "time limits must be greater than 0"
    settings = values.get("settings", {})
    if "review" in settings:
        return "the setting 'review' has no effect in a manifest; look at the changes when the task is done"
    if "place" in settings:
        return "the setting 'place' has no effect in a manifest; use --on to choose the place of all tasks"
    return "; ".join(setting_problems(settings))


_TEXT, _TEXTS, _NUMBER, _OBJECT = "a text", "a list of texts", "a number", "an object"
_FIELDS = {
    "id": (_TEXT, "id"),
    "prompt": (_TEXT, "prompt"),
    "folder": (_TEXT, "folder"),
    "repo": (_TEXT, "repo"),
    "commit": (_TEXT, "commit"),
    "provider": (_TEXT, "provider"),
    "model": (_TEXT, "model"),
    "effort": (_TEXT, "effort"),
    "mode": (_TEXT, "mode"),
    "approve": (_TEXT, "approve"),
    "allow": (_TEXTS, "allow"),
    "settings": (_OBJECT, "settings"),
    "check": (_TEXT, "check"),
    "checkSeconds": (_NUMBER, "check_seconds"),
    "maxSeconds": (_NUMBER, "max_seconds"),
    "tags": (_OBJECT, "tags"),
}
"""The fields of a manifest line by JSON name, with their type and the attribute of `Task`."""

FIELD_NAMES: Collection[str] = _FIELDS.keys() - {"approve"}


def _is_of(value: object, expected: str) -> bool:
    if expected == _TEXT:
        return isinstance(value, str) and "\0" not in value and _is_encodable(value)
    if expected == _TEXTS:
        return isinstance(value, list) and all(_is_of(item, _TEXT) for item in value)
    if expected == _NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
    return isinstance(value, dict)


def _is_encodable(text: str) -> bool:
    """Return whether the text has no lone surrogates, which cannot be encoded in a file or a request."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _refuse(path: Path, number: int, problem: str) -> NoReturn:
    raise BadChoiceError(f"{path}, line {number}: {problem}", _HINT)
