"""The prefix of every request of a session: system prompt and tools, and the sources from which they were
built.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, TypeAlias

from agent_ls.llm.requests import ToolDefinition

LostBy: TypeAlias = Literal["model", "tools", "documents", "instructions"]


@dataclass(frozen=True, slots=True)
class Prefix:
    """A request prefix. `text` is the system prompt; the other fields identify the sources of the prefix, so
    that changes are detected.

    `documents` is the digest of the project documents, `documents_chars` their size within `text`.
    """

    text: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    provider: str = ""
    model: str = ""
    instructions: str = ""
    documents: str = ""
    documents_chars: int = 0
    tools_chars: int = field(default=0, compare=False)

    def find_difference(self, now: Prefix) -> LostBy | None:
        """Return the first source that differs between this prefix and `now`; None if all sources are equal."""
        if (self.provider, self.model) != (now.provider, now.model):
            return "model"
        if self.tools != now.tools:
            return "tools"
        if self.documents != now.documents:
            return "documents"
        return "instructions" if self.instructions != now.instructions else None


def digest_of(documents: str) -> str:
    """Return a digest of the project documents, "" for no documents."""
    return sha256(documents.encode("utf-8", "replace")).hexdigest()[:16] if documents else ""


def tools_chars(tools: Sequence[ToolDefinition]) -> int:
    """Return the approximate number of code points that the tool definitions take in a request."""
    return sum(len(t.name) + len(t.description) + len(json.dumps(t.parameters)) for t in tools)
