"""agent-ls batch: run many tasks, several at a time, and merge the results of several runs."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import print_error
from agent_ls.cli.parser import positive
from agent_ls.services.errors import AppError, BadChoiceError

if TYPE_CHECKING:
    from agent_ls.batch.folder import ResultFolder
    from agent_ls.batch.manifest import Task
    from agent_ls.batch.remote_machine import RemoteMachine

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
MERGE, HERE = "merge", "here"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "manifest",
        help="a file of tasks, one JSON object per line; or the word merge, to join result folders",
    )
    parser.add_argument(
        "folders", nargs="*", default=[], type=Path, metavar="FOLDER", help="with merge: the folders to join"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="the result folder: a new one, or an existing one to continue",
    )
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="number of tasks that run at the same time (default: 1)"
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run the tasks on the workers of this Dask scheduler"
    )
    parser.add_argument(
        "--requests-per-minute",
        type=positive,
        metavar="N",
        help="model requests per minute of all tasks together (default: no limit)",
    )
    parser.add_argument(
        "--attempts",
        type=positive,
        default=2,
        metavar="N",
        help="maximum attempts of a task after a crash or an outage (default: 2)",
    )
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="run only part I of N, such as 2/8")
    parser.add_argument("--trust", action="store_true", help="trust the folders of all tasks for this run")
    parser.add_argument(
        "--keep-work", action="store_true", help="keep the folders in which finished tasks ran"
    )
    parser.add_argument("--json", action="store_true", help="one result per line on standard output")
    parser.add_argument(
        "--on",
        metavar="PLACE",
        help="run the tasks on another machine or in a container, given as for `exec --on`",
    )


def run(options: argparse.Namespace) -> int:
    try:
        if options.manifest == MERGE:
            return _merge(options)
        if options.folders:
            raise AppError(f"give one manifest only, without {options.folders[0]}", "`agent-ls batch --help`")
        return _run(options)
    except AppError as error:
        print_error("batch", error)
        return EXIT_USAGE


def _run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.batch.attempt import make_launch
    from agent_ls.batch.display import Display
    from agent_ls.batch.folder import ResultFolder
    from agent_ls.batch.manifest import parse_shard, read_manifest
    from agent_ls.batch.runner import BatchProgress, BatchRunner
    from agent_ls.batch.summary import write_summary
    from agent_ls.system import use_pidfd_watcher

    if options.dask and options.jobs:
        raise AppError(
            "--jobs cannot be combined with --dask",
            "with --dask, the number of worker threads determines how many tasks run at the same time",
        )
    if options.dask and options.on:
        raise AppError(
            "--on cannot be combined with --dask",
            "use --on with --jobs and --shard, or use --dask without --on",
        )
    use_pidfd_watcher()
    shard = parse_shard(options.shard)
    is_remote = options.on not in (None, HERE)
    tasks: Sequence[Task] = [
        task
        for task in read_manifest(Path(options.manifest), is_remote=is_remote, on_old_name=_report_old_name)
        if shard.has(task.id)
    ]
    out = ResultFolder(options.out)
    machine = _remote_machine(options.on, out) if is_remote else None
    if machine:
        tasks = anyio.run(_locate, machine, tasks)
    trusted = _list_trusted(tasks, options.trust)
    out.prepare()
    display = Display(sys.stdout, as_json=options.json, columns=shutil.get_terminal_size().columns)
    launch = make_launch(trusted, out, options.requests_per_minute, machine, keeps_work=options.keep_work)

    async def run_all() -> BatchProgress:
        if options.dask:
            # imported here because Dask is an optional extra
            from agent_ls.batch.dask_runner import DaskRunner

            cluster = DaskRunner(out, launch, display.report, options.dask, attempts=options.attempts)
            return await cluster.run(tasks)
        jobs = options.jobs or 1
        return await BatchRunner(out, launch, display.report, jobs=jobs, attempts=options.attempts).run(tasks)

    progress = anyio.run(run_all)
    write_summary(out)
    display.finish(progress)
    if progress.is_stopping:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if progress.failed else EXIT_DONE


def _remote_machine(on: str, out: ResultFolder) -> RemoteMachine:
    """Return the remote machine that `--on` names.

    Raises:
        BadChoiceError: `on` is not the name of a machine or container, or the settings start a new container
        for each process.
    """
    from agent_ls.batch.attempt import tool_environ
    from agent_ls.batch.remote_machine import RemoteMachine
    from agent_ls.services.settings.layers import chosen_settings, read_user_settings
    from agent_ls.sessions.workspaces.remote_sites import find_place

    place = find_place(on, chosen_settings([("your settings file", read_user_settings())], []))
    if place.image:
        raise BadChoiceError(
            f"{place.machine}: the setting place.image starts another container for each process",
            "start the container yourself, and name it with --on",
        )
    return RemoteMachine(place, tool_environ(), out)


async def _locate(machine: RemoteMachine, tasks: Sequence[Task]) -> Sequence[Task]:
    """Return the tasks with the full names of their folders. Checks that the folders and git revisions exist."""
    from agent_ls.batch.workfolder import WorkFolders

    try:
        located = await machine.locate(tasks)
        await WorkFolders(machine).check_revisions(located)
    finally:
        await machine.close()
    return located


def _merge(options: argparse.Namespace) -> int:
    from agent_ls.batch.folder import ResultFolder
    from agent_ls.batch.summary import merge

    if not options.folders:
        raise AppError("name the result folders to join", "agent-ls batch merge shard-1 shard-2 --out all")
    merged = merge([ResultFolder(folder) for folder in options.folders], ResultFolder(options.out))
    print(f"{merged.added} tasks added to {options.out}, {merged.known} were already there")
    return EXIT_DONE


def _list_trusted(tasks: Sequence[Task], is_all: bool) -> frozenset[str]:
    """Return the trusted folders among the folders of the tasks. `is_all`: trust all these folders for this
    run.

    Raises:
        AppError: a task may change files or run commands in a folder that is not trusted.
    """
    from agent_ls.services.clock import SystemClock
    from agent_ls.services.permissions.trust import WorkspaceTrust
    from agent_ls.services.settings.state_folder import state_folder
    from agent_ls.store.trust import TrustStore

    sources = {task.source for task in tasks}
    trust = WorkspaceTrust(TrustStore(state_folder()), SystemClock(), "trusted" if is_all else "kept")
    trusted = frozenset(source for source in sources if trust.get_trust(source) == "trusted")
    for task in tasks:
        if task.source not in trusted and (task.mode in ("edits", "full") or task.check):
            raise AppError(
                f"the folder {task.source} of task {task.id} is not trusted, so nothing may be changed or run in it",
                "`agent-ls trust add` trusts it, --trust trusts the folders of all tasks for this run",
            )
    return trusted


def _report_old_name(hint: str) -> None:
    print(f"agent-ls batch: {hint}", file=sys.stderr)
