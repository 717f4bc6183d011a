"""What the editor's terminal runs: `python -I -S start.py TOKEN_FILE`. It finds the package and hands over."""

from __future__ import annotations

import sys
from os.path import abspath, dirname

if __name__ == "__main__":
    # Behind the standard library: nothing that lies beside the package can stand in for a module of Python's.
    sys.path.append(dirname(dirname(dirname(abspath(__file__)))))
    from agent_ls.relay.program import main

    raise SystemExit(main(sys.argv))
