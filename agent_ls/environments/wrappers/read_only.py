"""An environment that refuses to write files.

Commands are forwarded: the policy decides whether a command may write.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import AccessDeniedError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class ReadOnlyEnvironment(ForwardingEnvironment):
    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        if not writes:
            return []
        raise AccessDeniedError(writes[0].path, "write operations are disabled in read-only mode")
