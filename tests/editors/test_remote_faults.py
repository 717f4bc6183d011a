"""Faults at real places: refused keys, unknown hosts, kills, a stopped container, a full disk."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import Attribution, CommandOptions, FileWrite
from agent_ls.environments.errors import CommitError, EnvironmentLostError
from agent_ls.environments.remote.connection import RemoteConnection
from tests.editors import places
from tests.support import remote_kills

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
KILLS = 50 if IS_WHOLE else 4

pytestmark = [
    pytest.mark.req("X1", "X3"),
    pytest.mark.timeout(3600 if IS_WHOLE else 300),
]


async def refused(place: places.RealPlace, words: str, folder: str = "/tmp") -> None:
    host = place.host()
    with pytest.raises(EnvironmentLostError, match=words) as found:
        await place.environment(folder, host).initialize()
    await host.close()
    assert place.place.machine in str(found.value) and found.value.hint


async def test_a_user_key_that_the_ssh_server_refuses_is_reported() -> None:
    await refused(places.ssh_place(key="stranger"), "your key was refused")


async def test_an_ssh_host_with_an_unknown_host_key_is_refused() -> None:
    await refused(places.ssh_place(known=False), "its host key is unknown on this machine")


async def test_a_refused_ssh_connection_is_reported() -> None:
    await refused(places.ssh_place(port=places.free_port()), "the connection was refused")


async def test_an_unknown_host_name_is_reported() -> None:
    await refused(places.ssh_place(name="no-such-host.invalid"), "the host no-such-host.invalid is unknown")


async def test_a_missing_python_at_an_ssh_host_is_reported() -> None:
    place = places.ssh_place()
    missing = replace(place, place=replace(place.place, python="python3.99"))
    await refused(missing, "python3.99 was not found on that machine")


@pytest.mark.parametrize("make", [places.docker_place, places.podman_place], ids=["docker", "podman"])
async def test_a_missing_container_or_a_container_without_python_is_reported(make: object) -> None:
    await refused(make(python=False), "python3 was not found on that machine")  # type: ignore[operator]
    place: places.RealPlace = make()  # type: ignore[operator]
    await refused(
        replace(place, place=replace(place.place, target="no-such")), "there is no container no-such"
    )


@pytest.mark.parametrize(
    "kill",
    [remote_kills.kill_client, remote_kills.kill_parent_of_remote_end, remote_kills.kill_remote_end],
    ids=["ssh", "sshd", "remote end"],
)
@pytest.mark.parametrize("work", [remote_kills.story_of_an_edit, remote_kills.story_of_a_command])
async def test_kills_during_work_over_ssh_leave_no_partially_written_file_and_no_process(
    kill: remote_kills.Kill, work: object, tmp_path: Path
) -> None:
    place = places.ssh_place()
    host = place.host()
    environment = place.environment(str(tmp_path), host)
    seen: Counter[str] = Counter()
    for number in range(KILLS):
        seen[await work(environment, tmp_path, random.Random(number), kill)] += 1  # type: ignore[operator]
    await environment.cleanup()
    await host.close()
    assert seen.total() == KILLS


@pytest.mark.parametrize("make", [places.docker_place, places.podman_place], ids=["docker", "podman"])
async def test_kills_of_a_container_client_leave_no_process(make: object, tmp_path: Path) -> None:
    place: places.RealPlace = make()  # type: ignore[operator]
    host = place.host()
    environment = place.environment(str(tmp_path), host)
    for number in range(KILLS):
        await remote_kills.story_of_a_command(
            environment, tmp_path, random.Random(number), remote_kills.kill_client
        )
    await environment.cleanup()
    await host.close()


async def test_a_container_that_is_killed_in_the_middle_of_a_commit_is_reported(tmp_path: Path) -> None:
    environ = places.podman_environ()
    mounts = [*places.SYSTEM_MOUNTS, "-v", f"{tmp_path}:{tmp_path}"]
    name = places._container(environ, "podman", places.PODMAN_LIMITS, *mounts)
    place = places.RealPlace(replace(places.podman_place().place, target=name), environ)
    host = place.host()
    environment = place.environment(str(tmp_path), host)
    writes = [FileWrite(f"f{number}", os.urandom(3_000_000), None) for number in range(6)]

    def stop(connection: RemoteConnection) -> None:
        subprocess.run(["podman", "kill", name], env=environ, check=True, capture_output=True)

    error = await remote_kills.kill_in_the_middle(
        environment, random.Random(0), stop, lambda: environment.commit(writes, Attribution())
    )
    for write in writes:
        found = tmp_path / write.path
        assert not found.exists() or found.read_bytes() == write.content
    if error is None:
        assert all((tmp_path / write.path).exists() for write in writes)
    else:
        assert f"podman:{name}" in str(error)
        assert "is unknown whether" in str(error)
    await host.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if why := places.missing("mount"):
        pytest.skip(why)
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_commit_on_a_full_remote_disk_fails_and_changes_no_file(small_disk: Path) -> None:
    (small_disk / "a").write_text("old")
    place = places.ssh_place()
    host = place.host()
    environment = place.environment(str(small_disk), host)
    writes = [FileWrite("a", b"new", b"old"), FileWrite("b", os.urandom(1_000_000), None)]
    with pytest.raises(CommitError, match=r"No space left on device.*Nothing was changed"):
        await environment.commit(writes, Attribution())
    assert os.listdir(small_disk) == ["a"]
    assert (small_disk / "a").read_text() == "old"
    await environment.cleanup()
    await host.close()


async def test_a_remote_place_whose_disk_is_full_is_reported_at_start(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(190_000))
    place = places.ssh_place()
    full = f"env HOME={small_disk} XDG_CACHE_HOME={small_disk} TMPDIR={small_disk} {places.PYTHON}"
    words = tuple(shlex.split(full))
    local = replace(place, place=replace(place.place, kind="command", target="", command=words))
    host = local.host()
    with pytest.raises(EnvironmentLostError, match="its disk is full"):
        await local.environment("/tmp", host).initialize()
    await host.close()


async def test_a_connection_that_answers_no_pings_is_reported_as_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The stopped client simulates a network that drops everything, so pings get no answer."""
    from agent_ls.environments.remote import connection

    monkeypatch.setattr(connection, "PING_SECONDS", 0.5)
    place = places.ssh_place()
    host = place.host()
    environment = place.environment(str(tmp_path), host)
    await environment.initialize()
    current = host.find_connection()
    assert current
    os.kill(current.client_pid, signal.SIGSTOP)
    with monkeypatch.context() as patience:
        patience.setattr(connection, "LOST_SECONDS", 5.0)
        with anyio.fail_after(60), pytest.raises(EnvironmentLostError, match="no answer for"):
            await environment.exec_command("true", CommandOptions())
    assert await environment.file_exists(".")
    await environment.cleanup()
    await host.close()
