"""Run the tasks of a manifest, several at a time, and store each result as soon as it exists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio import to_thread

from agent_ls.batch.attempt import GRACE_SECONDS, AttemptSetup, end_interrupted_check, run_attempt
from agent_ls.batch.folder import Result, ResultFolder, TaskLock, folder_error
from agent_ls.batch.manifest import Task
from agent_ls.batch.workfolder import WorkFolders
from agent_ls.environments.errors import EnvironmentLostError
from agent_ls.services.errors import AppError
from agent_ls.system import handle_termination_signals

RETRY_SECONDS = (5.0, 30.0)
RECHECK_SECONDS = 1.0
"""Interval at which a task that another process works on is checked again."""


@dataclass
class BatchProgress:
    """The progress of a run, for display. `earlier` has the results of attempts that were followed by another
    attempt.
    """

    total: int
    running: set[str] = field(default_factory=set)
    results: dict[str, Result] = field(default_factory=dict)
    earlier: list[Result] = field(default_factory=list)
    new_results: int = 0
    is_stopping: bool = False

    @property
    def failed(self) -> int:
        """The number of results that are not a success."""
        return sum(not result.is_success for result in self.results.values())


Report = Callable[[BatchProgress, str], None]
"""Function called after each change with the progress and a sentence about the change ("" for none)."""


class BatchRunner:
    """Runs tasks and stores the results in `out`. Up to `jobs` attempts run at the same time, and a task gets
    at most `attempts` attempts.
    """

    def __init__(
        self, out: ResultFolder, launch: AttemptSetup, report: Report, *, jobs: int = 1, attempts: int = 2
    ) -> None:
        self._out = out
        self._launch = launch
        self._report = report
        self._attempts = attempts
        self._jobs = anyio.CapacityLimiter(jobs)
        self._works = WorkFolders(launch.machine)
        self._scope = anyio.CancelScope()
        self._failure: AppError | None = None

    async def run(self, tasks: Sequence[Task]) -> BatchProgress:
        """Run every task that has no final result. After the first termination signal, no more tasks are
        started and running tasks get a few seconds to end. A second signal ends them at once.

        Raises:
            AppError: the result folder or the machine cannot be used, or the folder has results of other
            tasks.
        """
        machine = self._launch.machine
        self._progress = await to_thread.run_sync(read_progress, self._out, tasks, self._attempts)
        self._report(self._progress, "")
        try:
            await machine.start()
            leftovers = () if self._launch.keeps_work else await machine.leftovers()
            for task in tasks:
                if task.id in self._progress.results and task.id in leftovers:
                    await self._remove_leftover(task)
            open_tasks = [task for task in tasks if task.id not in self._progress.results]
            if open_tasks:
                async with self._launch.starter:
                    await self._run(open_tasks)
        finally:
            with anyio.CancelScope(shield=True):
                await machine.close()
        return self._progress

    async def _run(self, tasks: Sequence[Task]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(stop_on_signals, self._scope, self._progress, self._report, GRACE_SECONDS)
            with self._scope:
                async with anyio.create_task_group() as workers:
                    for task in tasks:
                        await self._jobs.acquire_on_behalf_of(task.id)
                        if self._progress.is_stopping:
                            break
                        workers.start_soon(self._work, task)
            group.cancel_scope.cancel()
        if self._failure:  # raised here, because a task group would wrap the error
            raise self._failure

    async def _remove_leftover(self, task: Task) -> None:
        """Remove the work folder of a finished task. The folder remains if the runner was killed before
        removing it.
        """
        lock = await to_thread.run_sync(self._out.task(task.id).take)
        if lock is None:
            return  # the process that runs the task is removing the folder
        try:
            with suppress(AppError, EnvironmentLostError):
                await self._works.remove(task)
        finally:
            lock.release()

    async def _work(self, task: Task) -> None:
        """Run attempts of one task until the task has its final result. The caller has acquired a slot of the
        limiter for the task; this method releases it.
        """
        has_slot = True
        try:
            while (pause := await self._try_once(task)) is not None:
                self._jobs.release_on_behalf_of(task.id)
                has_slot = False
                await anyio.sleep(pause)
                await self._jobs.acquire_on_behalf_of(task.id)
                has_slot = True
                if self._progress.is_stopping:
                    return
        except AppError as error:
            self._fail(error)
        except OSError as error:
            self._fail(folder_error(self._out.path, error))
        finally:
            if has_slot:
                self._jobs.release_on_behalf_of(task.id)

    async def _try_once(self, task: Task) -> float | None:
        """Make one attempt. Returns None if the task now has its final result, otherwise the seconds until
        the next attempt.
        """
        lock = await to_thread.run_sync(self._out.task(task.id).take)
        if lock is None:
            # another runner is running the task, or an attempt of a killed runner has not quite ended
            return RECHECK_SECONDS
        try:
            if result := await to_thread.run_sync(final_result, self._out, task, self._attempts):
                self._done(result)
                return None
            return await self._attempt(task, lock)
        finally:
            lock.release()

    async def _attempt(self, task: Task, lock: TaskLock) -> float | None:
        folder = self._out.task(task.id)
        for lost in await to_thread.run_sync(folder.set_aside_interrupted):
            await end_interrupted_check(lost)
            self._report(self._progress, f"{task.id}: an interrupted attempt is repeated")
        await (
            self._launch.machine.start()
        )  # if the machine cannot be reached again, the run stops, and the attempt does not count
        number, path = await to_thread.run_sync(folder.begin, task)
        self._progress.running.add(task.id)
        self._report(
            self._progress, f"{task.id}: starts" + (f" again, attempt {number}" if number > 1 else "")
        )
        try:
            result = await run_attempt(task, number, path, lock, self._launch, self._works)
        finally:
            self._progress.running.discard(task.id)
        if result.is_transient and number < self._attempts:
            self._progress.earlier.append(result)
            pause = RETRY_SECONDS[min(number, len(RETRY_SECONDS)) - 1]
            self._report(self._progress, f"{describe(result)}; next attempt in {pause:g} s")
            return pause
        self._progress.new_results += 1
        self._done(result)
        return None

    def _done(self, result: Result) -> None:
        self._progress.results[result.id] = result
        self._report(self._progress, describe(result))

    def _fail(self, error: AppError) -> None:
        self._failure = self._failure or error
        self._progress.is_stopping = True
        self._scope.cancel()


async def stop_on_signals(
    scope: anyio.CancelScope,
    progress: BatchProgress,
    report: Report,
    grace_s: float,
    ask_tasks: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Stop on the first signal: call `ask_tasks`, and cancel `scope` after `grace_s` or a second signal."""
    signals, first = 0, anyio.Event()

    def stop() -> None:
        nonlocal signals
        signals += 1
        progress.is_stopping = True
        first.set()
        if signals > 1:
            scope.cancel()

    with handle_termination_signals(stop):
        await first.wait()
        if ask_tasks:
            await ask_tasks()
        words = f"stopping: running tasks have {GRACE_SECONDS:g} s to finish; run the same command again to continue"
        report(progress, words)
        await anyio.sleep(grace_s)
        scope.cancel()
        await anyio.sleep_forever()


