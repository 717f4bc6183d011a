"""SEAMS of the server: what it needs of the application layer behind it (app/ implements them)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from anyio.abc import TaskStatus

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.approval import Answer
from agent_ls.loop.events import ApprovalRequested, ApprovalResolved, Hunk
from agent_ls.loop.items import Item
from agent_ls.loop.redaction import Known
from agent_ls.loop.session import Session
from agent_ls.server.editor_host import DocumentListener
from agent_ls.server.protocol import Mode, ReviewSetting, State

if TYPE_CHECKING:
    from agent_ls.app.models import ModelChoice, ProviderChoice
    from agent_ls.app.owners import AccessChange
    from agent_ls.app.reading_along import ReadAlong
    from agent_ls.app.rolling_back import RolledBack, Wanted
    from agent_ls.store.locks import Owner

AppliesFrom: TypeAlias = Literal["now", "nextCall", "nextTurn"]


class Summary(Protocol):
    """A session as lists show it. Times are ISO 8601."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def state(self) -> State: ...
    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def effort(self) -> str | None: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def review(self) -> ReviewSetting: ...
    @property
    def workspace_folder(self) -> str: ...
    @property
    def created(self) -> str: ...
    @property
    def updated(self) -> str: ...
    @property
    def last_seq(self) -> int: ...
    @property
    def is_walkthrough(self) -> bool: ...
    @property
    def owner(self) -> Owner | None:
        """Another process that has it open."""
        ...


class Desk(Protocol):
    def answer(self, request_id: str, answer: Answer) -> ApprovalResolved:
        """The first answer wins; a later one gets the decision that stands.

        Raises:
            UnknownApprovalError.
        """
        ...

    def pending(self) -> tuple[ApprovalRequested, ...]: ...


class Stored(Protocol):
    """What the log of a session tells."""

    @property
    def latest(self) -> Mapping[str, bytes]:
        """The newest `usage` and `plan` event, encoded, by kind."""
        ...

    def events_since(self, seq: int, last: int | None = None) -> Sequence[bytes]:
        """Encoded recorded events with a higher number, in order, up to `last` (None: the newest).

        Blocks: for a thread. What was emitted before is there.
        """
        ...

    def snapshot(self, last: int, limit: int) -> Page:
        """The newest items as they were after the event number `last`. Blocks: for a thread."""
        ...


class Live(Stored, Protocol):
    """A session that is open in this process."""

    @property
    def session(self) -> Session: ...
    @property
    def desk(self) -> Desk: ...
    @property
    def environment(self) -> ExecutionEnvironment: ...

    def summary(self) -> Summary: ...

    async def configure(
        self,
        *,
        provider: str | None,
        model: str | None,
        effort: str | None,
        mode: Mode | None,
        review: ReviewSetting | None,
        limits: Mapping[str, float] | None = None,
    ) -> AppliesFrom: ...


class Review(DocumentListener, Protocol):
    """The ledger of hunks."""

    def open_hunks(
        self, *, session_id: str | None = None, path: str | None = None, turn_id: str | None = None
    ) -> dict[str, list[Hunk]]: ...

    def knows(self, path: str) -> bool:
        """Whether a session that is open here changed this file, or would."""
        ...

    def base_text(self, path: str) -> str | None: ...

    def proposed_text(self, path: str) -> str | None: ...

    def watch_texts(self, changed: Callable[[str], None]) -> None: ...

    async def review(
        self,
        *,
        verdict: Literal["keep", "undo"],
        hunk_ids: Sequence[str] | None = None,
        path: str | None = None,
        turn_id: str | None = None,
        session_id: str | None = None,
        comment: str = "",
        confirm: bool = False,
        lines: tuple[int, int] | None = None,
        replacement: str | None = None,
    ) -> tuple[list[Hunk], list[tuple[str, str]]]:
        """What changed, and ids that were left alone with the reason."""
        ...


