"""Run the tasks of a batch on the workers of a Dask cluster. As in a local run, the result folder is the only
state.

Dask decides on which worker a task runs, and moves the task to another worker if its worker is lost. The worker
acquires the lock of the task, and runs the task only if the result folder has no final result for it.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

import anyio
from anyio import to_thread

from agent_ls.batch.attempt import GRACE_SECONDS, AttemptSetup
from agent_ls.batch.dask_task import DaskRequest, request_text, run_task
from agent_ls.batch.folder import ResultFolder, folder_error
from agent_ls.batch.manifest import Task
from agent_ls.batch.runner import (
    BatchProgress,
    Report,
    describe,
    final_result,
    read_progress,
    stop_on_signals,
)
from agent_ls.installation import extra_command
from agent_ls.services.errors import AppError

CONNECT_SECONDS = 10
WORKERS_SECONDS = 30
ADDRESS_HINT = "start a scheduler with `dask scheduler`, and give its address, such as tcp://HOST:8786"
HINT = "workers need the same version of agent-ls, and the same folders at the same paths; see `agent-ls docs batch`"
SUBMISSIONS = 4
"""Maximum number of times that a task is submitted to the cluster.

In addition, Dask repeats each submission a few times if the worker is lost.
"""


class DaskRunner:
    """Runs tasks on the cluster of the Dask scheduler at `address`. The other parameters have the same
    meaning as in BatchRunner.
    """

    def __init__(
        self, out: ResultFolder, launch: AttemptSetup, report: Report, address: str, *, attempts: int = 2
    ) -> None:
        self._out = out
        self._launch = launch
        self._report = report
        self._address = address
        self._attempts = attempts
        self._stop = out.path / f".stop-{uuid.uuid4().hex}"

    async def run(self, tasks: Sequence[Task]) -> BatchProgress:
        """Run every task that has no final result. After a termination signal, no more tasks are started, and
        running tasks get a few seconds to end.

        Raises:
            AppError: Dask is not installed, no scheduler can be reached, or a worker cannot use the result
            folder.
        """
        progress = await to_thread.run_sync(read_progress, self._out, tasks, self._attempts)
        self._report(progress, "")
        open_tasks = [task for task in tasks if task.id not in progress.results]
        if not open_tasks:
            return progress
        client = await self._connect()
        try:
            await self._run(client, open_tasks, progress)
        finally:
            with anyio.CancelScope(shield=True):
                await client.close()
                with suppress(OSError):
                    await to_thread.run_sync(self._stop.unlink)
        return progress

    async def _connect(self) -> Any:
        try:
            import distributed
        except ImportError:
            raise AppError("--dask needs Dask", f"install it: {extra_command('dask')}") from None
        if not re.fullmatch(r"([a-z]+://)?[^/\s]+:[0-9]{1,5}", self._address):
            raise AppError(f"--dask {self._address}: not an address of a Dask scheduler", ADDRESS_HINT)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # hide Dask's tracebacks from users
        client_type: Any = distributed.Client  # Dask declares no types for its methods
        try:
            client: Any = await client_type(self._address, asynchronous=True, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise AppError(f"no Dask scheduler answers at {self._address}: {error}", ADDRESS_HINT) from None
        try:
            await client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        except TimeoutError:
            await client.close()
            raise AppError(
                f"the Dask cluster at {self._address} has no workers",
                "start workers with `dask worker ADDRESS`",
            ) from None
        return client

    async def _run(self, client: Any, tasks: Sequence[Task], progress: BatchProgress) -> None:
        import distributed

        as_completed: Any = distributed.as_completed
        given = {task.id: 0 for task in tasks}
        owners: dict[Any, Task] = {}  # tasks by future; Dask cancels a future that is no longer referenced
        waiting = as_completed()

        def submit(task: Task) -> None:
            given[task.id] += 1
            future = self._submit(client, task)
            owners[future] = task
            waiting.add(future)

        for task in tasks:
            submit(task)
        progress.running.update(given)
        failure: AppError | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(
                stop_on_signals, group.cancel_scope, progress, self._report, 2 * GRACE_SECONDS,
                partial(self._ask_to_stop, progress),
            )  # fmt: skip
            async for future in waiting:
                task = owners.pop(future)
                result = None
                try:
                    ended = partial(final_result, self._out, task, self._attempts, is_of_run=True)
                    result = await to_thread.run_sync(ended)
                    if result:
                        progress.results[task.id] = result
                        progress.new_results += 1
                    elif not progress.is_stopping:
                        await self._check_lost(task, future, given[task.id])
                        self._report(
                            progress, f"{task.id}: its worker was lost; another worker gets the task"
                        )
                        submit(task)
                        continue
                except AppError as error:
                    failure = failure or error
                    await self._ask_to_stop(progress)
                progress.running.discard(task.id)
                self._report(progress, describe(result) if result else "")
            group.cancel_scope.cancel()
        if failure:
            raise failure

    async def _check_lost(self, task: Task, future: Any, count: int) -> None:
        """Check why a task has no result. Returns normally if the task can be submitted again.

        This is the case if Dask gave up the task because its workers were lost.

        Raises:
            AppError: the task could not be run.
        """
        from distributed import KilledWorker

        if future.status == "finished":
            if problem := await future.result():
                raise AppError(str(problem), f"{HINT}, then run the same command again")
            words = f"a worker has run {task.id}, but the result is not in {self._out.path}"
            raise AppError(words, HINT)
        error = await future.exception()
        if isinstance(error, KilledWorker) and count < SUBMISSIONS:
            return
        raise AppError(f"{task.id} cannot be run by the workers: {error}", HINT)

    def _submit(self, client: Any, task: Task) -> Any:
        request = DaskRequest(
            task=asdict(task),
            out=str(self._out.path),
            stop=str(self._stop),
            attempts=self._attempts,
            is_trusted=task.source in self._launch.trusted,
            requests_per_minute=self._launch.pace[1] if self._launch.pace else None,
            keeps_work=self._launch.keeps_work,
        )
        # Use a new key for each submission, because for a repeated key Dask returns the stored result.
        return client.submit(
            run_task, request_text(request), key=f"agent-ls-{task.id}-{uuid.uuid4().hex}", pure=False
        )

    async def _ask_to_stop(self, progress: BatchProgress) -> None:
        progress.is_stopping = True
        try:
            await to_thread.run_sync(self._stop.touch)
        except OSError as error:
            raise folder_error(self._out.path, error) from None
