"""Contract tests for environments of your own (environment.py). Needs pytest."""

from __future__ import annotations

import pytest

# makes failed assertions as detailed as those of a test file
pytest.register_assert_rewrite("agent_ls.testing.environment")
