"""python -m agent_ls: the command line."""

from __future__ import annotations

import sys

from agent_ls.cli.main import main

sys.exit(main())
