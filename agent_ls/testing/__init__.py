"""For tests of your own: the contract that every environment keeps (environment.py). Needs pytest."""

from __future__ import annotations

import pytest

# What fails in there says as much as in a file of tests.
pytest.register_assert_rewrite("agent_ls.testing.environment")
