"""Nested environment wrappers: each one works in every order (X4)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest

from agent_ls.environments.base import Attribution, CommandOptions, ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import AccessDeniedError, EnvError, OutsideBoundsError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.environments.wrappers.logging import LoggingEnvironment
from agent_ls.environments.wrappers.read_only import ReadOnlyEnvironment
from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
from agent_ls.services.permissions.paths import PathBounds, places_of
from tests.support.sandboxes import make_sandbox, needs_bubblewrap

pytestmark = pytest.mark.req("X4")

WHO = Attribution()
SHARE = 1 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 5
ORDERS = list(permutations(["logging", "read-only", "bounded", "sandboxed"]))[::SHARE]
"""The tested orders: every SHARE-th one, in which each wrapper is outermost once."""
Wrap = Callable[[ExecutionEnvironment], ExecutionEnvironment]


async def _stay(command: str, options: CommandOptions, at: str, is_read_only: bool) -> bool:
    return False


def wrappers(root: Path, said: list[str]) -> Mapping[str, Wrap]:
    return {
        "logging": lambda inner: LoggingEnvironment(inner, said.append),
        "read-only": ReadOnlyEnvironment,
        "bounded": lambda inner: BoundedEnvironment(inner, PathBounds(places_of(str(root))), opens_here=True),
        "sandboxed": lambda inner: SandboxedEnvironment(
            inner, make_sandbox(root, root.parent / "state"), _stay
        ),
    }


@needs_bubblewrap
@pytest.mark.sweep
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
async def test_each_environment_wrapper_works_in_every_nesting_order(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one")
    outside = tmp_path / "outside.txt"
    outside.write_text("another's")
    said: list[str] = []
    env: ExecutionEnvironment = LocalEnvironment(str(root))
    for name in order:
        env = wrappers(root, said)[name](env)
    await env.initialize()
    try:
        assert await env.read_bytes("a.txt") == b"one"
        with pytest.raises(AccessDeniedError):
            await env.commit([FileWrite("a.txt", b"two", b"one")], WHO)
        with pytest.raises(OutsideBoundsError):
            await env.read_bytes(str(outside))
        result = await env.exec_command(f"cat a.txt; echo x > {outside}", CommandOptions())
        assert "one" in result.output and result.exit_code != 0
    finally:
        await env.cleanup()
    assert (root / "a.txt").read_text() == "one" and outside.read_text() == "another's"
    assert any(
        re.fullmatch(r"read a\.txt: done, \d+ ms|read /\S+/a\.txt: done, \d+ ms", line) for line in said
    )
    assert any(line.startswith("run ") and "exit " in line for line in said)


async def test_logging_wrapper_logs_the_kind_of_a_failure_and_no_file_contents(tmp_path: Path) -> None:
    said: list[str] = []
    env = LoggingEnvironment(LocalEnvironment(str(tmp_path)), said.append)
    with pytest.raises(EnvError):
        await env.read_bytes("none.txt")
    await env.commit([FileWrite("new.txt", b"a secret", None)], WHO)
    started = await env.start_process("sleep 1000", CommandOptions())
    await env.kill_process(started.id)
    await env.cleanup()
    acts = [re.sub(r", \d+ ms$", "", line) for line in said]
    assert acts == [
        "read none.txt: not_found",
        "write new.txt: done",
        "start 'sleep 1000': p1",
        "kill p1: done",
    ]
