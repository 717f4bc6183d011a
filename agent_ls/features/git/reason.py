"""Pure: why a git command failed."""

from __future__ import annotations


def git_reason(errors: str) -> str:
    """Return why a git command failed, from what it wrote to standard error, in one line.

    That is the line that git marks as fatal, or the last one. If the folder belongs to another user, the command that
    git suggests is added.
    """
    lines = [line.strip() for line in errors.strip().splitlines()]
    fatal = [line for line in lines if line.startswith("fatal: ")]
    trusting = [line for line in lines if line.startswith("git config") and "safe.directory" in line]
    return "; if you trust it: ".join([*(fatal[:1] or lines[-1:] or ["no message"]), *trusting])
