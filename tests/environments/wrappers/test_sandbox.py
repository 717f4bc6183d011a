"""Commands in a real sandbox: which files they may write and see, which addresses they reach, and how they end."""

from __future__ import annotations

import os
import shlex
import socket
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.base import Attribution, CommandOptions, ExecResult
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.local.terminals.own_terminals import OwnTerminals
from agent_ls.environments.sandbox import requiring_confinement
from agent_ls.environments.terminal_host import TerminalHost
from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
from agent_ls.loop.events.types import RecordedEvent, Warning
from tests.environments.confinement.harm_world import SECRET, harm_world
from tests.support.environments import ended_at_its_limit
from tests.support.sandboxes import make_sandbox, needs_bubblewrap, needs_landlock

pytestmark = pytest.mark.req("X4", "X6")

KINDS = [
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("landlock", marks=needs_landlock),
]

QUICK = CommandOptions(timeout_ms=30_000)


class Asked:
    """Records the questions to the user in `commands`, and gives the same answer to each."""

    def __init__(self, answer: bool = False) -> None:
        self.answer = answer
        self.commands: list[tuple[str, str]] = []

    async def __call__(self, command: str, options: CommandOptions, at: str, is_read_only: bool) -> bool:
        self.commands.append((command, at))
        return self.answer


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "keys.json").write_text("sk-secret")
    return tmp_path / "project"


@asynccontextmanager
async def confined(
    root: Path,
    asked: Asked | None = None,
    *,
    grace_ms: int = 100,
    terminals: TerminalHost | None = None,
    **settings: object,
) -> AsyncIterator[SandboxedEnvironment]:
    events: list[RecordedEvent] = []
    inner = LocalEnvironment(str(root), terminals=terminals, limits=LocalLimits(terminate_grace_ms=grace_ms))
    confinement = make_sandbox(root, root.parent / "state", events, **settings)
    environment = SandboxedEnvironment(inner, confinement, asked or Asked())
    await environment.initialize()
    try:
        assert confinement.is_started, events
        yield environment
    finally:
        await environment.cleanup()


async def run(root: Path, command: str, **settings: object) -> ExecResult:
    async with confined(root, **settings) as environment:  # type: ignore[arg-type]  # settings of the test
        return await environment.exec_command(command, QUICK)


WRITES = {
    "a redirection": "echo x > {outside}/made",
    "up the tree": "echo x > ../made",
    "through a link of its own": "ln -s {outside} link; echo x > link/made",
    "a deletion": "rm -rf {outside}/kept",
    "a move out": "mv {outside}/kept .",
    "a copy out": "cp -r . {outside}/copy",
    "a hard link into it": "ln {outside}/kept hard && echo x > hard",
    "a mount": "mount -t tmpfs none {outside}",
    "a remount": "mount -o remount,rw / ; echo x > {outside}/made",
    "an unmount": "umount -l {outside}/.. ; echo x > {outside}/made",
    "a namespace in it": "unshare -rm sh -c 'mount -o remount,rw,bind / ; echo x > {outside}/made'",
    "by /proc": "echo x > /proc/1/root{outside}/made",
    "by /proc/self": "touch /proc/self/cwd/../made",
    "a program": 'python3 -c \'open("{outside}/made", "w")\'',
    "a session of its own": "(setsid sh -c 'echo x > {outside}/made') ; sleep 0.1",
}