class Models(Protocol):
    """The models of this process."""

    def choose(self, provider: str | None, model: str | None) -> tuple[str, str]:
        """The provider and model ("": its default) that a session gets when these are named."""
        ...

    def providers(self) -> Sequence[ProviderChoice]: ...

    def models(self) -> Sequence[ModelChoice]: ...

    def remember(self, provider: str, model: str) -> None:
        """New sessions begin with it, after this process too. Blocks. AppError: it cannot be written."""
        ...

    async def look(self) -> Sequence[ModelChoice]:
        """The models of servers that need no key and answer now; nothing is looked for otherwise."""
        ...


class Page(Protocol):
    """Items, newest first. `more`: there are older ones."""

    @property
    def items(self) -> Sequence[Item]: ...
    @property
    def more(self) -> bool: ...


class Archive(Protocol):
    """Sessions that are open here or only stored. All raise UnknownSessionError, and AppError when the disk fails."""

    async def history(self, session_id: str, before: int | None, limit: int) -> Page: ...

    async def keep_draft(self, session_id: str, draft: Mapping[str, Any]) -> None:
        """One whose fields are all empty takes the kept one away. The last one wins."""
        ...

    async def draft(self, session_id: str) -> dict[str, Any] | None: ...

    async def output(self, session_id: str, output_ref: str, offset: int, limit: int) -> OutputPart:
        """
        Raises:
            UnknownOutputError.
        """
        ...

    async def export(self, session_id: str, format_: Literal["markdown", "jsonl"]) -> str: ...


class HeldRule(Protocol):
    """A rule of the user. `workspace` and the times (ISO 8601) may be ""."""

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def scope(self) -> Literal["turn", "session", "project", "user"]: ...
    @property
    def workspace(self) -> str: ...
    @property
    def hits(self) -> int: ...
    @property
    def created(self) -> str: ...
    @property
    def used(self) -> str: ...


class Rules(Protocol):
    """Both raise UnknownSessionError for a session that is not open here."""

    async def rules(self, session_id: str | None, workspace: str | None) -> Sequence[HeldRule]: ...

    async def remove(self, rule_id: str, session_id: str | None, workspace: str | None) -> int:
        """How many were taken back.

        Raises:
            AppError: the disk failed.
        """
        ...


class DecidedFolder(Protocol):
    """A workspace that the user decided about. `decided` is ISO 8601."""

    @property
    def path(self) -> str: ...
    @property
    def owner(self) -> str: ...
    @property
    def trust(self) -> Literal["trusted", "restricted"]: ...
    @property
    def decided(self) -> str: ...


class Trust(Protocol):
    """Which workspaces the user trusts. `of_editor` is to tell those that he trusts in his editor,
    `on_change` is called after each decision."""

    of_editor: Callable[[], Sequence[str]]
    on_change: Callable[[], object]

    def standing(self, folder: str) -> Literal["trusted", "restricted", "unknown"]:
        """Blocks: for a thread."""
        ...

    def folders(self) -> Sequence[DecidedFolder]:
        """Blocks: for a thread."""
        ...

    async def decide(
        self, folder: str, trust: Literal["trusted", "restricted"] | None, by: str
    ) -> Literal["trusted", "restricted", "unknown"]:
        """None takes it back.

        Raises:
            AppError: the disk failed.
        """
        ...


class Mentions(Protocol):
    async def find(self, folder: str, query: str, limit: int, first: Sequence[str] = ()) -> Sequence[str]:
        """Paths below `folder`, relative to it, that fit `query`, best first; a folder's ends with `/`."""
        ...


class OutputPart(Protocol):
    """Counted in code points. `next_offset` None: this was the end."""

    @property
    def text(self) -> str: ...
    @property
    def total_chars(self) -> int: ...
    @property
    def next_offset(self) -> int | None: ...


