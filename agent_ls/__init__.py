"""agent-ls: a coding agent that lives in the editor's own protocol.

For programs (docs/library.md): `open_session` gives a session, `tool` makes a tool of a function. Everything is loaded
when it is first asked for, so that importing this costs nothing.
"""

from __future__ import annotations

from importlib import import_module

from agent_ls._version import __version__

TYPE_CHECKING = False  # as typing has it, which an editor's first answer need not wait for

if TYPE_CHECKING:
    from typing import Any

    from agent_ls.app.errors import AppError as AppError
    from agent_ls.environments.base import ExecutionEnvironment as ExecutionEnvironment
    from agent_ls.environments.local import LocalEnvironment as LocalEnvironment
    from agent_ls.environments.memory import MemoryEnvironment as MemoryEnvironment
    from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment as ForwardingEnvironment
    from agent_ls.library.session import (
        AgentSession as AgentSession,
        Approver as Approver,
        Event as Event,
        open_session as open_session,
    )
    from agent_ls.library.tools import tool as tool
    from agent_ls.llm.generate import (
        generate as generate,
        generate_object as generate_object,
        stream as stream,
        stream_object as stream_object,
    )
    from agent_ls.loop.approval import Answer as Answer
    from agent_ls.loop.events import ApprovalRequested as ApprovalRequested
    from agent_ls.tools.base import Tool as Tool

_PLACES = {
    "AgentSession": "library.session",
    "Answer": "loop.approval",
    "AppError": "app.errors",
    "ApprovalRequested": "loop.events",
    "Approver": "library.session",
    "Event": "library.session",
    "ExecutionEnvironment": "environments.base",
    "ForwardingEnvironment": "environments.wrappers.forwarding",
    "LocalEnvironment": "environments.local",
    "MemoryEnvironment": "environments.memory",
    "Tool": "tools.base",
    "generate": "llm.generate",
    "generate_object": "llm.generate",
    "open_session": "library.session",
    "stream": "llm.generate",
    "stream_object": "llm.generate",
    "tool": "library.tools",
}

__all__ = [
    "AgentSession",
    "Answer",
    "AppError",
    "ApprovalRequested",
    "Approver",
    "Event",
    "ExecutionEnvironment",
    "ForwardingEnvironment",
    "LocalEnvironment",
    "MemoryEnvironment",
    "Tool",
    "__version__",
    "generate",
    "generate_object",
    "open_session",
    "stream",
    "stream_object",
    "tool",
]


def __getattr__(name: str) -> Any:
    if place := _PLACES.get(name):
        return getattr(import_module(f"agent_ls.{place}"), name)
    raise AttributeError(f"module 'agent_ls' has no attribute {name!r}")
