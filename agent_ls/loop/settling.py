"""Emit the end events that the interrupted turn of a stored session lacks."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.loop.emission import EventEmitter
from agent_ls.loop.restored import Settlement
from agent_ls.loop.turns import Turn


def emit_settlement(settlement: Settlement, emitter: EventEmitter, record: Callable[[Turn], None]) -> None:
    emitter.turn_id = settlement.turn_id
    for agent_id, event in settlement.agents:
        emitter.emit(event, agent_id)
    for event in settlement.ends:
        emitter.emit(event)
    for turn in settlement.turns:
        record(turn)
    for event in settlement.last:
        emitter.emit(event)
    emitter.turn_id = ""
