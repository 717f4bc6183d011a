"""Entry point in the editor's terminal: `python -I -S start.py TOKEN_FILE`. Finds the package and runs the relay."""

from __future__ import annotations

import sys
from os.path import abspath, dirname

if __name__ == "__main__":
    # Appended after the standard library, so that files next to the package cannot replace its modules.
    sys.path.append(dirname(dirname(dirname(abspath(__file__)))))
    from agent_ls.relay.program import main

    raise SystemExit(main(sys.argv))
