"""What `import agent_ls` gives. It is thin on purpose: what is named here has to be kept."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import agent_ls

ROOT = Path(__file__).resolve().parent.parent


def test_the_public_names_are_these() -> None:
    assert agent_ls.__all__ == [
        "AgentSession",
        "Answer",
        "AppError",
        "ApprovalRequested",
        "Approver",
        "Event",
        "ExecutionEnvironment",
        "ForwardingEnvironment",
        "LocalEnvironment",
        "MemoryEnvironment",
        "Tool",
        "__version__",
        "generate",
        "generate_object",
        "open_session",
        "stream",
        "stream_object",
        "tool",
    ]
    assert all(hasattr(agent_ls, name) for name in agent_ls.__all__)
    assert not hasattr(agent_ls, "no_such_name")


def test_the_package_has_the_version_that_it_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "agent_ls._version.__version__"}
    newest = next(
        line for line in (ROOT / "docs/changelog.md").read_text().splitlines() if line.startswith("## ")
    )
    assert newest.split()[1] == agent_ls.__version__


def test_importing_the_package_loads_nothing_but_itself() -> None:
    """The server answers its editor before anything heavy is loaded."""
    program = (
        "import sys; before = set(sys.modules); import agent_ls; print(*sorted(set(sys.modules) - before))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) <= {"__future__", "agent_ls", "agent_ls._version"}


def test_the_command_line_says_the_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_ls", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["agent-ls", agent_ls.__version__]
