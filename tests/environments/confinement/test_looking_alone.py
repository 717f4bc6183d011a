"""The confinement is sufficient without a policy: a confined command changes, contacts and reveals nothing."""

from __future__ import annotations

import os
import select
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from agent_ls.confinement.confine import confine
from agent_ls.confinement.wanted import Confinement
from agent_ls.environments.base import Attribution, CommandOptions
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.local.terminals.own_terminals import OwnTerminals
from agent_ls.environments.sandbox import requiring_confinement
from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
from agent_ls.policy.places import Places
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.session_sandbox import SessionSandbox
from agent_ls.services.settings.model import SandboxSettings
from tests.environments.confinement.harm_world import SECRET, harm_world
from tests.environments.confinement.harmful import OTHERS, harmful
from tests.support.sandboxes import needs_bubblewrap, needs_landlock

pytestmark = pytest.mark.req("X4", "X6", "X7", "X11")

KINDS = [
    pytest.param("landlock", marks=needs_landlock),
    pytest.param("bubblewrap", marks=needs_bubblewrap),
]
IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
SHARE = 16 if IS_WHOLE else 3
"""Number of tests for all commands of a kind, so that several workers can run them."""
STEP = 1 if IS_WHOLE else 7
"""Each test runs every STEP-th of its commands."""


class Folders(Protocol):
    """The folders of a session that is confined."""

    @property
    def project(self) -> Path: ...

    @property
    def home(self) -> Path: ...

    @property
    def state(self) -> Path: ...


@asynccontextmanager
async def looking(
    world: Folders, kind: str, *, in_terminal: bool = False
) -> AsyncIterator[SandboxedEnvironment]:
    places = Places((str(world.project),), str(world.home))
    machine = ReadOnlySandbox(world.state, kind)
    assert await machine.find(), machine.why
    sandbox = SessionSandbox(SandboxSettings(), lambda: places, str(world.state), lambda event: None, machine)
    terminals = OwnTerminals() if in_terminal else None
    environment = SandboxedEnvironment(
        LocalEnvironment(str(world.project), terminals=terminals, limits=LocalLimits(terminate_grace_ms=100)),
        sandbox,
        _never,
    )
    await environment.initialize()
    try:
        with requiring_confinement():
            yield environment
    finally:
        await environment.cleanup()


async def _never(command: str, options: CommandOptions, at: str, is_read_only: bool) -> bool:
    return False


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(SHARE))
async def test_a_confined_harmful_command_has_no_effect(tmp_path: Path, kind: str, part: int) -> None:
    commands = [*harmful()][part::SHARE][part % STEP :: STEP]
    with harm_world(tmp_path / "w") as world:
        async with looking(world, kind) as environment:
            before = world.facts()
            for template in commands:
                command = world.filled(template)
                done = await environment.exec_command(command, CommandOptions(timeout_ms=20_000))
                assert not done.timed_out, command
                assert "REACHED" not in done.output and SECRET not in done.output, (command, done.output)
                assert world.facts() == before, command
                assert world.reached() == [], command


@pytest.mark.parametrize("kind", KINDS)
async def test_commands_in_a_terminal_and_in_the_background_are_confined_too(
    tmp_path: Path, kind: str
) -> None:
    with harm_world(tmp_path / "w") as world:
        async with looking(world, kind, in_terminal=True) as environment:
            before = world.facts()
            command = world.filled(
                "[ -t 1 ] && echo shown; echo x > {out}/new; kill {victim}; cat {state}/keys.json"
            )
            shown = CommandOptions(timeout_ms=20_000, attribution=Attribution(call_id="c1"))
            done = await environment.exec_command(command, shown)
            assert "shown" in done.output and SECRET not in done.output
            started = await environment.start_process(command, CommandOptions())
            await environment.wait_process(started.id)
            argv = ("touch", str(world.root / "outside" / "new"))
            await environment.exec_command("touch", CommandOptions(argv=argv))
            assert world.facts() == before


@pytest.mark.parametrize("kind", KINDS)
async def test_a_confined_command_reads_nothing_outside_the_workspace(tmp_path: Path, kind: str) -> None:
    """The policy asks about such commands. If it misjudges one, the confinement still keeps the file closed."""
    with harm_world(tmp_path / "w") as world:
        (world.root / "outside" / "kept").write_text(f"{SECRET}\n")
        (world.root / f"{SECRET}.txt").touch()
        (world.project / "out").symlink_to(world.root / "outside")
        (world.project / "sub").mkdir()
        (world.home / ".gitconfig").write_text("[user]\nname = a\n")  # a file among the readable places
        async with looking(world, kind) as environment:
            for template in READS_OUTSIDE:
                done = await environment.exec_command(
                    world.filled(template), CommandOptions(timeout_ms=20_000)
                )
                assert SECRET not in done.output, template
            for template in ("cat kept", "cat {project}/kept", "cd sub && if \\cd ..; then cat kept; fi"):
                done = await environment.exec_command(world.filled(template), CommandOptions())
                assert done.output == "kept\n", done


