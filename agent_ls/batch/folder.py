"""The result folder of a batch: one folder per task, and in it one folder per attempt. The result file of an
attempt is written last, by a rename.

No other state is stored. A task with a final result is never run again. An attempt without a result was
interrupted, and its folder is renamed. A lock file per task prevents two processes from working on the same
task.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic.alias_generators import to_camel

from agent_ls.batch.manifest import Task
from agent_ls.patterns import regex
from agent_ls.services.errors import AppError
from agent_ls.store.locks import kernel_lock
from agent_ls.system import replace_file

Status: TypeAlias = Literal["done", "refused", "failed", "limit", "timeout", "crashed"]

RESULT, TASK, EVENTS, ERRORS = "result.json", "task.json", "events.jsonl", "stderr.txt"
PATCH, CHECK, CHECK_MARK, SETTINGS = "change.patch", "check.txt", "check.mark", "settings.json"
_IDENTITY = regex(r"[0-9a-f]{32}\Z")
_ATTEMPT = regex(r"attempt-([0-9]+)\Z")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a task's check command; `exit_code` 0 means that it passed."""

    exit_code: int
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one attempt. `task_digest` is `Task.digest`; `error` is one sentence, "" for no error.

    `evidence` is one line about what the agent checked after its last change. `is_transient` is True if another
    attempt may succeed (after a crash, a network error, an overloaded provider). `has_begun` is False if the model
    never answered, for example without a key; the next run then tries the task again.
    """

    id: str
    attempt: int
    status: Status
    exit_code: int
    seconds: float
    task_digest: str
    model: str = ""
    session_id: str = ""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    patch_sha256: str = ""
    check: CheckResult | None = None
    evidence: str = ""
    error: str = ""
    is_transient: bool = False
    has_begun: bool = True
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_success(self) -> bool:
        """Whether the agent finished and the check, if the task has one, passed."""
        return self.status == "done" and (self.check is None or self.check.exit_code == 0)

    @property
    def may_change(self) -> bool:
        """Whether another attempt may have another result."""
        return self.is_transient or not self.has_begun


class TaskLock:
    """The lock of one task. The kernel releases the lock when the last process that has the descriptor open
    ends.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        os.close(self.descriptor)


class TaskFolder:
    """The folder of one task in the result folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self) -> TaskLock | None:
        """Acquire the lock of this task; None if another process has it. Blocks.

        Raises:
            AppError: the folder cannot be written, or its file system has no locks.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(
                self.path / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600
            )
        except OSError as error:
            raise folder_error(self.path, error) from None
        try:
            kernel_lock(descriptor)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return None
        except OSError as error:
            os.close(descriptor)
            raise folder_error(self.path, error) from None
        return TaskLock(descriptor)

    def attempts(self) -> Sequence[tuple[int, Path]]:
        """Return the attempts with their numbers, in order. Interrupted attempts, which were renamed, are
        left out.
        """
        found = [(int(it[1]), path) for path in _entries(self.path) if (it := _ATTEMPT.match(path.name))]
        return sorted(found)

    def last_result(self) -> Result | None:
        """Return the newest result of the task; None if it has no result."""
        for _, path in reversed(self.attempts()):
            if result := read_result(path):
                return result
        return None

    def results(self) -> Sequence[Result]:
        """Return the results of all attempts, oldest first."""
        return [result for _, path in self.attempts() if (result := read_result(path))]

    def set_aside_interrupted(self) -> Sequence[Path]:
        """Rename attempts without a result to `attempt-N.lost`. Returns the new paths. The lock must be held."""
        lost = []
        for _, path in self.attempts():
            if not (path / RESULT).exists():
                names = {it.name for it in _entries(self.path)}
                number = next(n for n in range(1, len(names) + 2) if _lost_name(path, n) not in names)
                lost.append(path.rename(path.with_name(_lost_name(path, number))))
        return lost

    def begin(self, task: Task) -> tuple[int, Path]:
        """Create the folder of the next attempt. Returns its number and path. The lock must be held."""
        number = max((number for number, _ in self.attempts()), default=0) + 1
        path = self.path / f"attempt-{number}"
        path.mkdir()
        write_atomically(path / TASK, json.dumps(asdict(task), indent=1))
        return number, path


