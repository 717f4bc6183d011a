"""The version of agent-ls. The module imports nothing, so that the version can be read quickly."""

from __future__ import annotations

__version__ = "0.1.0"
