"""`agent-ls batch --dask` on a real scheduler and real workers: nothing is done twice, and nothing is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.batch.play import (
    environ_of,
    json_lines,
    prompt_of,
    repository,
    results,
    write_a_file,
    write_manifest,
)
from tests.batch.test_kill import Steps, contents, follow_lines
from tests.support.commands import environment, run, start
from tests.support.loopback import Answer, AnthropicServer
from tests.support.processes import eventually, new_token, processes_with

pytest.importorskip("distributed", reason="the extra `dask` is not installed")
pytestmark = [pytest.mark.req("X12"), pytest.mark.real_start]

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
TASKS = 200 if IS_WHOLE else 5  # outside the sweep, one more than the cluster runs at the same time
CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        pids = [worker.process.process.pid for worker in cluster.workers.values()]
        print(cluster.scheduler_address, *pids, flush=True)
        sys.stdin.read()
"""


@contextmanager
def cluster(folder: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, list[int]]]:
    """Run a Dask scheduler with two workers; yield the scheduler's address and the process ids of the workers."""
    program = folder / "cluster.py"
    program.write_text(CLUSTER)
    with (
        (folder / "cluster.txt").open("wb") as log,
        subprocess.Popen(
            [sys.executable, str(program)],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdin and process.stdout
        address, *pids = process.stdout.readline().split()
        yield address, [int(pid) for pid in pids]
        process.stdin.close()


@pytest.mark.req("R4")
@pytest.mark.sweep(only_whole=True)
@pytest.mark.timeout(7200 if IS_WHOLE else 300)
async def test_no_finished_task_is_repeated_or_lost_after_a_stopped_run_or_a_killed_worker(
    tmp_path: Path,
) -> None:
    commit = repository(tmp_path / "project")
    tasks = [
        {
            "id": f"t{number}",
            "prompt": f"do-{number}.",
            "repo": "project",
            "commit": commit,
            "check": "test -e new.txt",
        }
        for number in range(TASKS)
    ]
    manifest, out = write_manifest(tmp_path / "tasks.jsonl", tasks), tmp_path / "runs"
    requests, ends, token = Steps(), Steps(), new_token()

    def answer(body: Mapping[str, Any]) -> Answer:
        requests.add("request")
        return write_a_file(body)

    with AnthropicServer(answer, allow_violations=True) as server:
        environ = environ_of(server, tmp_path / "home", TEST_TOKEN=token)
        with cluster(tmp_path, environ) as (address, pids):
            arguments = ("batch", str(manifest), "--out", str(out), "--dask", address)
            with start(*arguments, cwd=tmp_path, environ=environ) as runner:
                requests.wait(1)
                runner.send_signal(signal.SIGINT)
                assert runner.wait() == 130
            stopped = contents(out)
            assert len(stopped) < TASKS
            with start(*arguments, cwd=tmp_path, environ=environ) as runner:
                lines = follow_lines(runner.stdout, ": done", ends)
                ends.wait(TASKS // 4)
                os.kill(pids[0], signal.SIGKILL)
                before, asked = contents(out), len(server.requests)
                assert runner.wait() == 0, runner.stderr and runner.stderr.read()
                lines.join()
            now = contents(out)
            assert {path: now.get(path) for path in stopped | before} == stopped | before
            done = {f"do-{path.parent.parent.name[1:]}." for path in before}
            repeated = {prompt_of(it.body) for it in server.requests[asked:]} & done
            assert not repeated, f"tasks with a result were run again: {repeated}"
    await eventually(lambda: not processes_with(token))
    found = results(out)
    assert sorted(found) == sorted(str(task["id"]) for task in tasks)
    assert all(result["isSuccess"] for result in found.values()), found
    assert len(now) == TASKS
    predictions = json_lines(out / "predictions.jsonl")
    assert all(f"+do-{it['instance_id'][1:]}." in it["model_patch"] for it in predictions)
    assert not any((out / ".work").iterdir()) and not list(out.glob(".stop-*"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dask", "tcp://127.0.0.1:9"], "no Dask scheduler answers"),
        (["--dask", "nowhere"], "not an address of a Dask scheduler"),
        (["--dask", "tcp://127.0.0.1:9", "--jobs", "2"], "--jobs cannot be combined with --dask"),
    ],
)
def test_unusable_dask_options_are_reported_without_a_traceback(
    tmp_path: Path, options: list[str], words: str
) -> None:
    manifest = write_manifest(
        tmp_path / "tasks.jsonl", [{"id": "one", "prompt": "x", "folder": ".", "mode": "ask"}]
    )
    environ = environment(tmp_path / "home")
    done = run("batch", str(manifest), "--out", "runs", *options, cwd=tmp_path, environ=environ)
    assert done.code == 2 and words in done.err, done
    assert not re.search("Traceback|Error:", done.err) and len(done.err.splitlines()) == 2, done.err


def test_without_the_dask_package_the_error_message_contains_the_install_command(tmp_path: Path) -> None:
    manifest = write_manifest(
        tmp_path / "tasks.jsonl", [{"id": "one", "prompt": "x", "folder": ".", "mode": "ask"}]
    )
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "distributed.py").write_text("raise ImportError\n")
    environ = environment(tmp_path / "home")
    environ["PYTHONPATH"] = f"{tmp_path / 'hidden'}{os.pathsep}{environ['PYTHONPATH']}"
    arguments = ("batch", str(manifest), "--out", "runs", "--dask", "tcp://127.0.0.1:9")
    done = run(*arguments, cwd=tmp_path, environ=environ)
    assert done.code == 2 and "pip install 'distributed" in done.err, done