async def test_sandboxed_commands_cannot_change_files_outside_the_workspace(
    root: Path, kind: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("as it was")
    async with confined(root, use=kind) as environment:
        for way, command in WRITES.items():
            await environment.exec_command(command.format(outside=outside), QUICK)
            assert [path.name for path in outside.iterdir()] == ["kept"], way
            assert (outside / "kept").read_text() == "as it was", way
            assert not (tmp_path / "made").exists(), way


async def test_the_workspace_and_a_private_temporary_folder_can_be_written(
    root: Path, kind: str, tmp_path: Path
) -> None:
    async with confined(root, use=kind) as environment:
        first = await environment.exec_command(
            "echo in > a.txt && echo tmp > $TMPDIR/b && echo $TMPDIR", QUICK
        )
        assert first.exit_code == 0 and first.stdout.strip() not in ("", "/tmp")
        second = await environment.exec_command("cat $TMPDIR/b; mktemp >/dev/null && echo made", QUICK)
        assert second.stdout == "tmp\nmade\n", "it is the same for the whole session"
    assert (root / "a.txt").read_text() == "in\n"
    assert not list((tmp_path / "tmp").iterdir())
    async with confined(root, use=kind) as environment:
        assert (await environment.exec_command("cat $TMPDIR/b", QUICK)).exit_code != 0, "and no other's"


async def test_a_read_only_command_in_a_sandbox_sees_temporary_files_and_writes_nothing(
    root: Path, kind: str
) -> None:
    async with confined(root, use=kind) as environment:
        assert (await environment.exec_command("echo seen > $TMPDIR/t; echo in > a", QUICK)).exit_code == 0
        with requiring_confinement():
            done = await environment.exec_command("cat $TMPDIR/t a; echo x > made; echo x > $TMPDIR/u", QUICK)
        assert done.stdout == "seen\nin\n" and "confine" in done.note
        assert (await environment.exec_command("ls $TMPDIR", QUICK)).stdout == "t\n"
    assert not (root / "made").exists()


@pytest.mark.parametrize(
    "use",
    [pytest.param("bubblewrap", marks=needs_bubblewrap), pytest.param("landlock", marks=needs_landlock)],
)
async def test_credentials_and_the_state_of_agent_ls_are_hidden(root: Path, use: Any) -> None:
    home, state = Path(os.environ["HOME"]), root.parent / "state"
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text("PRIVATE")
    (home / ".netrc").write_text("password hunter2")
    (home / "notes").write_text("seen")
    done = await run(root, f"cat ~/.ssh/*; cat ~/.netrc; cat ~/notes; cat {state}/keys.json", use=use)
    assert done.stdout == "seen"
    assert not any(secret in done.output for secret in ("PRIVATE", "hunter2", "sk-secret"))


@needs_bubblewrap
async def test_sandboxed_commands_cannot_write_git_hooks_or_the_git_config(root: Path) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    done = await run(
        root,
        use="bubblewrap",
        command="echo x > .git/hooks/pre-commit; echo x >> .git/config; echo ok > .git/HEAD",
    )
    assert not list((root / ".git" / "hooks").iterdir())
    assert (root / ".git" / "config").read_text() == "[core]\n" and done.exit_code == 0


async def test_sandboxed_commands_cannot_signal_or_inspect_other_processes(root: Path, kind: str) -> None:
    with harm_world(root.parent / "w") as world:
        for template in (
            "kill -0 {victim} && echo REACHED",
            "kill -0 {parent} && echo REACHED",
            "cat /proc/{victim}/environ",
            "cat /proc/{parent}/environ && echo REACHED",
            "python3 -c 'import resource; resource.prlimit({victim}, 0, (1, 1))' && echo REACHED",
        ):
            done = await run(root, world.filled(template), use=kind)
            assert "REACHED" not in done.output and SECRET not in done.output, template
        assert (await run(root, "sleep 60 & kill $! && echo own", use=kind)).stdout == "own\n"


@needs_bubblewrap
@pytest.mark.parametrize(
    "command",
    [
        "mv .git old; cp -r old .git; echo x > .git/hooks/pre-commit",
        "mv .git old; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
        "rm -rf .git; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
        "mv .git/hooks .git/h; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
        "ln -sfn $PWD/other .git; mkdir -p other/hooks; echo x > other/hooks/pre-commit",
    ],
)
async def test_the_git_folder_cannot_be_replaced(root: Path, command: str) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    await run(root, use="bubblewrap", command=command)
    assert not (root / ".git").is_symlink()
    assert not (root / ".git" / "hooks" / "pre-commit").exists()
    assert (root / ".git" / "config").read_text() == "[core]\n"


FOLDERS = [".vscode", ".husky", ".idea", ".agent-ls", ".git/hooks"]


@pytest.mark.parametrize(("use", "name"), [
    *(pytest.param("landlock", name, marks=needs_landlock) for name in (".vscode", ".envrc", ".husky")),
    *(pytest.param("bubblewrap", name, marks=needs_bubblewrap) for name in (".envrc", ".git/commondir")),
])  # fmt: skip
async def test_tool_settings_created_by_a_sandboxed_command_are_renamed_and_reported(
    root: Path, use: str, name: str
) -> None:
    (root / ".git").mkdir()
    done = await run(root, f"mkdir {name} || echo x > {name}; echo made", use=use)
    assert not (root / name).exists() and (root / f"{name}.made-in-sandbox").exists()
    assert f"{name}.made-in-sandbox" in done.note and "made" in done.stdout


@needs_bubblewrap
@pytest.mark.parametrize("name", FOLDERS)
async def test_folder_of_tool_settings_cannot_be_created_while_a_command_runs(root: Path, name: str) -> None:
    (root / ".git").mkdir()
    tries = f"mkdir {name}; echo x > {name}/a; rmdir {name}; mv {name} b; ln -sfn . {name}; ls -A {name}; echo ran"
    done = await run(root, tries, use="bubblewrap")
    assert done.stdout == "ran\n" and not done.note
    assert not (root / name).exists()


@needs_bubblewrap
async def test_placeholder_settings_folder_is_removed_when_the_last_sandboxed_command_ends(
    root: Path,
) -> None:
    async with confined(root, use="bubblewrap") as environment:
        waiting = await environment.start_process("read x", QUICK)
        assert (root / ".vscode").is_dir()
        await environment.exec_command("true", QUICK)
        assert (root / ".vscode").is_dir()
        await environment.kill_process(waiting.id)
        assert not (root / ".vscode").exists()


@needs_bubblewrap
async def test_user_file_created_in_a_placeholder_settings_folder_is_not_deleted(root: Path) -> None:
    async with confined(root, use="bubblewrap") as environment:
        waiting = await environment.start_process("read x", QUICK)
        (root / ".vscode/mine").write_text("mine")
        ended = await environment.kill_process(waiting.id)
    assert ended.command and (root / ".vscode/mine").read_text() == "mine"


@needs_bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel's settings are root's to write")
async def test_kernel_settings_cannot_be_written(root: Path) -> None:
    place = "/proc/sys/kernel/core_pattern"
    done = await run(root, use="bubblewrap", command=f"cat {place} > {place} && echo written")
    assert "written" not in done.stdout


@pytest.mark.parametrize(("network", "is_reached"), [(False, False), (True, True)])
async def test_the_network_is_off_unless_enabled(
    root: Path, kind: str, network: bool, is_reached: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_accept, args=(server,), daemon=True)
        thread.start()
        port = server.getsockname()[1]
        done = await run(
            root, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached", network=network, use=kind
        )
    assert ("reached" in done.stdout) == is_reached


def _accept(server: socket.socket) -> None:
    try:
        server.accept()[0].close()
    except OSError:
        return  # no connection arrived


@needs_bubblewrap
async def test_sockets_of_other_programs_cannot_be_reached(root: Path) -> None:
    assert (await run(root, use="bubblewrap", command="ls -A /run")).stdout == ""


@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("exit 3", 3), ("no-such-program", 127), ("kill -TERM $$", -15), ("kill -KILL $$", -9)],
)
async def test_exit_code_and_signal_are_passed_through(
    root: Path, kind: str, command: str, code: int
) -> None:
    assert (await run(root, command, use=kind)).exit_code == code


