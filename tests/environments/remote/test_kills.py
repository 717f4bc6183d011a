"""Kills of the client, the connection and the remote end during edits and commands: no torn file, no left process, no
false result. Each run takes a share of the kills, the sweep takes 300.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from agent_ls.environments.remote import connection
from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.place import Place
from tests.environments.remote import pipe_client
from tests.support import remote_kills
from tests.support.environments import SHORT_GRACE_MS

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
KILLS = 50 if IS_WHOLE else 1  # per kind of kill and work

pytestmark = [
    pytest.mark.req("X1", "X3"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
    pytest.mark.timeout(3600 if IS_WHOLE else 300),
]
WORK = {"edit": remote_kills.story_of_an_edit, "command": remote_kills.story_of_a_command}


@pytest.mark.sweep
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize(
    "kill",
    [remote_kills.kill_client, remote_kills.cut_connection, remote_kills.kill_remote_end],
    ids=["client", "connection", "remote end"],
)
async def test_a_kill_leaves_no_partially_written_file_no_process_and_no_false_result(
    kill: remote_kills.Kill, work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A killed remote end leaves processes that hold the connection open, so that only a ping finds it lost.
    monkeypatch.setattr(connection, "PING_SECONDS", 0.5)
    place = Place("command", command=(sys.executable, pipe_client.__file__, sys.executable))
    host = RemoteHost(place, lambda: os.environ)
    folder = tmp_path / "project"
    folder.mkdir()
    environment = RemoteEnvironment(host, lambda: EndConfig(str(folder), grace_ms=SHORT_GRACE_MS))
    seen: Counter[str] = Counter()
    try:
        for number in range(KILLS):
            chance = random.Random(f"{kill.__name__} {work} {number}")
            seen[await WORK[work](environment, folder, chance, kill)] += 1
    finally:
        await environment.cleanup()
        await host.close()
    assert seen.total() == KILLS