def _lost_name(path: Path, number: int) -> str:
    return f"{path.name}.lost" if number == 1 else f"{path.name}.lost-{number}"


class ResultFolder:
    """The folder of a whole batch; several runners may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    def prepare(self) -> None:
        """Create the folder, readable by its owner only. Blocks.

        Raises:
            AppError: the folder cannot be created.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / "tasks").mkdir(exist_ok=True)
        except OSError as error:
            raise folder_error(self.path, error) from None

    def identity(self) -> str:
        """Return the random id of this batch. Folders of the batch on another machine are named by this id.
        The first call creates the id. Blocks.

        Raises:
            AppError: the folder cannot be written, or the file with the id is damaged.
        """
        path, chosen = self.path / ".batch-id", self.path / f".batch-id-{uuid.uuid4().hex}"
        try:
            if not path.exists():
                write_atomically(chosen, uuid.uuid4().hex)
                with suppress(FileExistsError):  # another runner has just created the file
                    os.link(chosen, path)
                chosen.unlink()
            name = path.read_text("utf-8", "replace")
        except OSError as error:
            raise folder_error(self.path, error) from None
        if not _IDENTITY.match(name):
            raise AppError(
                f"{path} is damaged",
                "delete this file, and remove ~/.cache/agent-ls/batch on the machine given with --on",
            )
        return name

    def task(self, task_id: str) -> TaskFolder:
        """Return the folder of a task. The folder may not exist yet."""
        return TaskFolder(self.path / "tasks" / task_id)

    def tasks(self) -> Iterator[TaskFolder]:
        """Yield the folders of all tasks, by id."""
        for path in sorted(_entries(self.path / "tasks")):
            if path.is_dir() and not path.name.startswith("."):
                yield TaskFolder(path)

    def work(self, task_id: str) -> Path:
        """Return the path of the task's work folder. Only the holder of the task's lock may use it."""
        return self.path / ".work" / task_id


def write_result(folder: Path, result: Result) -> None:
    """Store the result of an attempt. Must be called after all other files of the attempt were written.
    Blocks.
    """
    write_atomically(folder / RESULT, json.dumps(to_json(result), indent=1) + "\n")


def to_json(result: Result) -> dict[str, Any]:
    """Return the fields of a result as JSON, with camelCase names."""
    raw = {to_camel(name): value for name, value in asdict(result).items()}
    if result.check:
        raw["check"] = {to_camel(name): value for name, value in asdict(result.check).items()}
    return {**raw, "isSuccess": result.is_success}


def read_result(folder: Path) -> Result | None:
    """Read the result of an attempt; None if the attempt has no result. Blocks.

    Raises:
        AppError: the file is not a result.
    """
    path = folder / RESULT
    try:
        raw: dict[str, Any] = json.loads(path.read_bytes())
        values = {name: raw[to_camel(name)] for name in Result.__dataclass_fields__ if to_camel(name) in raw}
        if check := values.get("check"):
            values["check"] = CheckResult(int(check["exitCode"]), bool(check["timedOut"]))
        return Result(**values)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise folder_error(path, error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise AppError(
            f"{path} is not a result of agent-ls batch", "delete that attempt's folder to run it again"
        ) from None


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that after a crash or a power failure it has either the old or the new content. Blocks."""
    replace_file(path, text.encode(), is_synced=True)


def folder_error(path: Path, error: OSError) -> AppError:
    """Return the error for a result folder that cannot be used."""
    if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
        return AppError(
            f"the file system of {path} has no locks, so two runs could do one task twice",
            "use --out on another file system, one folder per shard, and join them with `agent-ls batch merge`",
        )
    return AppError(
        f"{path} cannot be used: {error.strerror}", "choose another folder with --out, or free space"
    )


def _entries(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except FileNotFoundError:
        return []