def read_progress(out: ResultFolder, tasks: Sequence[Task], attempts: int) -> BatchProgress:
    """Compute the progress of these tasks from a result folder. Blocks.

    Raises:
        AppError: the folder cannot be read, or has results of other tasks.
    """
    progress = BatchProgress(len(tasks))
    for task in tasks:
        results = out.task(task.id).results()
        if result := final_result(out, task, attempts):
            progress.results[task.id] = result
        progress.earlier += [it for it in results if it != result]
    return progress


def final_result(out: ResultFolder, task: Task, attempts: int, *, is_of_run: bool = False) -> Result | None:
    """Return the final result of a task; None if the task needs another attempt. Blocks.

    A task that could not begin needs one in the next run, after the cause is mended. `is_of_run`: the result is of
    this run.

    Raises:
        AppError: the folder cannot be read, or has a result of another task with this id.
    """
    result = out.task(task.id).last_result()
    if result and result.task_digest != task.digest:
        raise AppError(
            f"{out.path} has a result of another task with the id {task.id!r}",
            "use another --out for a changed manifest, or delete the folder of that task",
        )
    if result is None or (result.is_transient and result.attempt < attempts):
        return None
    return result if result.has_begun or is_of_run else None


def describe(result: Result) -> str:
    """Return a one-line description of a result for users."""
    words = f"{result.id}: {result.status}"
    if result.check:
        words += (
            ", check passed" if result.check.exit_code == 0 else f", check failed ({result.check.exit_code})"
        )
    return f"{words}: {result.error}" if result.error else words