async def test_output_quotes_and_variables_are_passed_unchanged(root: Path, kind: str) -> None:
    command = 'printf \'%s|\' "it\'s" "$GIVEN" \'a\nb\' "$(echo ü)"; echo err >&2'
    async with confined(root, use=kind) as environment:
        done = await environment.exec_command(
            command, CommandOptions(timeout_ms=30_000, env_vars={"GIVEN": "x y"})
        )
    assert (done.stdout, done.stderr) == ("it's|x y|a\nb|ü|", "err\n")


async def test_secret_variables_are_removed(root: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    assert "sk-secret" not in (await run(root, "env", use=kind)).stdout


async def test_a_command_over_its_time_limit_ends_with_all_its_processes(root: Path, kind: str) -> None:
    async with confined(root, use=kind) as environment:
        for_long = f"31.{uuid.uuid4().int}"  # a unique argument that identifies these processes
        command = f"setsid sleep {for_long} & echo begun; sleep {for_long}"
        done = await ended_at_its_limit(environment, command, "begun\n")
        assert done.timed_out and done.stdout == "begun\n"
        assert not running(for_long)


def running(word: str) -> list[Path]:
    """Return the processes of this machine that have this argument."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if word in path.read_text().split("\0"):
                found.append(path)
    return found


async def test_a_terminated_command_has_time_to_shut_down(root: Path, kind: str) -> None:
    async with confined(root, use=kind, grace_ms=10_000) as environment:
        command = "trap 'echo saved > saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done"
        done = await ended_at_its_limit(environment, command, "begun\n")
    assert done.timed_out and (root / "saved").read_text() == "saved\n"


async def test_a_background_process_is_confined_listed_by_its_original_command_and_killed(
    root: Path, kind: str, tmp_path: Path
) -> None:
    async with confined(root, use=kind) as environment:
        command = f"echo x > {tmp_path}/made; echo up; sleep 60"
        started = await environment.start_process(command, QUICK)
        with anyio.fail_after(240):
            while "up" not in (await environment.read_process(started.id))[0]:
                await anyio.lowlevel.checkpoint()
        (listed,) = await environment.list_processes()
        assert started.command == listed.command == command
        ended = await environment.kill_process(started.id)
        assert ended.command == command and ended.exit_code is not None
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_a_command_blocked_by_the_sandbox_reruns_outside_only_after_approval(
    root: Path, kind: str, tmp_path: Path, is_allowed: bool
) -> None:
    asked = Asked(is_allowed)
    command = f"echo x > {tmp_path}/made"
    async with confined(root, asked, use=kind) as environment:
        done = await environment.exec_command(command, QUICK)
    at = "Read-only file system" if kind == "bubblewrap" else "Permission denied"
    assert asked.commands == [(command, at)]
    assert (tmp_path / "made").exists() == is_allowed and (done.exit_code == 0) == is_allowed
    assert "sandbox" in done.note


@pytest.mark.parametrize("command", ["false", "echo Read-only file system", "cat no-such"])
async def test_a_command_failure_unrelated_to_the_sandbox_requests_no_approval(
    root: Path, kind: str, command: str
) -> None:
    asked = Asked(True)
    async with confined(root, asked, use=kind) as environment:
        assert not (await environment.exec_command(command, QUICK)).note
    assert not asked.commands


async def test_folders_added_by_the_settings_can_be_written(root: Path, kind: str, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    await run(
        root, f"echo x > {tmp_path}/cache/made", writable=[str(tmp_path / "cache"), "/no/such"], use=kind
    )
    assert (tmp_path / "cache" / "made").exists()


async def test_sandbox_start_emits_one_line_with_the_sandbox_kind_folder_and_network_access(
    root: Path, kind: str, tmp_path: Path
) -> None:
    events: list[RecordedEvent] = []
    confinement = make_sandbox(root, tmp_path / "state", events, use=kind)
    await confinement.start_sandbox()
    confinement.take_down()
    (event,) = events
    assert isinstance(event, Warning) and event.code == "sandbox" and "\n" not in event.message
    assert str(root) in event.message and "no network" in event.message and kind in event.message


async def test_a_command_in_a_terminal_is_confined_too(root: Path, kind: str, tmp_path: Path) -> None:
    command = f"[ -t 1 ] && echo shown; echo x > {tmp_path}/made; exit 4"
    options = CommandOptions(timeout_ms=30_000, attribution=Attribution(call_id="c1"))
    async with confined(root, use=kind, terminals=OwnTerminals()) as environment:
        done = await environment.exec_command(command, options)
    assert "shown" in done.output and done.exit_code == 4
    assert not (tmp_path / "made").exists()


async def test_a_program_without_a_shell_is_confined_too(root: Path, kind: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    program = ("touch", str(outside), "it's $HOME")
    async with confined(root, use=kind) as environment:
        options = CommandOptions(timeout_ms=30_000, argv=program, working_dir=str(root))
        result = await environment.exec_command(shlex.join(program), options)
        assert result.exit_code != 0 and "cannot touch" in result.output
        started = await environment.start_process(shlex.join(program), options)
        assert (await environment.wait_process(started.id)).exit_code != 0
    assert not outside.exists()
    assert (root / "it's $HOME").exists(), "its words come through as they are"


@needs_landlock
async def test_landlock_is_unavailable_if_it_would_leave_credentials_readable(tmp_path: Path) -> None:
    """Landlock can only allow: it cannot exclude a file inside the workspace."""
    home = Path(os.environ["HOME"])
    (home / ".ssh").mkdir()
    events: list[RecordedEvent] = []
    confinement = make_sandbox(home, tmp_path / "state", events, use="landlock")
    await confinement.start_sandbox()
    (event,) = events
    assert (
        not confinement.is_started and isinstance(event, Warning) and "needs your approval" in event.message
    )


@needs_landlock
@pytest.mark.parametrize(
    "call",
    ["socket.socket()", "socket.socket(socket.AF_UNIX)", "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)"],
)
async def test_landlock_allows_no_socket_without_network_access(root: Path, call: str) -> None:
    done = await run(root, f"python3 -c 'import socket; {call}; print(1)'", use="landlock")
    assert done.exit_code != 0 and "1\n" not in done.stdout
