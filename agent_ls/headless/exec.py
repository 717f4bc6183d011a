"""Run one message of the user without an editor: `agent-ls exec`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TextIO

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from agent_ls.features.worktrees.worktree import Start
from agent_ls.headless.allowed import allow_listed, answerer
from agent_ls.headless.beginning import SHOWN_AFTER_S, Beginning, check_folder_is_there
from agent_ls.headless.findings import FindingsFormat, findings_text
from agent_ls.headless.outcome import RunOutcome
from agent_ls.headless.style import PLAIN, style_for
from agent_ls.headless.terminal import BELL, Bell, Lines, TerminalLines
from agent_ls.headless.transcript import Transcript
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.middleware import Middleware
from agent_ls.loop.calls.approval import ApprovalAnswer, asks_for_trust
from agent_ls.loop.calls.redaction import Known, none_known, without_known
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.subscription import EncodedEvent, Subscription
from agent_ls.loop.events.types import (
    DECIDED_BY_POLICY,
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    Error,
    ProcessingEnd,
    QuestionAsked,
    SessionStart,
    Warning,
)
from agent_ls.loop.ids import new_id
from agent_ls.loop.questions import BadAnswerError
from agent_ls.mcp.names import command_for
from agent_ls.policy.situation import Mode
from agent_ls.services.errors import AppError
from agent_ls.services.logs import start_log
from agent_ls.services.models.key_store import load_credentials, protect_keys
from agent_ls.services.permissions.trust import Trusting
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.service import ReviewService
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.build.tool_limits import check_limits
from agent_ls.sessions.host import ClientState
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec
from agent_ls.system import (
    begin_collection,
    configure_output_encoding,
    handle_termination_signals,
    use_pidfd_watcher,
)
from agent_ls.text import strip_controls

NO_EVIDENCE = (
    "no check passed after the last change: ask for one in the prompt, allow its command with `--allow`, or name "
    "your own in the setting `checks`"
)


@dataclass(frozen=True, slots=True)
class ExecOptions:
    """The options of one run of `agent-ls exec`. `beside` are the workspace folders in addition to `folder`. `on` names
    another machine or container, where the agent then works instead of in `folder`.

    `own_settings` are the part of `settings` that was given for this run and not in the user's settings file.
    If `ends_at_loss`, the run ends when a call fails because the connection to the remote machine was lost.
    If `worktree` is set, a new session works in its own git worktree; the value selects the worktree's
    initial content. If `requires_evidence`, the run fails if files changed and no check passed after the last
    change. If `findings` is set, the findings of a review are printed to standard output, and the
    transcript to standard error. `report` is a new file for the report on the session, written at the end.
    """

    prompt: str
    folder: Path
    provider: str = ""
    model: str = ""
    effort: str = ""
    mode: Mode = "ask"
    asks: bool = False
    as_json: bool = False
    resume: str = ""
    record: Path | None = None
    trust: bool = False
    allow: Sequence[str] = ()
    beside: Sequence[Path] = ()
    settings: Settings = field(default_factory=Settings)
    own_settings: Settings = field(default_factory=Settings)
    bell: Bell = "asked"
    middleware: Middleware | None = None
    findings: FindingsFormat | None = None
    on: str = ""
    ends_at_loss: bool = False
    worktree: Start | None = None
    requires_evidence: bool = False
    report: Path | None = None


async def run_exec(options: ExecOptions, out: TextIO, err: TextIO, lines: Lines | None = None) -> int:
    """Run one message of the user and return the exit code.

    0 done, 1 failed, 3 something was refused, 4 a limit was reached, 130 interrupted. If `lines` is None,
    answers are read from the terminal.

    Raises:
        AppError: the session or the run could not be started.
    """
    credentials = load_credentials()
    start_log(options.settings.log_level, credentials.known_secrets)
    manager = _create_manager(options, credentials)
    outcome = RunOutcome(ends_at_loss=options.ends_at_loss, requires_evidence=options.requires_evidence)
    refused: AppError | None = None
    live: LiveSession | None = None
    play: _Play | None = None
    async with anyio.create_task_group() as group:
        await group.start(manager.run)
        try:
            live = await _open(manager, options)
            if options.asks and manager.models.problem_of(live.session.profile.id):
                # The first call fails, so nobody is asked about the folder before.
                manager.trust.trusting = "kept"
            begin_collection()
            check_limits(options.own_settings, live.session.profile.registry)
            if options.findings:
                live.offer_findings()
            await allow_listed(live, options.allow, manager.models.child_environ)
            group.start_soon(_stop_on_signal, live, outcome, group.cancel_scope)
            play = _Play(
                live,
                manager.review,
                options,
                outcome,
                RunOutput(err if options.findings else out, err, manager.secrets),
                lines or TerminalLines(err, bell=options.bell != "off"),
            )
            await play.run()
            if outcome.failed and not play.has_begun:
                await _delete_new(manager, live, options)
            elif options.report:
                await _write_report(manager, live, options.report)
            if options.findings:
                _write_findings(manager, live, options.findings, out)
        except AppError as error:
            refused = error
            if live and not (play and play.has_begun):
                await _delete_new(manager, live, options)
        except BrokenPipeError:  # the reader of the output has closed it (`| head`)
            outcome.failed = True
            _close_output(out)
        group.cancel_scope.cancel()
    if play and options.as_json:
        await play.tell_end()
    if refused:  # raised here, because a task group would wrap the error in an ExceptionGroup
        raise refused
    if outcome.lacks_evidence:
        err.write(f"agent-ls exec: {NO_EVIDENCE}\n")
    return outcome.exit_code


async def _delete_new(manager: SessionManager, live: LiveSession, options: ExecOptions) -> None:
    """Delete the session of a run that could not begin. A resumed session and the source of a recording are kept."""
    if not (options.resume or options.record):
        with suppress(AppError):  # what cannot be deleted stays in the list of sessions
            await manager.delete_session(live.id, force=False)


def _create_manager(options: ExecOptions, credentials: Credentials) -> SessionManager:
    # The user is asked about trust only with `--ask`. Otherwise only stored trust decisions apply.
    trusting: Trusting = "trusted" if options.trust else "asked" if options.asks else "kept"
    manager = SessionManager(
        settings=_wait_for_servers(options.settings),
        credentials=credentials,
        record_to=options.record,
        client=ClientState(trusting=trusting, folders=lambda: [str(folder) for folder in options.beside]),
    )
    if options.middleware:
        manager.models.client.add_middleware(options.middleware)
    return manager


def _write_findings(manager: SessionManager, live: LiveSession, form: FindingsFormat, out: TextIO) -> None:
    """Print what the review of the session has found, without keys."""
    found = manager.review.findings.of_session(live.id)
    text = findings_text(found, live.summary().workspace_folder, form)
    out.write(without_known(text, manager.secrets()))
    out.flush()


async def _write_report(manager: SessionManager, live: LiveSession, path: Path) -> None:
    """Write what the session changed and checked in a new file.

    Raises:
        AppError: the file cannot be written.
    """
    text = await manager.archive.export(live.id, "report")
    try:
        async with await anyio.open_file(path, "x", encoding="utf-8", errors="replace") as file:
            await file.write(text)
    except OSError as error:
        raise AppError(
            f"the report cannot be written in {path}: {error.strerror or error}",
            f"`agent-ls sessions export {live.id} --format report` prints it",
        ) from None


def _wait_for_servers(settings: Settings) -> Settings:
    """Return the settings of a run. Its only message waits for MCP servers as long as a start may take.

    A later message, with which a slow server's tools would be offered, does not come.
    """
    if "first_wait_ms" in settings.mcp.model_fields_set:
        return settings
    mcp = settings.mcp.model_copy(update={"first_wait_ms": settings.mcp.start_timeout_ms})
    return settings.model_copy(update={"mcp": mcp})


async def _open(manager: SessionManager, options: ExecOptions) -> LiveSession:
    manager.owners.set_program_name("agent-ls exec")
    if options.resume:
        await check_folder_is_there(manager, options.resume)
        live = await manager.open_session(options.resume, mode=options.mode)
        live.approver.review = "after"  # the terminal has no review of hunks before they are applied
        return live
    return await manager.new_session(
        SessionSpec(
            workspace_folder=options.on or str(options.folder),
            provider=options.provider or None,
            model=options.model or None,
            effort=options.effort or None,
            mode=options.mode,
            review="after",
            worktree=options.worktree,
        )
    )


@dataclass(frozen=True)
class RunOutput:
    """The outputs of a run. `out` gets the transcript or the events, `err` messages for the user.

    `secrets` returns the secret keys to redact in both outputs.
    """

    out: TextIO
    err: TextIO
    secrets: Known = none_known

    @cached_property
    def is_split(self) -> bool:
        """Whether a user who reads `err` may not see `out`: it goes to a file, or to another program."""
        if self.out.isatty() or self.out is self.err:
            return False
        try:
            return not os.path.sameopenfile(self.out.fileno(), self.err.fileno())
        except (OSError, ValueError):  # not a file of the system
            return True


class _Play:
    """Runs one message of the user, from its submission to the end of its turn."""

    def __init__(
        self,
        live: LiveSession,
        review: ReviewService,
        options: ExecOptions,
        outcome: RunOutcome,
        output: RunOutput,
        lines: Lines,
    ) -> None:
        self._live = live
        self._review = review
        self._options = options
        self._outcome = outcome
        self._output = output
        self._answer = answerer(options.mode, lines if options.asks else None)
        self._lines = lines
        style = style_for(is_terminal=output.out.isatty(), environ=os.environ)
        self._transcript = Transcript(PLAIN if options.as_json else style)
        self._asking: dict[str, anyio.CancelScope] = {}
        self._unsent: AppError | None = None
        self._beginning = Beginning()
        self._rest: Subscription | None = None
        self._is_named = False

    @property
    def has_begun(self) -> bool:
        """Whether the model has answered."""
        return self._beginning.has_begun

    async def run(self) -> None:
        """Submit the message, and print events until the turn has ended.

        Raises:
            BrokenPipeError: the program that reads the output has closed it.
            AppError: the message was not submitted.
        """
        session = self._live.session
        problem: BrokenPipeError | None = None
        with session.subscribe() as events:
            known = session.last_seq
            for item in await self._earlier_events(known):
                problem = self._tell(item)
            # Wait for answers in separate tasks, so that an interrupt takes effect while a question is open.
            async with anyio.create_task_group() as group:
                self._answer_suspended_turn(group)
                group.start_soon(self._submit, events)
                group.start_soon(self._show_heading)
                async for item in events:
                    problem = self._tell(item)
                    if isinstance(item.envelope.event, ApprovalRequested):
                        group.start_soon(self._ask, item.envelope.event)
                    if isinstance(item.envelope.event, QuestionAsked):
                        group.start_soon(self._reply, item.envelope.event)
                    if self._outcome.see(item.envelope) or problem:
                        break
                else:
                    self._outcome.failed = self._outcome.failed or not self._unsent
                if not problem:
                    self._rest = session.subscribe()
                group.cancel_scope.cancel()
        if self._unsent:
            raise self._unsent
        if self._live.worktree and self._options.asks and not problem:
            await self._offer_changes()
        if problem:
            # The interrupt closes the open questions. No other client is expected to open this session and
            # answer them.
            session.interrupt()
            raise problem
        self._report_end()

    def _answer_suspended_turn(self, group: TaskGroup) -> None:
        """Start answering requests and questions of a suspended turn, which continues before the new message runs."""
        for request in self._live.approver.pending():
            group.start_soon(self._decide_waiting, request)
        for question in self._live.session.questions.pending():
            group.start_soon(self._reply, question)
        group.start_soon(self._decide_proposals)

    async def _decide_waiting(self, request: ApprovalRequested) -> None:
        """Decide about a request of an earlier process, unless the policy of this run refuses its call."""
        approver = self._live.approver
        if not await approver.approvals.is_to_answer(request.request_id):
            return
        self._show_waiting(request)
        if self._options.asks:
            await self._ask(request)
        elif not asks_for_trust(request):  # only `--trust` and stored decisions trust the folder
            # The mode and the rules of this run decide, which may differ from those of the session.
            again = ApprovalAnswer("allow", decided_by=DECIDED_BY_POLICY)
            approver.answer(request.request_id, again)

    def _report_end(self) -> None:
        """Print why the turn ended early, how to continue, and the session's id."""
        session, err = self._live.session, self._output.err
        if who := self._live.taken_by:
            err.write(
                f"agent-ls exec: {who} has taken this session over and stopped this run. Continue there.\n"
            )
        if self._outcome.is_lost:
            session.interrupt()
            err.write("agent-ls exec: the connection to the other machine was lost\n")
        if self._outcome.limit:
            words = f'To continue: agent-ls exec --resume {session.id}{self._outcome.option} "go on"'
            err.write(f"agent-ls exec: {self._outcome.limit}\n  {words}\n")
        if self.has_begun or not self._outcome.failed:
            self._name_session()

    async def tell_end(self) -> None:
        """Print the events after the turn, up to `session_end`. Call this when the session has ended."""
        if not self._rest:
            return
        self._rest.end()
        async for item in self._rest:
            if self._tell(item):
                self._outcome.failed = True
                _close_output(self._output.out)
                return

    async def _submit(self, events: Subscription) -> None:
        """Submit the prompt with the contents of the files that it mentions. If a file cannot be read, end
        the subscription.
        """
        try:
            attached = await self._live.mentions.read_typed(self._options.prompt)
            prompt = await self._live.skills.expand_message(self._options.prompt)
        except AppError as error:
            self._unsent = error
            events.end()
            return
        await self._live.warn_of_missing_files(self._options.prompt)
        text = f"{prompt}\n\n{attached.text}" if attached.text else prompt
        self._live.session.submit(text, images=attached.images, client_key=new_id("exec"))

    async def _offer_changes(self) -> None:
        """Ask on the terminal whether to apply the worktree's changes to the user's folder."""
        names = await self._live.waiting_changes()
        if not names:
            return
        shown = "".join(f"    {strip_controls(name)}\n" for name in names)
        self._output.err.write(f"  changed in the worktree:\n{shown}")
        line = await self._lines.ask("    apply these changes to your folder? [y]es, [n]o: ")
        if line.strip().lower() in ("y", "yes"):
            for it in await self._live.bring_changes(may_ask=False):
                self._output.err.write(
                    f"    {it.state}: {strip_controls(it.path)}{it.reason and ' ' + it.reason}\n"
                )

    async def _earlier_events(self, last: int) -> Sequence[EncodedEvent]:
        """Return the start and the warnings that this process emitted while opening the session, up to event `last`."""
        stored = self._live.stored.opened.stored
        begun = stored.last_seq if stored else 0
        lines = await anyio.to_thread.run_sync(self._live.events_since, begun, last)
        decoded = [envelope for line in lines if (envelope := event_codec.decode(line))]
        return [EncodedEvent(it) for it in decoded if isinstance(it.event, Warning | SessionStart)]

    def _tell(self, item: EncodedEvent) -> BrokenPipeError | None:
        """Print an event. Returns an error instead of raising it, because a task group would wrap it."""
        event, out, err = item.envelope.event, self._output.out, self._output.err
        text = self._transcript.feed(item.envelope)
        line = ""
        if isinstance(event, Warning | Error) and self._output.is_split:
            # The program that reads the output must not hide from the user that something is missing.
            line = _line_for_user(event)
        as_json = item.encoded.decode("utf-8") + "\n" if self._options.as_json else ""
        said, line = self._beginning.pass_on(event, "" if as_json else text, line)
        if problem := self._print(as_json or said, line):
            return problem
        if self.has_begun and not err.isatty():  # a log has it even if the run is killed
            self._name_session()
        is_on_terminal = out.isatty() and not self._options.as_json
        if self._options.asks and not is_on_terminal and isinstance(event, ApprovalRequested):
            err.write(_whole_question(event, text))  # the user must see what they approve
        if self._options.bell == "done" and isinstance(event, ProcessingEnd) and err.isatty():
            err.write(BELL)
            err.flush()
        if isinstance(event, ApprovalResolved) and (scope := self._asking.get(event.request_id)):
            scope.cancel()
        return None

    def _name_session(self) -> None:
        """Print the session's id once, for `--resume`. With --json each event has it."""
        if not (self._is_named or self._options.as_json):
            self._is_named = True
            self._output.err.write(f"session {self._live.id}\n")
            self._output.err.flush()

    def _print(self, said: str, line: str) -> BrokenPipeError | None:
        out, secrets, problem = self._output.out, self._output.secrets(), None
        try:
            out.write(without_known(said, secrets))
            out.flush()
        except BrokenPipeError as error:
            problem = error
        if line:  # after the text, because both may go to the same file
            self._output.err.write(without_known(line, secrets))
        return problem

    async def _show_heading(self) -> None:
        """Print the heading after a while, if the model neither answers nor fails, and the MCP servers that are waited
        for. A closed output is found by the next event.
        """
        await anyio.sleep(SHOWN_AFTER_S)
        self._print(*self._beginning.heading())
        made = self._live.servers.made if self._live.servers else []
        slow = [server.name for servers in made for server in servers.servers if server.state == "starting"]
        if slow and not self.has_begun:
            limit_s = _wait_for_servers(self._options.settings).mcp.first_wait_ms / 1000
            self._output.err.write(
                f"agent-ls exec: waiting for the MCP server {', '.join(slow)}, at most {limit_s:g} s; "
                f"{command_for('test', slow[0])} shows what it waits for\n"
            )
            self._output.err.flush()

    def _show_waiting(self, request: ApprovalRequested) -> None:
        """Print an approval request that an earlier process emitted, because this process receives no event for
        it.
        """
        session = self._live.session
        envelope = Envelope(session.id, session.last_seq, "", request, session.turn_id)
        self._output.err.write(_whole_question(request, self._transcript.feed(envelope)))

    async def _ask(self, request: ApprovalRequested) -> None:
        with anyio.CancelScope() as self._asking[request.request_id]:
            answer = await self._answer(request)
            self._live.approver.answer(request.request_id, answer)

    async def _decide_proposals(self) -> None:
        """Decide about changes that a suspended turn proposed in an editor. No other client is connected that
        could decide.
        """
        by_file = self._review.open_hunks(session_id=self._live.id)
        proposed = [hunk for hunks in by_file.values() for hunk in hunks if hunk.state == "proposed"]
        # Proposals of calls that have ended stay undecided for a later review.
        awaited = [hunk for hunk in proposed if self._live.approver.is_reviewed_first(hunk.call_id)]
        if not awaited:
            return
        keeps = self._options.mode in ("edits", "full")
        if self._options.asks:
            for hunk in awaited:
                lines = (*(f"-{line}" for line in hunk.base_lines), *(f"+{line}" for line in hunk.lines))
                shown = "".join(f"    {strip_controls(line.rstrip())}\n" for line in lines)
                self._output.err.write(f"  proposed earlier in {strip_controls(hunk.path)}:\n{shown}")
            line = await self._lines.ask("    make these changes? [y]es, [n]o: ")
            keeps = line.strip().lower() in ("y", "yes")
        await self._review.review(
            "keep" if keeps else "undo",
            Selection(hunk_ids=[hunk.id for hunk in awaited]),
            comment="" if self._options.asks else f"(decided by --mode {self._options.mode})",
        )
        self._outcome.refused |= not keeps

    async def _reply(self, question: QuestionAsked) -> None:
        """Answer a question of the model with a line from the terminal. An empty line declines the question,
        and without `--ask` every question is declined.
        """
        by = "terminal" if self._options.asks else "headless"
        while True:
            text = ""
            if self._options.asks:
                with anyio.CancelScope() as self._asking[question.question_id]:
                    text = await self._lines.ask("    your answer: ")
            answers = (text,) if text.strip() else ()
            try:
                self._live.session.questions.answer(
                    question.question_id, answers, declined=not answers, by=by
                )
                return
            except BadAnswerError as error:
                self._output.err.write(f"    {error}\n")


