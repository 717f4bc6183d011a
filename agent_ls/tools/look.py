"""How clients show the calls of a tool: a kind, and two verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

LookKind: TypeAlias = Literal[
    "read", "search", "edit", "move", "delete", "execute", "fetch", "think", "other"
]


@dataclass(frozen=True, slots=True)
class Look:
    """The kind of a tool's calls, and the verbs in front of a call's summary, while it runs and when it is done.

    Without verbs, clients show the tool's name.
    """

    kind: LookKind = "other"
    doing: str = ""
    done: str = ""

    @property
    def in_event(self) -> tuple[LookKind, str, str]:
        """The fields `look`, `doing` and `done` of ToolCallStart."""
        return self.kind, self.doing, self.done


UNKNOWN = Look()
