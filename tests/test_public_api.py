"""Names that `import agent_ls` exports. They are few on purpose, because each one must be kept."""

from __future__ import annotations

import builtins
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import get_args

import agent_ls
import agent_ls.llm
from agent_ls.library.hints import HINTS
from agent_ls.loop.events.types import SessionEvent

ROOT = Path(__file__).resolve().parent.parent


VALUES = [
    "ContextParts",
    "CheckRun",
    "DiagnosedFile",
    "Hunk",
    "PlanItem",
    "QueueItem",
    "RevertedFile",
    "RuleOffer",
    "StateChange",
]
"""Classes of values in events."""

ERRORS = [
    "BadAnswerError",
    "BadChoiceError",
    "BadReplacementError",
    "CompactionOffError",
    "ConfigurationError",
    "ModelNeededError",
    "NothingToCompactError",
    "SessionBusyError",
    "SessionClosedError",
    "SessionError",
    "SessionOpenHereError",
    "SessionOwnedError",
    "TurnFailedError",
    "UnappliedChangesError",
    "UnknownApprovalError",
    "UnknownProviderError",
    "UnknownQuestionError",
    "UnknownSessionError",
    "UnreadableSessionError",
]
"""Classes of errors that functions and methods of a session raise, besides AppError."""

OTHERS = [
    "AgentSession",
    "Answerer",
    "AppError",
    "ApprovalAnswer",
    "Approver",
    "BasicEnvironment",
    "BlockingAdapter",
    "BlockingSession",
    "CallError",
    "ChangeReviewer",
    "ConflictRange",
    "Event",
    "EventStream",
    "ExecutionEnvironment",
    "ForwardingEnvironment",
    "ImagePart",
    "LimitExtender",
    "LocalEnvironment",
    "LoggingEnvironment",
    "MemoryEnvironment",
    "Mode",
    "ProviderAdapter",
    "ProviderProfile",
    "ReadOnlyEnvironment",
    "RecordedChange",
    "RollBackStoppedError",
    "RollbackFile",
    "RollbackResult",
    "ScriptedAnswer",
    "ScriptedModel",
    "SessionEntry",
    "SessionHistory",
    "SessionMatch",
    "SessionOpening",
    "Tool",
    "ToolOutput",
    "ToolRecord",
    "ToolRegistry",
    "Usage",
    "WorktreeFile",
    "__version__",
    "build_request",
    "create_profile",
    "delete_session",
    "generate",
    "generate_object",
    "iterate_sync",
    "list_sessions",
    "open_session",
    "open_session_sync",
    "read_patch",
    "read_session",
    "retry",
    "run_sync",
    "search_sessions",
    "stream",
    "stream_object",
    "tool",
]


def test_the_package_exports_exactly_the_expected_names() -> None:
    events = [event.__name__ for event in get_args(SessionEvent)]
    assert agent_ls.__all__ == sorted([*events, *VALUES, *ERRORS, *OTHERS])
    assert all(hasattr(agent_ls, name) for name in agent_ls.__all__)
    assert {*agent_ls.__all__} <= {*dir(agent_ls)} and {*agent_ls.llm.__all__} <= {*dir(agent_ls.llm)}
    assert not hasattr(agent_ls, "no_such_name")


def docstrings() -> Iterator[str]:
    """Yield the docstrings of the functions, and of the methods of a session."""
    for value in map(partial(getattr, agent_ls), agent_ls.__all__):
        if inspect.isroutine(value):
            yield value.__doc__ or ""
    for owner in (agent_ls.AgentSession, agent_ls.BlockingSession, agent_ls.EventStream):
        yield from (it.__doc__ or "" for _, it in inspect.getmembers(owner, inspect.isroutine))


def test_errors_that_docstrings_of_functions_name_can_be_imported() -> None:
    named = {name for text in docstrings() for name in re.findall(r"\b[A-Z]\w*Error\b", text)}
    assert {"BadChoiceError", "ConfigurationError", "SessionClosedError"} <= named
    known = {*agent_ls.__all__, *agent_ls.llm.__all__, *dir(builtins)}
    assert named - known == set()


def test_each_class_of_errors_that_has_a_hint_for_programs_can_be_caught_by_name() -> None:
    named = {it.__name__ for it in HINTS if not issubclass(it, agent_ls.BadChoiceError)}
    assert named <= {*agent_ls.__all__}


def test_the_package_version_equals_the_newest_changelog_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "agent_ls._version.__version__"}
    newest = next(
        line for line in (ROOT / "docs/changelog.md").read_text().splitlines() if line.startswith("## ")
    )
    assert newest.split()[1] == agent_ls.__version__


def test_importing_agent_ls_loads_no_other_modules() -> None:
    """A short import matters, because the server answers its editor before it imports larger modules."""
    program = (
        "import sys; before = set(sys.modules); import agent_ls; print(*sorted(set(sys.modules) - before))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) <= {"__future__", "agent_ls", "agent_ls._version"}


def test_the_command_line_prints_the_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_ls", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["agent-ls", agent_ls.__version__]


def test_each_public_name_can_be_loaded() -> None:
    for name in agent_ls.__all__:
        assert getattr(agent_ls, name) is not None, name
