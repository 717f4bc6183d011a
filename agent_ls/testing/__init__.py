"""Contract tests for your own implementations of ExecutionEnvironment (see environment.py). They need pytest."""

from __future__ import annotations

import pytest

# Failed assertions in this module are then reported in detail, like assertions in a test file.
pytest.register_assert_rewrite("agent_ls.testing.environment")
