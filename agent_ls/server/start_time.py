"""Start time of this process in seconds since the epoch; start.py imports this module first."""

from __future__ import annotations

import time

STARTED_AT = time.time()
