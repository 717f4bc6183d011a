"""The time limits for commands of a session."""

from __future__ import annotations

from agent_ls.loop.config import SessionConfig
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import ShellLimits


def command_limits(
    profile: ProviderProfile, config: SessionConfig, time_left_ms: int | None = None
) -> ShellLimits:
    """Return the time limits for commands. The profile's default timeout replaces the built-in default, but
    not a default that the user set. The default and the maximum are capped by the session's maximum and by
    the time left until a time limit.
    """
    cap = min(config.max_command_timeout_ms, time_left_ms or config.max_command_timeout_ms)
    default = config.default_command_timeout_ms
    if profile.shell_limits and default == ShellLimits().default_timeout_ms:
        default = profile.shell_limits.default_timeout_ms
    return ShellLimits(min(default, cap), cap)
