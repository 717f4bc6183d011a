"""The messages that a client of the local channel may send: messages that read a session, and the user's
decisions in it.

A roll back counts as a decision. Completion is allowed because it only reads names of files. Messages about
API keys, trusted folders, stored rules, the editor's draft and state, and deletion are not allowed.
"""

from __future__ import annotations

from agent_ls.server import protocol as wire

ALLOWED: frozenset[type[wire.Params]] = frozenset(
    (
        wire.AcceptPlan,
        wire.Answer,
        wire.Approve,
        wire.Commands,
        wire.Compact,
        wire.Complete,
        wire.Configure,
        wire.FollowUp,
        wire.History,
        wire.Hunks,
        wire.Interrupt,
        wire.Models,
        wire.NewSession,
        wire.Output,
        wire.Queue,
        wire.Revert,
        wire.Review,
        wire.Sessions,
        wire.Steer,
        wire.Submit,
        wire.Subscribe,
        wire.TakeOver,
        wire.TerminalKill,
        wire.Terminals,
        wire.Unsteer,
        wire.Unsubscribe,
    )
)
