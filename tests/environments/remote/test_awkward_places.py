"""Difficult remote places: output at login, a home without write access, old Pythons, odd file names, many files."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import Attribution, CommandOptions, FileWrite, GrepOptions
from agent_ls.environments.errors import EnvironmentLostError, ProcessStartError, StaleFileError
from agent_ls.environments.remote import boot, connection
from agent_ls.environments.remote.bundle import make_bundle
from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.place import Place
from tests.support.environments import HERE, SHORT_GRACE_MS, remote

pytestmark = pytest.mark.req("X1", "X3")

BY_ATTRIBUTION = Attribution()


@asynccontextmanager
async def reached(folder: Path, *words: str, **variables: str) -> AsyncIterator[RemoteEnvironment]:
    """Open a remote environment through a shell command that starts Python."""
    place = Place("command", command=words or (sys.executable,))
    host = RemoteHost(place, lambda: {**os.environ, **variables})
    environment = RemoteEnvironment(host, lambda: EndConfig(str(folder), grace_ms=SHORT_GRACE_MS))
    try:
        await environment.initialize()
        yield environment
        await environment.cleanup()
    finally:
        await host.close()


def shell(text: str) -> tuple[str, ...]:
    return "sh", "-c", f'{text}; exec {shlex.quote(sys.executable)} "$@"', "sh"


def test_the_start_program_of_the_remote_end_has_python_3_6_syntax() -> None:
    ast.parse(boot.PROGRAM, feature_version=(3, 6))
    assert not set(boot.ONE_LINE) & set("'\"\\!$`\n"), "a shell would change it"


def test_the_bundle_is_deterministic_and_below_one_mebibyte() -> None:
    first = make_bundle()
    make_bundle.cache_clear()
    assert make_bundle() == first and len(first.data) < 1024 * 1024


async def test_output_of_the_login_shell_is_ignored(tmp_path: Path) -> None:
    noise = "echo Welcome; echo oops >&2; head -c 60000 /dev/zero; printf half"
    async with reached(tmp_path, *shell(noise)) as env:
        assert await env.file_exists(".")


async def test_output_of_a_bashrc_is_not_part_of_the_output_of_a_command(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("echo printed by bashrc; sleep 1\n")
    words = ("env", "SSH_CLIENT=10.0.0.1 1 22", "SHLVL=0", f"HOME={tmp_path}", sys.executable)
    async with reached(tmp_path, *words) as env:
        result = await env.exec_command("echo hi", CommandOptions())
        assert result.output == "hi\n"


async def test_a_remote_place_with_an_unwritable_home_needs_only_a_temporary_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    variables = {"HOME": "/proc", "XDG_CACHE_HOME": "/proc/none", "TMPDIR": str(temporary)}
    async with reached(tmp_path, **variables) as env:
        assert (await env.exec_command("echo hi", CommandOptions())).stdout == "hi\n"
        assert len(list(temporary.iterdir())) == 1
    assert not list(temporary.iterdir()), "the copy of agent-ls is removed at the end"


async def test_a_place_without_a_writable_folder_is_reported(tmp_path: Path) -> None:
    variables = {"HOME": "/proc", "XDG_CACHE_HOME": "/proc/none", "TMPDIR": "/proc/none"}
    limit = "import tempfile, sys; tempfile.mkdtemp = lambda **options: open('/proc/none/x', 'x'); "
    words = ("sh", "-c", f'exec {sys.executable} -c "{limit}$3"', "sh")
    with pytest.raises(EnvironmentLostError, match="no folder that agent-ls can write to"):
        async with reached(tmp_path, *words, **variables):
            pass


async def test_a_damaged_copy_of_agent_ls_at_a_remote_place_is_replaced(tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with reached(tmp_path, **cache):
        pass
    (kept,) = (tmp_path / "cache" / "agent-ls").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:1000])
    async with reached(tmp_path, **cache) as env:
        assert await env.file_exists(".")
    assert kept.read_bytes() == whole
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_an_old_python_at_a_remote_place_is_reported_with_its_version(tmp_path: Path) -> None:
    """The interpreter is real and only reports an old version. The program must stop before it uses newer features."""
    older = "import sys; sys.version_info = (3, 9, 2); "
    words = ("sh", "-c", f'exec {sys.executable} -c "{older}$3"', "sh")
    with pytest.raises(EnvironmentLostError, match=r"is Python 3\.9\.2 on that machine, which is too old"):
        async with reached(tmp_path, *words):
            pass


async def test_a_place_that_never_answers_is_reported_after_a_timeout(tmp_path: Path) -> None:
    place = Place("command", command=("sh", "-c", "echo password:; exec sleep 1000"))
    silent = connection.RemoteConnection(place, place.command, os.environ)
    with pytest.raises(EnvironmentLostError, match=r"nothing answered within 1 s.*password:"):
        await anyio.to_thread.run_sync(silent.start, 1.0)


async def test_names_that_are_not_utf_8_are_listed_read_and_written(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    env = remote(tmp_path / "project", {name: "one"})
    assert [entry.name for entry in await env.list_directory(".")] == [name]
    assert await env.read_bytes(name) == b"one"
    (state,) = await env.commit([FileWrite(name, b"two", b"one")], BY_ATTRIBUTION)
    assert (tmp_path / "project" / name).read_bytes() == b"two" and state.path.endswith(name)
    await env.cleanup()


async def test_a_folder_of_20000_files_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for number in range(20_000):
        os.close(os.open(folder / f"file-{number:06}", os.O_CREAT | os.O_WRONLY))
    env = remote(folder, {})
    entries = await env.list_directory(".")
    assert len(entries) == 20_000 and entries[-1].name == "file-019999"
    await env.cleanup()


async def test_a_file_of_the_largest_size_is_read_whole_while_other_calls_are_answered(
    tmp_path: Path,
) -> None:
    content = os.urandom(1 << 20) * 50
    env = remote(tmp_path, {"large": content})
    read: list[bytes] = []
    async with anyio.create_task_group() as group:

        async def large() -> None:
            read.append(await env.read_bytes("large"))

        group.start_soon(large)
        assert await env.file_exists("large")
    assert read == [content]
    await env.cleanup()


async def test_grep_at_a_remote_place_without_ripgrep_finds_matching_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    async with reached(tmp_path, "env", "PATH=/nonexistent", sys.executable) as env:
        found = await env.grep("needle", ".", GrepOptions())
        assert [line.path for line in found.lines] == ["a.txt"]


async def test_files_with_very_old_or_future_modification_times_are_sorted_and_committed(
    tmp_path: Path,
) -> None:
    env = remote(tmp_path, {"past": "1", "future": "2"})
    os.utime(tmp_path / "past", (0, 0))
    os.utime(tmp_path / "future", (4_102_444_800,) * 2)
    assert list(await env.glob("*", ".")) == ["future", "past"]
    await env.commit([FileWrite("future", b"3", b"2"), FileWrite("past", b"0", b"1")], BY_ATTRIBUTION)
    with pytest.raises(StaleFileError):
        await env.commit([FileWrite("future", b"4", b"2")], BY_ATTRIBUTION)
    await env.cleanup()


async def test_two_sessions_at_one_place_do_not_end_each_others_processes(tmp_path: Path) -> None:
    first, second = remote(tmp_path, {}), remote(tmp_path, {})
    kept = await first.start_process("exec sleep 1000", CommandOptions())
    ended = await second.start_process("exec sleep 1000", CommandOptions())
    assert kept.pid != ended.pid
    await second.cleanup()
    assert [it.exit_code for it in await first.list_processes()] == [None]
    await first.cleanup()


async def test_a_lost_background_process_is_reported_and_its_id_is_not_reused(tmp_path: Path) -> None:
    said: list[str] = []
    async with reached(tmp_path) as env:
        env.notify = said.append
        first = await env.start_process("exec sleep 1000", CommandOptions())
        current = env.host.find_connection()
        assert current
        os.kill(current.pid, 9)
        with pytest.raises(EnvironmentLostError):
            await env.wait_process(first.id)
        second = await env.start_process("exec sleep 1000", CommandOptions())
        assert second.id != first.id
        with pytest.raises(EnvironmentLostError, match=f"Process {first.id} was ended"):
            await env.read_process(first.id)
        assert "exec sleep 1000" in said[0] and len(said) == 1


async def test_a_process_is_reported_as_lost_if_the_connection_is_lost_just_before_the_call(
    tmp_path: Path,
) -> None:
    """The connection is lost between the check of the connection and the call."""
    async with reached(tmp_path) as env:
        started = await env.start_process("exec sleep 1000", CommandOptions())
        current = env.host.find_connection()
        assert current
        ready = env._ensure_connected

        async def lose_after() -> tuple[connection.RemoteConnection, int]:
            found = await ready()
            os.kill(current.pid, 9)
            with anyio.fail_after(240):
                while not current.loss:  # noqa: ASYNC110  # a thread sets it without an event
                    await anyio.sleep(0.01)
            assert current.loss.hint, "the user is told what comes next"
            env._ensure_connected = ready  # type: ignore[method-assign]
            return found

        env._ensure_connected = lose_after  # type: ignore[method-assign]
        with pytest.raises(EnvironmentLostError, match="was lost"):
            await env.wait_process(started.id)


@pytest.mark.parametrize("size", [0, 1, 10_000], ids=["at once", "in the program", "in the copy of agent-ls"])
async def test_a_connection_lost_while_agent_ls_is_sent_names_the_place_and_leaves_no_partial_copy(
    tmp_path: Path, size: int
) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = ("sh", "-c", f'dd bs=1 count={size} 2>/dev/null | {shlex.quote(sys.executable)} "$@"', "sh")
    with pytest.raises(EnvironmentLostError, match="command:") as found:
        async with reached(tmp_path, *words, **cache):
            pass
    assert found.value.hint and "Traceback" not in str(found.value)
    assert not list((tmp_path / "cache").rglob("*"))[1:], "only the folder may be there"
    async with reached(tmp_path, **cache) as env:
        assert await env.file_exists(".")


async def test_a_command_that_needs_confinement_is_not_started_at_a_remote_place(tmp_path: Path) -> None:
    from agent_ls.confinement.wanted import Confinement

    env = remote(tmp_path, {})
    with pytest.raises(ProcessStartError, match="cannot confine commands"):
        await env.exec_command("touch made", CommandOptions(confinement=Confinement()))
    assert not (tmp_path / "made").exists()
    await env.cleanup()


async def test_the_program_that_connects_to_a_remote_place_gets_no_api_keys_in_its_environment(
    tmp_path: Path,
) -> None:
    seen = tmp_path / "seen"
    words = shell(f"env > {seen}")
    async with reached(tmp_path, *words, ANTHROPIC_API_KEY="sk-key", GITHUB_TOKEN="token", ORDINARY="yes"):
        pass
    assert "ORDINARY=yes" in seen.read_text()
    assert "sk-key" not in seen.read_text() and "GITHUB_TOKEN" not in seen.read_text()


async def test_one_connection_serves_all_environments_of_a_place(tmp_path: Path) -> None:
    one, other = remote(tmp_path, {"a": "1"}), remote(tmp_path, {})
    await one.initialize()
    generation = HERE.generation
    assert await other.read_bytes("a") == b"1"
    assert HERE.generation == generation
    await one.cleanup()
    await other.cleanup()
