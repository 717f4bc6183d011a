"""`agent-ls batch --on` at real places: OpenSSH and Docker."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.batch.play import environ_of, repository, results, write_a_file, write_manifest
from tests.editors import places
from tests.support.commands import run
from tests.support.git import git
from tests.support.loopback import AnthropicServer

pytestmark = [pytest.mark.req("X12", "X3"), pytest.mark.timeout(300)]


@pytest.mark.parametrize("make", [places.ssh_place, places.docker_place], ids=["ssh", "docker"])
def test_a_batch_task_runs_over_ssh_or_in_docker_and_leaves_nothing_at_the_remote_place(
    make: Callable[[], places.RealPlace], tmp_path: Path
) -> None:
    there = make()
    # the container mounts this folder too
    project = Path(tempfile.mkdtemp(dir=tempfile.gettempdir())) / "project"
    try:
        repository(project)
        name = f"{there.place.machine}:{project.parent}"
        settings = {"kind": there.place.kind, "target": there.place.target, "python": there.place.python}
        (tmp_path / "settings.json").write_text(json.dumps({"agentLs": {"place": settings}}))
        check = "grep -q do-one new.txt && env | grep -q ^AGENT_LS_REMOTE_END= && ! env | grep test-key"
        task = {"id": "one", "prompt": "do-one", "repo": "project", "commit": "HEAD", "check": check}
        manifest = str(write_manifest(tmp_path / "tasks.jsonl", [task]))
        with AnthropicServer(write_a_file) as server:
            environ = environ_of(server, tmp_path / "home", AGENT_LS_SETTINGS=str(tmp_path / "settings.json"))
            arguments = ("batch", manifest, "--out", "runs", "--trust", "--on", name)
            done = run(*arguments, cwd=tmp_path, environ={**environ, **there.environ})
        assert done.code == 0, done
        assert results(tmp_path / "runs")["one"]["isSuccess"]
        assert "+do-one" in (tmp_path / "runs/tasks/one/attempt-1/change.patch").read_text()
        listed = git(project, "worktree", "list")
        assert listed.count("\n") == 0 and not (project / "new.txt").exists(), listed
    finally:
        shutil.rmtree(project.parent)
