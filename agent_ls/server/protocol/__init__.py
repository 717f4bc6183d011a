"""All custom methods with their parameters and results (wire names: docs/protocol/).

camelCase on the wire, snake_case here. Unknown fields are ignored, so that a newer client can be served. The server
sends two notifications: `agent/event` (the envelope of loop/events/codec.py, with a `uri` added to each `path` in
`data` and in its hunks), and `agent/hunksMoved` (a FileHunks).

A class is imported from its module at its first use, because a session needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from agent_ls.server.protocol.base import (
    EVENT_METHOD as EVENT_METHOD,
    MOVED_METHOD as MOVED_METHOD,
    VERSION as VERSION,
    Access as Access,
    Empty as Empty,
    Mode as Mode,
    Params as Params,
    ReviewSetting as ReviewSetting,
    State as State,
    Wire as Wire,
)

if TYPE_CHECKING:
    from agent_ls.server.protocol.asked import *
    from agent_ls.server.protocol.blame import *
    from agent_ls.server.protocol.commits import *
    from agent_ls.server.protocol.editor import *
    from agent_ls.server.protocol.inputs import *
    from agent_ls.server.protocol.language import *
    from agent_ls.server.protocol.models import *
    from agent_ls.server.protocol.review import *
    from agent_ls.server.protocol.rules import *
    from agent_ls.server.protocol.servers import *
    from agent_ls.server.protocol.sessions import *
    from agent_ls.server.protocol.terminals import *
    from agent_ls.server.protocol.turns import *

# The first module that has a name is used. `sessions` and `turns`, which every session needs, are first.
_MODULES: Final = (
    "sessions", "turns", "inputs", "review", "editor", "terminals", "rules", "models", "servers", "commits", "blame",
    "language", "asked",
)  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take a misspelt name for Any

    def __getattr__(name: str) -> Any:
        if name[:1].isupper():
            for module in _MODULES:
                if found := vars(import_module(f"{__name__}.{module}")).get(name):
                    globals()[name] = found
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
