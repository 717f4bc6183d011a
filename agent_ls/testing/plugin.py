"""The pytest option --agent-ls-environment. pytest loads this module by itself where agent-ls is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agent_ls.testing.environment_factory import EnvironmentFactory

OPTION = "--agent-ls-environment"
SUITE = str(Path(__file__).with_name("environment.py"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("agent-ls").addoption(
        OPTION,
        metavar="MODULE:NAME",
        help="run the contract tests of environments on MODULE.NAME: an EnvironmentFactory, a list of them, "
        "or a function (folder, files) that returns an environment",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the suite to the tests of the command line. Without tests there, only the suite runs."""
    given = config.getoption(OPTION)
    if not given:
        return
    from agent_ls.testing.environment_factory import choose_factories

    choose_factories(_load(given, config.invocation_params.dir))
    is_named = config.args_source is pytest.Config.ArgsSource.ARGS
    named = [it for it in config.args if it != SUITE] if is_named else []
    config.args = [*named, SUITE]


def pytest_report_header(config: pytest.Config) -> list[str]:
    if not config.getoption(OPTION):
        return []
    from agent_ls.testing.environment_factory import chosen_factories

    return [f"agent-ls environment: {_describe(factory)}" for factory in chosen_factories()]


def _describe(factory: EnvironmentFactory) -> str:
    parts = {
        "writing": factory.writes,
        "commands": factory.runs_commands,
        "background processes": factory.starts_processes,
    }
    left_out = [part for part, is_there in parts.items() if not is_there]
    return f"{factory} (not tested, because it has none: {', '.join(left_out)})" if left_out else str(factory)


def _load(given: str, folder: Path) -> Sequence[EnvironmentFactory]:
    """Return the factories that `given` names. `folder` is searched for the module first, as by `python -m pytest`."""
    from agent_ls.testing.environment_factory import EnvironmentFactory

    module, _, name = given.partition(":")
    if not module or not name:
        raise pytest.UsageError(f"{OPTION}={given}: write MODULE:NAME, for example my_environment:make")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise pytest.UsageError(f"{OPTION}={given}: {error}") from error
    if callable(found) and not isinstance(found, type):
        return [EnvironmentFactory(name, found)]
    factories = list(found) if isinstance(found, Iterable) else [found]
    if not factories or not all(isinstance(it, EnvironmentFactory) for it in factories):
        raise pytest.UsageError(
            f"{OPTION}={given}: it is no EnvironmentFactory, no list of them, and no function (folder, files)"
        )
    return factories
