"""Write the summary and prediction files of a batch, and merge several result folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.batch.folder import (
    PATCH,
    Result,
    ResultFolder,
    TaskFolder,
    folder_error,
    to_json,
    write_atomically,
)
from agent_ls.services.errors import AppError

SUMMARY, PREDICTIONS = "summary.jsonl", "predictions.jsonl"


@dataclass(frozen=True, slots=True)
class MergeCounts:
    """The number of tasks that a merge added, and the number of tasks that the target already had."""

    added: int
    known: int


def write_summary(out: ResultFolder) -> list[Result]:
    """Write `summary.jsonl` and `predictions.jsonl` from all results in the folder, sorted by task id. Blocks.

    Raises:
        AppError: a file cannot be read or written.
    """
    found = list(_results(out))
    try:
        _write_lines(out.path / SUMMARY, (json.dumps(to_json(result)) for result, _ in found))
        _write_lines(out.path / PREDICTIONS, (_prediction(result, folder) for result, folder in found))
    except OSError as error:
        raise folder_error(out.path, error) from None
    return [result for result, _ in found]


def merge(sources: Sequence[ResultFolder], target: ResultFolder) -> MergeCounts:
    """Copy all tasks with results from `sources` into `target`, and write the summary of `target`. Can be
    repeated. Blocks.

    Raises:
        AppError: a source has no results, two folders have results of different tasks with the same id, or a
        file cannot be read or written. Tasks that were already copied remain.
    """
    for source in sources:
        if not (source.path / "tasks").is_dir():
            raise AppError(
                f"{source.path} is not a result folder of agent-ls batch", "name the folders given as --out"
            )
    target.prepare()
    added = known = 0
    for source in sources:
        for folder in source.tasks():
            result = folder.last_result()
            if result is None:
                continue
            there = target.task(result.id).last_result()
            if there and there.task_digest != result.task_digest:
                raise AppError(
                    f"{source.path} and {target.path} have results of different tasks with the id {result.id!r}",
                    "these folders were filled from different manifests: merge only folders of the same manifest",
                )
            if there and (not there.may_change or result.may_change):
                known += 1
                continue
            try:
                _copy(folder, target.task(result.id))
            except OSError as error:
                raise folder_error(target.path, error) from None
            added += 1
    write_summary(target)
    return MergeCounts(added, known)


def _copy(source: TaskFolder, target: TaskFolder) -> None:
    """Copy a task's folder under a temporary name and rename it, so that an interrupted copy does not look
    like a result.
    """
    part = target.path.with_name(f".part-{target.path.name}")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source.path, part)
    shutil.rmtree(target.path, ignore_errors=True)
    part.rename(target.path)


def _results(out: ResultFolder) -> Iterator[tuple[Result, Path]]:
    for folder in out.tasks():
        if result := folder.last_result():
            yield result, folder.path / f"attempt-{result.attempt}"


def _prediction(result: Result, folder: Path) -> str:
    """Return the line of a result in `predictions.jsonl`: the instance id, the model's name and the patch."""
    path = folder / PATCH
    patch = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
    return json.dumps(
        {"instance_id": result.id, "model_name_or_path": result.model or "agent-ls", "model_patch": patch}
    )


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    write_atomically(path, "".join(f"{line}\n" for line in lines))
