"""The session: performs what step.py decides; owns queues, events and cancellation.

Life: `async with anyio.create_task_group() as tg: tg.start_soon(session.run)`. All other methods are plain calls
from the event loop's thread: they change queues and wake `run`, and return at once. `run` returns when the
session is CLOSED.
"""

from __future__ import annotations

# Public surface (the contract for app/, headless/ and server/). Filled in below by the implementation.
#
# class Session:
#     def __init__(self, *, session_id, profile: ProviderProfile, environment: ExecutionEnvironment,
#                  client: ModelClient, approver: Approver, recorder: Recorder, clock: Clock,
#                  notices: NoticeBoard, config: SessionConfig, restored: Restored | None = None) -> None
#     id: SessionId; state: State; last_seq: int; profile; config; usage: Usage; history: History
#     async def run(self) -> None
#     def submit(self, text, *, images=(), when_busy="queue"|"steer"|"refuse", client_key="") -> Submitted
#     def steer(self, text, *, images=(), client_key="") -> SteerId
#     def unsteer(self, steer_id) -> bool                      False: already injected
#     def follow_up(self, text, *, images=(), client_key="") -> QueuedId
#     def interrupt(self) -> None                              the turn ends, the session lives
#     def abort(self) -> None                                  the session ends (CLOSED)
#     def configure(self, *, profile=None, config=None) -> AppliesFrom    from the next call or turn
#     def emit(self, event: RecordedEvent) -> Envelope         numbers, records, publishes
#     def emit_delta(self, delta: Delta) -> None
#     def subscribe(self) -> Subscription                      async iterator of Encoded, own pace (E2, E4)
#     def open_parts(self) -> tuple[Delta, ...]                text so far of open parts, offset 0
