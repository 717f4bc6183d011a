"""agent-ls: a coding agent that lives in the editor's own protocol."""

from __future__ import annotations

from agent_ls._version import __version__

__all__ = ["__version__"]
