from __future__ import annotations

import shlex

import pytest

from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.profiles.git_snapshot import (
    LOG_COMMAND,
    STATUS_COMMAND,
    GitSnapshot,
    find_git_root,
    take_git_snapshot,
)
from tests.support.reports import reported
from tests.support.tool_calls import result

HEAD = "0123456789abcdef0123456789abcdef01234567"
CONFIG = "[core]\n\trepositoryformatversion = 0\n"
REPOSITORY = {
    ".git/HEAD": "ref: refs/heads/feature/x\n",
    ".git/refs/heads/feature/x": f"{HEAD}\n",
    ".git/config": CONFIG,
}
STATUS = " M a.py\nA  b.py\n?? c.py\n?? new/\n"
LOG = "0123456 Add the cart\n89abcde First commit\n"


class Git:
    """Simulates `git status` and `git log` with fixed results, and records each run in `runs`."""

    def __init__(self, status: ExecResult | None = None, log: ExecResult | None = None) -> None:
        self.answers = {STATUS_COMMAND: status or result(STATUS), LOG_COMMAND: log or result(LOG)}
        self.runs: list[tuple[str, CommandOptions]] = []

    async def __call__(
        self, command: str, options: CommandOptions, on_output: OutputSink | None
    ) -> ExecResult:
        self.runs.append((command, options))
        return self.answers[command]


def environment(git: Git, files: dict[str, str] | None = None, cwd: str = "/project") -> MemoryEnvironment:
    placed = {f"/project/{path}": text for path, text in (REPOSITORY if files is None else files).items()}
    return MemoryEnvironment(placed, working_directory=cwd, run_command=git)


@pytest.mark.req("O4")
async def test_snapshot_when_trusted_then_branch_counts_and_commits_are_reported() -> None:
    git = Git()
    assert await take_git_snapshot(environment(git), trusted=True) == GitSnapshot(
        root="/project",
        branch="feature/x",
        head=HEAD,
        changed=2,
        untracked=2,
        commits=("0123456 Add the cart", "89abcde First commit"),
    )


@pytest.mark.req("O4")
async def test_snapshot_when_taken_then_git_runs_hardened_in_the_root() -> None:
    git = Git()
    await take_git_snapshot(environment(git, cwd="/project/src"), trusted=True)
    assert [options.working_dir for _, options in git.runs] == ["/project", "/project"]
    for command, options in git.runs:
        words = shlex.split(command)
        assert words[:2] == ["git", "--no-pager"]
        settings = {words[i + 1] for i, word in enumerate(words) if word == "-c"}
        assert {"core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false"} <= settings
        assert options.env_vars["GIT_OPTIONAL_LOCKS"] == "0"
    assert "--ignore-submodules=all" in STATUS_COMMAND
    assert {"--no-ext-diff", "--no-textconv"} <= set(shlex.split(LOG_COMMAND))


BARE_FACTS = GitSnapshot("/project", "feature/x", HEAD)


@pytest.mark.req("O4")
@pytest.mark.parametrize(
    ("config", "trusted"),
    [
        pytest.param(CONFIG, False, id="not-trusted"),
        pytest.param('[filter "x"]\n\tclean = evil\n', True, id="filter"),
        pytest.param("[FILTER.x]\n\tclean = evil\n", True, id="filter-old-spelling"),
        pytest.param("[core] fsmonitor = evil\n", True, id="fsmonitor-on-the-section-line"),
        pytest.param("[core]\n\tFsMonitor = evil\n", True, id="fsmonitor"),
        pytest.param("[include]\n\tpath = ../evil\n", True, id="include"),
        pytest.param('[includeIf "gitdir:x"]\n\tpath = ../evil\n', True, id="include-if"),
        pytest.param("", True, id="empty-config-is-suspicious"),
    ],
)
async def test_snapshot_when_git_could_start_a_program_then_only_files_are_read(
    config: str, trusted: bool
) -> None:
    git = Git()
    snapshot = await take_git_snapshot(
        environment(git, REPOSITORY | {".git/config": config}), trusted=trusted
    )
    assert snapshot == BARE_FACTS
    assert not git.runs


