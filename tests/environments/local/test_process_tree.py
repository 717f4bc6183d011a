"""The process table read from /proc and from ps, and that other programs' processes are never ended."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import anyio
import pytest

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.local.trees.process_tree import (
    MARK_VARIABLE,
    Root,
    end,
    members_in,
    parents_first,
    process_table,
    rows_of_ps,
)
from agent_ls.environments.local.trees.rows import Row

pytestmark = pytest.mark.req("T5")

NOBODY = Root(frozenset(), "a mark that no process has")


def members(root: Root) -> set[Row]:
    return members_in(process_table(), root, frozenset())


@contextmanager
def counted_tables() -> Iterator[list[int]]:
    """Yield a list with the number of process tables that have been read in the block."""
    count = [0]

    def called(frame: FrameType, event: str, argument: object) -> None:
        count[0] += event == "call" and frame.f_code is process_table.__code__

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        yield count
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.req("L5")
async def test_few_process_tables_are_read_after_a_command_and_at_the_end(tmp_path: Path) -> None:
    """A table takes as long as ten to a hundred other system calls, on a machine with many programs far longer."""
    environment = LocalEnvironment(str(tmp_path))
    await environment.initialize()
    with counted_tables() as count:
        await environment.exec_command("true", CommandOptions(argv=("true",), is_own_program=True))
        assert count == [0]
        await environment.exec_command("true", CommandOptions())
        assert count[0] <= 1
        await environment.cleanup()
    assert count[0] <= 4


@pytest.mark.skipif(shutil.which("ps") is None, reason="no ps")
def test_proc_and_ps_give_the_same_process_table_row_for_this_process() -> None:
    ours = [
        next(row for row in table if row.pid == os.getpid())
        for table in (process_table(), list(rows_of_ps()))
    ]
    assert {(row.parent, row.group, row.is_zombie) for row in ours} == {(os.getppid(), os.getpgid(0), False)}


def test_process_table_rows_are_equal_if_pid_and_start_time_are_equal() -> None:
    row = Row(7, "123", parent=2, group=7, session=7, is_zombie=False)
    assert row == Row(7, "123", parent=1, group=9, session=9, is_zombie=True)
    assert row != Row(7, "124", parent=2, group=7, session=7, is_zombie=False)


async def test_ending_a_process_tree_without_processes_returns_at_once_and_ends_no_process() -> None:
    async with await anyio.open_process(["sleep", "1000"]) as stranger:
        assert members(NOBODY) == set()
        with anyio.fail_after(240):
            assert await end(NOBODY, grace_seconds=1000) == []
        assert stranger.returncode is None
        stranger.kill()


def test_the_processes_of_a_posix_session_to_end_never_include_the_current_process() -> None:
    assert os.getpid() not in {row.pid for row in members(Root(frozenset({os.getsid(0)}), "none"))}


@pytest.mark.req("L16")
def test_a_shell_is_signalled_before_its_children() -> None:
    def row(pid: int, started: str, parent: int) -> Row:
        return Row(pid, started, parent, 7, 7, is_zombie=False)

    leader, early, late, wrapped = row(7, "50", 1), row(90, "60", 7), row(80, "70", 90), row(3, "1000", 80)
    root = Root(frozenset({7}), "mark")
    assert parents_first({wrapped, late, early, leader}, root) == [leader, early, late, wrapped]
    unknown = Root(frozenset(), "mark")
    assert parents_first({early, leader, late}, unknown) == [leader, early, late]


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="no /proc")
async def test_only_processes_started_after_the_environment_are_searched_for_its_mark_variable() -> None:
    mark = uuid.uuid4().hex
    async with await anyio.open_process(["sleep", "1000"], env={MARK_VARIABLE: mark}) as marked:
        (row,) = members(Root(frozenset(), mark))
        assert row.pid == marked.pid
        assert members(Root(frozenset(), mark, since=int(row.started))) == {row}
        assert members(Root(frozenset(), mark, since=int(row.started) + 1)) == set()
        marked.kill()