class Owners(Protocol):
    """Which process owns a session."""

    def known_as(self, program: str) -> None:
        """What the user knows this process by."""
        ...

    def watch(self, listener: Callable[[AccessChange], None]) -> None:
        """Is told of each session that comes or goes while it is followed here."""
        ...

    def elsewhere(self, session_id: str) -> ReadAlong | None:
        """The session, if another process owns it and it is followed here."""
        ...

    def with_hunks(
        self, ids: Sequence[str] | None, path: str | None, turn_id: str | None
    ) -> ReadAlong | None:
        """A session of another process that these hunks belong to."""
        ...

    async def is_owned(self, session_id: str) -> bool:
        """Whether another process has it open now; False for one that there is not, too."""
        ...

    async def read_along(self, session_id: str) -> ReadAlong | None:
        """None: it is no other's any more, or was let go of meanwhile. Then it is to be opened, or asked for again.

        Raises:
            UnknownSessionError.
        """
        ...

    def demand(self, live: Any) -> None:
        """
        Raises:
            SessionBusyError: another process has taken it.
        """
        ...

    def demand_all(self) -> None:
        """As `demand`, of all sessions of this process."""
        ...


class Bench(Protocol):
    """All sessions of this process, and the ledger. `folders` tells those of the workspace that are open now."""

    folders: Callable[[], Sequence[str]]

    @property
    def models(self) -> Models: ...

    @property
    def mentions(self) -> Mentions: ...

    @property
    def secrets(self) -> Known:
        """Gives the keys that nobody is told."""
        ...

    @property
    def rules(self) -> Rules: ...

    @property
    def trust(self) -> Trust: ...

    @property
    def tells_user(self) -> bool:
        """Whether the user is told by a message that he is waited for or that a turn has ended (setting `notify`)."""
        ...

    def change_settings(self, options: Mapping[str, Any], *, is_trusted: bool) -> Sequence[str]:
        """The settings section as it is now; what is wrong with it, or has to wait until the workspace is trusted, a
        sentence each."""
        ...

    def files_changed(self, paths: Sequence[str]) -> None:
        """Others than this process have changed these files, or may have."""
        ...

    def set_credential(self, provider: str, secret: str | None) -> None:
        """From the next call of the model on; None forgets it.

        Raises:
            BadChoiceError: no such provider, or no key.
        """
        ...

    @property
    def archive(self) -> Archive: ...

    @property
    def review(self) -> Review: ...

    @property
    def owners(self) -> Owners: ...

    async def run(self, *, task_status: TaskStatus[None] = ...) -> None:
        """Owns the sessions, from when it says that it started. Cancelled: all of them end, in good order."""
        ...

    async def warm_up(self) -> None:
        """Makes ready what the first input would wait for. Never raises."""
        ...

    async def new_session(
        self,
        *,
        workspace_folder: str,
        provider: str | None,
        model: str | None,
        effort: str | None,
        mode: Mode | None,
        review: ReviewSetting | None,
        title: str | None,
    ) -> Live: ...

    async def open_session(self, session_id: str) -> Live:
        """The live one, or a stored one resumed.

        Raises:
            UnknownSessionError, SessionBusyError.
        """
        ...

    async def take_over(self, session_id: str, *, force: bool) -> Live:
        """
        Raises:
            OwnerSilentError, SessionBusyError, UnknownSessionError.
        """
        ...

    def live(self, session_id: str) -> Live | None: ...

    async def fork(self, session_id: str, at_turn: str) -> Live:
        """
        Raises:
            UnknownSessionError, BadChoiceError: no such turn, or it has not ended.
        """
        ...

    async def revert(self, session_id: str, wanted: Wanted) -> tuple[Live, RolledBack]:
        """
        Raises:
            UnknownSessionError, BadChoiceError: no such turn. loop.errors.SessionBusyError: a turn runs.
        """
        ...

    async def close_session(self, session_id: str) -> None:
        """
        Raises:
            UnknownSessionError.
        """
        ...

    async def delete_session(self, session_id: str, *, force: bool) -> None:
        """
        Raises:
            SessionHasHunksError, UnknownSessionError, SessionBusyError.
        """
        ...

    async def rename(self, session_id: str, title: str) -> Summary:
        """
        Raises:
            UnknownSessionError, SessionBusyError.
        """
        ...

    async def list_sessions(
        self, workspace_folder: str | None, cursor: str | None, limit: int, query: str
    ) -> tuple[Sequence[Summary], str | None]: ...
