"""This machine: files, processes, search."""

from __future__ import annotations

from agent_ls.environments.local.environ import EnvPolicy, EnvRules
from agent_ls.environments.local.environment import LocalEnvironment, LocalLimits

__all__ = ["EnvPolicy", "EnvRules", "LocalEnvironment", "LocalLimits"]