READS_OUTSIDE = (
    "cat {out}/kept",
    "cat ../outside/kept",
    "cat out/kept",
    "cd sub && if \\cd ..; then \\cd ..; cat outside/kept; fi",
    "cd ..; ls",
    "ls ..; ls {out}/..",
    "grep -R . .; grep -R . ..",
    "find -L . ..",
    "cat < {out}/kept",
    "cat /proc/self/root{out}/kept",
    "cat /proc/$PPID/root{out}/kept",
    "cat /proc/{parent}/cwd/{out}/kept",
    "ln {out}/kept hard; cat hard",
    "jq -n 'import \"../outside/kept\" as $d; $d'",
    "date -f {out}/kept",
    "git diff --no-index {out}/kept kept",
    "git -C .. grep --no-index BEGIN",
    "python3 -c 'print(open(\"{out}/kept\").read())'",
    "awk 1 {out}/kept; sed p {out}/kept; head {out}/kept; tac {out}/kept",
    "tar -cO {out}",
    "echo {out}/*; echo ../*",
)


@needs_landlock
@pytest.mark.parametrize("in_terminal", [False, True], ids=["pipes", "terminal"])
async def test_a_confined_command_cannot_write_to_another_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], in_terminal: bool
) -> None:
    """The terminal in which agent-ls was started is also protected. It is standard error of the agent-ls process."""
    ours, theirs = os.openpty()
    name, kept = os.ttyname(theirs), os.dup(2)
    os.dup2(theirs, 2)
    try:
        with harm_world(tmp_path / "w") as world:
            async with looking(world, "landlock", in_terminal=in_terminal) as environment:
                options = CommandOptions(timeout_ms=20_000, attribution=Attribution(call_id="c1"))
                done = await environment.exec_command(f"echo x > {name} && echo REACHED", options)
        assert "REACHED" not in done.output and not select.select([ours], [], [], 0)[0]
    finally:
        os.dup2(kept, 2)
        for descriptor in (ours, theirs, kept):
            os.close(descriptor)


@pytest.mark.parametrize(
    "template",
    [
        "echo x > {out}/new",
        "chmod 700 {project}/kept",
        "cat {home}/.ssh/id_rsa",
        "kill -0 {victim} && echo REACHED",
        "kill -STOP {victim}; sleep 0.1",
        "tr '\\0' '\\n' < /proc/{victim}/environ",
        "exec 3<>/dev/tcp/127.0.0.1/{port}",
        "python3 -c 'import socket; socket.socket(1).connect(\"{sock}\")'",
    ],
)
async def test_without_confinement_harmful_commands_have_an_effect(tmp_path: Path, template: str) -> None:
    with harm_world(tmp_path / "w") as world:
        environment = LocalEnvironment(str(world.project))
        before = world.facts()
        command = world.filled(template)
        done = await environment.exec_command(command, CommandOptions(timeout_ms=20_000))
        is_seen = "REACHED" in done.output or SECRET in done.output or world.facts() != before
        assert is_seen or world.reached()


@needs_landlock
@pytest.mark.sweep
@pytest.mark.parametrize("newest", [3, 5])
def test_a_command_confined_by_an_older_landlock_cannot_signal_or_change_other_processes(
    tmp_path: Path, newest: int
) -> None:
    """Before version 6 (Linux 6.12) Landlock does not restrict signals, so a seccomp filter refuses them."""
    with harm_world(tmp_path / "w") as world:
        before = world.facts()
        hidden = tuple(str(place) for place in (world.home / ".ssh", world.home / ".netrc", world.state))
        # The filter also refuses signals to a command's own jobs, so commands that wait for a job are left out.
        templates = [it for it in OTHERS if "{victim}" in it and "tail -f" not in it]
        assert len(templates) > 20
        for template in templates if IS_WHOLE else templates[newest // 2 % 3 :: 3]:
            command = world.filled(template)
            said = _run_with_older_landlock(command, world.project, hidden, newest)
            assert "REACHED" not in said and SECRET not in said, command
            assert world.facts() == before, command


def _run_with_older_landlock(command: str, folder: Path, hidden: tuple[str, ...], newest: int) -> str:
    said: list[str] = []

    def run() -> None:
        confine(Confinement(hidden=hidden, is_read_only=True), newest=newest)
        argv = ["bash", "-c", command]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, cwd=folder, start_new_session=True
        )
        said.append(done.stdout)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return said[0]
