"""Pure: why a git command failed."""

from __future__ import annotations

from itertools import takewhile

MAX_NAMES = 3


def git_reason(errors: str) -> str:
    """Return why a git command failed, from what it wrote to standard error, in one line.

    That is the line that git marks as fatal, else an error with a list of names, else the last line. The names below a
    line are added. If the folder belongs to another user, the command that git suggests is added.
    """
    lines = errors.strip().splitlines()
    listing = [at for at, line in enumerate(lines) if line.startswith("error: ") and _names_below(lines, at)]
    fatal = [at for at, line in enumerate(lines) if line.strip().startswith("fatal: ")]
    chosen = next(iter(fatal or listing), len(lines) - 1)
    reason = " ".join([lines[chosen].strip(), *_names_below(lines, chosen)]) if lines else "no message"
    trusting = [
        line for line in map(str.strip, lines) if line.startswith("git config") and "safe.directory" in line
    ]
    return "; if you trust it: ".join([reason, *trusting])


def _names_below(lines: list[str], at: int) -> list[str]:
    """Return the indented lines below a line that ends with a colon."""
    below = takewhile(lambda line: line.startswith(("\t", "    ")), lines[at + 1 :])
    names = [line.strip() for line in below] if lines[at].endswith(":") else []
    more = [f"and {len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else []
    return [", ".join([*names[:MAX_NAMES], *more])] if names else []
