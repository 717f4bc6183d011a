"""agent-ls: a coding agent inside a language server (LSP).

The package is also a library (docs/library.md): `open_session` opens a session, and `tool` turns a function into a
tool. Each name is imported from its module when it is first used, so that importing the package takes almost no time.
"""

from __future__ import annotations

from importlib import import_module

from agent_ls._version import __version__

TYPE_CHECKING = False  # not imported from `typing`, because that import would delay the start

if TYPE_CHECKING:
    from typing import Any

    from agent_ls.app.errors import AppError as AppError
    from agent_ls.environments.base import ExecutionEnvironment as ExecutionEnvironment
    from agent_ls.environments.local import LocalEnvironment as LocalEnvironment
    from agent_ls.environments.memory import MemoryEnvironment as MemoryEnvironment
    from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment as ForwardingEnvironment
    from agent_ls.environments.wrappers.logging import LoggingEnvironment as LoggingEnvironment
    from agent_ls.environments.wrappers.read_only import ReadOnlyEnvironment as ReadOnlyEnvironment
    from agent_ls.library.blocking import (
        BlockingSession as BlockingSession,
        iterate_sync as iterate_sync,
        open_session_sync as open_session_sync,
        run_sync as run_sync,
    )
    from agent_ls.library.replies import (
        Answerer as Answerer,
        Approver as Approver,
        ChangeReviewer as ChangeReviewer,
        LimitExtender as LimitExtender,
    )
    from agent_ls.library.session import (
        AgentSession as AgentSession,
        Event as Event,
        open_session as open_session,
    )
    from agent_ls.library.tools import tool as tool
    from agent_ls.llm.adapter import ProviderAdapter as ProviderAdapter
    from agent_ls.llm.generate import (
        generate as generate,
        generate_object as generate_object,
        retry as retry,
        stream as stream,
        stream_object as stream_object,
    )
    from agent_ls.loop.calls.approval import ApprovalAnswer as ApprovalAnswer
    from agent_ls.loop.events.types import (
        ApprovalRequested as ApprovalRequested,
        Hunk as Hunk,
        QuestionAsked as QuestionAsked,
    )
    from agent_ls.profiles.base import ProviderProfile as ProviderProfile
    from agent_ls.profiles.create import create_profile as create_profile
    from agent_ls.tools.base import Tool as Tool
    from agent_ls.tools.registry import ToolRegistry as ToolRegistry

_PLACES = {
    "AgentSession": "library.session",
    "ApprovalAnswer": "loop.calls.approval",
    "Answerer": "library.replies",
    "AppError": "app.errors",
    "ApprovalRequested": "loop.events.types",
    "Approver": "library.replies",
    "BlockingSession": "library.blocking",
    "ChangeReviewer": "library.replies",
    "Event": "library.session",
    "ExecutionEnvironment": "environments.base",
    "ForwardingEnvironment": "environments.wrappers.forwarding",
    "Hunk": "loop.events.types",
    "LimitExtender": "library.replies",
    "LocalEnvironment": "environments.local",
    "LoggingEnvironment": "environments.wrappers.logging",
    "MemoryEnvironment": "environments.memory",
    "ProviderAdapter": "llm.adapter",
    "ProviderProfile": "profiles.base",
    "QuestionAsked": "loop.events.types",
    "ReadOnlyEnvironment": "environments.wrappers.read_only",
    "Tool": "tools.base",
    "ToolRegistry": "tools.registry",
    "create_profile": "profiles.create",
    "generate": "llm.generate",
    "generate_object": "llm.generate",
    "iterate_sync": "library.blocking",
    "open_session": "library.session",
    "open_session_sync": "library.blocking",
    "retry": "llm.generate",
    "run_sync": "library.blocking",
    "stream": "llm.generate",
    "stream_object": "llm.generate",
    "tool": "library.tools",
}

__all__ = [
    "AgentSession",
    "ApprovalAnswer",
    "Answerer",
    "AppError",
    "ApprovalRequested",
    "Approver",
    "BlockingSession",
    "ChangeReviewer",
    "Event",
    "ExecutionEnvironment",
    "ForwardingEnvironment",
    "Hunk",
    "LimitExtender",
    "LocalEnvironment",
    "LoggingEnvironment",
    "MemoryEnvironment",
    "ProviderAdapter",
    "ProviderProfile",
    "QuestionAsked",
    "ReadOnlyEnvironment",
    "Tool",
    "ToolRegistry",
    "__version__",
    "create_profile",
    "generate",
    "generate_object",
    "iterate_sync",
    "open_session",
    "open_session_sync",
    "retry",
    "run_sync",
    "stream",
    "stream_object",
    "tool",
]


def __getattr__(name: str) -> Any:
    if place := _PLACES.get(name):
        return getattr(import_module(f"agent_ls.{place}"), name)
    raise AttributeError(f"module 'agent_ls' has no attribute {name!r}")
