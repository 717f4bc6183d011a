"""What a cut turn of a stored session still lacks, said before anything else (R4)."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.loop.emission import EventHub
from agent_ls.loop.restored import Settlement
from agent_ls.loop.turns import Turn


def settle(settlement: Settlement, hub: EventHub, record: Callable[[Turn], None]) -> None:
    hub.turn_id = settlement.turn_id
    for agent_id, event in settlement.agents:
        hub.emit(event, agent_id)
    for event in settlement.ends:
        hub.emit(event)
    for turn in settlement.turns:
        record(turn)
    for event in settlement.last:
        hub.emit(event)
    hub.turn_id = ""
