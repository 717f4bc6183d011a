"""Standing attacks: for each surface a generator of attacks, judged by what they really do.

A surface is a place where others' text decides what runs or is read: command lines, code and scripts in them, hooks,
definitions of MCP servers, messages of other machines, requests to the panel, front matter of skills, git folders.
**A new surface needs its generator here**, in a file of its own:

- `surface.py` yields attacks from a seed, so that each failure can be repeated;
- `test_surface.py` carries them out and asks the world, not our code, what happened: a file was made, a file from
  outside was read, a connection was opened;
- each run tries about 300, and 20,000 with AGENT_LS_SWEEPS=whole (`while_in_time`, so that CI can end a sweep at a
  time); runs of over three seconds are in the group `sweeps`;
- AGENT_LS_SWEEPS_SEED is added to the seed of each generator (`seeded`), to try others than CI does;
- each layer of protection is tried alone, and a test shows that the oracle notices an attack that succeeds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"
_UNTIL = int(os.environ.get("AGENT_LS_SWEEPS_UNTIL", "0"))
_MORE = int(os.environ.get("AGENT_LS_SWEEPS_SEED", "0"))

Each = TypeVar("Each")


def seeded(seed: int) -> int:
    """Return the seed of a generator in this run."""
    return seed + _MORE


def while_in_time(attacks: Iterable[Each]) -> Iterator[Each]:
    """Yield attacks until the time for sweeps (the Unix time AGENT_LS_SWEEPS_UNTIL) is over."""
    for attack in attacks:
        yield attack
        if _UNTIL and time.time() > _UNTIL:
            return
