"""The composition root of every face: settings, models, store and ledger, and the sessions that use them.

One supervisor (`run`) owns a task group in which each session is one task. Everything else hands work to it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import get_args

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from agent_ls.app.approver import PolicyApprover
from agent_ls.app.clock import SystemClock
from agent_ls.app.errors import AppError, BadChoiceError, SessionBusyError, UnknownSessionError
from agent_ls.app.ledgers import restore_ledgers
from agent_ls.app.live_session import LiveSession, SessionSummary
from agent_ls.app.models import WALKTHROUGH, make_profile
from agent_ls.app.notices import Notices
from agent_ls.app.prompts import SessionPrompts
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.reviewed_environment import ReviewedEnvironment
from agent_ls.app.settings import Settings
from agent_ls.app.stored import SessionFiles
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.editor_host import EditorHost
from agent_ls.environments.local import LocalEnvironment
from agent_ls.llm.client import Client, build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ProviderSettings
from agent_ls.llm.walkthrough import WalkthroughAdapter
from agent_ls.loop.approval import ApprovalDesk
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.ids import SessionId, new_id
from agent_ls.loop.restored import Restored
from agent_ls.loop.session import Session
from agent_ls.policy.decide import Mode
from agent_ls.store.errors import SessionLockedError, StoreError
from agent_ls.store.layout import SessionSummary as StoredSummary
from agent_ls.store.log import Header
from agent_ls.store.recovery import recover
from agent_ls.store.sessions import OpenSession, SessionStore

log = logging.getLogger(__name__)

STATE_VARIABLE = "AGENT_LS_STATE_DIR"


class Workbench:
    """`state_dir` None is the user's state folder; `editor_host` None: there is no editor."""

    def __init__(
        self,
        *,
        settings: Settings,
        credentials: Credentials,
        state_dir: Path | None = None,
        editor_host: EditorHost | None = None,
    ) -> None:
        self.settings = settings
        self.credentials = credentials
        self.review = ReviewDesk(lambda session_id: self._live.get(session_id))
        chosen = state_dir or (Path(folder) if (folder := os.environ.get(STATE_VARIABLE)) else None)
        self._store = SessionStore(chosen, on_failure=self._log_failed)
        self._host = editor_host
        self._clock = SystemClock()
        self._client = self._make_client()
        self._live: dict[str, LiveSession] = {}
        self._opening = anyio.Lock()
        self._group: TaskGroup | None = None

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Owns the sessions. Cancelled: all of them end, in good order."""
        async with anyio.create_task_group() as self._group:
            task_status.started()
            await anyio.sleep_forever()

    async def new_session(
        self,
        *,
        workspace_folder: str,
        provider: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        mode: Mode | None = None,
        title: str | None = None,
    ) -> LiveSession:
        """
        Raises:
            BadChoiceError: no such folder or provider. AppError: the store cannot be written.
        """
        folder = str(await anyio.Path(workspace_folder).absolute())
        if not await anyio.Path(folder).is_dir():
            raise BadChoiceError(f"no such folder: {folder}", "name the folder to work in")
        profile = make_profile(*self._choose(provider, model))
        session_id = SessionId(new_id("s"))
        header = Header(session_id, self._clock.now(), folder, profile.id, profile.model, title or "")
        with _store_errors(session_id):
            opened = await anyio.to_thread.run_sync(self._store.create, header)
        config = self._config(effort if effort is not None else self.settings.effort)
        live = self._assemble(
            opened, header, profile.id, profile.model, config, mode or self.settings.mode, None
        )
        self._start(live, opened)
        return live

    async def open_session(self, session_id: str) -> LiveSession:
        """The live one, or a stored one resumed.

        Raises:
            UnknownSessionError, SessionBusyError, AppError.
        """
        async with self._opening:  # two requests for one stored session must not both open it
            if live := self._live.get(session_id):
                if live.session.state != "CLOSED":
                    return live
                await live.ended.wait()
            with _store_errors(session_id):
                opened = await anyio.to_thread.run_sync(self._store.open, session_id)
            stored = opened.stored
            if stored is None:
                raise UnknownSessionError(session_id)
            for problem in stored.problems:
                log.warning("session %s: %s", session_id, problem)
            known = stored.fold.config
            live = self._assemble(
                opened,
                stored.header,
                str(known.get("provider") or stored.fold.provider or stored.header.provider),
                str(known.get("model") or stored.fold.model or stored.header.model),
                self._config(known.get("effort")),
                _mode(known.get("mode"), self.settings.mode),
                recover(stored, self._clock.now()),
            )
            self._start(live, opened)
            await restore_ledgers(self.review, live, stored)
            return live

    def live(self, session_id: str) -> LiveSession | None:
        return self._live.get(session_id)

    async def list_sessions(
        self, workspace_folder: str | None, cursor: str | None, limit: int
    ) -> tuple[Sequence[SessionSummary], str | None]:
        """Live and stored sessions, newest first; the cursor is where the next page begins."""
        stored = await anyio.to_thread.run_sync(self._store.sessions, workspace_folder)
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        page = stored[start : start + limit]
        more = str(start + limit) if len(stored) > start + limit else None
        return [self._summary(item) for item in page], more

    # -- inside

    def _choose(self, provider: str | None, model: str | None) -> tuple[str, str]:
        """Never a guess between providers: what was named, else the settings', else the first with a key."""
        named = provider or self.settings.provider
        if named:
            return named, model or (self.settings.model if named == self.settings.provider else "")
        # Without any key the session is made all the same, and its first input says what to do.
        return next(iter(self.credentials.providers), "anthropic"), model or self.settings.model

    def _config(self, effort: object) -> SessionConfig:
        settings = self.settings
        return SessionConfig(
            max_turns=settings.max_turns,
            max_tool_rounds_per_input=settings.max_tool_rounds_per_input,
            default_command_timeout_ms=settings.default_command_timeout_ms,
            max_command_timeout_ms=settings.max_command_timeout_ms,
            reasoning_effort=str(effort) if effort else None,
            user_instructions=settings.user_instructions,
        )

    def _make_client(self) -> Client:
        providers = {
            name: ProviderSettings(base_url=entry.base_url, headers=entry.headers, ca_file=entry.ca_file)
            for name, entry in self.settings.providers.items()
        }
        pause = partial(self._clock.sleep, self.settings.walkthrough_pause_ms / 1000)
        return build_client(self.credentials, providers, {WALKTHROUGH: WalkthroughAdapter(pause)})

    def _assemble(
        self,
        opened: OpenSession,
        header: Header,
        provider: str,
        model: str,
        config: SessionConfig,
        mode: Mode,
        restored: Restored | None,
    ) -> LiveSession:
        local = LocalEnvironment(header.workspace_folder)
        files: ExecutionEnvironment = EditorEnvironment(local, self._host) if self._host else local
        environment = ReviewedEnvironment(files, self.review)
        notices = Notices()
        stored = SessionFiles(opened, header)
        desk = PolicyApprover(
            roots=(header.workspace_folder,),
            mode=mode,
            desk=ApprovalDesk(lambda event: session.emit(event)),
        )
        session = Session(
            session_id=SessionId(header.session_id),
            profile=make_profile(provider, model),
            environment=environment,
            client=self._client,
            approver=desk,
            recorder=opened.recorder,
            clock=self._clock,
            notices=notices,
            config=config,
            restored=restored,
            prompts=SessionPrompts(local, trusted=False),
        )
        return LiveSession(
            session=session, desk=desk, environment=environment, files=files, notices=notices, stored=stored
        )

    def _start(self, live: LiveSession, opened: OpenSession) -> None:
        if self._group is None:
            raise AppError("the workbench is not running")
        self._live[live.session.id] = live
        self._group.start_soon(self._live_out, live, opened)

    async def _live_out(self, live: LiveSession, opened: OpenSession) -> None:
        """One session's task, from its start to its last line."""
        try:
            await live.environment.initialize()
            await live.session.run()
        except Exception:  # the supervisor's edge: one session must not end the others (R5)
            log.exception("session %s ended by an error of ours", live.session.id)
        finally:
            with anyio.CancelScope(shield=True):  # bounded: TERM, two seconds, KILL
                await live.environment.cleanup()
            opened.close()
            self._live.pop(live.session.id, None)
            live.ended.set()

    def _summary(self, stored: StoredSummary) -> SessionSummary:
        header = stored.header
        if live := self._live.get(header.session_id):
            return live.summary()
        return SessionSummary(
            id=header.session_id,
            title=stored.title,
            state="IDLE",
            provider=header.provider,
            model=header.model,
            effort=None,
            mode=self.settings.mode,
            workspace_folder=header.workspace_folder,
            created=header.created,
            updated=stored.updated,
            last_seq=stored.last_seq,
            is_walkthrough=header.provider == WALKTHROUGH,
        )

    def _log_failed(self, session_id: str, error: OSError) -> None:
        log.error("the log of session %s cannot be written: %s", session_id, error)


@contextmanager
def _store_errors(session_id: str) -> Iterator[None]:
    try:
        yield
    except SessionLockedError as error:
        raise SessionBusyError(session_id, error.owner) from None
    except StoreError as error:
        raise UnknownSessionError(session_id, str(error)) from None
    except OSError as error:
        raise AppError(
            f"the session cannot be kept: {error.strerror or error}: {error.filename}",
            f"make that place writable, or set {STATE_VARIABLE} to another",
        ) from error


def _mode(value: object, default: Mode) -> Mode:
    return next((mode for mode in get_args(Mode) if mode == value), default)
