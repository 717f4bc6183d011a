"""Run the contract suite of environments (agent_ls/testing/environment.py) on each environment of agent-ls."""

from __future__ import annotations

import pytest

from agent_ls.testing.environment import *  # noqa: F403  # its tests and fixtures
from tests.support.environments import FACTORIES as FACTORIES

pytestmark = [pytest.mark.req("X1", "T5", "T6"), pytest.mark.spec("loop 9.4.1")]
