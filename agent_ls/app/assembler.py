"""What a session is made of: all its parts meet here, and nowhere else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from agent_ls.app.approver import PolicyApprover
from agent_ls.app.bounds import PathBounds, places_of
from agent_ls.app.cli_tools import CliTools, load_cli_tools, with_cli_tools
from agent_ls.app.clock import SystemClock
from agent_ls.app.filed_changes import command_files
from agent_ls.app.grants import Grants
from agent_ls.app.live_session import LiveSession
from agent_ls.app.models import Models
from agent_ls.app.notebooks import has_notebooks, with_notebooks
from agent_ls.app.notices import Notices, ended_notice
from agent_ls.app.pinned import pinned_hunks
from agent_ls.app.prompts import SessionPrompts, facts_from_json, facts_to_json
from agent_ls.app.recording.tapes import Tapes
from agent_ls.app.resumed_reviews import ResumedReviews
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.reviewed_environment import ReviewedEnvironment
from agent_ls.app.roots import SessionRoots
from agent_ls.app.settings import Settings
from agent_ls.app.stored import SessionFiles
from agent_ls.app.surroundings import EditorEyes, EditorSurroundings
from agent_ls.app.touched_files import FileWatch, TouchedFiles
from agent_ls.app.trust import TrustGate, WorkspaceTrust
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.editor_host import EditorHost
from agent_ls.environments.language_host import LanguageHost
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.commit import anybody
from agent_ls.environments.local.own_terminals import ChosenTerminals
from agent_ls.environments.notebooks import NotebookEnvironment
from agent_ls.environments.terminal_host import TerminalHost
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.loop.approval import ApprovalDesk
from agent_ls.loop.budget import UseLimits
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.ids import SessionId
from agent_ls.loop.redaction import Known
from agent_ls.loop.restored import Restored
from agent_ls.loop.seams import ModelClient
from agent_ls.loop.session import Session
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.store.log import Header
from agent_ls.store.rules import RuleStore
from agent_ls.store.sessions import OpenSession

if TYPE_CHECKING:
    from agent_ls.app.recording.tape import Tape
    from agent_ls.app.walls import SessionWalls
    from agent_ls.profiles.base import ProviderProfile
    from agent_ls.tools.web_fetch import WebPages


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """What was chosen for one session; `effort` None leaves it to the model. `tools` are the user's own."""

    provider: str
    model: str
    effort: str | None
    mode: Mode
    review: ReviewSetting
    tools: CliTools


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembler:
    """`start` runs a short task beside the sessions; `audience` is a session that may still be told something.

    `host`, `eyes` and `language` None: there is no editor. `environment` stands in place of this machine, `pages` of
    the web. `user_folder` holds what is the user's own, definitions of tools among it. `folders` tells what is open in
    the workspace at this moment. `notebooks` says whether a session's folder has some, None: look. `now` are the
    settings as they are.
    """

    models: Models
    secrets: Known
    clock: SystemClock
    rules: RuleStore
    trust: WorkspaceTrust
    state: Path
    host: EditorHost | None
    eyes: EditorEyes | None
    watch: FileWatch
    terminals: TerminalHost | None
    language: LanguageHost | None
    environment: ExecutionEnvironment | None
    review: ReviewDesk
    tapes: Tapes
    pages: WebPages | None
    start: Callable[[Callable[[], Awaitable[None]]], None]
    audience: Callable[[str], LiveSession | None]
    user_folder: Path
    folders: Callable[[], Sequence[str]]
    notebooks: Callable[[], bool | None]
    now: Callable[[], Settings]

    def local(self, folder: str, demand_right: Callable[[], None] = anybody) -> ExecutionEnvironment:
        if self.environment:
            return self.environment
        return LocalEnvironment(
            folder,
            environ=self.models.child_environ,
            env_policy=lambda: self.now().command_environment.rules(),
            terminals=ChosenTerminals(lambda: self.now().terminal, self.terminals),
            demand_right=demand_right,
        )

    def files(self, local: ExecutionEnvironment) -> ExecutionEnvironment:
        if self.host is None:
            return local
        files = EditorEnvironment(local, self.host)
        return NotebookEnvironment(files, self.host.notebooks) if self.host.notebooks else files

    def _versions(self) -> dict[str, int]:
        """Of the open documents, by path."""
        documents = self.host.open_documents() if self.host else ()
        return {document.path: document.version for document in documents}

    async def cli_tools(self, folder: str) -> CliTools:
        """Those of the user for a session in this folder; a changed file holds from the next session on."""
        workspace = None if self.environment else Path(folder)

        def load() -> CliTools:
            is_trusted = workspace is not None and self.trust.standing(folder) == "trusted"
            return load_cli_tools(self.user_folder, workspace, trusted=is_trusted)

        found = await anyio.to_thread.run_sync(load)
        told = self.notebooks()
        if told is None:
            told = await has_notebooks(self.local(folder))
        return replace(found, notebooks=told)

    async def _others(self, roots: SessionRoots) -> Mapping[str, ExecutionEnvironment]:
        """The folders beside the session's own at the start of an input, as they are read."""
        await roots.settle()
        if self.environment:  # what a program's own place holds beside its folder is not known here
            return {}
        return {folder: self.files(self.local(folder)) for folder in roots.others}

    def assemble(
        self,
        opened: OpenSession,
        header: Header,
        choice: SessionChoice,
        settings: Settings,
        restored: Restored | None,
    ) -> LiveSession:
        folder = header.workspace_folder
        stored = SessionFiles(opened, header)
        local = self.local(folder, stored.demand_ours)
        files = self.files(local)
        bounds = PathBounds(places_of(folder))
        roots = SessionRoots(folder, self.folders, self.trust, bounds, lambda event: session.emit(event))
        untold = opened.stored.fold.notices if opened.stored else ()
        notices = Notices(opened.recorder.notice, untold)
        asking = ApprovalDesk(
            lambda event: session.emit(event),
            lambda: session.is_stopped,
            self.clock,
            settings.approval_timeout_ms,
        )
        grants = Grants(self.rules, folder, self.clock, self.start, lambda event: session.emit(event))
        gate = TrustGate(
            self.trust, folder, asking, lambda event: session.emit(event), lambda: session.turn_id
        )
        desk = PolicyApprover(
            bounds=bounds,
            mode=choice.mode,
            desk=asking,
            grants=grants,
            review=choice.review,
            is_trusted=gate.is_trusted,
            is_walled=lambda: walls is None or walls.stand,
        )
        # A place of a program's own is not looked through: only the disk of this machine can be.
        listed = local.list_files if isinstance(local, LocalEnvironment) else None
        client: ModelClient = self.models.client
        on_disk = files
        heard: Callable[[ExecutionEnvironment], ExecutionEnvironment] = _as_it_is
        eyes, language = self.eyes, self.language
        if tape := self.tapes.of(header.session_id):
            from agent_ls.app.recording.editor_tape import RecordingEyes, RecordingLanguage
            from agent_ls.app.recording.tape import RecordingClient, RecordingCommands, RecordingFiles

            local = RecordingCommands(RecordingFiles(local, tape), tape)
            files = RecordingFiles(files, tape)
            client = RecordingClient(client, tape)
            heard = partial(RecordingCommands, tape=tape)
            eyes = RecordingEyes(eyes, tape) if eyes else None
            language = RecordingLanguage(language, tape) if language else None
            opened.recorder.also = tape.event
        walls: SessionWalls | None = None
        within = files
        if settings.sandbox.enabled and not self.environment:  # a place of a program's own has its own
            from agent_ls.app.walls import Leaving, SessionWalls  # seldom wanted
            from agent_ls.environments.wrappers.sandbox import SandboxedEnvironment

            walls = SessionWalls(
                settings.sandbox, lambda: bounds.places, str(self.state), lambda event: session.emit(event)
            )
            within = SandboxedEnvironment(files, walls, Leaving(desk, folder))
        bounded = BoundedEnvironment(within, bounds)
        commands = (
            command_files(roots.listing(listed), files, self.host, lambda: roots.others) if listed else None
        )
        environment = ReviewedEnvironment(bounded, self.review, stored, desk.is_reviewed_first, commands)
        touched = TouchedFiles(
            on_disk,  # what is looked at unasked is no part of a recording
            self.review,
            documents=self._versions,
            tell=notices.post,
            watch=self.watch,
            known=opened.stored.fold.shown | opened.stored.fold.known if opened.stored else {},
            record=opened.recorder.known,
        )
        opened.recorder.on_shown = touched.shown
        if listed:
            notices.look_for = partial(_look_for_changes, self.review, touched)
        profiles = with_cli_tools(self._profiles(client, tape), choice.tools.tools, self.models.child_environ)
        if choice.tools.notebooks:
            profiles = with_notebooks(profiles)
        if language:
            from agent_ls.app.language_tools import with_language_tools  # not every editor can answer

            profiles = with_language_tools(profiles, language, native_names=settings.native_tool_names)
        facts = opened.stored.fold.config.get("environment") if opened.stored else None
        session = Session(
            session_id=SessionId(header.session_id),
            profile=profiles(choice.provider, choice.model),
            environment=heard(environment),
            client=client,
            approver=desk,
            recorder=opened.recorder,
            clock=self.clock,
            notices=notices,
            config=session_config(settings, choice.effort),
            restored=restored,
            secrets=self.secrets,
            prompts=SessionPrompts(
                local,
                files,
                trusted=gate.settled,
                others=partial(self._others, roots),
                facts=facts_from_json(facts) if opened.stored else None,
                keep=lambda facts: stored.remember({"environment": facts_to_json(facts)}),
                # A recording is to hold what is read; of a program's own place nothing is known but by reading.
                open_documents=self._versions if listed and not tape else None,
            ),
            before_end=self.review.flush,
            on_input=lambda text: live.name_after(text),
            profile_for=profiles,
            pinned=lambda: pinned_hunks(self.review.open_hunks(session_id=header.session_id), folder),
            surroundings=EditorSurroundings(eyes, folder) if eyes else None,
            reviews=ResumedReviews(self.review.proposals, desk, lambda: self.audience(header.session_id)),
        )
        live = LiveSession(
            session=session,
            profiles=profiles,
            desk=desk,
            environment=environment,
            files=files,
            notices=notices,
            stored=stored,
            touched=touched,
            title=opened.stored.title if opened.stored else header.title,
            prepare=partial(roots.settle, tell=False),
        )
        if opened.stored and (ended := opened.stored.fold.ended_with_process):
            live.notice(ended_notice(ended))
        return live

    def _profiles(self, client: ModelClient, tape: Tape | None) -> Callable[[str, str], ProviderProfile]:
        """With the tools of the web that the settings allow then; those of the host's own stand before them."""
        pages: WebPages | None = None

        def profile(provider: str, model: str) -> ProviderProfile:
            nonlocal pages
            settings, found = self.now(), self.models.profile(provider, model)
            if not (settings.web_fetch or settings.web_search):
                return found
            from agent_ls.app.web.tools import with_web_tools  # seldom wanted, and with it an HTTP library

            pages = pages or (self._pages(tape) if settings.web_fetch else None)
            return with_web_tools(found, settings, client, pages)

        return profile

    def _pages(self, tape: Tape | None) -> WebPages:
        from agent_ls.app.web.pages import HttpPages

        pages: WebPages = self.pages or HttpPages(self.secrets)
        if tape:
            from agent_ls.app.recording.tape import RecordingPages

            pages = RecordingPages(pages, tape)
        return pages


async def _look_for_changes(review: ReviewDesk, touched: TouchedFiles) -> None:
    await review.under_way.settle()
    await touched.look()


def session_config(settings: Settings, effort: str | None) -> SessionConfig:
    """What the settings say of how a session runs."""
    return SessionConfig(
        max_turns=settings.max_turns,
        max_tool_rounds_per_input=settings.max_tool_rounds_per_input,
        default_command_timeout_ms=settings.default_command_timeout_ms,
        max_command_timeout_ms=settings.max_command_timeout_ms,
        reasoning_effort=effort or None,
        user_instructions=settings.user_instructions,
        refuse_ambiguous_edits=settings.edits.ambiguous == "refuse",
        read_first=settings.edits.read_first,
        limits=UseLimits(**settings.limits.model_dump()),
        context=settings.context.config(),
    )


def _as_it_is(place: ExecutionEnvironment) -> ExecutionEnvironment:
    return place
