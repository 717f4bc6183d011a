"""What policy is told besides the effect, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import path as ospath
from typing import Literal, TypeAlias

from agent_ls.policy.places import Places
from agent_ls.policy.rules import Rule

Mode: TypeAlias = Literal["plan", "ask", "edits", "full"]
ReviewSetting: TypeAlias = Literal["after", "before"]
Category: TypeAlias = Literal["read", "write", "admin"]


@dataclass(frozen=True, slots=True)
class Allow:
    """`rules` are ids of the stored rules that allowed it."""

    reason: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """`is_never_silent`: no mode would have let it pass, so that whoever wrote it is asked as well."""

    reason: str
    rules: tuple[Rule, ...] = ()
    is_never_silent: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    reason: str


Judgement: TypeAlias = Allow | Ask | Refuse


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known besides the effect.

    `places` says where a path lies. `resolved` maps each path of the effect to its real path. `leads` are places
    that a command's patterns and links lead to. `doubt`: why what looks harmless is asked about all the same, as
    the disk shows. `grants` are ids of rules that the user stored and that still hold. `review` before: edits
    are shown hunk by hunk before they are made. `is_trusted` False: the user has not said that he trusts the
    workspace, so it is as in mode plan. `is_walled` False: the walls that were asked for do not stand, so
    all commands are asked. `category` is that of the tool whose effect it is, None for what no tool does.
    """

    mode: Mode
    places: Places
    grants: frozenset[str] = frozenset()
    resolved: Mapping[str, str] = field(default_factory=dict)
    leads: Sequence[str] = ()
    doubt: str = ""
    review: ReviewSetting = "after"
    is_walled: bool = True
    is_trusted: bool = True
    category: Category | None = None

    @property
    def held_back(self) -> str:
        """Why nothing may be changed or run at all, "" for no reason."""
        if not self.is_trusted:
            return "the user has not said that this workspace is trusted"
        return "plan mode" if self.mode == "plan" else ""

    def views(self, paths: Sequence[str]) -> Iterator[str]:
        """Each path as resolved, and as given with `..` folded: the real one is what is shown and granted."""
        for path in paths:
            given = ospath.normpath(path)
            real = self.resolved.get(path, given)
            yield real
            if given != real:
                yield given

    def outside(self, paths: Sequence[str]) -> str:
        """The first view that lies in no root, "" when all lie inside."""
        return next((view for view in self.views(paths) if not self.places.is_inside(view)), "")

    def denied(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_denied(view)), "")

    def ignored(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_ignored(view)), "")

    def sensitive(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_sensitive(view)), "")

    def secret(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_secret(view)), "")
