"""Enter the command line: a Ctrl-C during the imports, or before a server has its first message, ends it silently."""

from __future__ import annotations

INTERRUPTED = 130  # that of agent_ls.system, which is not imported yet


def main() -> int:
    """Run the command line, and return the exit code of the process."""
    try:
        from agent_ls.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
