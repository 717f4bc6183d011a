"""The environment contract, tested with the local environment on Windows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.testing.environment import *  # noqa: F403  # its tests and fixtures
from agent_ls.testing.environment_factory import EnvironmentFactory, write_files

pytestmark = [pytest.mark.req("H19", "X1", "T5", "T6")]


def local(folder: Path, files: Mapping[str, str | bytes], ripgrep: str | None = None) -> LocalEnvironment:
    write_files(folder, files)
    return LocalEnvironment(str(folder), ripgrep=ripgrep)


FACTORIES = [
    EnvironmentFactory("local", local),
    EnvironmentFactory("local without ripgrep", lambda folder, files: local(folder, files, ripgrep="")),
]
