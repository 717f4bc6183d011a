"""Run one attempt of a task: create the work folder, run `agent-ls exec` in a process, store patch and result."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from agent_ls.batch.folder import (
    CHECK,
    CHECK_MARK,
    ERRORS,
    EVENTS,
    PATCH,
    SETTINGS,
    CheckResult,
    Result,
    ResultFolder,
    Status,
    TaskLock,
    write_atomically,
    write_result,
)
from agent_ls.batch.machine import BatchMachine, LocalMachine
from agent_ls.batch.manifest import Task
from agent_ls.batch.starting import AttemptFiles, AttemptStarter
from agent_ls.batch.workfolder import WorkFolders
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.errors import EnvError, EnvironmentLostError
from agent_ls.environments.local.environ import without_secrets
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.local.trees.process_tree import end_marked
from agent_ls.services.errors import AppError
from agent_ls.text import join_sentences

GRACE_SECONDS = 10.0
"""Time for a child process to end after SIGTERM before it is killed."""

_STATUSES: Mapping[int, Status] = {0: "done", 3: "refused", 4: "limit"}
_TRANSIENT = frozenset(("network", "overloaded", "rate_limit", "server", "timeout", "stream"))


@dataclass(frozen=True, slots=True)
class AttemptSetup:
    """Settings for starting attempts. `starter` starts the process of an attempt, which runs one `agent-ls exec`.

    Work folders are on `machine`; git and check commands run there, without secret keys in their environment.
    `trusted` are the trusted folders. `pace` is the path of the file for SharedPace, and the maximum number of model
    requests per minute for all attempts together; None means no limit. `keeps_work`: the work folders are not removed.
    """

    starter: AttemptStarter
    machine: BatchMachine
    trusted: frozenset[str] = frozenset()
    pace: tuple[Path, int] | None = None
    keeps_work: bool = False


def tool_environ() -> Mapping[str, str]:
    """Return the environment variables of this process without secret keys."""
    from agent_ls.services.models.key_store import load_credentials

    return without_secrets(os.environ, load_credentials().known_secrets())


def make_launch(
    trusted: frozenset[str],
    out: ResultFolder,
    requests_per_minute: int | None,
    machine: BatchMachine | None = None,
    *,
    keeps_work: bool,
) -> AttemptSetup:
    """Return the settings for starting attempts. If `machine` is None, work folders are on this machine.

    The attempts get the environment variables of this process, including API keys.
    """
    return AttemptSetup(
        starter=AttemptStarter(dict(os.environ)),
        machine=machine or LocalMachine(tool_environ(), out),
        trusted=trusted,
        pace=(out.path / ".pace", requests_per_minute) if requests_per_minute else None,
        keeps_work=keeps_work,
    )


@dataclass(frozen=True, slots=True)
class AttemptUsage:
    """Usage and error of one attempt, computed from its events."""

    model: str = ""
    session_id: str = ""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    evidence: str = ""
    error: str = ""
    is_transient: bool = False


async def run_attempt(
    task: Task, number: int, folder: Path, lock: TaskLock, launch: AttemptSetup, works: WorkFolders
) -> Result:
    """Run one attempt. The attempt's files are stored in `folder`, which must contain only the task file.

    The result is stored before the function returns. A cancelled attempt stores no result, so that the next run
    repeats it.

    Raises:
        OSError: the result folder cannot be written.
    """
    began = time.monotonic()
    failed = Result(task.id, number, "failed", 1, 0, task.digest, tags=task.tags)
    try:
        await works.remove(task)
        work = await works.make(task)
        exit_code, timed_out = await _run_agent(task, folder, work.path, lock, launch)
        usage = await to_thread.run_sync(read_usage, folder)
        patch = await works.patch(work)
        await to_thread.run_sync((folder / PATCH).write_bytes, patch)
        checked = await _run_check(task, folder, work.path, launch) if task.check else None
        status = _status(exit_code, timed_out)
        result = Result(
            id=task.id,
            attempt=number,
            status=status,
            exit_code=exit_code,
            seconds=round(time.monotonic() - began, 3),
            task_digest=task.digest,
            model=usage.model or task.model,
            session_id=usage.session_id,
            requests=usage.requests,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            patch_sha256=hashlib.sha256(patch).hexdigest(),
            check=checked,
            evidence=usage.evidence,
            error=_error(status, usage, folder),
            is_transient=status == "crashed" or (status == "failed" and usage.is_transient),
            has_begun=status != "failed" or usage.requests > 0,
            tags=task.tags,
        )
    except AppError as error:
        result = replace(
            failed, error=join_sentences(str(error), error.hint), seconds=round(time.monotonic() - began, 3)
        )
    except EnvironmentLostError as error:
        seconds = round(time.monotonic() - began, 3)
        result = replace(failed, status="crashed", error=error.sentence, is_transient=True, seconds=seconds)
    await to_thread.run_sync(write_result, folder, result)
    if not launch.keeps_work:
        with suppress(AppError, EnvironmentLostError):  # the next run removes files that remain
            await works.remove(task)
    return result


async def _run_agent(
    task: Task, folder: Path, work: str, lock: TaskLock, launch: AttemptSetup
) -> tuple[int, bool]:
    """Run the child process until it ends. Returns its exit code and whether it was terminated at the time
    limit.
    """
    arguments = ["exec", "--json", *launch.machine.arguments(work), "--mode", task.mode]
    for option, value in (("--provider", task.provider), ("--model", task.model), ("--effort", task.effort)):
        arguments += [f"{option}={value}"] if value else []
    arguments += [f"--allow={value}" for value in task.allow]
    arguments += ["--trust"] if task.source in launch.trusted else []
    if task.settings:
        await to_thread.run_sync(write_atomically, folder / SETTINGS, json.dumps(task.settings))
        arguments += ["--settings", str((folder / SETTINGS).resolve())]
    request: dict[str, Any] = {"arguments": [*arguments, "--", task.prompt]}
    if launch.pace:
        request["pace"] = {"file": str(launch.pace[0].resolve()), "perMinute": launch.pace[1]}
    with (folder / EVENTS).open("wb") as events, (folder / ERRORS).open("wb") as errors:
        process = await launch.starter.start(AttemptFiles(events, errors, lock.descriptor))
    exit_code: int | None = None
    try:
        await process.send(json.dumps(request).encode() + b"\n")
        with anyio.move_on_after(task.max_seconds):
            exit_code = await process.wait()
        timed_out = exit_code is None
    finally:
        with anyio.CancelScope(shield=True):
            if exit_code is None:
                process.terminate()
                with anyio.move_on_after(GRACE_SECONDS):
                    exit_code = await process.wait()
            await process.kill()
    return exit_code or 0, timed_out


async def _run_check(task: Task, folder: Path, work: str, launch: AttemptSetup) -> CheckResult:
    environment = launch.machine.environment(work)
    await environment.initialize()
    # On a remote machine, the agent-ls process there ends the commands of a lost connection.
    if isinstance(environment, LocalEnvironment):
        await to_thread.run_sync(write_atomically, folder / CHECK_MARK, environment.mark)
    try:
        ended = await environment.exec_command(
            task.check, CommandOptions(timeout_ms=round(task.check_seconds * 1000))
        )
    except EnvironmentLostError:
        raise
    except EnvError as error:
        raise AppError(
            f"the check cannot be started: {error}", "correct the field 'check' in the manifest"
        ) from None
    finally:
        with anyio.CancelScope(shield=True):
            await environment.cleanup()
            await to_thread.run_sync((folder / CHECK_MARK).unlink, True)
    output = ended.output + (f"\n(ended after {task.check_seconds:g} s)\n" if ended.timed_out else "")
    await to_thread.run_sync(write_atomically, folder / CHECK, output)
    return CheckResult(ended.exit_code or (124 if ended.timed_out else 0), ended.timed_out)


def read_usage(folder: Path) -> AttemptUsage:
    """Compute usage and error from the stored events of an attempt. Incomplete or unknown lines are skipped.
    Blocks.
    """
    usage = AttemptUsage()
    with (folder / EVENTS).open("rb") as events:
        for line in events:
            if not any(
                kind in line for kind in (b'"usage"', b'"error"', b'"session_start"', b'"turn_facts"')
            ):
                continue
            try:
                event: dict[str, Any] = json.loads(line)
                usage = _with_event(usage, str(event["kind"]), event["data"], str(event["sessionId"]))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
    return usage


def _with_event(usage: AttemptUsage, kind: str, data: Mapping[str, Any], session_id: str) -> AttemptUsage:
    usage = replace(usage, session_id=session_id)
    match kind:
        case "session_start":
            return replace(usage, model=f"{data.get('provider', '')}/{data.get('model', '')}".strip("/"))
        case "usage":
            total = data["total"]
            return replace(
                usage,
                requests=usage.requests + 1,
                input_tokens=int(total["inputTokens"]),
                output_tokens=int(total["outputTokens"]),
                cost_usd=data.get("totalCostUsd"),
            )
        case "turn_facts":
            return replace(usage, evidence=str(data["text"]))
        case "error":
            is_transient = data.get("retryable") is True or data.get("errorKind") in _TRANSIENT
            hint = "" if usage.requests else str(data.get("hint", ""))
            return replace(usage, error=join_sentences(str(data["message"]), hint), is_transient=is_transient)
    return usage


def _status(exit_code: int, timed_out: bool) -> Status:
    if timed_out:
        return "timeout"
    if exit_code < 0 or exit_code > 4:  # the child was ended by a signal, or ended without a message
        return "crashed"
    return _STATUSES.get(exit_code, "failed")


def _error(status: Status, usage: AttemptUsage, folder: Path) -> str:
    if status == "done":
        return ""
    if usage.error and status == "failed":
        return usage.error
    lines = (folder / ERRORS).read_text("utf-8", "replace").strip().splitlines()
    return next((line for line in lines if line.startswith("agent-ls")), lines[-1] if lines else "")


async def end_interrupted_check(folder: Path) -> None:
    """End the processes of a check command whose runner was killed."""
    try:
        mark = await to_thread.run_sync((folder / CHECK_MARK).read_text)
    except OSError:
        return
    await end_marked(mark, GRACE_SECONDS)
