"""Run the command line of agent-ls: `python -m agent_ls`."""

from __future__ import annotations

import sys

from agent_ls.cli.entry import main

sys.exit(main())
