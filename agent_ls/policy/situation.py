"""The inputs of a policy decision in addition to the effect, and the types of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import path as ospath
from typing import Literal, TypeAlias

from agent_ls.environments.effects import AskCause
from agent_ls.policy.places import Places
from agent_ls.policy.rules import Rule

Mode: TypeAlias = Literal["plan", "ask", "edits", "full"]
ReviewSetting: TypeAlias = Literal["after", "before"]
Category: TypeAlias = Literal["read", "write", "admin"]
Confining: TypeAlias = Literal["available", "unavailable", "failed"]
UnconfinedSetting: TypeAlias = Literal["ask", "trust"]


@dataclass(frozen=True, slots=True)
class Allow:
    """The effect is allowed.

    `rules` are ids of the stored rules that allow the effect. `is_confined`: the command must run with
    confinement, or not at all.
    """

    reason: str = ""
    rules: tuple[str, ...] = ()
    is_confined: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """The effect needs approval.

    `rules` are offered with the question. `needs_approval_in_every_mode`: a user-defined tool that runs this
    command needs approval too, even if a stored rule allows the tool. `cause` is the kind of the reason.
    """

    reason: str
    rules: tuple[Rule, ...] = ()
    needs_approval_in_every_mode: bool = False
    cause: AskCause = "mode"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The effect is refused; `reason` is for the model."""

    reason: str


Judgement: TypeAlias = Allow | Ask | Refuse


@dataclass(frozen=True, slots=True)
class Situation:
    """The inputs of a decision in addition to the effect.

    `places` classifies paths. `resolved` maps each path of the effect to its real path. `leads` are the paths
    to which patterns and links in a command resolve. `doubt` says why files on disk make approval necessary for
    an effect that looks harmless, "" for none. `grants` are ids of stored rules that still apply. `review`
    before: edits are reviewed hunk by hunk before they are applied. `is_trusted` False: the user has not
    trusted the workspace, so the rules of mode plan apply. `why_not_trusted` is the reason that was given, "" for
    none. `is_sandbox_available` False: a sandbox is
    configured but not available, so all commands need approval. `category` is the category of the tool, None if
    the effect is not caused by a tool. `confinement` says whether a read-only command can be confined here;
    `failed`: this command failed under confinement, so the rules for commands that are not read-only apply.
    `unconfined` is the setting for read-only commands where confinement is not available. `config` is a
    sentence about a file of the project that may decide what a command runs, so that the command does not count
    as read-only; "" for none. `folders` are the read paths outside the workspace that are folders.
    `folders_exist`: the folders to which a read-only command changes exist. `beside` are the names in the folders
    above the effect's files; None if they are unknown. `created` are the paths of a command that name files of
    which everything is the work of this session and not yet kept by the user.
    """

    mode: Mode
    places: Places
    grants: frozenset[str] = frozenset()
    resolved: Mapping[str, str] = field(default_factory=dict)
    leads: Sequence[str] = ()
    doubt: str = ""
    review: ReviewSetting = "after"
    is_sandbox_available: bool = True
    is_trusted: bool = True
    why_not_trusted: str = ""
    category: Category | None = None
    confinement: Confining = "available"
    unconfined: UnconfinedSetting = "ask"
    config: str = ""
    folders: frozenset[str] = frozenset()
    folders_exist: bool = False
    beside: frozenset[str] | None = None
    created: frozenset[str] = frozenset()

    @property
    def held_back(self) -> str:
        """The reason why nothing may be changed or run, "" if there is none."""
        if not self.is_trusted:
            why = f" ({self.why_not_trusted})" if self.why_not_trusted else ""
            return f"the workspace is not trusted{why}"
        return "plan mode" if self.mode == "plan" else ""

    def views(self, paths: Sequence[str]) -> Iterator[str]:
        """Yield each path as resolved and, if different, as given with `..` removed.

        The resolved path comes first: it is the path for display and for rules.
        """
        for path in paths:
            given = ospath.normpath(path)
            real = self.resolved.get(path, given)
            yield real
            if given != real:
                yield given

    def outside(self, paths: Sequence[str]) -> str:
        """Return the first path (as resolved or as given) that is in no workspace folder, "" for none."""
        return next((view for view in self.views(paths) if not self.places.is_inside(view)), "")

    def denied(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_denied(view)), "")

    def ignored(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_ignored(view)), "")

    def own_ignored(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_own_ignored(view)), "")

    def sensitive(self, paths: Sequence[str]) -> str:
        """Return the first path that configures other programs and needs approval in this mode, "" for none."""
        always = self.mode == "full"
        return next((it for it in self.views(paths) if self.places.is_sensitive(it, always=always)), "")

    def own_state(self, paths: Sequence[str]) -> str:
        """Return the first path in the state folder, "" for none."""
        return next((view for view in self.views(paths) if self.places.is_own_state(view)), "")

    def secret(self, paths: Sequence[str]) -> str:
        return next((view for view in self.views(paths) if self.places.is_secret(view)), "")