def _line_for_user(event: Warning | Error) -> str:
    """Return a warning as one line; an error as its reason and, in the next line, what to do."""
    message = " ".join(strip_controls(event.message).split()) + "\n"
    if isinstance(event, Warning):
        return message
    hint = " ".join(strip_controls(event.hint).split())
    return f"agent-ls exec: {message}" + (f"  {hint}\n" if hint else "")


def _whole_question(request: ApprovalRequested, text: str) -> str:
    """Return the text of an approval request, preceded by a line with the tool and the summary of its call.

    The line is needed because the transcript was printed to another output, or not at all.
    """
    return f"{strip_controls(request.tool)} {strip_controls(request.summary)}\n{text}"


async def _stop_on_signal(live: LiveSession, outcome: RunOutcome, everything: anyio.CancelScope) -> None:
    """Handle termination signals such as Ctrl-C. The first signal ends the turn and its commands. A second
    signal, or a signal while no turn runs, ends this program.
    """

    def stop() -> None:
        if outcome.interrupted or not live.session.is_busy:
            everything.cancel()
        outcome.interrupted = True
        live.session.interrupt()

    with handle_termination_signals(stop):
        await anyio.sleep_forever()


def _close_output(out: TextIO) -> None:
    """Redirect the closed output to the null device, so that the interpreter's final flush does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def main(options: ExecOptions) -> int:
    configure_output_encoding(options.as_json)
    protect_keys()
    use_pidfd_watcher()
    return anyio.run(run_exec, options, sys.stdout, sys.stderr)
