"""The messages that a client of the local channel may send: messages that create, read and configure
sessions, send the user's input, and send the user's decisions.

A rollback counts as a decision. Completion is allowed because it only reads file names. Not allowed are
messages about API keys, trusted folders, stored rules, the editor's state and the unsent draft, and messages
that delete sessions.
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