async def test_snapshot_when_the_worktrees_own_config_defines_a_filter_then_git_is_not_run() -> None:
    git = Git()
    files = REPOSITORY | {".git/config.worktree": '[filter "x"]\n'}
    assert await take_git_snapshot(environment(git, files), trusted=True) == BARE_FACTS
    assert not git.runs


@pytest.mark.parametrize(
    ("files", "branch", "head"),
    [
        reported(
            "steveukx/git-js#693",
            {".git/HEAD": f"{HEAD}\n"},
            "",
            HEAD,
            id="detached",
        ),
        pytest.param({".git/HEAD": "ref: refs/heads/main\n"}, "main", "", id="no-commit-yet"),
        pytest.param(
            {
                ".git/HEAD": "ref: refs/heads/main\n",
                ".git/packed-refs": f"# pack-refs\n{'f' * 40} refs/heads/other\n{HEAD} refs/heads/main\n",
            },
            "main",
            HEAD,
            id="packed",
        ),
        pytest.param(
            {
                ".git": "gitdir: /main/.git/worktrees/w\n",
                "/main/.git/worktrees/w/HEAD": "ref: refs/heads/side\n",
                "/main/.git/worktrees/w/commondir": "../..\n",
                "/main/.git/refs/heads/side": f"{HEAD}\n",
            },
            "side",
            HEAD,
            id="linked-worktree",
        ),
        pytest.param({".git/HEAD": "ref: ../../etc/passwd\n"}, "", "", id="ref-that-leaves"),
        pytest.param({".git/HEAD": "ref: refs/heads/x\nmore\n"}, "", "", id="more-than-a-ref"),
        pytest.param({".git/x": ""}, "", "", id="damaged"),
    ],
)
async def test_snapshot_when_read_from_files_then_branch_and_head_are_found(
    files: dict[str, str], branch: str, head: str
) -> None:
    placed = MemoryEnvironment(files)
    assert await take_git_snapshot(placed, trusted=False) == GitSnapshot("/project", branch, head)


@pytest.mark.parametrize(
    ("git", "expected"),
    [
        pytest.param(Git(status=result("fatal", 128)), (None, None, 2), id="status-fails"),
        pytest.param(Git(log=result("", -15, timed_out=True)), (2, 2, 0), id="log-is-too-slow"),
        pytest.param(Git(status=result("")), (0, 0, 2), id="clean"),
    ],
)
async def test_snapshot_when_a_command_fails_then_the_rest_is_reported(
    git: Git, expected: tuple[int | None, int | None, int]
) -> None:
    snapshot = await take_git_snapshot(environment(git), trusted=True)
    assert (snapshot.changed, snapshot.untracked, len(snapshot.commits)) == expected


async def test_git_snapshot_is_read_from_files_if_the_environment_cannot_run_commands() -> None:
    files = {f"/project/{path}": text for path, text in REPOSITORY.items()}
    assert await take_git_snapshot(MemoryEnvironment(files), trusted=True) == BARE_FACTS


async def test_snapshot_when_there_is_no_repository_then_it_is_empty() -> None:
    git = Git()
    assert await take_git_snapshot(environment(git, {"a": ""}), trusted=True) == GitSnapshot()
    assert not git.runs


@pytest.mark.parametrize(
    ("cwd", "root"), [("/project", "/project"), ("/project/a/b", "/project"), ("/elsewhere", "")]
)
async def test_git_root_when_looked_for_then_the_nearest_folder_above_counts(cwd: str, root: str) -> None:
    assert await find_git_root(environment(Git(), cwd=cwd)) == root


@pytest.mark.req("O4", "X7")
@pytest.mark.parametrize("text", ["a secret\n", "secret", "refs/heads/x\nmore\n", "refs/heads/a b\n"])
async def test_a_file_in_place_of_a_branch_name_is_not_shown(text: str) -> None:
    files = {**REPOSITORY, ".git/rebase-apply/head-name": text}
    assert (await take_git_snapshot(environment(Git(), files), trusted=True)).operation == "rebase"
